"""Language models that read definitions (Bahdanau et al., 2017, section 4.3).

Trains LSTMs that predict the next word: one that knows only its vocabulary
(baseline), and ones that read what a dictionary, the spelling or fixed vectors
say of all other words; compares their perplexities, over all words and after
unknown ones, and exports the best one.

    python -m tfcopy.recipes.lm1b_definitions            invented words, minutes
    python -m tfcopy.recipes.lm1b_definitions --preset brown \\
        --data brown.zip --wordnet /usr/share/wordnet    a million words
    python -m tfcopy.recipes.lm1b_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     One Billion Words

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import PositiveFloat, PositiveInt

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

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


@dataclasses.dataclass(frozen=True)
class Config:
    """Text, models, training, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        corpus: demo (invented words), brown, lm1b (One Billion Words) or
            files.
        data: Where the corpus is: brown.zip or its folder; the folder of One
            Billion Words, fetched by TensorFlow Datasets if not given; or
            a file or folder with one sentence a line.
        data_dir: Where TensorFlow Datasets keeps what it fetches.
        num_shards: Training shards of One Billion Words to read; one is about
            a hundredth.
        num_train: Sentences of the demo to train on.
        dictionary: File of `headword<TAB>definition` lines, plain or gzipped.
        wordnet: Or the folder of WordNet's database.
        vectors: File of word vectors, such as GloVe's, for glove.
        vectors_dim: Their size.
        systems: Which of baseline, lemma, spelling, dict1 (its own LSTM reads
            definitions), dict2 (another LSTM), dict2_spelling, dict_mean (the
            mean of their words' embeddings), dict_mean_spelling and glove to
            train.
        restricted: Whether sources tell only of words that have both a
            definition and a vector; then --vectors must be given.
        vocabulary_size: Words that are predicted, and embedded; the four
            special ones count.
        definition_vocabulary_size: Words of definitions that have embeddings
            of their own; they share those of the text if not given.
        num_characters: Characters that spellings are made of.
        max_definitions: Most definitions of an entry that are read.
        max_definition_length: Most words of one.
        depth: How deep the definitions of the words of definitions are read.
        phrases: Whether headwords of several words are looked for.
        max_length: Most words of a sentence that count.
        embedding_dim: Size of the embeddings.
        units: Size of the LSTM.
        dropout: Share of the states dropped.
        embedding_dropout: Share of the embeddings dropped before they are
            combined.
        initializers: keras (embeddings normal of deviation 1, all else as
            Keras does), glorot_uniform, or uniform (-0.05 to 0.05, as in the
            paper's code): of all weights.
        glorot_uniform: of all weights but biases.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Sentences of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        precision: float32 or mixed_bfloat16.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    corpus: Literal["demo", "brown", "lm1b", "files"] = "demo"
    data: str | None = None
    data_dir: str | None = None
    num_shards: PositiveInt = 1
    num_train: PositiveInt = 20_000
    dictionary: str | None = None
    wordnet: str | None = None
    vectors: str | None = None
    vectors_dim: PositiveInt = 64
    systems: list[
        Literal[
            "baseline",
            "lemma",
            "spelling",
            "dict1",
            "dict2",
            "dict2_spelling",
            "dict_mean",
            "dict_mean_spelling",
            "glove",
        ]
    ] = dataclasses.field(
        default_factory=lambda: ["baseline", "dict_mean", "glove"]
    )
    restricted: bool = False
    vocabulary_size: PositiveInt = 10_000
    definition_vocabulary_size: PositiveInt | None = None
    num_characters: PositiveInt = 1_000
    max_definitions: PositiveInt = 20
    depth: command_line.Seed = 0
    phrases: bool = False
    max_definition_length: PositiveInt = 30
    max_length: PositiveInt = 100
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 64
    dropout: command_line.Share = 0.0
    embedding_dropout: command_line.Share = 0.0
    initializers: Literal["keras", "glorot_uniform", "uniform"] = "keras"
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 3e-3
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 32
    clip_norm: PositiveFloat | None = 5.0
    updates: PositiveInt = 600
    eval_every: PositiveInt = 150
    patience: PositiveInt | None = None
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/lm1b_definitions"
    savedmodel_dir: str = "savedmodels/lm1b_definitions"
    fresh: bool = False


PRESETS = {
    "brown": {
        "corpus": "brown",
        "systems": ["baseline", "dict_mean", "spelling", "dict_mean_spelling"],
        "vocabulary_size": 4_000,
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


def run(config):
    """Trains, compares and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        import numpy as np

        from tfcopy.experiments import reporting
        from tfcopy.experiments.definitions import (
            definition_demo,
            definition_steps,
        )

    systems = systems_of()
    folder, strategy = definition_steps.begin(
        "lm1b_definitions", config, systems
    )
    corpus = load_corpus(config)
    demo = config.corpus == "demo"
    watch = reporting.Stopwatch()
    data, only = prepare(config, corpus)

    results, costs, built = {}, {}, {}
    for number, name in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {name}")
        one = built[name] = build(config, name, data, only, strategy)
        trainer, results[name] = train(config, name, one, data, folder)

        def score_of(texts):
            test = one.batches.evaluation(texts, config.batch_size)
            return score(trainer.predict(test))

        scores, costs[name] = score_of(data.test)
        results[name] |= scores
        if demo:
            groups = definition_demo.groups(data.test)
            results[name]["groups"] = {
                group: score_of(
                    data.test.subset(np.flatnonzero(groups == group))
                )[0]
                for group in definition_demo.GROUPS
            }

    print_examples(data, costs, one.features.vocabulary)
    print_comparison(config, results)
    return definition_steps.finish(
        "lm1b_definitions",
        config,
        folder,
        watch,
        results,
        ("perplexity", "baseline", "glove"),
        built,
        lambda name: servable(config, name, built[name], data),
        paper=PAPER,
    )


def systems_of():
    """The systems of the paper's Table 3, and the mean of definitions."""
    from tfcopy.experiments.definitions.definition_systems import System

    return {
        "baseline": System(),
        "lemma": System("headwords"),
        "spelling": System(spelling=True),
        "dict1": System(
            "definitions", "lstm", combine="sum", shares_reader=True
        ),
        "dict2": System("definitions", "lstm"),
        "dict2_spelling": System("definitions", "lstm", spelling=True),
        "dict_mean": System("definitions"),
        "dict_mean_spelling": System("definitions", spelling=True),
        "glove": System("vector"),
    }


def load_corpus(config):
    """The corpus that the flags ask for."""
    from tfcopy.data.corpora import brown, one_billion_words, sentences
    from tfcopy.data.generated import demo_definitions

    if config.corpus == "demo":
        return demo_definitions.sentences(num_train=config.num_train)
    if config.corpus == "lm1b":
        if config.data is None:
            return sentences.load_tfds("lm1b", config.data_dir)
        return one_billion_words.load(config.data, num_shards=config.num_shards)
    if config.data is None:
        raise ValueError(
            f"--data must name where the corpus is. Received: --corpus "
            f"{config.corpus} without --data."
        )
    load = brown.load if config.corpus == "brown" else sentences.load
    return load(config.data)


def read_sentences(split, tokenizer, max_length):
    """Yields what `WordTexts.from_examples` takes."""
    from tfcopy.data import chunks

    rows = chunks.map_chunks(
        lambda lines: tokenizer.tokenize(chunks.to_tensor(lines)).to_list(),
        split,
        total=split.num_examples,
        description="Cutting sentences into words",
    )
    for part in rows:
        for row in part:
            if row:
                words = [word.decode() for word in row[:max_length]]
                yield {"text": words}, {}


def prepare(config, corpus):
    """The sentences as words, and what the systems read.

    Returns:
        `(data, only)`: `definition_data.Data`; and the `Vocabulary` of words
        that sources tell of, `None` for all.
    """
    from tfcopy.experiments.definitions import definition_data

    tokenizer = definition_data.tokenizer_of(corpus)
    data = definition_data.prepare(
        config,
        corpus,
        lambda split: read_sentences(split, tokenizer, config.max_length),
        systems_of(),
        config.corpus == "demo",
    )
    only = None
    if config.restricted:
        only = definition_data.restricted(config, data)
    return data, only


def build(config, name, data, only, strategy):
    """A system with its model: `definition_systems.Built`."""
    from tfcopy.experiments.definitions import definition_systems

    return definition_systems.build(
        config,
        systems_of()[name],
        data,
        strategy,
        build_model,
        finish_batch,
        exclude_top_k=-1,
        begin=True,
        only=only,
    )


def build_model(config, system, data, features):
    """A system's model."""
    from tfcopy.experiments.definitions import definition_systems
    from tfcopy.layers import ForwardLSTM, RecurrentReader
    from tfcopy.models import lstm_language_model

    options = definition_systems.lstm_options(config)
    lstm = reader = None
    if system.shares_reader:
        lstm = ForwardLSTM(config.units, **options, name="lstm")
        reader = RecurrentReader(lstm)
    return lstm_language_model(
        definition_systems.build_embedding(
            config, system, data, features, reader
        ),
        features.vocabulary.size,
        units=config.units,
        lstm=lstm,
        dropout=config.dropout,
        **options,
        seed=config.seed,
    )


def finish_batch(features, words, found, labels):
    """A batch: a text is read from `BOS` to its last word but one."""
    text = words["text"]
    known = {key: text.with_flat_values(x) for key, x in found["text"].items()}
    read = {key: x[:, :-1].flat_values for key, x in known.items()}
    return {
        **features.inputs({"text": text[:, :-1]}, {"text": read}),
        "target_ids": known["ids"].to_tensor(),
    }


def train(config, name, built, data, folder):
    """Trains a system, or goes on training it."""
    from tfcopy import losses
    from tfcopy.experiments.definitions import (
        definition_samples,
        definition_steps,
    )

    def score_predictions(predictions):
        found, _ = score(predictions)
        return {k: value for k, value in found.items() if value is not None}

    return definition_steps.train(
        config,
        name,
        built,
        data,
        folder,
        losses.next_word,
        normalize="sentences",
        score_predictions=score_predictions,
        on_eval=definition_samples.NextWordSamples(built, data.validation),
    )


def score(predictions):
    """Perplexities over all words and over some.

    Args:
        predictions: Iterable of a batch and the scores of its next words.

    Returns:
        `(scores, costs)`: dict of the perplexity over all words; after words
        that are not in the vocabulary (`after_oov`); after those that are;
        and over the words that are in the vocabulary (`known_targets`). And a
        list with an array for each text: the cost of each word, nats.
    """
    import numpy as np

    from tfcopy import losses, tokens

    sums, rows = {}, []
    for batch, logits in predictions:
        costs = np.asarray(losses.next_word(batch, logits), np.float64)
        target, read = (
            np.asarray(batch[x]) for x in ("target_ids", "text_ids")
        )
        is_word = target != tokens.PAD
        groups = {
            "perplexity": is_word,
            "after_oov": is_word & (read == tokens.UNK),
            "after_known": is_word & (read != tokens.UNK),
            "known_targets": is_word & (target != tokens.UNK),
        }
        for name, mask in groups.items():
            total, number = sums.get(name, (0.0, 0))
            sums[name] = (
                total + costs[mask].sum(),
                number + int(mask.sum()),
            )
        rows += [x[mask] for x, mask in zip(costs, is_word)]
    return {
        name: float(np.exp(total / number)) if number else None
        for name, (total, number) in sums.items()
    }, rows


COLUMNS = {
    "test ppl": "perplexity",
    "after OOV": "after_oov",
    "after known": "after_known",
    "of known": "known_targets",
    "weights": "parameters",
    "updates": "updates",
    "seconds": "seconds_training",
}


def print_comparison(config, results):
    """A table of the systems, beside the paper's for its corpus."""
    from tfcopy.experiments import reporting

    paper = {}
    if config.corpus == "lm1b":
        paper = {
            f"{name}, paper, 1 %": dict(zip(("perplexity", "after_oov"), pair))
            for name, pair in PAPER.items()
            if name in results
        }
    reporting.print_table({**results, **paper}, COLUMNS)
    print(
        "Perplexity of the next word on the test set; after words that are not "
        "in the\nvocabulary; after the others; and of words that are in the "
        "vocabulary."
    )


def print_examples(data, costs, vocabulary, count=4):
    """Shows texts with unknown words, and how probable what follows them is.

    Args:
        data: `definitions.Data`.
        costs: Dict from a system's name to the costs that `score` gives.
        vocabulary: Of the words that are known.
        count: Number of texts.
    """
    import math

    print(
        "\nTexts of the test set, their words that are not in the vocabulary "
        "in [brackets],\nand the probability of the word after each of these:"
    )
    width = max(map(len, costs)) + 2
    shown = 0
    for i in range(len(data.test)):
        words = data.test.tokens("text", i)
        unknown = [t for t, x in enumerate(words[:-1]) if x not in vocabulary]
        if not unknown:
            continue
        marked = [x if x in vocabulary else f"[{x}]" for x in words]
        print(f"\n{'':{width}}{' '.join(marked)}")
        for name, rows in costs.items():
            told = ", ".join(
                f"{words[t + 1]} {100 * math.exp(-rows[i][t + 1]):.1f} %"
                for t in unknown
            )
            print(f"{name:{width}}{told}")
        shown += 1
        if shown == count:
            return


# What `serving.export --set` may change.
SEARCH_FLAGS = ("dictionary",)


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it; the corpus is read again.

    Args:
        config: The recipe's config.
        system: Its name.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    import tensorflow as tf

    from tfcopy.experiments.definitions import definition_steps

    if not config.restricted:  # which needs what other systems read
        config = dataclasses.replace(config, systems=[system])
    data, only = prepare(config, load_corpus(config))
    built = build(config, system, data, only, tf.distribute.get_strategy())
    definition_steps.load_weights(
        built, data, os.path.join(folder, system), checkpoint
    )
    return servable(config, system, built, data)


def servable(config, name, built, data):
    """What is exported of a system."""
    from tfcopy.experiments.definitions import definition_steps
    from tfcopy.serving.servables.word_predictor import WordPredictor

    texts = [
        {"text": " ".join(data.test.tokens("text", i))}
        for i in range(min(4, len(data.test)))
    ]
    return definition_steps.servable(
        WordPredictor,
        name,
        built,
        data,
        texts,
        max_length=config.max_length,
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
