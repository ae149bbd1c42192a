"""How fast an export answers with no Python in the process, and in Python.

    python -m benchmarks.serving_latency savedmodels/europarl_ps --demo

Times requests of several batch sizes through the C program of exports,
from the bytes of the texts to those of the answers, and the same requests
through `tf.saved_model.load` in Python, in turn. Texts are random words of the
model's vocabulary, lines of a file, or the demo corpus' test sentences. Also
prints how long loading took, up to the first answer, and the process's memory.
Answers of all batch sizes are compared; the exit status is 1 if any differ.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from benchmarks import c_program, serving_texts, timing
from tfcopy.data.generated import demo_parliament
from tfcopy.serving.client_library.local_model import LocalModel, find_version

WARM_UP = 3


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="exported folder of a model of one text")
    add_texts(parser)
    parser.add_argument(
        "--batch_sizes", type=int, nargs="+", default=[1, 8, 32, 128]
    )
    timing.add_numbers(
        parser,
        ("requests", 200, "of each batch size"),
        ("threads", os.cpu_count(), "of the runtime"),
    )
    arguments = parser.parse_args(arguments)
    model = find_version(arguments.model)
    texts = read_texts(model, arguments)
    print(f"{model}: {len(texts)} texts, {arguments.threads} threads")
    start = time.monotonic()
    python = LocalModel(model)
    in_python = time.monotonic() - start
    with tempfile.TemporaryDirectory() as folder:
        program = c_program.build(folder)
        answers = {}
        for size in arguments.batch_sizes:
            start = time.monotonic()
            with c_program.CProgram(
                program, model, f"--threads={arguments.threads}"
            ) as asking:
                asking.ask([(texts[0],)])
                loading = time.monotonic() - start
                forever = itertools.cycle(texts)
                requests = [
                    tuple(itertools.islice(forever, size))
                    for _ in range(arguments.requests)
                ]
                report(size, requests, asking, python, answers)
                kib = asking.end()[-1].kib
            print(f"  memory {kib / 1024:.0f} MiB")
    print(f"first answer after {loading:.1f} s, in Python {in_python:.1f} s")
    differing = sum(len(found) > 1 for found in answers.values())
    print(
        f"{differing} of {len(answers)} texts had another answer in a batch of "
        "another size"
    )
    return int(differing > 0)


def add_texts(parser):
    """Adds the flags of `read_texts`."""
    parser.add_argument("--texts", metavar="FILE", help="one text a line")
    parser.add_argument(
        "--demo", action="store_true", help="ask the demo corpus' test set"
    )


def read_texts(model, arguments):
    """The texts to ask, as bytes."""
    if arguments.texts:
        with open(arguments.texts, "rb") as file:
            return file.read().splitlines()
    if arguments.demo:
        return [source.encode() for source, _ in demo_parliament.load().test]
    return serving_texts.sentences(model, 500)


def report(size, requests, asking, python, answers):
    """Times requests, and prints; `answers` gets those of each text."""
    in_c, in_python = [], []
    for number, request in enumerate(requests):
        start = time.monotonic()
        found = asking.ask([(text,) for text in request])
        middle = time.monotonic()
        python.ask("serving_default", {"text": list(request)})
        if number >= WARM_UP:
            in_c.append(middle - start)
            in_python.append(time.monotonic() - middle)
        for text, answer in zip(request, found, strict=True):
            answers.setdefault(text, set()).add(answer)
    p50, p99 = 1000 * np.percentile(in_c, (50, 99))
    ratio = np.median(in_python) / np.median(in_c)
    print(
        f"batch {size:4}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"{size * len(in_c) / sum(in_c):.1f} texts/s; "
        f"Python's p50 is {ratio:.2f} times that",
        end="",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
