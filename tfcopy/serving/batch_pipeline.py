"""Answers to files of texts by Beam's RunInference, one file per block.

Steps exchange the positions of blocks in their files. The texts of a block are
read, answered and written one after the other, so that each worker has one
block in memory. A block with a file of answers is skipped: files are written as
a whole, after their dead letters.
"""

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.ml.inference.base import ModelHandler, RunInference

from tfcopy import atomic_files, filesystem
from tfcopy.data import parallel
from tfcopy.runtime import answer_lines, ask_texts
from tfcopy.runtime.batches import map_batches
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving import record_files
from tfcopy.serving.record_files import DICTIONARY, Block
from tfcopy.terminal import one_line


class Answers(NamedTuple):
    """Answers of a model to a block.

    Attributes:
        block: The block.
        answers: For each record a text, a JSON object, or `None`.
        failures: Pairs of the number of a record without an answer, and the
            reason.
    """

    block: Block
    answers: list
    failures: list[tuple[int, str]]


class Answerer:
    """A model that answers blocks.

    Args:
        model: An `ExportedModel`.
        options: `answer_lines.AnswerOptions`; `json`, `dictionary` and
            `glossary` are used.
        field: Field of the text, for models that read one; by default the
            model's name of it.

    Raises:
        ModelError: If the model does not support the options.
    """

    def __init__(self, model, options, field: str | None = None):
        self._model = model
        self._ask = answer_lines.make_answer_function(model, options)
        self._texts = model.inputs
        self._fields = [*self._texts, DICTIONARY]
        if len(self._texts) == 1:
            self._fields = [field or self._texts[0]]

    def answer(self, block: Block) -> Answers:
        """Answers each record once, and returns the failures.

        Raises:
            ModelError: If the model fails on any text.
        """
        examples, failures = {}, []
        for i, row in enumerate(block.rows(self._fields)):
            try:
                examples[i] = self._example(row)
            except ModelError as error:
                failures.append((i, one_line(error)))
        answers = [None] * len(block)
        for i, answer, why in map_batches(
            lambda numbers: self._iter_answers(numbers, examples),
            list(examples),
            self._model.batch_size,
            progress=False,
            at_once=self._model.at_once,
            words=lambda i: sum(map(len, examples[i].values())),
        ):
            answers[i] = answer
            if why is not None:
                failures.append((i, why))
        return Answers(block, answers, sorted(failures))

    def _iter_answers(self, numbers, examples) -> Iterator[tuple]:
        """Yields `(i, answer, None)`, or `(i, None, why)` for failures."""
        try:
            answers = self._ask([examples[i] for i in numbers])
        except ModelError as error:
            if len(numbers) > 1:
                middle = len(numbers) // 2
                for half in (numbers[:middle], numbers[middle:]):
                    yield from self._iter_answers(half, examples)
                return
            self._check_alive()
            yield numbers[0], None, one_line(error)
            return
        for i, answer in zip(numbers, answers, strict=True):
            yield i, answer, None

    def _check_alive(self):
        """Raises an ModelError if the model fails on the shortest text, too.

        The failure is then not due to a text.
        """
        self._ask([{DICTIONARY: [], **dict.fromkeys(self._texts, "a")}])

    def _example(self, row):
        """Returns the fields of a record as an example for the model."""
        if row is None:
            raise ModelError("expected an object with fields, such as of JSON")
        row = {name: _decode(x) for name, x in row.items()}
        example = {DICTIONARY: []}
        for name, field in zip(self._texts, self._fields):
            text = row.get(field)
            if not isinstance(text, str):
                raise ModelError(f'expected a text for "{field}"')
            example[name] = text.encode("utf-8", "replace")
        if len(self._texts) == 1:
            return example
        lines = row.get(DICTIONARY)
        lines = [] if lines is None else lines
        return {**example, DICTIONARY: ask_texts.encode_definitions(lines)}


def _decode(value):
    """Decodes `bytes`, also within lists."""
    if isinstance(value, list):
        return [_decode(x) for x in value]
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise ModelError(
            f"not valid UTF-8 (byte 0x{value[error.start]:02x} at position "
            f"{error.start + 1})"
        ) from error


COUNTERS = ("texts", "dead_letters", "shards", "shards_there_before")
_NAMESPACE = "tfcopy-batch"


def run(options, paths: Sequence[str], flags: Sequence[str]) -> dict[str, int]:
    """Answers all files.

    Args:
        options: Options of the command `batch`.
        paths: The files, with different names.
        flags: Options of Beam's runner.

    Returns:
        Counts of this run, by the names of `COUNTERS`.

    Raises:
        ModelError: If a file cannot be read, or the model fails.
    """
    parts = [
        part
        for path in paths
        for part in record_files.parts(path, options.shard_size)
    ]
    pipeline = parallel.pipeline(options.runner, flags)
    (
        pipeline
        | "Parts" >> beam.Create(parts)
        | "Spread" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(_Read(options))
        | "Answer" >> RunInference(_Handler(options))
        | "Write" >> beam.ParDo(_Write(options))
    )
    result = pipeline.run()
    result.wait_until_finish()
    return _counts(result)


class _Read(beam.DoFn):
    """Turns parts of files into blocks that have no answers yet."""

    def __init__(self, options):
        self._options = options
        self._skipped = Metrics.counter(_NAMESPACE, "shards_there_before")

    def process(self, part):
        for block in record_files.read(part, self._options.shard_size):
            name = record_files.output_name(block.path, block.number)
            if filesystem.exists(os.path.join(self._options.output, name)):
                self._skipped.inc()
            else:
                block.check_name(self._options.answer_field)
                yield [block]


class _Handler(ModelHandler):
    """A model that answers blocks; a worker loads it once."""

    def __init__(self, options):
        super().__init__()
        self._options = options

    def load_model(self):
        options = self._options
        return Answerer(options.open(), options, options.field)

    def run_inference(self, batch, model, inference_args=None):
        return [model.answer(block) for block in batch]

    def should_skip_batching(self):
        return True  # Blocks are split into batches later.

    def get_num_bytes(self, batch):
        return sum(map(len, batch))

    def get_metrics_namespace(self):
        return _NAMESPACE


class _Write(beam.DoFn):
    """Writes the answers of a block, and its failures."""

    def __init__(self, options):
        self._options = options
        self._counters = {
            name: Metrics.counter(_NAMESPACE, name) for name in COUNTERS
        }

    def process(self, answers):
        block, found, failures = answers
        name = record_files.output_name(block.path, block.number)
        path = os.path.join(self._options.output, name)
        letters = f"{path}.dead.jsonl"
        if failures:
            _write_dead_letters(letters, block, failures)
        else:  # from a run that was killed
            with contextlib.suppress(FileNotFoundError):
                filesystem.remove(letters)
        with atomic_files.replacement(path) as new:
            block.write(new, found, self._options.answer_field)
        self._counters["texts"].inc(len(found) - len(failures))
        self._counters["dead_letters"].inc(len(failures))
        self._counters["shards"].inc()


def _write_dead_letters(path, block, failures):
    lines = []
    for i, why in failures:
        record = block.raw(i)
        try:
            record = record.decode()
        except UnicodeDecodeError:
            record = {"b64": base64.b64encode(record).decode()}
        letter = {
            "file": block.path,
            "record": block.start + i,
            "error": why,
            "input": record,
        }
        text = json.dumps(letter, ensure_ascii=False) + "\n"
        # Paths may have bytes that are not UTF-8.
        lines.append(text.encode("utf-8", "backslashreplace"))
    atomic_files.write_atomically(path, lambda file: file.writelines(lines))


def _counts(result):
    counts = dict.fromkeys(COUNTERS, 0)
    found = result.metrics().query(MetricsFilter().with_namespace(_NAMESPACE))
    for metric in found["counters"]:
        if metric.key.metric.name in counts:
            counts[metric.key.metric.name] += metric.result
    return counts
