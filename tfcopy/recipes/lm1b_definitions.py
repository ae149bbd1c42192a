"""Language models that read definitions (Bahdanau et al., 2017, section 4.3).

Trains LSTMs that predict the next word: one that knows only its vocabulary
(baseline), and others that look up all other words in a dictionary, in fixed
vectors, or by their spelling; compares their perplexities, over all words and
after unknown ones, and exports the best one.

    python -m tfcopy.recipes.lm1b_definitions            invented words, minutes
    python -m tfcopy.recipes.lm1b_definitions --preset brown \\
        --data brown.zip --wordnet /usr/share/wordnet    a million words
    python -m tfcopy.recipes.lm1b_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     One Billion Words

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.definitions import definition_flags
from tfcopy.experiments.definitions.definition_flags import WordSources
from tfcopy.flags import PositiveInt

# The systems of the paper's Table 3, and the mean of definitions.
SYSTEMS = {
    "baseline": WordSources(),
    "lemma": WordSources("headwords"),
    "spelling": WordSources(spelling=True),
    "dict1": WordSources(
        "definitions", "lstm", combine="sum", shares_reader=True
    ),
    "dict2": WordSources("definitions", "lstm"),
    "dict2_spelling": WordSources("definitions", "lstm", spelling=True),
    "dict_mean": WordSources("definitions"),
    "dict_mean_spelling": WordSources("definitions", spelling=True),
    "glove": WordSources("vector"),
}
# Test perplexity after training on 1 % of One Billion Words, and after words
# that are not in the vocabulary.
PAPER = {
    "baseline": (73.07, 102.09),
    "lemma": (70.57, 86.24),
    "spelling": (67.06, 55.04),
    "dict1": (69.14, 68.38),
    "dict2": (68.08, 65.77),
    "dict2_spelling": (66.23, 52.06),
    "glove": (63.83, 44.26),
}


PRESETS = {
    "brown": {
        "corpus": "brown",
        "systems": ["baseline", "dict_mean", "spelling", "dict_mean_spelling"],
        "vocabulary_size": 4_000,
        "definition_vocabulary_size": None,
        "embedding_dim": 128,
        "units": 128,
        "learning_rate": 2e-3,
        "updates": 4_000,
        "eval_every": 1_000,
    },
    "paper": {
        "corpus": "lm1b",
        "systems": ["baseline", "dict2", "spelling", "dict2_spelling"],
        "vectors_dim": 300,
        "vocabulary_size": 10_000,
        "definition_vocabulary_size": None,
        "embedding_dim": 500,
        "units": 500,
        "initializers": "uniform",
        "learning_rate": 3e-4,
        "schedule": "constant",
        "updates": 1_000_000,
        "eval_every": 2_000,
        "patience": 50,
    },
}


@config.configuration(
    "lm1b_definitions",
    presets=PRESETS,
    claims={"dict_mean reads unknown words better than baseline": "-after_oov"},
    minutes={"demo": 1},
    vectors_dim=64,
    vocabulary_size=230,
    definition_vocabulary_size=3_000,
    units=64,
    updates=600,
    eval_every=150,
)
class Config(definition_flags.DefinitionsConfig):
    """Text, models, training, and where the results go.

    Attributes:
        corpus: demo (invented words), brown, lm1b (One Billion Words) or files.
        data: Place of the corpus: brown.zip or its folder; the folder of One
            Billion Words, downloaded by TensorFlow Datasets if not given; or a
            file or folder with one sentence per line.
        num_shards: Number of training shards of One Billion Words to read, each
            about a hundredth of it.
        max_length: Sentences are truncated to this many words.
        systems: Systems to train, any of baseline, lemma, spelling, dict1 (the
            language model's own LSTM reads definitions), dict2 (another LSTM
            does), dict2_spelling, dict_mean (mean of the embeddings of their
            words), dict_mean_spelling and glove.
    """

    corpus: Literal["demo", "brown", "lm1b", "files"] = config.data.common(
        "demo", corpus="dataset"
    )
    data: str | None = config.corpus_file(of_preset=True)
    num_shards: PositiveInt = config.data(1)
    max_length: PositiveInt = config.data(100)
    systems: list[Literal[tuple(SYSTEMS)]] = config.systems(
        ["baseline", "dict_mean", "glove"]
    )


COLUMNS = {
    "test ppl": "perplexity",
    "after OOV": "after_oov",
    "after known": "after_known",
    "of known": "known_targets",
    **config.SIZE_AND_TIME,
}


def run(config):
    """Trains, compares and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.definitions import (
        definition_data,
        definition_pictures,
        next_word_systems,
        text_systems,
    )
    from tfcopy.experiments.run import Run

    run = Run(config)
    data = next_word_systems.prepare(config, SYSTEMS)

    costs = {}
    for name in run.each(data.identity):
        system = next_word_systems.build(run, name, SYSTEMS[name], data)
        trainer, trained = next_word_systems.train(system, data)

        def score(texts):
            return next_word_systems.score(
                text_systems.predict(trainer, system, texts)
            )

        scores, costs[name] = score(data.test)
        run.results[name] = {
            **trained,
            **scores,
            **definition_data.group_scores(
                config.corpus,
                data.test,
                lambda rows: score(data.test.subset(rows))[0],
            ),
        }

    next_word_systems.print_examples(
        data.test, costs, system.features.vocabulary
    )
    paper = {}
    if config.corpus == "lm1b":
        paper = {
            f"{name}, paper, 1 %": dict(zip(("perplexity", "after_oov"), pair))
            for name, pair in PAPER.items()
            if name in run.results
        }
    reporting.print_table(run.results | paper, COLUMNS)
    print(
        "Perplexity of the next word on the test set: overall, after "
        "out-of-vocabulary words,\nafter the others, and of words that are in "
        "the vocabulary."
    )
    return definition_pictures.finish(
        run, SYSTEMS, "perplexity", ("baseline", "glove"), paper=PAPER
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
