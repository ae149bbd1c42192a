"""How training grows with the number of workers, on the cores of a machine.

    python -m benchmarks.worker_growth --workdir DIR \\
        --picture docs/worker_growth.png

europarl_ps trains on 5,000 pairs of its demo's grammar, as `tfcopy worker`
starts it, on 1, 2 and 4 processes of this machine; with each number --rounds
times, in turn. Each process is bound to one core, and what all of them read at
an update is --pairs_per_worker times their number, so that each has as much to
compute, however many there are. Told is the median rate of pairs after the
first third of the updates, and that over the rate of the fewest workers,
times the number of cores in use for each core that those use. What is missing
from 1 there is what the workers wait for each other and for their gradients,
which go through the loopback.
"""

import json
import os
import pathlib
import statistics
import sys

from benchmarks import flags, worker_loss
from tfcopy.data.generated import demo_parliament
from tfcopy.terminal import tolerant_output

_CORES = sorted(os.sched_getaffinity(0))


def write_corpus(folder):
    """Writes two files; returns them as the recipe's --train."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = list(demo_parliament.generate("train", 5_000))
    paths = [folder.absolute() / f"train.{side}" for side in ("en", "fr")]
    for path, texts in zip(paths, zip(*pairs)):
        path.write_text("".join(f"{text}\n" for text in texts))
    return f"[{paths[0]}, {paths[1]}]"


def rate(folder, workers, corpus, options):
    """Pairs a second that so many workers train on."""
    pairs = workers * options.pairs_per_worker
    started = worker_loss.train_together(
        folder, options, workers, _CORES, batch_size=pairs, train=corpus
    )
    for worker in started:
        worker.join()
    told = [x for x in started[0].updates if x[1] > options.updates / 3]
    if len(told) < 2:
        sys.exit("The runs are too short to be timed: more --updates.")
    (start, first), *_, (end, last) = told
    return (last - first) * pairs / (end - start)


def linear(found, workers):
    """Pairs a second, if the fewest workers' rate grew with the cores."""
    fewest = min(found)
    cores = len(_CORES)
    return found[fewest] * min(workers, cores) / min(fewest, cores)


def draw(found, path):
    from tfcopy import figures

    workers = sorted(found)
    curves = {
        "measured": (workers, [found[x] for x in workers]),
        f"linear, up to {len(_CORES)} cores": (
            workers,
            [linear(found, x) for x in workers],
        ),
    }
    picture = figures.curves_figure(
        curves, "Pairs a second", "workers", "pairs a second"
    )
    figures.save_png(path, picture)


def main():
    parser = flags.make_parser(
        __doc__,
        ("workers", [1, 2, 4], "processes"),
        ("picture", None, "PNG file to write"),
        ("updates", 400, "updates of each run"),
        ("pairs_per_worker", 64, "pairs a worker reads at an update"),
        ("rounds", 2, "runs with each number of workers"),
    )
    parser.add_argument("--workdir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    # One evaluation and one checkpoint, at the end.
    options.eval_every = options.save_every = options.updates
    corpus = write_corpus(options.workdir)
    rates = {workers: [] for workers in options.workers}
    for turn in range(options.rounds):
        for workers, measured in rates.items():
            folder = options.workdir / f"{workers}-{turn}"
            measured.append(rate(folder, workers, corpus, options))
            print(f"{workers} workers: {measured[-1]:,.0f} pairs/s", flush=True)
    found = {x: statistics.median(each) for x, each in rates.items()}
    print(
        json.dumps(
            {
                workers: {
                    "pairs/s": round(each),
                    "of linear": round(each / linear(found, workers), 3),
                    "rounds": [round(x) for x in rates[workers]],
                }
                for workers, each in found.items()
            },
            indent=2,
        )
    )
    if options.picture:
        draw(found, options.picture)


if __name__ == "__main__":
    with tolerant_output():
        main()
