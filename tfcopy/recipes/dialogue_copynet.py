"""CopyNet in single-turn dialogue (Gu et al., 2016).

Trains an attentional encoder-decoder (rnnsearch) and CopyNet (copynet) on
inputs and responses made from 173 patterns, whose slots hold names, places,
dates and the like: DS-I, whose test inputs share the fillers of the training
inputs, and DS-II, whose fillers were never seen in training. Measures how often
the response is the best answer, and among the ten best; exports the best.

    python -m tfcopy.recipes.dialogue_copynet                    a small demo
    python -m tfcopy.recipes.dialogue_copynet --preset thorough  trained longer
    python -m tfcopy.recipes.dialogue_copynet --preset paper    as in the paper
    python -m tfcopy.recipes.dialogue_copynet --train a.src a.tgt
                                            your own inputs and responses

Repeating an interrupted command resumes it where it stopped.
"""

import os
import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import check_corpus
from tfcopy.experiments.pairs import corpus_flags, model_flags
from tfcopy.flags import PositiveInt

SYSTEMS = ("enc_dec", "rnnsearch", "copynet")
# With the authors' own 173 patterns, in Chinese.
PAPER = {
    "rnnsearch": {
        "DS-I": {"top1": 44.1, "top10": 57.7},
        "DS-II": {"top1": 13.5, "top10": 15.9},
    },
    "copynet": {
        "DS-I": {"top1": 61.2, "top10": 71.0},
        "DS-II": {"top1": 50.5, "top10": 64.8},
    },
}

SHOWN = 4  # answers


PRESETS = {
    "demo": {
        "dropout": 0.0,
        "learning_rate": 5e-3,
        "warmup": 50,
        "updates": 800,
        "eval_every": 200,
    },
    "thorough": {},
    "paper": {
        "tokenization": "characters",
        "embedding_dim": 150,
        "units": 300,
        "learning_rate": 1e-3,
        "batch_size": 20,
        "updates": 3_250,
        "eval_every": 325,
    },
}


@config.configuration(
    "dialogue_copynet",
    presets=PRESETS,
    claims={"copynet answers rightly more often than rnnsearch": "top1"},
    minutes={"demo": 6, "thorough": 11},
    unfinished_compete=True,
    forbid_unk=True,
    dropout=0.2,
    batch_size=64,
    updates=2_000,
    length_penalty=0.0,
    max_target_length=80,
)
class Config(
    model_flags.CopyNetConfig, corpus_flags.FilesConfig, corpus_flags.CaseConfig
):
    """Dialogues, model, training, search, and where the results go.

    Attributes:
        datasets: Generated datasets to train on, DS-I, DS-II or both.
        tokenization: words, or characters, as in the paper (of Chinese).
        min_count: Words that occur less often are left out of the vocabulary;
            characters never are.
        max_size: Maximum size of the vocabulary, special words included; no
            limit if not given.
        max_source_length: Inputs are truncated to this many tokens.
        num_train: Number of dialogues to generate for training.
        num_test: Number of dialogues to generate for testing.
        systems: Systems to train, any of enc_dec, rnnsearch and copynet.
    """

    datasets: list[Literal["DS-I", "DS-II"]] = config.data.common(
        ["DS-I", "DS-II"], fixed=False
    )
    tokenization: Literal["words", "characters"] = config.data.common("words")
    min_count: PositiveInt = config.data(2)
    max_size: PositiveInt | None = config.data(None)
    max_source_length: PositiveInt = config.data.common(200)
    num_train: PositiveInt = config.data.common(6_500)
    num_test: PositiveInt = config.data(1_500, fixed=False)
    systems: list[Literal[SYSTEMS]] = config.systems(["rnnsearch", "copynet"])


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import copynet_systems
    from tfcopy.experiments.run import Run

    check_corpus(config)
    copynet_systems.check(config)
    run = Run(config)
    ceilings, pairs = {}, {}
    for part, (corpus, ceiling) in load(config).items():
        ceilings[part] = ceiling
        data = prepare(config, corpus, os.path.join(run.folder, part, "data"))
        pairs[part] = data.pairs
        answers = {}
        for name in run.each(data.identity, part):
            limits = config.max_source_length, config.max_target_length
            system = copynet_systems.build(
                run, name, data, limits=limits, part=part, dataset=part
            )
            trained = copynet_systems.train(system, data)
            answers[name], scores = answer(system.served, data)
            run.results.setdefault(name, {})[part] = {**trained, **scores}
        reporting.print_marked_examples(
            data.test, answers, unit=config.tokenization
        )

    reporting.add_means(run.results, ceilings, ("top1", "top10"))
    print_comparison(run.results, ceilings)

    def score(texts, references):
        references = retokenize(data, references)
        return translations.exact_match(texts, references)

    return run.finish(
        run.best_answers("top1", data, score, part),
        paper=reporting.comparable_paper_scores(config, PAPER),
        pairs=pairs,
        ceilings={
            part: {"top1": top1} for part, top1 in ceilings.items() if top1
        },
    )


def load(config):
    """Loads or generates the dialogues that the flags describe.

    Returns:
        Dict from a name to a corpus and the best possible top-1 accuracy on
        its test set, `None` where that is not known.
    """
    from tfcopy.data.generated import dialogue
    from tfcopy.experiments.pairs import pair_data

    if config.max_size is not None and config.max_size < 5:
        raise ValueError(
            "--max_size must be at least 5: four words are special. "
            f"Received: {config.max_size}."
        )
    corpus = pair_data.load_files(config)
    if corpus is not None:
        return {"own": (corpus, None)}
    if not config.datasets:
        raise ValueError("--datasets must name DS-I, DS-II or both.")
    corpora = {}
    for name in config.datasets:
        made = dialogue.load(
            name, num_train=config.num_train, num_test=config.num_test
        )
        corpora[name] = made.corpus, round(made.ceiling_top1, 2)
    return corpora


def prepare(config, corpus, folder):
    """Encodes a corpus as ids, kept in a folder: `PairData`."""
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import copynet_systems

    of_words = config.tokenization == "words"
    mode = "moses" if of_words else "characters"
    return copynet_systems.prepare(
        config,
        corpus,
        Tokenizer(mode, "en", config.lowercase),
        folder,
        max_size=config.max_size,
        min_count=config.min_count if of_words else 1,
        truncate=(config.max_source_length, None),
    )


def answer(translator, data):
    """Answers the test inputs.

    Returns:
        `(translations, scores)`: of the first inputs, to be shown, and of all
        top-1 and top-10 accuracy and the 95 % interval of the first.
    """
    from tfcopy.evaluation import translations
    from tfcopy.experiments import reporting
    from tfcopy.experiments.run import measure_time

    sources = [source for source, _ in data.test]
    references = retokenize(data, [target for _, target in data.test])
    found, seconds = measure_time(translator.n_best_all, sources)
    candidates = [[answer.text for answer in answers] for answers in found]
    top1 = translations.top_n_accuracy(candidates, references, 1)
    top10 = translations.top_n_accuracy(candidates, references, 10)
    return [best for best, *_ in found[:SHOWN]], {
        **reporting.share("top1", top1, len(references), "top1_interval"),
        "top10": round(top10, 2),
        "seconds_translating": seconds,
    }


def retokenize(data, texts):
    """Tokenizes and detokenizes texts, so that they compare to answers."""
    from tfcopy.data.text.tokenization import string_tensor

    tokenizer = data.tokenizers[1]
    tokens = tokenizer.tokenize(string_tensor(texts))
    return [text.decode() for text in tokenizer.detokenize(tokens).numpy()]


def print_comparison(results, ceilings):
    """Prints a table of the systems beside the paper's."""
    from tfcopy.experiments import reporting

    others = " (the paper's dialogues were different)"
    print(f"\nAccuracy, in percent{'' if 'own' in ceilings else others}:")
    best = {name: {"top1": top1} for name, top1 in ceilings.items() if top1}
    paper = {} if "own" in ceilings else PAPER
    shown = results | {f"{name}, paper": x for name, x in paper.items()}
    columns = [(name, n) for name in ceilings for n in ("top1", "top10")]
    rows = {
        title: {
            f"{name} {n}": f"{scores[name][n]:.1f}"
            for name, n in columns
            if n in scores.get(name, {})
        }
        for title, scores in (shown | {"best possible": best}).items()
    }
    titles = [f"{name} {n}" for name, n in columns]
    reporting.print_table(
        {title: row for title, row in rows.items() if row},
        dict(zip(titles, titles)),
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
