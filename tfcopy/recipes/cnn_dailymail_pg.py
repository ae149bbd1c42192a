"""Pointer-generator with coverage on CNN/Daily Mail (See et al., 2017).

Trains an attentional baseline, the pointer-generator and, from its weights,
the pointer-generator with coverage; compares them and the article's lead by
ROUGE, shows what was copied, and exports the best one. Any corpus with a source
and a shorter target will do: summaries, headlines, questions.

    python -m tfcopy.recipes.cnn_dailymail_pg                    demo news
    python -m tfcopy.recipes.cnn_dailymail_pg --preset thorough  trained longer
    python -m tfcopy.recipes.cnn_dailymail_pg --preset paper  as in the paper
    python -m tfcopy.recipes.cnn_dailymail_pg --bin_dir finished_files/chunked
    python -m tfcopy.recipes.cnn_dailymail_pg --train a.src a.tgt
    python -m tfcopy.recipes.cnn_dailymail_pg --train news.csv \\
        --source_column text --target_column title

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import from_flags, head_for_kind, name_of
from tfcopy.experiments.pairs import corpus_flags, model_flags
from tfcopy.flags import NonNegativeFloat, NonNegativeInt, PositiveInt

PAPER = {
    "seq2seq_attention": {"rouge1": 31.33, "rouge2": 11.81, "rougeL": 28.83},
    "pointer_generator": {"rouge1": 36.44, "rouge2": 15.66, "rougeL": 33.42},
    "pointer_generator_coverage": {
        "rouge1": 39.53,
        "rouge2": 17.28,
        "rougeL": 36.38,
    },
    "lead_3": {"rouge1": 40.34, "rouge2": 17.70, "rougeL": 36.57},
}
SYSTEMS = (
    "lead_3",
    "seq2seq_attention",
    "pointer_generator",
    "pointer_generator_coverage",
)


PRESETS = {
    "demo": {
        "learning_rate": 6e-3,
        "warmup": 50,
        "updates": 500,
        "eval_every": 125,
    },
    "thorough": {},
    "paper": {
        "tfds": "cnn_dailymail",
        "lowercase": True,
        "vocabulary_size": 50_000,
        "max_source_length": 400,
        "max_target_length": 100,
        "embedding_dim": 128,
        "units": 256,
        "initializers": "paper",
        "optimizer": "adagrad",
        "learning_rate": 0.15,
        "schedule": "constant",
        "batch_size": 16,
        "updates": 230_000,
        "coverage_updates": 3_000,
        "reset_optimizer": True,
        "eval_every": 2_000,
        "num_beams": 4,
        "min_summary_length": 35,
        "max_summary_length": 120,
    },
}
_Kind = Literal["lstm", "transformer"]  # of encoder and decoder


@config.configuration(
    "cnn_dailymail_pg",
    presets=PRESETS,
    claims={
        "pointer_generator summarizes better than seq2seq_attention": "rouge1",
        "pointer_generator_coverage repeats fewer trigrams than "
        "pointer_generator": "-repeated_3grams",
    },
    minutes={"demo": 5, "thorough": 25},
    max_source_length=120,
    max_target_length=60,
    clip_norm=2.0,
    updates=2_000,
    num_beams=4,
)
class Config(
    model_flags.PairsConfig,
    model_flags.AttentionConfig,
    model_flags.BackboneConfig,
    corpus_flags.SummariesConfig,
):
    """Corpus, model, training, search, and where the results go.

    Attributes:
        bin_dir: Folder with the publisher's files train_*.bin, val_*.bin and
            test_*.bin.
        vocabulary: Vocabulary file; built from the training data if not given.
        vocabulary_size: Size of the vocabulary that both sides share, special
            words included.
        systems: Systems to train, any of lead_3 (which needs no training),
            seq2seq_attention, pointer_generator and pointer_generator_coverage.
        head: Output head of the systems that point: pointer_generator,
            pointer_softmax, copynet, or your own, as MODULE:CLASS.
        encoder: Encoder: lstm (the paper's), or transformer, twice --units
            wide.
        decoder: Decoder: lstm (the paper's), or transformer, --units wide.
        initializers: Weight initializers: keras, or paper (the authors').
        normalize: Loss per update: mean over examples of their mean token loss
            (examples), mean over tokens, or mean over sentences of their summed
            loss (sentences); the baseline always uses tokens, as in the paper.
        coverage_updates: Number of updates with coverage, after those without;
            if not given, coverage starts within --updates, so that all systems
            are trained equally long.
        coverage_start_step: Train pointer_generator_coverage in one run and
            switch coverage on at this update. If not given: with
            --coverage_updates it starts from the weights of pointer_generator,
            or, where that is not among --systems, after --updates; without,
            after half of --updates.
        coverage_weight: Weight of the coverage loss.
        reset_optimizer: Reset the optimizer's state when coverage starts, as
            the authors do.
        decode_initial_attention: Attend once before the first word in search,
            as the authors' decoder does.
    """

    plain, untrained = ("seq2seq_attention",), ("lead_3",)

    bin_dir: str | None = config.corpus_file(corpus="folder", of_preset=True)
    vocabulary: str | None = config.file(replaced=True)
    vocabulary_size: config.VocabularySize = config.data.common(
        800, replaced=True
    )
    systems: list[Literal[SYSTEMS]] = config.systems(list(SYSTEMS))
    head: config.PointingHead = config.variant_flag.common("pointer_generator")
    encoder: _Kind = config.variant_flag.common("lstm", replaced=True)
    decoder: _Kind = config.variant_flag.common("lstm", replaced=True)
    initializers: Literal["keras", "paper"] = config.model(
        "keras", replaced=True
    )
    normalize: Literal["examples", "tokens", "sentences"] = config.training(
        "examples"
    )
    coverage_updates: PositiveInt | None = config.training(None, fixed=False)
    coverage_start_step: NonNegativeInt | None = config.training(None)
    coverage_weight: NonNegativeFloat = config.training(1.0)
    reset_optimizer: bool = config.training(False)
    decode_initial_attention: bool = config.search(False)


COLUMNS = {
    "R-1": "rouge1",
    "R-2": "rouge2",
    "R-L": "rougeL",
    "BLEU": "bleu",
    "% UNK": "unk_rate",
    "% new 3": "novel_3grams",
    "% rep. 3": "repeated_3grams",
    "p_gen": "generate_probability",
    "dev ppl": "perplexity",
    **config.TIME,
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import summary_data
    from tfcopy.experiments.run import Run

    check(config)
    run = Run(config)
    data = prepare(config, run.data_folder)
    test = summary_data.TestSet(data, config.bleu_tokenize)

    answers = {}
    for name in run.each(data.identity):
        if name == "lead_3":
            run.results[name] = test.score_texts(test.leads())
            continue
        system = build(run, name, data)
        trained = train(run, system, data)
        answers[name], scores = test.answer(system.served)
        run.results[name] = {**trained, **scores}

    references = test.reference_rates()
    summary_data.print_examples(test, answers)
    paper = reporting.comparable_paper_scores(config, PAPER)
    rows = {**run.results, "the references": references}
    reporting.print_table(rows, COLUMNS, paper)
    print(
        "ROUGE: F1, L of whole summaries, stemmed. % new 3 and % rep. 3: "
        "trigrams that are\nnot in the article, and that repeat others of the "
        "answer. p_gen: mean probability\nof generating the words of the "
        "answers, in percent."
    )
    if not run.systems:
        return run.finish(paper=paper, pairs=data.pairs, references=references)
    best = summary_data.best_on_validation(run, data)
    if data.corpus.generated:
        summary_data.print_unseen_names(run.systems[best.system].served)
    return run.finish(
        best, pairs=data.pairs, paper=paper, references=references
    )


def check(config):
    """Raises a ValueError that names a flag which makes no sense."""
    from tfcopy.experiments.pairs import pretrained, summary_data

    summary_data.check(config)
    pretrained.check(config)
    model_flags.check(config, attention_units=config.attention_units)
    if config.decoder == "transformer" and config.decode_initial_attention:
        raise ValueError(
            "--decode_initial_attention needs --decoder lstm, whose steps "
            "begin with what the last one attended to."
        )
    start, last = coverage_updates(config)
    if start >= last:
        raise ValueError(
            "--coverage_start_step must be below --updates where "
            "--coverage_updates is not given. "
            f"Received: {start}, --updates {last}."
        )


def prepare(config, folder):
    """Encodes the corpus by one vocabulary, truncated: `PairData`."""
    from tfcopy.data.corpora import cnn_dailymail
    from tfcopy.data.generated import demo_news
    from tfcopy.experiments.pairs import pair_data, summary_data

    if config.bin_dir is not None:
        corpus = cnn_dailymail.load_bin(config.bin_dir)
    else:
        corpus = summary_data.load_corpus(config, demo_news)
    return pair_data.prepare(
        config,
        corpus,
        (summary_data.make_tokenizer(config, corpus, folder),) * 2,
        folder,
        {
            "sizes": {"both": config.vocabulary_size},
            "files": {"both": config.vocabulary},
        },
        max_length=None,
        truncate=(config.max_source_length, config.max_target_length),
        append_eos=config.backbone is not None,
        unmatched="unk",
    )


def build(run, name, data):
    """Builds a system, text in and text out."""
    from tfcopy import models
    from tfcopy.experiments.pairs import pair_training, pretrained

    kind = run.kinds[name]
    coverage = kind == "pointer_generator_coverage"

    def make_model(config):
        options = {
            "head": head_for_kind(config, kind),
            "coverage": coverage,
            "coverage_enabled": False,
        }
        if config.backbone is not None:
            pieces = pretrained.pieces(config.backbone, run.data_folder)
            return pretrained.make_model(config, pieces=pieces, **options)
        return from_flags(
            models.pointer_generator,
            config,
            vocabulary_size=data.vocabularies[0].size,
            **options,
            **model_flags.model_options(config),
        )

    config = run.config
    search = {
        "min_length": config.min_summary_length,
        "max_length": config.max_summary_length,
        "length_offset": 1,
        "refill": True,  # as in the authors' search
    }
    own = {
        "max_source_length": config.max_source_length,
        "append_eos": config.backbone is not None,
    }
    return pair_training.build(
        run,
        name,
        data,
        make_model,
        search,
        lambda: own,
        warmup_texts=["A story ."],
    )


def train(run, system, data):
    """Trains a system; returns its part of the results.

    Coverage is trained in two phases. The first phase trains the
    pointer-generator, or takes its weights, and counts its updates, if it was
    trained before.
    """
    from tfcopy import losses, training
    from tfcopy.experiments.pairs import pair_training
    from tfcopy.experiments.training_choices import Batching

    config, kind = run.config, system.kind
    options = {"steps": config.updates, "normalize": config.normalize}
    before = 0
    if kind == "seq2seq_attention":
        options["normalize"] = "tokens"
    if kind == "pointer_generator_coverage":
        attention = system.model.cell.attention
        options["penalty"] = losses.CoveragePenalty(
            config.coverage_weight, attention.enabled
        )
        start, options["steps"] = coverage_updates(config)
        first = run.systems.get(name_of(config, "pointer_generator"))
        is_after = (
            config.coverage_start_step is None and start == config.updates
        )
        if is_after and first is not None:
            training.warm_start(system.model, first.model)
            before = run.results[first.name]["updates"]
            options["steps"] -= start
            start = 0
        options["phases"] = [
            training.Phase(start, attention.enable, config.reset_optimizer)
        ]
    loss = losses.of_head(system.model.head)
    trainer, _, results = pair_training.train(
        system, data, loss, metrics=coverage_metrics, **options
    )
    batching = from_flags(Batching, config)
    scores = trainer.evaluate(pair_training.dev_batches(batching, data))
    return {
        **results,
        "updates": before + results["updates"],
        "perplexity": scores.perplexity,
        "dev_generate_probability": 100
        * scores.metrics["generate_probability"],
        "dev_coverage_loss": scores.metrics["coverage_loss"],
    }


def coverage_updates(config):
    """Returns the update that coverage starts at, and the last one."""
    start, more = config.coverage_start_step, config.coverage_updates
    if start is None:
        start = config.updates // 2 if more is None else config.updates
    return start, config.updates if more is None else start + more


def coverage_metrics(batch, distribution):
    """Computes the mean p_gen and the coverage loss of a token."""
    import tensorflow as tf

    from tfcopy import losses
    from tfcopy.experiments.pairs import pair_training

    mean = pair_training.mean_over_targets
    return {
        "generate_probability": mean(tf.exp(distribution.log_generate), batch),
        "coverage_loss": mean(losses.coverage(distribution.attention), batch),
    }


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
