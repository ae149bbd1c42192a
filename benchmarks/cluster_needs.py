"""What many workers need of network, memory and storage, from what is measured.

    python -m benchmarks.cluster_needs --workers 2 10 100

Builds the models of two papers at their sizes, times an update of each on this
machine, prepares a generated corpus, and computes from parameters, seconds and
bytes what a cluster has to carry. Sums of gradients go around a ring, in which
each of W workers sends and gets 2 (W - 1) / W times the bytes of all gradients
(float32) an update.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

from benchmarks import prepare_scale, timing
from tfcopy import losses, models
from tfcopy.terminal import tolerant_output

_SLOTS = 3  # copies of each weight in a checkpoint: itself and Adam's two
_KEPT = 2  # checkpoints
_ORDER = 24  # bytes that the order of an epoch takes for a pair


def paper_models():
    """Name to the model of a paper, its words, batch size and lengths."""
    return {
        "europarl_ps": (
            models.gru_translator(
                30_000,
                30_000,
                head="pointer_softmax",
                embedding_dim=512,
                units=1024,
            ),
            30_000,
            32,
            (30, 30),
        ),
        "cnn_dailymail_pg": (
            models.pointer_generator(
                50_000, embedding_dim=128, units=256, coverage=True
            ),
            50_000,
            16,
            (400, 100),
        ),
    }


def seconds_of(model, size, batch_size, lengths, rounds):
    """Median seconds of an update."""
    rng = np.random.default_rng(0)
    batches = [
        timing.random_batch(rng, batch_size, (size, size), lengths)
        for _ in range(rounds + 1)
    ]
    step = timing.make_step(
        model,
        losses.of_head(model.head),
        keras.optimizers.Adam(),
        tf.nest.map_structure(tf.TensorSpec.from_tensor, batches[0]),
    )
    seconds = timing.race({"update": step}, batches, warm_up=1)
    return float(np.median(seconds["update"]))


def bytes_a_pair(num_pairs):
    """Bytes of text and of shards, for a pair of 5 to 30 words."""
    with tempfile.TemporaryDirectory() as folder:
        paths = prepare_scale.write_corpus(folder, num_pairs)
        prepared = os.path.join(folder, "prepared")
        subprocess.run(
            [
                *(sys.executable, "-m", "tfcopy.data.prepare"),
                *("--train", *paths, "--output", prepared),
                *("--tokenization", "space"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shards = [x for x in os.listdir(prepared) if x.startswith("train")]
        sizes = [
            sum(map(os.path.getsize, paths)),
            sum(os.path.getsize(os.path.join(prepared, x)) for x in shards),
        ]
    return [size / num_pairs for size in sizes]


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.cluster_needs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--workers", type=timing.positive, nargs="+", default=[2, 10, 100]
    )
    timing.add_numbers(
        parser,
        ("rounds", 5, "updates that are timed"),
        ("pairs", 20_000, "pairs that are prepared to measure shards"),
    )
    options = parser.parse_args()
    for name, (model, *sizes) in paper_models().items():
        size = 4 * model.count_params()
        seconds = seconds_of(model, *sizes, options.rounds)
        batch_size = sizes[1]
        print(
            f"{name}: {model.count_params():,} parameters, {size / 1e6:,.0f} "
            f"MB of gradients, {seconds:.2f} s an update of {batch_size} here, "
            f"{size * _SLOTS * _KEPT / 1e9:.2f} GB of checkpoints"
        )
        for workers in options.workers:
            sent = 2 * (workers - 1) / workers * size
            print(
                f"  {workers} workers: {sent / 1e6:,.0f} MB sent by each an "
                f"update; {8e-9 * sent / (0.1 * seconds):.2f} Gbit/s, were it "
                "to take a tenth of an update"
            )
    text, shards = bytes_a_pair(options.pairs)
    print(f"a pair: {text:.0f} bytes of text, {shards:.0f} of shards")
    for pairs in (5e6, 1e8, 1e9):
        print(
            f"  {pairs:,.0f} pairs: {text * pairs / 1e9:,.1f} GB of text, "
            f"{shards * pairs / 1e9:,.1f} GB of shards, "
            f"{_ORDER * pairs / 1e9:,.2f} GB in the memory of each worker"
        )
    return 0


if __name__ == "__main__":
    with tolerant_output():
        sys.exit(main())
