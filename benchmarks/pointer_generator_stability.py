"""Thousands of steps with a switch that is saturated on purpose.

    python benchmarks/pointer_generator_stability.py [--steps 10000]

Trains a small pointer-generator with coverage on random articles whose first
and last batches have 1 and 2,000 words, once with a switch that always
generates (bias +30) and once with one that always copies (-30). Targets hold
words that only the other way can say. `Trainer` raises if a loss or a
gradient is not finite; so does this program if a weight is not.
"""

import argparse
import time

import keras
import numpy as np
import tensorflow as tf

from tfcopy import losses
from tfcopy.models import pointer_generator
from tfcopy.training import Trainer

VOCABULARY, BATCH = 50, 8
LENGTHS = (1, 5, 12, 20, 30)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    keras.config.set_dtype_policy(arguments.precision)
    for bias in (30.0, -30.0):
        start = time.perf_counter()
        keras.utils.set_random_seed(arguments.seed)
        model = pointer_generator(
            VOCABULARY,
            coverage=True,
            embedding_dim=8,
            units=8,
            switch_bias=bias,
        )
        trainer = Trainer(
            model,
            losses.marginal,
            keras.optimizers.Adagrad(0.15, initial_accumulator_value=0.1),
            lambda epoch, start, context: batches(epoch, arguments.steps),
            penalty=losses.CoveragePenalty(),
            clip_norm=2.0,
            normalize="examples",
            steps=arguments.steps,
            log_every=10**9,
            progress_seconds=30,
        )
        result = trainer.fit()
        assert all(np.isfinite(w.numpy()).all() for w in model.weights)
        switch = model.head.switch.bias.numpy()[0]
        print(
            f"bias {bias:+.0f}: {result.updates:,} steps, nothing infinite or "
            f"NaN; the bias ended at {switch:+.2f} "
            f"({time.perf_counter() - start:.0f} s)"
        )


def batches(epoch, steps):
    """Random batches; every thousandth has articles of 2,000 words."""

    def generate():
        rng = np.random.default_rng(epoch)
        for number in range(steps):
            length = LENGTHS[number % len(LENGTHS)]
            yield make_batch(rng, 2_000 if number % 1_000 == 999 else length)

    spec = tf.TensorSpec((None, None), tf.int32)
    names = ("source_ids", "source_copy_ids", "target_ids", "pointers")
    return tf.data.Dataset.from_generator(
        generate, output_signature=dict.fromkeys(names, spec)
    )


def make_batch(rng, length):
    words = rng.integers(4, VOCABULARY + 20, (BATCH, length))
    # The first place of each word that the vocabulary lacks.
    same = words[:, :, None] == words[:, None, :]
    first = same.argmax(-1)
    copy_ids = np.where(words < VOCABULARY, words, VOCABULARY + first)
    target = rng.integers(1, VOCABULARY, (BATCH, 6))
    places = rng.integers(0, length, (BATCH, 6))
    copied = np.take_along_axis(copy_ids, places, 1)
    target = np.where(rng.random(target.shape) < 0.5, copied, target)
    target[:, -1] = 3
    target[: BATCH // 2, -1] = 0
    arrays = {
        "source_ids": np.where(words < VOCABULARY, words, 1),
        "source_copy_ids": copy_ids,
        "target_ids": target,
        "pointers": np.full_like(target, -1),
    }
    return {name: x.astype("int32") for name, x in arrays.items()}


if __name__ == "__main__":
    main()
