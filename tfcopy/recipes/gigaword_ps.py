"""Pointer softmax on headlines (Gulcehre et al., 2016, section 5.2).

Trains the paper's baseline (nmt_lvt: a translator from first sentences to
headlines, with the large vocabulary trick) and the same model with a pointer
softmax, compares them by ROUGE, shows what was copied, and exports the better
one. Pointers lead to out-of-vocabulary words (--pointers unk), or to these and
to named entities, which become numbered placeholders (--pointers entity).

    python -m tfcopy.recipes.gigaword_ps                    generated headlines
    python -m tfcopy.recipes.gigaword_ps --pointers entity
    python -m tfcopy.recipes.gigaword_ps --train a.src a.tgt  your own
    python -m tfcopy.recipes.gigaword_ps --train news.csv \\
        --source_column lead --target_column headline
    python -m tfcopy.recipes.gigaword_ps --preset paper --train a.src a.tgt

The paper's corpus, annotated Gigaword, is licensed. The one in TFDS (--tfds
gigaword) suits the baseline alone: its rare words are already replaced by UNK,
and its names are in lower case.

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import run_name
from tfcopy.experiments.pairs import corpus_flags, model_flags
from tfcopy.flags import PositiveInt

SYSTEMS = ("nmt_lvt", "pointer_softmax_lvt")


def _scores(*values):
    names = ("rouge1", "rouge2", "rougeL")
    names += tuple(f"{name}_recall" for name in names)
    return dict(zip(names, values))


# Tables 1 and 3 (recall), and Table 2.
PAPER = {
    "unk": {
        "nmt_lvt": _scores(34.87, 16.54, 32.27, 36.45, 17.41, 33.90),
        "pointer_softmax_lvt": _scores(
            35.19, 16.66, 32.51, 37.29, 17.75, 34.70
        ),
    },
    "entity": {
        "nmt_lvt": _scores(34.89, 16.78, 32.37),
        "pointer_softmax_lvt": _scores(35.11, 16.76, 32.55),
    },
}
# In a hundred examples.
PAPER_POINTERS = {
    "unk": {"train": 2.7, "validation": 9.1},
    "entity": {"train": 161, "validation": 139},
}


PRESETS = {
    "paper": {
        "num_validation": 2_000,
        "num_test": 2_000,
        "tokenization": "space",
        "source_vocabulary_size": 125_000,
        "target_vocabulary_size": 75_000,
        "candidates": 2_000,
        "embedding_dim": 100,
        "units": 200,
        "initializers": "dl4mt",
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "batch_size": 64,
        "normalize": "sentences",
        "updates": 500_000,
        "eval_every": 5_000,
        "patience": 10,
        "max_summary_length": 50,
        "bleu_tokenize": "none",
    }
}


@config.configuration(
    "gigaword_ps",
    presets=PRESETS,
    claims={
        "pointer_softmax_lvt writes better headlines than nmt_lvt": "rouge1"
    },
    minutes={"demo": 5},
    candidates=400,
    candidates_from="sources",
    schedule="constant",
    clip_norm=1.0,
    eval_every=200,
    patience=5,
    num_beams=5,
    max_summary_length=30,
)
class Config(
    model_flags.PointerSoftmaxConfig,
    corpus_flags.EntitiesConfig,
    corpus_flags.VocabulariesConfig,
    corpus_flags.SummariesConfig,
):
    """Corpus, model, training, search, and where the results go.

    Attributes:
        num_validation: Maximum number of validation pairs, drawn at random; all
            if not given.
        num_test: Maximum number of test pairs, drawn at random; all if not
            given.
        min_count: Words that occur less often on a side are left out of its
            vocabulary.
        source_vectors: File of word vectors to initialise the source
            embeddings: word2vec's text or binary format, or GloVe's, plain or
            compressed.
        target_vectors: File of word vectors to initialise the target
            embeddings; it may be the same file.
        systems: Systems to train, any of nmt_lvt and pointer_softmax_lvt.
        merge: Combination of several ways to produce a word (generating,
            copying) in search: max (the paper's) or sum.
        run: Name of the run; if not given, that of your data, or the preset's,
            with the suffix _entity for --pointers entity.
    """

    plain = ("nmt_lvt",)

    num_validation: PositiveInt | None = config.data(None)
    num_test: PositiveInt | None = config.data(None, fixed=False)
    min_count: PositiveInt = config.data(5, replaced=True)
    source_vectors: str | None = config.file(replaced=True)
    target_vectors: str | None = config.file(replaced=True)
    systems: list[Literal[SYSTEMS]] = config.systems(list(SYSTEMS))
    head: config.PointingHead = config.variant_flag.common(
        "pointer_softmax",
        f"Output head of the system that points: {config.POINTING}",
    )
    merge: Literal["max", "sum"] = config.search("max")


COLUMNS = {
    "R-1": "rouge1",
    "R-2": "rouge2",
    "R-L": "rougeL",
    "R-1 rec.": "rouge1_recall",
    "R-2 rec.": "rouge2_recall",
    "R-L rec.": "rougeL_recall",
    "% UNK": "unk_rate",
    "% pointed": "copy_rate",
    "dev nll": "nll",
    **config.TIME,
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import headlines, summary_data
    from tfcopy.experiments.run import Run

    points = "pointer_softmax_lvt" in config.systems
    headlines.check(config, points)
    suffix = "_entity" * (config.pointers == "entity")
    run = Run(config, config.run or f"{run_name(config)}{suffix}")
    data = headlines.prepare(config, run.data_folder, points)
    test = summary_data.TestSet(data, config.bleu_tokenize, split=False)

    answers = {}
    for name in run.each(data.identity):
        system = headlines.build(run, name, data)
        results = headlines.train_and_score(system, data, test)
        run.results[name], answers[name] = results

    summary_data.print_examples(test, answers)
    paper, pointers = (
        reporting.comparable_paper_scores(config, figures[config.pointers])
        for figures in (PAPER, PAPER_POINTERS)
    )
    counted = headlines.pointers_per_100(data)
    print_comparison(run.results, paper, counted, pointers)
    reporting.print_lead(run.results)
    reporting.draw(run.results, run.folder, "nats per headline")
    return run.finish(
        summary_data.best_on_validation(run, data),
        pairs=data.pairs,
        paper=paper,
        pointers_per_100=counted,
        paper_pointers_per_100=pointers,
    )


def print_comparison(results, paper, pointers, paper_pointers):
    """Prints a table of the systems beside the paper's."""
    from tfcopy.experiments import reporting

    rows = {}
    for system, scores in results.items():
        rows[system] = scores
        for part in ("unk_replaced", "anonymised"):
            if part in scores:
                title = part.replace("unk_replaced", "UNK replaced")
                rows[f"{system}, {title}"] = scores[part]
    reporting.print_table(rows, COLUMNS, paper)
    of_paper = ""
    if paper_pointers:
        train, validation = (
            paper_pointers["train"],
            paper_pointers["validation"],
        )
        of_paper = f"; the paper's {train:g} and {validation:g}"
    print(
        "ROUGE: F1 and recall of whole headlines, stemmed. dev nll: nats per "
        "headline, not\ncomparable: the baseline does not say where an unknown "
        "word comes from. Words pointed\nat in 100 examples: "
        f"{pointers['train']:g} in training, {pointers['validation']:g} in "
        f"validation{of_paper}."
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
