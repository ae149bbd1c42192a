"""Two exports of one model: the same answers, and which is quicker?

    python -m benchmarks.export_pair before/europarl_ps after/europarl_ps --demo

Asks both the same requests of several batch sizes, in turn and in one process,
and prints the ratio of their times and how many answers and scores differ. To
compare two commits, check each out and export the same run with it
(`python -m tfcopy.serving.export RUN --to before`).
"""

import os
import sys
import time

import numpy as np
import tensorflow as tf

from benchmarks import flags
from benchmarks.serving_latency import TEXTS, WARM_UP, read_texts, requests_of
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.versions import find_version


def main(arguments=None):
    parser = flags.make_parser(
        __doc__,
        *TEXTS,
        ("batch_sizes", [1, 8, 32, 128], "texts of a request"),
        ("signature", "serving_default", "of one text"),
        ("requests", 50, "of each batch size"),
        ("threads", os.cpu_count(), "of an operation"),
    )
    parser.add_argument("before", help="exported folder")
    parser.add_argument("after", help="exported folder")
    arguments = parser.parse_args(arguments)
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    folders = find_version(arguments.before), find_version(arguments.after)
    texts = read_texts(folders[0], arguments)
    before, after = (LocalModel(folder) for folder in folders)
    differing = 0
    for size in arguments.batch_sizes:
        requests = requests_of(texts, size, arguments.requests + WARM_UP)
        differing += report(before, after, requests, arguments.signature)
    return int(differing > 0)


def report(before, after, requests, signature):
    """Times requests, and prints; returns how many answers differ."""
    seconds = {before: [], after: []}
    differing = greatest = 0
    for number, request in enumerate(requests):
        found = {}
        for model in (before, after)[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            found[model] = model.ask(signature, {"text": request})
            seconds[model].append(time.perf_counter() - start)
        differing += np.sum(found[before]["text"] != found[after]["text"])
        if "score" in found[before]:
            gap = np.abs(found[before]["score"] - found[after]["score"])
            greatest = max(greatest, gap.max())
    old, new = (np.array(seconds[x][WARM_UP:]) for x in (before, after))
    low, median, high = np.percentile(old / new, [25, 50, 75])
    print(
        f"batch {len(requests[0]):4}: {1000 * np.median(old):8.1f} ms before, "
        f"{1000 * np.median(new):8.1f} ms after, {median:.2f}x "
        f"(quartiles {low:.2f} and {high:.2f}); {differing} of "
        f"{len(requests) * len(requests[0]):,} answers differ, scores by "
        f"{greatest:.1e} at most",
        flush=True,
    )
    return differing


if __name__ == "__main__":
    sys.exit(main())
