"""What TensorBoard shows of a run."""

import contextlib
import os

import tensorflow as tf

from tfcopy import filesystem
from tfcopy.keras_internals import resource_of
from tfcopy.training.scalars import describe, layout_summary


class EventLog:
    """Scalars, and whatever callbacks write, in one folder of events.

    A resumed run appends to the folder: it starts with a mark that makes
    TensorBoard forget the steps that the interrupted run had logged beyond its
    last checkpoint, so that none is shown twice.

    Args:
        folder: Path, or `None` to write nothing.
        first_step: First step that is going to be written.
        fresh: Whether to remove the events of earlier runs.
        report: Callable that prints a line. Where events cannot be written,
            as on a full disk, it says so once, and no more are written.
        name: Optional name of separate files, for what is added to the folder
            after training: `fresh` removes only these, and the rest of the log
            is kept.
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
            with self.tolerating():
                self._open(os.fspath(folder), first_step, fresh)

    def _open(self, folder, first_step, fresh):
        suffix = "" if self._name is None else f".{self._name}"
        if fresh:
            pattern = f"events.out.tfevents.*{filesystem.escape(suffix)}"
            for path in filesystem.glob(
                os.path.join(filesystem.escape(folder), pattern)
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
    def tolerating(self):
        """Context in which events are written; a failure is reported once."""
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
        """Writes scalars, with a description if there is one.

        Args:
            step: Number of updates made.
            values: Name to number.
            prefix: Prefix of their tags.
        """
        values = {prefix + name: value for name, value in values.items()}
        with self.tolerating(), self.writer.as_default(step):
            for tag, value in values.items():
                tf.summary.scalar(tag, value, description=describe(tag))
        if self._name is None and not self._tags.issuperset(values):
            self._tags |= values.keys()
            self.layout(step, self._tags)

    def layout(self, step, tags):
        """Lays out charts of scalars, in place of an earlier layout."""
        with self.tolerating(), self.writer.as_default(step):
            tf.summary.experimental.write_raw_pb(layout_summary(tags))

    def flush(self):
        with self.tolerating():
            self.writer.flush()

    def close(self):
        with self.tolerating():
            self.writer.close()


def log_examples(writer, step, examples, name="examples"):
    """Writes sample outputs as text, with the copied words in bold.

    Args:
        writer: A `tf.summary` writer.
        step: Number of updates made.
        examples: Iterable of `(source, output, copied, reference)`: words of
            the source, of the output, for each word of the output whether it
            was copied, and words of the reference (or `None`).
        name: Name under which TensorBoard shows them.
    """
    rows = [
        (source, bold(output, copied), reference or ())
        for source, output, copied, reference in examples
    ]
    log_table(writer, step, ("source", "output", "reference"), rows, name)


class Marked(str):
    """Text that is Markdown already."""


def bold(words, flags):
    """Words, some of them in bold, as a cell of a table."""
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
        step: Number of updates made.
        header: The titles of the columns.
        rows: Iterable of cells by row: text, a list of words, or `Marked`.
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
    """Keeps a word from acting as Markdown or as a table's border."""
    word = word.replace("&", "&amp;").replace("<", "&lt;")
    return "".join("\\" + c if c in r"\`*_{}[]()#+-.!|~>" else c for c in word)
