"""The rarest word of a sequence: task, model, training, errors.

Shapes: B sequences, S words of each.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from tfcopy import losses
from tfcopy.checked_files import read_json, write_json
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.data.generated import rarest_word_task
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import SearchOptions
from tfcopy.experiments import reporting, training_choices
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs.model_flags import RarestWordConfig
from tfcopy.experiments.pairs.pair_training import SamplePictures
from tfcopy.experiments.reporting import figures
from tfcopy.experiments.run import System
from tfcopy.flags import name_flags
from tfcopy.layers import copying
from tfcopy.models.rarest_word_model import RarestWord, best_words
from tfcopy.serving.servables.translator import Translator

_EVALUATED = 500  # sequences at once
_ANSWERS = 5  # returned by `analyse`
_DATA_SEED = 0  # of held-out sequences, and of --train_size


@dataclasses.dataclass(frozen=True)
class Data:
    """The task made ready.

    Attributes:
        task: `rarest_word_task.RarestWord`, with the words that are pointed at.
        train: `rarest_word_task.TrainingSequences`.
        validation: Word numbers of the validation sequences, `(B, S)`.
        test: Word numbers of the test sequences, `(B, S)`.
    """

    task: rarest_word_task.RarestWord
    train: rarest_word_task.TrainingSequences
    validation: np.ndarray
    test: np.ndarray

    @property
    def reads(self):
        """Returns the name of the training data that `expectations` counts."""
        if self.train.size is None:
            return "1,000 updates."
        return f"the {self.train.size:,} sequences to train on."

    @property
    def expectations(self):
        """Returns the `RarestWord.expect` of the training data."""
        if self.train.size is None:
            return self.task.expect(1_000, self.train.batch_size)
        return self.task.expect(1, self.train.size)

    @property
    def examples(self):
        """Returns test texts with their rarest words, two of each kind."""
        is_pointed = self.task.is_pointed(self.test)
        kinds = [np.flatnonzero(is_pointed == kind) for kind in (True, False)]
        words = self.test[np.concatenate([rows[:2] for rows in kinds])]
        return [(text(row), text(row[[row.argmax()]])) for row in words]


def text(words):
    """Returns a sequence as text."""
    return " ".join(f"w{word}" for word in words)


def prepare(config: RarestWordConfig) -> Data:
    """Prepares the task that the flags describe; a ValueError names one."""
    limit = from_flags(training_choices.Batching, config).limit(
        [(config.length,)]
    )
    if isinstance(limit, TokenLimit):
        with training_choices.naming_batch_tokens():
            limit.check([np.array([config.length])])
        limit = limit.rows((config.length,))
    with name_flags(size="train_size"):
        task = from_flags(rarest_word_task.RarestWord, config)
        train = rarest_word_task.TrainingSequences(
            task, limit, config.seed, config.train_size, _DATA_SEED
        )
    return Data(
        task,
        train,
        task.draw(config.num_validation, "validation", _DATA_SEED),
        task.draw(config.num_test, "test", _DATA_SEED),
    )


def train_and_test(system: System, data):
    """Trains a system, or resumes its training, and counts its errors.

    Args:
        system: `System` named `"softmax"` or `"pointer_softmax"`; without a
            folder nothing is kept.
        data: `Data`.

    Returns:
        The system's scores on the test set, with the weights of the best
        validation loss, which its model then has.
    """
    task = task_of(system.name, data.task)
    answer = make_answer(system.model)
    history = History(system.folder, answer, data)
    pictures = SamplePictures(system.served, data.examples)

    def on_eval(update, writer):
        history(update, writer)
        if system.folder:
            pictures(update, writer)

    result = _trainer(system, task, data, on_eval).fit()
    if system.folder:
        table = system.model.source_embedding.embeddings
        training_choices.log_tables(system, {"words": (table, task.vocabulary)})
    words, _ = answer_all(answer, data.validation)
    dev_errors = errors(words, data.validation, data.task)
    words, copied_from = answer_all(answer, data.test)
    return {
        **training_choices.summarize_result(system, result),
        "best_update": result.best_update,
        "perplexity": result.best_dev_perplexity,
        "dev_error_rate": dev_errors["error_rate"],
        **errors(words, data.test, data.task),
        "copy_rate": round(100 * float(np.mean(copied_from >= 0)), 2),
        "history": history.columns(result.updates),
        "seconds_training": round(result.seconds, 1),
        "target_tokens_per_second": round(result.targets_per_second),
    }


def task_of(system, task):
    """Returns the task of a system: softmax generates all words."""
    if system == "softmax":
        return dataclasses.replace(task, num_pointed=0)
    return task


def make_model(config: RarestWordConfig, task):
    """Builds the model of a task that `task_of` returns."""
    return from_flags(RarestWord, config, num_pointed=task.num_pointed)


def _trainer(system, task, data, on_eval):
    config: RarestWordConfig = system.config
    validation = tf.data.Dataset.from_tensor_slices(
        task.encode(data.validation)
    )
    return training_choices.make_trainer(
        system,
        losses.of_head(system.model.head),
        _batches(config, data.train, task),
        validation.batch(_EVALUATED),
        metrics=_metrics,
        on_eval=on_eval,
        normalize="sentences",
    )


def _batches(config, train, task):
    """Returns the training data in the form that `Trainer` takes."""
    batching, length = (
        from_flags(training_choices.Batching, config),
        np.array([config.length]),
    )
    limit = batching.limit([(config.length,)])
    shapes = {
        name: (None, ids.shape[1])
        for name, ids in task.encode(train.batch(0, 0)).items()
    }

    def make(epoch, start_batch, num_replicas):
        if isinstance(limit, TokenLimit):
            limit.check([length], num_replicas)

        def read(index):
            batch, replica = divmod(int(index), num_replicas)
            words = train.batch(epoch, batch)
            words = words[replica::num_replicas]
            return list(task.encode(words).values())

        def read_tensors(index):
            arrays = tf.numpy_function(read, [index], [tf.int32] * len(shapes))
            return {
                name: tf.ensure_shape(array, shape)
                for array, (name, shape) in zip(arrays, shapes.items())
            }

        ends = start_batch, train.batches_per_epoch
        places = tf.data.Dataset.range(*(x * num_replicas for x in ends))
        return places.map(read_tensors)

    return training_choices.make_trainer_data(make)


def _metrics(batch, distribution):
    """Computes the share of errors, and the mean probability to copy."""
    ids, _ = best_words(distribution, batch["source_ids"])
    wrong = ids != tf.reduce_max(batch["source_ids"], axis=1)
    return {
        "error_rate": 100 * tf.reduce_mean(tf.cast(wrong, tf.float32)),
        "copy_probability": tf.reduce_mean(copying.copied_mass(distribution)),
    }


def make_answer(model):
    """Builds a graph of `best_words`: ids `(B, S)` to two `(B,)`."""

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.int32)], autograph=False
    )
    def answer(source_ids):
        return best_words(model({"source_ids": source_ids}), source_ids)

    return answer


def answer_all(answer, words):
    """Computes a model's answers to all sequences.

    Args:
        answer: From `make_answer`.
        words: Numbers of words, `(B, S)`.

    Returns:
        `(words, copied_from)`, both `(B,)`.
    """
    parts = [
        answer(
            tf.constant(rarest_word_task.FIRST_ID + words[i : i + _EVALUATED])
        )
        for i in range(0, len(words), _EVALUATED)
    ]
    ids, copied_from = (np.concatenate(arrays) for arrays in zip(*parts))
    return ids - rarest_word_task.FIRST_ID, copied_from


def errors(answers, words, task):
    """Computes the share of wrong answers, in percent: all, and each kind.

    An answer is right if it is the right word, wherever it was pointed at.

    Args:
        answers: Numbers of words, `(B,)`.
        words: Word numbers of the sequences, `(B, S)`.
        task: `rarest_word_task.RarestWord`, which knows the words to point at.

    Returns:
        Dict of `error_rate`, its 95 % `interval`, the number of `sequences`;
        and a dict `targets` with the same for words `pointed` at and
        `unpointed`. Without sequences the first two are `None`.
    """
    wrong = answers != words.max(axis=1)
    is_pointed = task.is_pointed(words)
    kinds = {"pointed": wrong[is_pointed], "unpointed": wrong[~is_pointed]}
    targets = {kind: _error(wrong) for kind, wrong in kinds.items()}
    return {**_error(wrong), "targets": targets}


def _error(wrong):
    if not len(wrong):
        return {"error_rate": None, "interval": None, "sequences": 0}
    percent = 100 * float(np.mean(wrong))
    share = reporting.share("error_rate", percent, len(wrong))
    return {**share, "sequences": len(wrong)}


class History:
    """Errors on the validation set after each of its scores, kept in a file.

    Args:
        folder: Gets `history.json`; `None` to keep nothing.
        answer: From `make_answer`.
        data: `Data`.
    """

    def __init__(self, folder, answer, data):
        self._path = folder and os.path.join(folder, "history.json")
        self._answer = answer
        self._data = data
        self._rows = self._read()

    def __call__(self, update, writer):
        answers, _ = answer_all(self._answer, self._data.validation)
        scores = errors(answers, self._data.validation, self._data.task)
        targets = scores["targets"]
        row = {
            "update": update,
            "error_rate": scores["error_rate"],
            "pointed": targets["pointed"]["error_rate"],
            "unpointed": targets["unpointed"]["error_rate"],
        }
        # What came later was lost with the run that was interrupted.
        kept = [old for old in self._rows if old["update"] < update]
        self._rows = [*kept, row]
        with writer.as_default(update):
            for kind in ("pointed", "unpointed"):
                if row[kind] is not None:
                    tf.summary.scalar(f"dev/error_rate_{kind}", row[kind])
        if self._path:
            write_json(self._path, {"rows": self._rows})

    def columns(self, updates):
        """Returns a dict of equally long lists, up to a number of updates."""
        names = {"updates": "update"}
        names |= {x: x for x in ("error_rate", "pointed", "unpointed")}
        rows = [row for row in self._rows if row["update"] <= updates]
        return {name: [row[key] for row in rows] for name, key in names.items()}

    def _read(self):
        try:
            return read_json(self._path)["rows"]
        except (OSError, KeyError, TypeError, ValueError):
            return []  # Missing or damaged: it is only looked at.


def make_translator(model, task, litert=None):
    """Builds a `Translator` whose `analyse` returns the five best events.

    Of a text with more words than a sequence of the task, the rest is cut
    off; one with fewer gets an answer, but the model was trained on none.
    """
    return Translator(
        model,
        Vocabulary(task.vocabulary),
        Vocabulary(task.vocabulary[: model.vocabulary_size]),
        source_tokenizer=Tokenizer("space", language="other"),
        target_tokenizer=Tokenizer("space", language="other"),
        options=SearchOptions(
            num_beams=_ANSWERS, max_length=1, merge="max", forbid_unk=True
        ),
        max_source_length=model.length,
        append_eos=False,
        litert=litert,
    )


def draw(results, paper, num_pointed, folder):
    """Draws errors against updates: `error_rate.png`, and in TensorBoard."""
    if figures is None:
        return
    panels = [
        figures.Panel(
            {
                system: (scores["history"]["updates"], scores["history"][kind])
                for system, scores in results.items()
            },
            title,
            "updates",
            "error on the validation set, %",
            levels=levels,
        )
        for kind, title, levels in (
            ("error_rate", "All targets (dashed: the paper's test)", paper),
            ("pointed", f"The {num_pointed} rarest words", {}),
        )
    ]
    reporting.keep_picture(figures.panels_figure(panels), folder, "error_rate")
