"""Memory and time of a training step at the paper's sizes.

    python -m benchmarks.pointer_generator_memory [--steps 5]
    python -m benchmarks.pointer_generator_memory --vocabulary 100000

A batch of 16 articles of 400 words, 100 target steps, 50,000 words, Adagrad
and clipping, with coverage. Prints the peak of the process's memory, and how
far a step is from the time of its matrix products.
"""

import statistics
import time

import keras
import numpy as np
import tensorflow as tf

from benchmarks import flags, timing
from tfcopy import losses
from tfcopy.models import pointer_generator

BATCH, SOURCE, TARGET = 16, 400, 100


def main():
    arguments = flags.parse(
        __doc__,
        ("steps", 5, "timed"),
        ("vocabulary", 50_000, "words"),
        ("seed", 0, "of the words"),
    )
    peak = timing.peak_memory
    print(f"before the model: {peak():,.0f} MiB (TensorFlow and its like)")
    words = arguments.vocabulary
    model = pointer_generator(words, coverage=True, initializers="paper")
    batch = make_batch(words, arguments.seed)
    step = timing.make_step(
        model,
        losses.marginal_copy_loss,
        keras.optimizers.Adagrad(0.15, initial_accumulator_value=0.1),
        timing.specs(batch),
        penalty=losses.CoveragePenalty(),
        clip_norm=2.0,
        normalize="examples",
    )
    seconds = []
    for number in range(arguments.steps + 1):
        start = time.perf_counter()
        assert np.isfinite(step({k: tf.constant(x) for k, x in batch.items()}))
        seconds.append(time.perf_counter() - start)
        print(f"step {number}: {seconds[-1]:.2f} s, peak {peak():,.0f} MiB")
    typical = statistics.median(seconds[1:])
    work = 3 * forward_operations(model)
    rate = timing.matrix_rate(shape=(BATCH * TARGET, 256, words))
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
    return total + 2 * BATCH * TARGET * SOURCE * (units + values)


if __name__ == "__main__":
    main()
