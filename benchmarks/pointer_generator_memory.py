"""Memory and time of a training step at the paper's sizes.

    python benchmarks/pointer_generator_memory.py [--steps 5]
    python benchmarks/pointer_generator_memory.py --vocabulary 100000

A batch of 16 articles of 400 words, 100 target steps, 50,000 words, Adagrad
and clipping, with coverage. Prints the peak of the process's memory, and how
far a step is from the time of its matrix products.
"""

import argparse
import resource
import statistics
import time

import keras
import numpy as np
import tensorflow as tf

from tfcopy import losses
from tfcopy.models import pointer_generator
from tfcopy.training import Trainer

BATCH, SOURCE, TARGET = 16, 400, 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"before the model: {peak():,.0f} MiB (TensorFlow and its like)")
    words = arguments.vocabulary
    model = pointer_generator(words, coverage=True, initializers="paper")
    batch = make_batch(words, arguments.seed)
    trainer = Trainer(
        model,
        losses.marginal,
        keras.optimizers.Adagrad(0.15, initial_accumulator_value=0.1),
        lambda *_: tf.data.Dataset.from_tensors(batch),
        penalty=losses.CoveragePenalty(),
        clip_norm=2.0,
        normalize="examples",
        steps=1,
        verbose=False,
    )
    step = trainer.step_for(
        {k: tf.TensorSpec(x.shape, x.dtype) for k, x in batch.items()}
    )
    seeds = tf.zeros((1, len(trainer.seed_states)), tf.int64)
    seconds = []
    for number in range(arguments.steps + 1):
        start = time.perf_counter()
        tensors = {k: tf.constant(x) for k, x in batch.items()}
        nll, norm, _ = step.update(
            (tensors,), tf.constant(1 / BATCH), seeds, tf.constant(0.0)
        )
        assert np.isfinite([float(nll), float(norm)]).all()
        seconds.append(time.perf_counter() - start)
        print(f"step {number}: {seconds[-1]:.2f} s, peak {peak():,.0f} MiB")
    typical = statistics.median(seconds[1:])
    work = 3 * forward_operations(model)
    rate = matrix_rate(words)
    print(
        f"{BATCH * TARGET / typical:,.0f} target tokens/s; "
        f"{work / 1e9:,.0f} GFLOP a step at {work / typical / 1e9:,.0f} "
        f"GFLOP/s, {100 * work / typical / rate:.0f} % of the "
        f"{rate / 1e9:,.0f} of a product of the output layer"
    )
    one = BATCH * TARGET * words * 4 / 2**20
    print(f"one (B, T, V) tensor: {one:,.0f} MiB")


def make_batch(words, seed):
    rng = np.random.default_rng(seed)
    source = rng.integers(4, words, (BATCH, SOURCE)).astype("int32")
    unknown = rng.random(source.shape) < 0.05
    copy_ids = np.where(unknown, words + np.arange(SOURCE), source)
    target = rng.integers(4, words, (BATCH, TARGET)).astype("int32")
    copied = rng.random(target.shape) < 0.5
    target = np.where(copied, copy_ids[:, :TARGET], target)
    return {
        "source_ids": np.where(unknown, 1, source).astype("int32"),
        "source_copy_ids": copy_ids.astype("int32"),
        "target_ids": target.astype("int32"),
        "pointers": np.full_like(target, -1, "int32"),
    }


def forward_operations(model):
    """Of the matrix products: two for each weight and row."""
    rows = {"encoder": BATCH * SOURCE, "value_projection": BATCH * SOURCE}
    total = 0
    for weight in model.trainable_weights:
        if len(weight.shape) != 2 or "embeddings" in weight.path:
            continue
        number = next(
            (n for name, n in rows.items() if name in weight.path),
            BATCH * TARGET,
        )
        total += 2 * number * int(np.prod(weight.shape))
    units, values = 512, 512
    attention = 2 * BATCH * TARGET * SOURCE * (units + values)
    return total + attention


def matrix_rate(words):
    """Operations a second of `(B * T, 256)` by `(256, V)`, the best of 3."""
    x = tf.random.normal((BATCH * TARGET, 256))
    y = tf.random.normal((256, words))
    product = tf.function(tf.matmul)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        product(x, y).numpy()
        seconds.append(time.perf_counter() - start)
    return 2 * BATCH * TARGET * 256 * words / min(seconds[1:])


def peak():
    """Largest memory of the process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
