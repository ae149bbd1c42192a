"""CopyNet and the paper's baselines: vocabulary, model, search, training."""

from tfcopy import losses, models
from tfcopy.experiments.config import head_for_kind
from tfcopy.experiments.pairs import model_flags, pair_data, pair_training


def prepare(
    config, corpus, tokenizer, folder, max_size=None, min_count=1, truncate=None
):
    """Counts words, and turns the corpus into ids; both are kept.

    Both sides share one vocabulary, counted on the training split. The mark
    at the end of a source, by --end_mark or where there is no such flag, can be
    looked at but not copied.

    Args:
        config: The flags of a `PairsConfig`.
        corpus: `TranslationCorpus`.
        tokenizer: `Tokenizer` of both sides.
        folder: Where vocabulary and ids are kept.
        max_size: Largest size of the vocabulary; `None` for no limit.
        min_count: Rarer words are left out.
        truncate: Most words of a source and of a target, or `None`.

    Returns:
        `PairData`.
    """
    return pair_data.prepare(
        config,
        corpus,
        (tokenizer, tokenizer),
        folder,
        {"sizes": {"both": max_size}, "min_count": min_count},
        max_length=None,
        truncate=truncate,
        append_eos=vars(config).get("end_mark", True),
        unmatched="unk",
    )


def check(config: model_flags.CopyNetConfig):
    """Raises a ValueError that names flags which do not go together."""
    model_flags.check(
        config,
        attention_units=config.attention_units,
        features={"--units": config.units if config.decoder == "gru" else None},
    )
    if config.tied_embeddings and config.deep_readout:
        raise ValueError(
            "--tied_embeddings and --deep_readout do not go together: the "
            "output matrix would need other rows than words have."
        )
    sides = {"encoder": config.encoder, "decoder": config.decoder}
    for side, kind in sides.items():
        if kind == "transformer" and "enc_dec" in config.systems:
            raise ValueError(
                f"--{side} transformer attends: it goes with the --systems "
                "rnnsearch and copynet, not with enc_dec, which does not."
            )


def make_model(config: model_flags.CopyNetConfig, data, system):
    """Builds the model of `system`, one of `models.copynet.SYSTEMS`."""
    head = head_for_kind(config, system)
    return model_flags.build_model(
        models.copynet, config, data, system=system, head=head
    )


def build(run, name, data, kind=None, limits=None, part="", **details):
    """Builds a system, text in and text out.

    Scores are rescaled at each step, as in the authors' search.

    Args:
        run: `Run` of a `CopyNetConfig`.
        name: The name of the system and of its folder.
        data: `PairData`.
        kind: One of `models.copynet.SYSTEMS`; by default as in `--systems`.
        limits: Most tokens of a source and, with its end, of an answer;
            `None` reads all, and takes `--max_target_length`.
        part, **details: As in `Run.build`.
    """
    config: model_flags.CopyNetConfig = run.config
    own, longest = {"append_eos": config.end_mark}, config.max_target_length
    if limits is not None:
        own["max_source_length"], longest = limits
    return pair_training.build(
        run,
        name,
        data,
        lambda config: make_model(config, data, kind or run.kinds[name]),
        {"max_length": longest, "rescale": True},
        lambda: own,
        part=part,
        **details,
    )


def train(system, data, **options):
    """Trains a system, or resumes its training; returns its results.

    The loss is summed over each sentence, then averaged over the sentences.

    Args:
        system: `System`.
        data: `PairData`.
        **options: More arguments of `pair_training.train`.
    """
    options = {"metrics": pair_training.copy_probability, **options}
    loss = losses.of_head(system.model.head)
    *_, results = pair_training.train(
        system, data, loss, normalize="sentences", **options
    )
    return results
