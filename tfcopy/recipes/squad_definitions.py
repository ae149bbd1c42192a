"""Questions answered with definitions (Bahdanau et al., 2017, section 4.1).

Trains coattention networks that find the answer to a question in a paragraph:
one that knows only its vocabulary (B), and ones that read what a dictionary,
the spelling or fixed vectors say of words; scores them as SQuAD does, draws
where they look, and exports the best one.

    python -m tfcopy.recipes.squad_definitions           invented words, minutes
    python -m tfcopy.recipes.squad_definitions --preset small \\
        --train_file xquad.en.json --wordnet /usr/share/wordnet
    python -m tfcopy.recipes.squad_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     SQuAD 1.1

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import PositiveFloat, PositiveInt

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# Exact match on SQuAD's public set, percent.
PAPER = {
    "B": 52.58,
    "D1": 56.27,
    "D2": 57.03,
    "D3": 58.90,
    "D4": 58.78,
    "S": 61.94,
    "SL": 62.40,
    "SD": 63.06,
    "G": 64.19,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Questions, models, training, and where the results go.

    Every field is a flag, and this is the only place of its default. Flags
    that start with `baseline_` are those of B, where these differ.

    Attributes:
        preset: Which sizes the other fields started from.
        corpus: demo (invented words), files, or a dataset of TensorFlow
            Datasets such as squad.
        train_file: Questions to train on, JSON in the format of SQuAD 1.1.
        validation_file: The same to validate; questions to train on are held
            out if not given.
        test_file: The same to test.
        num_held_out: How many questions are held out at least for a split
            without a file; one in twenty if not given.
        data_dir: Where TensorFlow Datasets keeps what it fetches.
        num_train: Questions of the demo to train on.
        num_things: Things in a context of the demo.
        dictionary: File of `headword<TAB>definition` lines, plain or gzipped.
        wordnet: Or the folder of WordNet's database.
        vectors: File of word vectors, such as GloVe's, for G.
        vectors_dim: Their size.
        systems: Which to train of B; D1 (definitions, their mean, summed
            without learning from it), D2 (with), D3 (and transformed), D4
            (read by an LSTM); S (spelling), SL (that of lemmas, too), SD
            (spelling and definitions); and G (fixed vectors).
        vocabulary_size: Words that have embeddings of their own; the four
            special ones count.
        baseline_vocabulary_size: The same of B.
        definition_vocabulary_size: Words of definitions that have embeddings
            of their own; they share those of the text if not given.
        exclude_top_k: So many of the most frequent words are not looked up.
        num_characters: Characters that spellings are made of.
        max_definitions: Most definitions of an entry that are read.
        max_definition_length: Most words of one.
        depth: How deep the definitions of the words of definitions are read.
        phrases: Whether headwords of several words are looked for.
        embedding_dim: Size of the embeddings.
        units: Size of all LSTMs, each direction, and of the hidden layers.
        bidirectional: Whether texts are read backwards as well.
        dropout: Share of states and hidden layers dropped.
        embedding_dropout: Share of the embeddings dropped before they are
            combined.
        initializers: keras (embeddings normal of deviation 1, all else as
            Keras does), glorot_uniform, or uniform (-0.05 to 0.05, as in the
            paper's code): of all weights.
        glorot_uniform: of all embeddings and readers.
        max_answer_length: Most words of an answer.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        anneal_epoch: After so many epochs the best weights are trained on at a
            tenth of the learning rate.
        batch_size: Questions of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        epochs: Most passes over the training questions.
        eval_every: Updates between two scores on the validation set; once an
            epoch if not given.
        patience: Scores in a row without a better one that end training.
        precision: float32 or mixed_bfloat16.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    corpus: str = "demo"
    train_file: str | None = None
    validation_file: str | None = None
    test_file: str | None = None
    num_held_out: PositiveInt | None = None
    data_dir: str | None = None
    num_train: PositiveInt = 20_000
    num_things: PositiveInt = 3
    dictionary: str | None = None
    wordnet: str | None = None
    vectors: str | None = None
    vectors_dim: PositiveInt = 48
    systems: list[
        Literal["B", "D1", "D2", "D3", "D4", "S", "SL", "SD", "G"]
    ] = dataclasses.field(default_factory=lambda: ["B", "D3", "G"])
    vocabulary_size: PositiveInt = 3_000
    baseline_vocabulary_size: PositiveInt | None = None
    definition_vocabulary_size: PositiveInt | None = None
    exclude_top_k: command_line.Seed = 0
    num_characters: PositiveInt = 1_000
    max_definitions: PositiveInt = 20
    depth: command_line.Seed = 0
    phrases: bool = False
    max_definition_length: PositiveInt = 30
    embedding_dim: PositiveInt = 48
    units: PositiveInt = 48
    bidirectional: bool = False
    dropout: command_line.Share = 0.0
    embedding_dropout: command_line.Share = 0.0
    initializers: Literal["keras", "glorot_uniform", "uniform"] = "keras"
    max_answer_length: PositiveInt = 30
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 3e-3
    schedule: Literal["constant", "linear"] = "linear"
    anneal_epoch: PositiveInt | None = None
    batch_size: PositiveInt = 32
    clip_norm: PositiveFloat | None = 50.0
    updates: PositiveInt | None = 3_000
    epochs: PositiveInt | None = None
    eval_every: PositiveInt | None = 750
    patience: PositiveInt | None = None
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/squad_definitions"
    savedmodel_dir: str = "savedmodels/squad_definitions"
    fresh: bool = False


_REAL = {
    "corpus": "files",
    "systems": ["B", "D3", "S", "SD"],
    "dropout": 0.2,
    "learning_rate": 1e-3,
    "schedule": "constant",
    "updates": None,
    "eval_every": None,
}
PRESETS = {
    "small": {
        **_REAL,
        "num_held_out": 100,
        "vocabulary_size": 2_000,
        "embedding_dim": 64,
        "units": 64,
        "embedding_dropout": 0.3,
        "epochs": 20,
    },
    "paper": {
        **_REAL,
        "corpus": "squad",
        "systems": ["B", "D1", "D2", "D3", "D4", "S", "SL", "SD"],
        "vectors_dim": 300,
        "initializers": "uniform",
        "baseline_vocabulary_size": 10_000,
        "embedding_dim": 200,
        "units": 200,
        "anneal_epoch": 10,
        "epochs": 12,
    },
}


def run(config):
    """Trains, compares, draws and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy.experiments import reporting
        from tfcopy.experiments.definitions import (
            definition_demo,
            definition_pictures,
            definition_steps,
        )

    systems = systems_of()
    check(config)
    folder, strategy = definition_steps.begin(
        "squad_definitions", config, systems
    )
    corpus = load_corpus(config)
    demo = config.corpus == "demo"
    watch = reporting.Stopwatch()
    data, questions = prepare(config, corpus)
    test = questions["test"]

    results, built, answers = {}, {}, {}
    for number, name in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {name}")
        own = config_of(config, name)
        one = built[name] = build(own, name, data, strategy)
        trainer, results[name] = train(
            own, name, one, data, questions["validation"], folder
        )
        batches = one.batches.evaluation(data.test, config.batch_size)
        answers[name] = answer(
            trainer.predict(batches), test, config.max_answer_length
        )
        results[name] |= score(answers[name], test)
        if demo:
            groups = definition_demo.groups(data.test)
            results[name]["groups"] = {
                group: score(*only(answers[name], test, groups, group))
                for group in definition_demo.GROUPS
            }

    print_examples(test, answers)
    print_comparison(config, results)
    reading = [x for x in config.systems if systems[x].reads_more]
    if reading and len(results) > 1:
        better = max(reading, key=lambda x: results[x]["exact_match"])
        worse = next(x for x in config.systems if x != better)
        definition_pictures.draw_reading(
            {name: built[name] for name in (worse, better)},
            test,
            answers,
            data.test,
            folder,
        )
    return definition_steps.finish(
        "squad_definitions",
        config,
        folder,
        watch,
        results,
        ("exact_match", "B", "G"),
        built,
        lambda name: servable(config, name, built[name], data, test),
        paper=PAPER,
    )


def systems_of():
    """The systems of the paper's Table 1."""
    from tfcopy.experiments.definitions.definition_systems import System

    return {
        "B": System(),
        "D1": System("definitions", combine="sum", stop_gradient=True),
        "D2": System("definitions", combine="sum"),
        "D3": System("definitions"),
        "D4": System("definitions", "lstm"),
        "S": System(spelling=True),
        "SL": System("spellings", "lstm", spelling=True),
        "SD": System("definitions", spelling=True),
        "G": System(fixed=True),
    }


def check(config):
    """Raises a ValueError for flags that do not go together."""
    if config.updates is None and config.epochs is None:
        raise ValueError("--updates or --epochs must be given.")
    if config.schedule == "linear" and config.updates is None:
        raise ValueError("--schedule linear needs --updates.")
    if config.schedule == "linear" and config.anneal_epoch is not None:
        raise ValueError("--anneal_epoch needs --schedule constant.")


def load_corpus(config):
    """The corpus that the flags ask for."""
    from tfcopy.data.corpora import squad
    from tfcopy.data.generated import demo_definitions

    if config.corpus == "demo":
        return demo_definitions.questions(
            num_train=config.num_train, num_things=config.num_things
        )
    if config.corpus != "files":
        return squad.load_tfds(config.corpus, config.data_dir)
    if config.train_file is None:
        raise ValueError(
            "--train_file must be given. Received: --corpus files without it."
        )
    return squad.load(
        config.train_file,
        config.validation_file,
        config.test_file,
        num_held_out=config.num_held_out,
    )


def read_questions(corpus, split, tokenizer, kept):
    """Yields what `WordTexts.from_examples` takes.

    Args:
        corpus: Whose split it is.
        split: The split.
        tokenizer: `Tokenizer`.
        kept: Dict to which the questions of validation and test are added, as
            lists of `TokenizedQuestion`.
    """
    from tfcopy.data.definitions import answer_spans

    rows = None
    for name in ("validation", "test"):
        if split is corpus.splits[name]:
            rows = kept[name] = []
    for question in answer_spans.tokenize(split, tokenizer):
        if rows is not None:
            rows.append(question)
        first, last = question.spans[0]
        yield (
            {
                "context": question.context_tokens,
                "question": question.question_tokens,
            },
            {"start": first, "end": last},
        )


def count_once(texts):
    """Counts words, those of a context once for all of its questions."""
    import collections

    counts = collections.Counter()
    words, previous = texts.words, None
    for i in range(len(texts)):
        context = texts.texts["context"][i].tobytes()
        names = ("context", "question")[context == previous :]
        for name in names:
            counts.update(words[x] for x in texts.texts[name][i])
        previous = context
    return counts


def prepare(config, corpus):
    """The questions as words, and what the systems read.

    Returns:
        `(data, questions)`: `definition_data.Data`, and, by split, the
        `TokenizedQuestion`s that are scored.
    """
    from tfcopy.experiments.definitions import definition_data

    tokenizer = definition_data.tokenizer_of(corpus)
    questions = {}
    data = definition_data.prepare(
        config,
        corpus,
        lambda split: read_questions(corpus, split, tokenizer, questions),
        systems_of(),
        config.corpus == "demo",
        count_once,
    )
    return data, questions


def config_of(config, name):
    """The config of one system: the baseline has flags of its own."""
    from tfcopy.experiments import reporting

    return reporting.baseline_config(config) if name == "B" else config


def build(config, name, data, strategy):
    """A system with its model: `definition_systems.Built`."""
    from tfcopy.experiments.definitions import definition_systems

    return definition_systems.build(
        config,
        systems_of()[name],
        data,
        strategy,
        build_model,
        exclude_top_k=config.exclude_top_k,
        end=True,
    )


def build_model(config, system, data, features):
    """A system's model."""
    from tfcopy.experiments.definitions import definition_systems
    from tfcopy.models import coattention

    return coattention(
        definition_systems.build_embedding(config, system, data, features),
        units=config.units,
        bidirectional_encoder=config.bidirectional,
        dropout=config.dropout,
        **definition_systems.lstm_options(config),
        seed=config.seed,
    )


def train(config, name, built, data, questions, folder):
    """Trains a system, or goes on training it."""
    from tfcopy import losses, training
    from tfcopy.experiments import reporting
    from tfcopy.experiments.definitions import (
        definition_samples,
        definition_steps,
    )

    def find(predictions, some):
        return answer(predictions, some, config.max_answer_length)

    def score_predictions(predictions):
        scores = score(find(predictions, questions), questions)
        return {key: scores[key] for key in ("exact_match", "f1")}

    optimizer = reporting.optimizer(config, config.updates)
    phases = []
    if config.anneal_epoch is not None:
        phases.append(
            training.anneal(config.anneal_epoch, optimizer, unit="epochs")
        )
    return definition_steps.train(
        config,
        name,
        built,
        data,
        folder,
        losses.span,
        optimizer=optimizer,
        phases=phases,
        epochs=config.epochs,
        targets="start",
        score_predictions=score_predictions,
        score="exact_match",
        on_eval=definition_samples.AnswerSamples(
            built, questions, data.validation, find
        ),
    )


@dataclasses.dataclass(frozen=True)
class Answers:
    """What a system answers to questions, in their order.

    Attributes:
        texts: The best spans, as they stand in the contexts.
        independent: The same where start and end are chosen each for itself.
        spans: Of `texts`, pairs of places of words.
        log_probs: Of the true spans, nats.
    """

    texts: list
    independent: list
    spans: list
    log_probs: list


def answer(predictions, questions, max_length):
    """Finds the answers.

    Args:
        predictions: Iterable of a batch and the scores of its spans.
        questions: `TokenizedQuestion`s, in the same order.
        max_length: Most words of an answer.

    Returns:
        `Answers`.
    """
    import numpy as np

    from tfcopy import losses
    from tfcopy.decoding import independent_spans, joint_spans

    joint, independent, log_probs = [], [], []
    for batch, scores in predictions:
        # An answer ends before the mark at the end of the context at last.
        found = joint_spans(scores["start"], scores["end"], max_length)
        joint += zip(*(np.asarray(x).tolist() for x in found))
        found = independent_spans(scores["start"], scores["end"])
        independent += zip(*(np.asarray(x).tolist() for x in found))
        log_probs += (-np.asarray(losses.span(batch, scores))[:, 0]).tolist()
    return Answers(
        [q.text(*span) for q, span in zip(questions, joint)],
        [q.text(*span) for q, span in zip(questions, independent)],
        joint,
        log_probs,
    )


def score(answers, questions):
    """The official scores, in percent, with a 95 % interval."""
    from tfcopy.evaluation import questions as squad_evaluation
    from tfcopy.evaluation import translations

    references = [question.references for question in questions]
    scores = {
        "exact_match": squad_evaluation.exact_match(answers.texts, references),
        "f1": squad_evaluation.f1(answers.texts, references),
        "independent_exact_match": squad_evaluation.exact_match(
            answers.independent, references
        ),
        "independent_f1": squad_evaluation.f1(answers.independent, references),
    }
    interval = translations.interval(scores["exact_match"], len(questions))
    return {name: round(value, 2) for name, value in scores.items()} | {
        "interval": [round(x, 2) for x in interval]
    }


def only(answers, questions, groups, group):
    """The answers to the questions of one group, and these."""
    rows = [i for i, name in enumerate(groups) if name == group]
    fields = {
        field.name: [getattr(answers, field.name)[i] for i in rows]
        for field in dataclasses.fields(answers)
    }
    return Answers(**fields), [questions[i] for i in rows]


def print_examples(questions, answers, count=3):
    """Shows questions, and what the systems answer."""
    print("\nExamples from the test set:")
    width = max(map(len, [*answers, "question", "reference"])) + 2
    for i in range(min(count, len(questions))):
        example = questions[i].example
        print(f"\n{'context':{width}}{example.context}")
        print(f"{'question':{width}}{example.question}")
        for name, found in answers.items():
            print(f"{name:{width}}{found.texts[i]}")
        print(f"{'reference':{width}}{example.answers[0].text}")


def print_comparison(config, results):
    """A table of the systems, beside the paper's for its corpus."""
    from tfcopy.experiments import reporting

    columns = {
        "EM": "exact_match",
        "F1": "f1",
        "EM, indep.": "independent_exact_match",
        "weights": "parameters",
        "updates": "updates",
        "seconds": "seconds_training",
    }
    paper = {}
    if config.corpus == "squad":
        paper = {
            f"{name}, paper": {"independent_exact_match": PAPER[name]}
            for name in results
        }
    reporting.print_table({**results, **paper}, columns)
    print(
        "Official scores on the test set, percent; EM with start and end "
        "chosen each for\nitself, as in the paper."
    )


# What `serving.export --set` may change.
SEARCH_FLAGS = ("dictionary", "max_answer_length")


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

    config = dataclasses.replace(config_of(config, system), systems=[system])
    data, questions = prepare(config, load_corpus(config))
    built = build(config, system, data, tf.distribute.get_strategy())
    definition_steps.load_weights(
        built, data, os.path.join(folder, system), checkpoint
    )
    return servable(config, system, built, data, questions["test"])


def servable(config, name, built, data, test):
    """What is exported of a system."""
    from tfcopy.experiments.definitions import definition_steps
    from tfcopy.serving.servables.answer_finder import AnswerFinder

    texts = [
        {"context": x.example.context, "question": x.example.question}
        for x in test[:4]
    ]
    return definition_steps.servable(
        AnswerFinder,
        name,
        built,
        data,
        texts,
        max_answer_length=config.max_answer_length,
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
