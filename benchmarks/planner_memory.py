"""Memory and time of long targets at the paper's sizes.

    python -m benchmarks.planner_memory
    python -m benchmarks.planner_memory --system rpag --decoder gru

A batch of 16 sentences of 50 pieces and of 125, 250 and 500 characters, 600
units, plans of 10 steps: each length in a process of its own, which prints its
peak of memory and its seconds a step. The exit status is 1 if the longest
takes more than `--limit` MiB.
"""

import argparse
import json
import os
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SOURCE_PIECES, CHARACTERS = 24_440, 302


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--system", default="pag", help="pag, rpag or baseline")
    parser.add_argument("--decoder", default="biscale", help="biscale or gru")
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[125, 250, 500]
    )
    parser.add_argument("--steps", type=int, default=2, help="timed")
    parser.add_argument("--limit", type=float, default=16_384, help="MiB")
    parser.add_argument("--length", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.length:
        print(json.dumps(measure(arguments)))
        return 0
    for length in arguments.lengths:
        command = [sys.executable, "-m", "benchmarks.planner_memory"]
        command += [*sys.argv[1:], "--length", str(length)]
        child = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        found = json.loads(child.stdout.splitlines()[-1])
        print(
            f"{length} characters: peak {found['peak']:,.0f} MiB (before the "
            f"model {found['before']:,.0f}), {found['seconds']:.1f} s a step, "
            f"{1000 * found['seconds'] / length:.1f} ms a character",
            flush=True,
        )
    return int(found["peak"] > arguments.limit)


def measure(arguments):
    """Steps of one length: seconds of the quickest, and memory in MiB."""
    import keras
    import numpy as np

    from benchmarks import timing
    from tfcopy import losses
    from tfcopy.models.planner import planner
    from tfcopy.training import Adam

    before = timing.peak_memory()
    keras.utils.set_random_seed(0)
    model = planner(
        SOURCE_PIECES,
        CHARACTERS,
        system=arguments.system,
        decoder=arguments.decoder,
        units=arguments.units,
        embedding_dim=arguments.units,
        initializers="dl4mt",
        seed=0,
    )
    batch = timing.random_batch(
        np.random.default_rng(0),
        arguments.batch_size,
        (SOURCE_PIECES, CHARACTERS),
        (50, arguments.length),
    )
    step = timing.make_step(
        model,
        losses.generation_loss,
        Adam(3e-4),
        timing.specs(batch),
        normalize="sentences",
        clip_norm=5.0,
    )
    seconds = []
    for _ in range(arguments.steps + 1):
        start = time.perf_counter()
        step(batch)
        seconds.append(time.perf_counter() - start)
    return {
        "before": before,
        "peak": timing.peak_memory(),
        "seconds": min(seconds[1:]),
    }


if __name__ == "__main__":
    sys.exit(main())
