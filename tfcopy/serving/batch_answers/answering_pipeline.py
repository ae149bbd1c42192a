"""Files of texts answered by Beam's RunInference, a file for each block.

What passes between steps is the place of some blocks in their file; the texts
of a block are read, answered and written one after the other, so that no more
than a block a worker is in memory. A block whose answers are there is not read
again: a file of answers is written as a whole, after its dead letters.
"""

import base64
import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Sequence

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.ml.inference.base import ModelHandler, RunInference

from tfcopy import atomic_files, filesystem
from tfcopy.data import beam_runners
from tfcopy.serving.batch_answers import record_files
from tfcopy.serving.batch_answers.block_answers import Answerer

COUNTERS = ("texts", "dead_letters", "shards", "shards_there_before")
_NAMESPACE = "tfcopy-batch"


@dataclasses.dataclass(frozen=True)
class Work:
    """What is to be answered, and how.

    Attributes:
        paths: The files, whose names differ.
        output: Folder of the answers.
        block_size: Records of a block, and of a file of answers.
        answer_field: Name of the field of an answer.
        make_answerer: Function without arguments that loads the model.
    """

    paths: Sequence[str]
    output: str
    block_size: int
    answer_field: str
    make_answerer: Callable[[], Answerer]


def run(work: Work, runner: str, flags: Sequence[str] = ()) -> dict[str, int]:
    """Answers all files.

    Returns:
        What this run has done, by the names of `COUNTERS`.

    Raises:
        AskError: If a file cannot be read, or the model does not answer.
    """
    parts = [
        part
        for path in work.paths
        for part in record_files.parts(path, work.block_size)
    ]
    pipeline = beam_runners.pipeline(runner, flags)
    (
        pipeline
        | "Parts" >> beam.Create(parts)
        | "Spread" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(_Read(work))
        | "Answer" >> RunInference(_Handler(work.make_answerer))
        | "Write" >> beam.ParDo(_Write(work))
    )
    result = pipeline.run()
    result.wait_until_finish()
    return _counts(result)


def dead_letters_of(path) -> str:
    """The file of what could not be answered, beside a file of answers."""
    return f"{path}.dead.jsonl"


class _Read(beam.DoFn):
    """From parts of files to blocks that are not answered yet."""

    def __init__(self, work):
        self._output = work.output
        self._size = work.block_size
        self._answer_field = work.answer_field
        self._skipped = Metrics.counter(_NAMESPACE, "shards_there_before")

    def process(self, part):
        for block in record_files.read(part, self._size):
            name = record_files.output_name(block.path, block.number)
            if filesystem.exists(os.path.join(self._output, name)):
                self._skipped.inc()
            else:
                block.check_name(self._answer_field)
                yield [block]


class _Handler(ModelHandler):
    """A model that answers blocks; a worker loads it once."""

    def __init__(self, make_answerer):
        super().__init__()
        self._make_answerer = make_answerer

    def load_model(self):
        return self._make_answerer()

    def run_inference(self, batch, model, inference_args=None):
        return [model.answer(block) for block in batch]

    def should_skip_batching(self):
        return True  # A block is cut into batches of like length.

    def get_num_bytes(self, batch):
        return sum(map(len, batch))

    def get_metrics_namespace(self):
        return _NAMESPACE


class _Write(beam.DoFn):
    """Writes the answers of a block, and what has none."""

    def __init__(self, work):
        self._output = work.output
        self._answer_field = work.answer_field
        self._counters = {
            name: Metrics.counter(_NAMESPACE, name) for name in COUNTERS
        }

    def process(self, answers):
        block, found, failures = answers
        name = record_files.output_name(block.path, block.number)
        path = os.path.join(self._output, name)
        letters = dead_letters_of(path)
        if failures:
            _write_dead_letters(letters, block, failures)
        else:  # those of a run that was killed
            with contextlib.suppress(FileNotFoundError):
                filesystem.remove(letters)
        with atomic_files.replacement(path) as new:
            block.write(new, found, self._answer_field)
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
        # Paths may have bytes that are no UTF-8.
        lines.append(text.encode("utf-8", "backslashreplace"))
    atomic_files.write_atomically(path, lambda file: file.writelines(lines))


def _counts(result):
    counts = dict.fromkeys(COUNTERS, 0)
    found = result.metrics().query(MetricsFilter().with_namespace(_NAMESPACE))
    for metric in found["counters"]:
        if metric.key.metric.name in counts:
            counts[metric.key.metric.name] += metric.result
    return counts
