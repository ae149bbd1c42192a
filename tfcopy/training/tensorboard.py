"""TensorBoard logs of a run: scalars, embeddings, tables and charts.

A scalar's tag is `<group>/<name>`; the groups are `dev`, `train` and `test`.
Systems to compare write the same tags, each in its own folder. Each chart then
shows a line for each system.
"""

import contextlib
import glob
import os
import re

import numpy as np
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2, summary

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.keras_internals import resource_of

_CATEGORIES = {"dev": "Validation", "train": "Training", "test": "Test"}

# Unit and meaning of scalars, by name; scores of the test set are described
# separately. Charts are in this order, followed by the charts of other names.
_KNOWN = {
    "exact_match": ("%", "Answers that match exactly"),
    "accuracy": ("0 to 1", "Correct labels"),
    "error_rate": ("%", "Wrong answers"),
    "error_rate_pointed": ("%", "Wrong answers where the target is rare"),
    "error_rate_unpointed": ("%", "Wrong answers where the target is frequent"),
    "f1": ("%", "F1 of the words of answers and references"),
    "perplexity": ("", "exp(loss)"),
    "after_oov": ("perplexity", "After out-of-vocabulary words"),
    "after_known": ("perplexity", "After words of the vocabulary"),
    "known_targets": ("perplexity", "Only words of the vocabulary"),
    "loss": ("nats", "Negative log-likelihood of a word, or of a whole answer"),
    "penalty": ("nats", "Penalty that the objective adds to the loss"),
    "copied_words": ("0 to 1", "Target words that are labelled as copied"),
    "copy_probability": ("0 to 1", "Mean probability of copying"),
    "generate_probability": ("0 to 1", "Mean probability of generating"),
    "coverage_loss": ("", "Repeated attention, per target word"),
    "replan_share": ("0 to 1", "Target words at which the model replans"),
    "learning_rate": ("", "Learning rate of the optimizer"),
    "target_tokens_per_second": ("", "Target words trained on per second"),
    "examples_per_second": ("", "Examples trained on per second"),
    "gradient_norm": ("", "Global norm per update, before clipping"),
}
_PERPLEXITIES = ("perplexity", "after_oov", "after_known", "known_targets")


def describe(tag):
    """Returns the description of a scalar with its unit; `None` if unknown."""
    group, _, name = tag.partition("/")
    if group == "test" and name not in _PERPLEXITIES:
        return "Test set, after training; shares in percent."
    if name not in _KNOWN:
        return None
    unit, meaning = _KNOWN[name]
    return f"{meaning}; {unit}." if unit else f"{meaning}."


def layout_summary(tags):
    """Returns the layout of the Custom Scalars page, with a chart for each tag.

    TensorBoard shows the charts of all runs together, each chart once.

    Args:
        tags: Tags of scalars. The order of tags of the test set is kept. Tags
            without a known group have no chart.

    Returns:
        A `Summary` as bytes, for `tf.summary.experimental.write_raw_pb`.
    """
    categories = []
    for group, title in _CATEGORIES.items():
        names = [
            tag.partition("/")[2] for tag in tags if tag.startswith(f"{group}/")
        ]
        if group != "test":
            names.sort(key=_place)
        charts = [
            layout_pb2.Chart(
                title=_title(group, name),
                multiline=layout_pb2.MultilineChartContent(
                    tag=[f"^{re.escape(f'{group}/{name}')}$"]
                ),
            )
            for name in names
        ]
        # TensorBoard drops charts of a category that the first run lacks.
        if charts or group != "test":
            categories.append(layout_pb2.Category(title=title, chart=charts))
    layout = layout_pb2.Layout(category=categories)
    return summary.pb(layout).SerializeToString()


def _title(group, name):
    unit = _KNOWN[name][0] if name in _KNOWN and group != "test" else ""
    return f"{group}: {name.replace('_', ' ')}" + (unit and f" ({unit})")


def _place(name):
    names = list(_KNOWN)
    return (names.index(name) if name in names else len(names)), name


def log_embeddings(folder, tables, max_words=10_000):
    """Writes embeddings, with their words, for TensorBoard's projector.

    ```python
    training.log_embeddings("run", {"words": (np.eye(3), ["a", "b", "c"])})
    ```

    Args:
        folder: The run's folder of events.
        tables: Dict from name to `(matrix, words)`: an array of shape
            `(number of words, dim)` and its words, the most frequent first.
            Words whose row is all zeros are left out: they have no neighbours.
        max_words: Maximum number of words; more make the page slow.
    """
    filesystem.makedirs(folder)
    arrays, config = {}, []
    for name, (matrix, words) in tables.items():
        words = list(words)[:max_words]
        key = "".join(c if c.isalnum() else "_" for c in name)
        matrix, words = _drop_zeros(np.asarray(matrix)[: len(words)], words)
        arrays[key] = matrix
        metadata = f"metadata_{key}.tsv"
        _write(folder, metadata, (f"{_one_field(word)}\n" for word in words))
        config.append(
            "embeddings {\n"
            f'  tensor_name: "{key}"\n'
            f'  metadata_path: "{metadata}"\n'
            "}\n"
        )
    # The page shows the names in the file.
    tf.raw_ops.SaveV2(
        prefix=os.path.join(folder, "embeddings.ckpt"),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )
    for file, lines in {
        "checkpoint": ['model_checkpoint_path: "embeddings.ckpt"\n'],
        "projector_config.pbtxt": config,
    }.items():
        _write(folder, file, lines)


def _write(folder, name, lines):
    data = "".join(lines).encode()
    write_atomically(os.path.join(folder, name), lambda file: file.write(data))


def _drop_zeros(matrix, words):
    """Returns the non-zero rows and their words, or all if fewer than two."""
    rows = np.flatnonzero(np.any(matrix, axis=1))
    if len(rows) < 2:
        return matrix, words
    return matrix[rows], [words[i] for i in rows]


def _one_field(word):
    """Replaces blanks, so that a word stays one field; never returns ''."""
    return " ".join(word.split()) or repr(word)


class EventLog:
    """Log of scalars, and of events that callbacks write, in one folder.

    A resumed run appends to the folder. It begins with a marker by which
    TensorBoard drops the steps that the interrupted run logged after its last
    checkpoint, so that no step is shown twice.

    Args:
        folder: Path, or `None` to write nothing.
        first_step: First step that will be written.
        fresh: Whether to remove the events of earlier runs.
        report: Callable that prints a line. If events cannot be written, as on
            a full disk, it prints this once, and no more events are written.
        name: Optional name of separate files, for events that are added after
            training. `fresh` removes only these, and keeps the rest of the log.
    """

    def __init__(
        self, folder, first_step=0, fresh=False, report=print, name=None
    ):
        self.folder = folder
        self.writer = tf.summary.create_noop_writer()
        self._report = report
        self._name = name
        self._tags = set()
        if folder is not None:
            with self.tolerate_errors():
                self._open(os.fspath(folder), first_step, fresh)

    def _open(self, folder, first_step, fresh):
        suffix = "" if self._name is None else f".{self._name}"
        if fresh:
            pattern = f"events.out.tfevents.*{glob.escape(suffix)}"
            for path in filesystem.glob(
                os.path.join(glob.escape(folder), pattern)
            ):
                filesystem.remove(path)
        self.writer = tf.summary.create_file_writer(
            folder, filename_suffix=suffix or None
        )
        if self._name is None:
            status = tf.compat.v1.SessionLog(
                status=tf.compat.v1.SessionLog.START
            )
            event = tf.compat.v1.Event(step=first_step, session_log=status)
            with self.writer.as_default():
                tf.raw_ops.ImportEvent(
                    writer=resource_of(self.writer),
                    event=event.SerializeToString(),
                )

    @contextlib.contextmanager
    def tolerate_errors(self):
        """Returns a context for writing events; reports the first failure."""
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            reason = getattr(error, "message", str(error)).splitlines()[0]
            self._report(
                f"Warning: {self.folder}: no more events are written "
                f"({reason.rpartition('; ')[2]})."
            )
            self.writer = tf.summary.create_noop_writer()

    def scalars(self, step, values, prefix=""):
        """Writes scalars, with their descriptions if known.

        Args:
            step: Number of updates so far.
            values: Name to number.
            prefix: Prefix of their tags.
        """
        values = {prefix + name: value for name, value in values.items()}
        with self.tolerate_errors(), self.writer.as_default(step):
            for tag, value in values.items():
                tf.summary.scalar(tag, value, description=describe(tag))
        if self._name is None and not self._tags.issuperset(values):
            self._tags |= values.keys()
            self.layout(step, self._tags)

    def layout(self, step, tags):
        """Writes the layout of charts, which replaces an earlier layout."""
        with self.tolerate_errors(), self.writer.as_default(step):
            tf.summary.experimental.write_raw_pb(layout_summary(tags))

    def flush(self):
        with self.tolerate_errors():
            self.writer.flush()

    def close(self):
        with self.tolerate_errors():
            self.writer.close()


def log_examples(writer, step, examples, name="examples"):
    """Writes sample outputs as text, with the copied words in bold.

    ```python
    writer = tf.summary.create_file_writer("run")
    example = ["an", "Özgür"], ["un", "Özgür"], [False, True], None
    training.log_examples(writer, 0, [example])
    ```

    Args:
        writer: A `tf.summary` writer.
        step: Number of updates so far.
        examples: Iterable of `(source, output, copied, reference)`: words of
            the source, words of the output, whether each word of the output was
            copied, and words of the reference (or `None`).
        name: Name under which TensorBoard shows them.
    """
    rows = [
        (source, bold(output, copied), reference or ())
        for source, output, copied, reference in examples
    ]
    log_table(writer, step, ("source", "output", "reference"), rows, name)


class Marked(str):
    """Text in Markdown, which needs no escaping."""


def bold(words, flags):
    """Formats words, some of them in bold, as a cell of a table."""
    return Marked(
        " ".join(
            f"**{_escape(word)}**" if flag else _escape(word)
            for word, flag in zip(words, flags, strict=True)
        )
    )


def log_table(writer, step, header, rows, name):
    """Writes a table as text.

    Args:
        writer: A `tf.summary` writer.
        step: Number of updates so far.
        header: The titles of the columns.
        rows: Iterable of rows of cells: text, a list of words, or `Marked`.
        name: Name under which TensorBoard shows it.
    """
    lines = [header, ["---"] * len(header)]
    lines += [map(_cell, row) for row in rows]
    with writer.as_default(step):
        tf.summary.text(name, "\n".join(f"| {' | '.join(x)} |" for x in lines))


def _cell(content):
    if isinstance(content, Marked):
        return content
    words = [content] if isinstance(content, str) else content
    return " ".join(map(_escape, words))


def _escape(word):
    """Escapes Markdown and the borders of tables in a word."""
    word = word.replace("&", "&amp;").replace("<", "&lt;")
    return "".join("\\" + c if c in r"\`*_{}[]()#+-.!|~>" else c for c in word)
