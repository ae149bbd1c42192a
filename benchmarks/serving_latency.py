"""How fast an export answers in this process.

    python -m benchmarks.serving_latency savedmodels/europarl_ps --demo

Times requests of several batch sizes. Texts are random words of the model's
vocabulary, lines of a file, or the demo corpus' test sentences. Also prints how
long loading took, up to the first answer, and the process's memory. Answers of
all batch sizes are compared; the exit status is 1 if any differ.
"""

import itertools
import os
import sys
import time

import numpy as np

from benchmarks import flags, serving_texts, timing
from tfcopy.data.generated import demo_parliament
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.versions import find_version

WARM_UP = 3
# Flags of `read_texts`.
TEXTS = (
    ("texts", None, "file, one text a line"),
    ("demo", False, "ask the demo corpus' test set"),
)


def main(arguments=None):
    parser = flags.make_parser(
        __doc__,
        *TEXTS,
        ("batch_sizes", [1, 8, 32, 128], "texts of a request"),
        ("requests", 200, "of each batch size"),
        ("threads", os.cpu_count(), "of the runtime"),
    )
    parser.add_argument("model", help="exported folder of a model of one text")
    arguments = parser.parse_args(arguments)
    path = find_version(arguments.model)
    texts = read_texts(path, arguments)
    print(f"{path}: {len(texts)} texts, {arguments.threads} threads")
    timing.limit_threads(arguments.threads)
    start = time.monotonic()
    model = LocalModel(path)
    print(f"first answer after {time.monotonic() - start:.1f} s")
    answers = {}
    for size in arguments.batch_sizes:
        requests = requests_of(texts, size, arguments.requests + WARM_UP)
        report(size, requests, model, answers)
    differing = sum(len(found) > 1 for found in answers.values())
    print(
        f"{differing} of {len(answers)} texts had another answer in a batch of "
        "another size"
    )
    return int(differing > 0)


def requests_of(texts, size, count):
    """So many requests of a size: the texts in turn, over and over."""
    forever = itertools.cycle(texts)
    return [list(itertools.islice(forever, size)) for _ in range(count)]


def read_texts(model, arguments):
    """The texts to ask, as bytes."""
    if arguments.texts:
        with open(arguments.texts, "rb") as file:
            return file.read().splitlines()
    if arguments.demo:
        return [source.encode() for source, _ in demo_parliament.load().test]
    return serving_texts.sentences(model, 500)


def report(size, requests, model, answers):
    """Times requests, and prints; `answers` gets those of each text."""
    seconds = []
    for request in requests:
        start = time.monotonic()
        found = model.ask("serving_default", {"text": request})["text"]
        seconds.append(time.monotonic() - start)
        for text, answer in zip(request, found, strict=True):
            answers.setdefault(text, set()).add(answer)
    seconds = seconds[WARM_UP:]
    p50, p99 = 1000 * np.percentile(seconds, (50, 99))
    print(
        f"batch {size:4}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"{size * len(seconds) / sum(seconds):.1f} texts/s; memory "
        f"{timing.resident_kib() / 1024:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
