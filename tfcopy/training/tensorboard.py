"""What TensorBoard shows of a run."""

import contextlib
import glob
import os

import tensorflow as tf


class EventLog:
    """Scalars, and whatever else hooks write, in one folder of events.

    A resumed run appends to the folder: it starts with a mark that makes
    TensorBoard forget the steps that the interrupted run had logged beyond its
    last checkpoint, so that none is shown twice.

    Args:
        folder: Path, or `None` to write nothing.
        first_step: First step that is going to be written.
        fresh: Whether to remove the events of earlier runs.
        report: Callable that prints a line. Where events cannot be written,
            as on a full disk, it says so once, and no more are written.
    """

    def __init__(self, folder, first_step=0, fresh=False, report=print):
        self.folder = folder
        self.writer = tf.summary.create_noop_writer()
        self._report = report
        if folder is not None:
            with self.tolerating():
                self._open(os.fspath(folder), first_step, fresh)

    def _open(self, folder, first_step, fresh):
        if fresh:
            pattern = os.path.join(glob.escape(folder), "events.out.tfevents.*")
            for path in glob.glob(pattern):
                os.remove(path)
        self.writer = tf.summary.create_file_writer(folder)
        event = tf.compat.v1.Event(
            step=first_step,
            session_log=tf.compat.v1.SessionLog(
                status=tf.compat.v1.SessionLog.START
            ),
        )
        with self.writer.as_default():
            tf.raw_ops.ImportEvent(
                writer=self.writer._resource, event=event.SerializeToString()
            )

    @contextlib.contextmanager
    def tolerating(self):
        """Context in which events are written, or the wish is given up."""
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
        with self.tolerating(), self.writer.as_default(step):
            for name, value in values.items():
                tf.summary.scalar(prefix + name, value)

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
    lines = ["| source | output | reference |", "|---|---|---|"]
    for source, output, copied, reference in examples:
        marked = [
            f"**{_escape(word)}**" if is_copied else _escape(word)
            for word, is_copied in zip(output, copied, strict=True)
        ]
        cells = (
            " ".join(map(_escape, source)),
            " ".join(marked),
            " ".join(map(_escape, reference or ())),
        )
        lines.append(f"| {' | '.join(cells)} |")
    with writer.as_default(step):
        tf.summary.text(name, "\n".join(lines))


def log_embeddings(folder, tables, max_words=10_000):
    """Writes embeddings, with their words, for TensorBoard's projector.

    Args:
        folder: The run's folder of events.
        tables: Dict from name to `(matrix, words)`: an array of shape
            `(number of words, dim)` and its words, the most frequent first.
        max_words: How many words to show; more make the page slow.
    """
    os.makedirs(folder, exist_ok=True)
    variables, config = {}, []
    for name, (matrix, words) in tables.items():
        words = list(words)[:max_words]
        if len(words) < 2 or len(words) > len(matrix):
            raise ValueError(
                "A table must have at least two words, and a row for each. "
                f"Received: {len(words)} words and {len(matrix)} rows for "
                f"name={name!r}."
            )
        key = "".join(c if c.isalnum() else "_" for c in name)
        variables[key] = tf.Variable(matrix[: len(words)], name=key)
        metadata = f"metadata_{key}.tsv"
        with open(os.path.join(folder, metadata), "w", encoding="utf-8") as f:
            f.writelines(f"{_one_field(word)}\n" for word in words)
        config.append(
            "embeddings {\n"
            f'  tensor_name: "{key}/.ATTRIBUTES/VARIABLE_VALUE"\n'
            f'  metadata_path: "{metadata}"\n'
            "}\n"
        )
    checkpoint = tf.train.Checkpoint(**variables)
    checkpoint.save(os.path.join(folder, "embeddings.ckpt"))
    path = os.path.join(folder, "projector_config.pbtxt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(config)


def _escape(word):
    """Keeps a word from acting as Markdown or as a table's border."""
    word = word.replace("&", "&amp;").replace("<", "&lt;")
    return "".join("\\" + c if c in r"\`*_{}[]()#+-.!|~>" else c for c in word)


def _one_field(word):
    """Keeps a word on its line and in its column; it may not be empty."""
    return " ".join(word.split()) or repr(word)
