"""A translator of programs' messages, for the teams that translate them.

Trains a base on the translations that a Linux machine holds, then continues it
with a project's own catalogues. Placeholders and tags are copied. Scores are
those of programs that were not trained on (--hold_out).

    python -m tfcopy.recipes.catalogs_ps                   a demo catalogue
    python -m tfcopy.recipes.catalogs_ps --preset disk --target_language fr
    python -m tfcopy.recipes.catalogs_ps --preset project --catalogs locale
      --target_language fr --init_from tensorboard_logs/catalogs_ps/disk

Fill the project's catalogues with what was exported:

    python -m tfcopy.serving.translate_po savedmodels/catalogs_ps locale

Repeating an interrupted command resumes it where it stopped.
"""

import dataclasses
import itertools
import random
import sys

from tfcopy.checked_files import check_fields
from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import find_given_corpora, training
from tfcopy.experiments.pairs import corpus_flags
from tfcopy.flags import NonNegativeFloat
from tfcopy.terminal import one_line

_REGULARIZED = {"dropout": 0.2, "label_smoothing": 0.1}
PRESETS = {
    "demo": corpus_flags.DEMO_CATALOGS,
    "disk": {
        "catalogs": "/usr/share/locale",
        "updates": 10_000,
        "eval_every": 1_000,
        **_REGULARIZED,
    },
    "project": {
        "learning_rate": 3e-4,
        "updates": 400,
        "eval_every": 100,
        **_REGULARIZED,
    },
}


@config.configuration(
    "catalogs_ps",
    presets=PRESETS,
    minutes={"demo": 5},
    claims={"pointer_softmax keeps more spans than nmt": "spans_kept"},
    systems=["pointer_softmax"],
    tokenization="sentencepiece",
    protect=["placeholders", "tags", "flags"],
    must_copy=True,
    unmatched="attention_argmax",
    dropout=0.1,
    clip_norm=1.0,
    updates=4_000,
    num_beams=5,
    precision="mixed_bfloat16",
    **corpus_flags.LARGE_CATALOGS,
)
class Config(corpus_flags.TranslatorConfig):
    """Corpus, model, training, search, and where the results go.

    Attributes:
        mix: With --init_from, whose subwords are kept: texts of its corpus for
            each text of this one, so that the model does not forget them.
    """

    mix: NonNegativeFloat = training(1.0)


COLUMNS = {
    **config.TRANSLATION_SCORES,
    "% right": "right",
    "% spans kept": "spans_kept",
    "dev ppl": "perplexity",
    **config.TIME,
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments.pairs import translation_systems

    is_given = config.init_from and find_given_corpora(config)
    if config.preset == "project" and not is_given:
        raise ValueError(
            "--preset project needs --init_from, a base's run, and --catalogs."
        )
    if config.init_from is None and config.mix != type(config).mix:
        raise ValueError("--mix needs --init_from, whose texts it adds.")
    return translation_systems.run_catalogs(config, prepare, COLUMNS)


def prepare(config, folder):
    """Encodes the corpus as subwords, spans and ids: `PairData`."""
    from tfcopy.data.generated import demo_catalogs
    from tfcopy.experiments.pairs import translation_data, translation_systems

    corpus = translation_data.load_corpus(config, demo_catalogs)
    if config.init_from is not None:
        config, corpus = _extend_base(config, corpus)
    return translation_systems.prepare(config, corpus, folder)


def _extend_base(config, corpus):
    """Takes the subwords of --init_from, and adds some of its texts."""
    from tfcopy.data.corpora.corpus import fingerprint
    from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
    from tfcopy.experiments import earlier_run

    _, base = earlier_run.load(config.init_from, "pointer_softmax")
    of_base, served = _flags_of(base.details, config), base.served
    tokenizers = served.source_tokenizer, served.target_tokenizer
    inner = [getattr(x, "inner", x) for x in tokenizers]
    if not all(isinstance(x, SentencepieceTokenizer) for x in inner):
        raise ValueError(
            f"--init_from {config.init_from}: a base without --tokenization "
            "sentencepiece, whose subwords cannot be kept."
        )
    train, more = corpus.train, []
    if config.mix:
        held_out = corpus.splits["validation"], corpus.splits["test"]
        tested = {source for split in held_out for source, _ in split}
        others = _texts(of_base, config.init_from, base.details.get("corpus"))
        more = [pair for pair in others if pair[0] not in tested]
    count = round(min(config.mix * train.num_pairs, len(more)))
    more = random.Random(config.seed).sample(more, count)
    print(f"{count:,} texts of {config.init_from} are added.")
    train = dataclasses.replace(
        train,
        read=lambda: itertools.chain(corpus.train, more),
        fingerprint=fingerprint(train.fingerprint, more),
        num_pairs=train.num_pairs + count,
    )
    return dataclasses.replace(
        config,
        pieces=None,
        sentencepiece_model=[x.model_file for x in inner],
        protect=list(getattr(tokenizers[0], "protect", ())),
        protect_as=of_base.protect_as,
        source_vocabulary=served.source_vocabulary.path,
        target_vocabulary=served.target_vocabulary.path,
    ), dataclasses.replace(
        corpus,
        splits={**corpus.splits, "train": train},
        unmixed=corpus.fingerprint,
    )


def _flags_of(details, config):
    """Returns the flags of a base, which must have the config's languages."""
    place = f"--init_from {config.init_from}"
    check_fields(place, details, {"recipe": str, "flags": dict})
    if details["recipe"] != config.recipe:
        raise ValueError(
            f"{place}: a run of {details['recipe']}, not of {config.recipe}."
        )
    own = {x.name for x in dataclasses.fields(config)}
    of_base = Config(**{k: x for k, x in details["flags"].items() if k in own})
    pair, other = (
        f"{x.source_language} to {x.target_language}" for x in (config, of_base)
    )
    if pair != other:
        raise ValueError(f"{place}: a base from {other}, not from {pair}.")
    return of_base


def _texts(of_base, init_from, expected):
    """Returns the training texts of a base, whose fingerprint is `expected`."""
    from tfcopy.data.generated import demo_catalogs
    from tfcopy.experiments.pairs import translation_data

    try:
        corpus = translation_data.load_corpus(of_base, demo_catalogs)
        if corpus.fingerprint != expected:
            raise ValueError(
                "its corpus is not what the base was trained on. Restore it, "
                "or train the base again."
            )
        return [*corpus.train]
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--init_from {init_from}: {one_line(error)} With --mix 0 its "
            "texts are not needed."
        ) from error


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
