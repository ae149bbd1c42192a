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
import subprocess
import sys

from benchmarks import flags

SOURCE_PIECES, CHARACTERS = 24_440, 302


def main():
    parser = flags.make_parser(
        __doc__,
        ("system", ("pag", "rpag", "baseline"), "of the three"),
        ("decoder", ("biscale", "gru"), "of the characters"),
        ("batch_size", 16, "sentences"),
        ("units", 600, "of all layers"),
        ("lengths", [125, 250, 500], "characters"),
        ("steps", 2, "timed"),
        ("limit", 16_384.0, "MiB"),
    )
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
    kinds = {"system": arguments.system, "decoder": arguments.decoder}
    sizes = {"units": arguments.units, "embedding_dim": arguments.units}
    words = SOURCE_PIECES, CHARACTERS
    model = planner(*words, **kinds, **sizes, initializers="dl4mt", seed=0)
    rng, lengths = np.random.default_rng(0), (50, arguments.length)
    batch = timing.random_batch(rng, arguments.batch_size, words, lengths)
    loss, specs = losses.generation_loss, timing.specs(batch)
    options = {"normalize": "sentences", "clip_norm": 5.0}
    step = timing.make_step(model, loss, Adam(3e-4), specs, **options)
    seconds = timing.seconds_of(lambda: step(batch), arguments.steps).min()
    peak = timing.peak_memory()
    return {"before": before, "peak": peak, "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
