"""Whether XLA compiles training, and what is said while it does."""

import contextlib
import logging
import time

import tensorflow as tf

from tfcopy import keras_internals


def is_worth_compiling(model):
    """Whether there is a GPU, and XLA can compile all layers."""
    return bool(tf.config.list_physical_devices("GPU")) and all(
        layer.supports_jit for layer in keras_internals.all_layers(model)
    )


def announced(function, purpose, report):
    """A function that tells when XLA compiles a program for new shapes.

    Args:
        function: A `tf.function` whose first argument is a tuple of batches,
            dicts of tensors.
        purpose: What it does with them, such as "score".
        report: Callable of a line.
    """
    seen = set()

    def call(batches, *more):
        shapes = _shapes_of(batches)
        if shapes in seen:
            return function(batches, *more)
        seen.add(shapes)
        what = f"program {len(seen)} to {purpose} batches of {shapes}"
        report(f"XLA compiles {what} ...")
        start = time.monotonic()
        with _without_warnings():
            result = function(batches, *more)
        report(f"... which took {time.monotonic() - start:.0f} s")
        return result

    return call


def _shapes_of(batches):
    """The shape of each text of a batch, such as "source 32 x 16"."""
    shapes = {
        name.removesuffix("_ids"): " x ".join(map(str, x.shape))
        for name, x in sorted(batches[0].items())
        if name.endswith("_ids") and not name.endswith("_copy_ids")
    }
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())


@contextlib.contextmanager
def _without_warnings():
    """TensorFlow warns of functions that are traced for each shape."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
