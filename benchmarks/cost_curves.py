"""What training and search cost against each size, with the floor beside.

    python -m benchmarks.cost_curves --picture docs/cost_curves.png

The pointer softmax translator at the sizes of the Multi30k experiment, with
random weights and random words. One size at a time changes: positions of source
and target, words of the vocabulary, sentences, beams. The floor is the matrix
products' operations over the best rate that a (1088, 512) x (512, 10000)
product reached in this run. Prints a table.
"""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from benchmarks import flags, timing
from tfcopy import losses, tokens
from tfcopy.models import translator

UNITS, EMBEDDING, ENCODER, OUTPUT = 512, 256, 256, 512


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The sizes that change."""

    source: int = 16
    target: int = 16
    words: int = 10_000
    sentences: int = 64
    beams: int = 5

    @property
    def products(self):
        """Multiplications and additions of a forward pass over all targets.

        Returns:
            Those of the source's positions, of a target's position, and of a
            target's and a source's position.
        """
        e, d, h, o = EMBEDDING, UNITS, ENCODER, OUTPUT
        c = a = 2 * h
        source = 2 * (e * 3 * h + h * 3 * h) + c * a
        target = e * 3 * d + d * 3 * d + d * (a + 3 * d) + c * 3 * d
        target += (d + e + c) * o + o * self.words
        target += (d + c) * e + e * e + e
        return 2 * source, 2 * target, 2 * (a + c)

    def floor(self, rows, passes):
        """Operations for so many rows, of all of which `passes` are made."""
        source, target, both = self.products
        targets = rows * self.target
        return passes * (
            self.sentences * self.source * source
            + targets * target
            + targets * self.source * both
        )


# Of each size the values, in steps of two.
CURVES = {
    "source": (8, 16, 32, 64),
    "target": (8, 16, 32, 64),
    "words": (2_500, 5_000, 10_000, 20_000, 40_000),
    "sentences": (1, 8, 32, 64, 128),
    "beams": (1, 2, 5, 10),
}


def main():
    options = flags.parse(
        __doc__,
        ("repeats", 5, "times, of which the median counts"),
        ("picture", None, "PNG file to write"),
    )
    rate = timing.matrix_rate()
    curves = {}
    for name, values in CURVES.items():
        for value in values:
            sizes = dataclasses.replace(Sizes(), **{name: value})
            point = {"value": value}
            if name != "beams":
                point["training"] = time_training(sizes, options.repeats)
                point["training floor"] = sizes.floor(sizes.sentences, 3) / rate
            # A search of 64 at once takes long; 32 are usual.
            few = dataclasses.replace(
                sizes, sentences=value if name == "sentences" else 32
            )
            rows = few.sentences * few.beams
            point["search"] = time_search(few, options.repeats)
            point["search floor"] = few.floor(rows, 1) / rate
            curves.setdefault(name, []).append(point)
            print(f"{name} {value}: {_shown(point)}", flush=True)
    rate = max(rate, timing.matrix_rate())
    print(f"matrix products: {rate / 1e9:.0f} GFLOP/s")
    if options.picture:
        draw(curves, options.picture)


def _shown(point):
    return ", ".join(
        f"{name} {1000 * seconds:.0f} ms"
        for name, seconds in point.items()
        if name != "value"
    )


def make_model(sizes):
    keras.utils.set_random_seed(0)
    return translator(
        sizes.words,
        sizes.words,
        embedding_dim=EMBEDDING,
        units=UNITS,
        encoder_units=ENCODER,
        output_units=OUTPUT,
    )


def make_batch(sizes):
    rng = np.random.default_rng(0)

    def ids(length):
        first = len(tokens.SPECIAL_TOKENS)
        shape = (sizes.sentences, length)
        found = rng.integers(first, sizes.words, shape).astype("int32")
        return tf.constant(found)

    source = ids(sizes.source)
    return {
        "source_ids": source,
        "source_copy_ids": source,
        "target_ids": ids(sizes.target),
        "pointers": tf.fill((sizes.sentences, sizes.target), tokens.GENERATE),
    }


def time_training(sizes, repeats):
    """Median seconds of loss and gradients, clipped, and Adam's update."""
    model, batch = make_model(sizes), make_batch(sizes)
    optimizer = keras.optimizers.Adam(clipnorm=1.0)
    optimizer.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step(batch):
        with tf.GradientTape() as tape:
            outputs = model({x: batch[x] for x in model.input}, training=True)
            cost = tf.reduce_mean(losses.observed_copy_loss(batch, outputs))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(cost, variables), variables)
        return cost

    return np.median(timing.seconds_of(lambda: step(batch).numpy(), repeats))


def time_search(sizes, repeats):
    """Median seconds of a search of all its steps."""
    model, batch = make_model(sizes), make_batch(sizes)
    search = timing.make_search(model, sizes.beams, sizes.target, merge="max")
    return np.median(timing.seconds_of(lambda: search(batch), repeats))


def draw(curves, path):
    """A panel a size: seconds of training and search, and their floors."""
    from tfcopy import figures

    labels = {
        "source": "positions of the source",
        "target": "positions of the target",
        "words": "words of the vocabulary",
        "sentences": "sentences at once",
        "beams": "beams",
    }
    panels = [
        figures.Panel(
            {
                kind: ([x["value"] for x in points], [x[kind] for x in points])
                for kind in points[0]
                if kind != "value"
            },
            "Training and search",
            labels[name],
            "seconds",
            log_x=True,
        )
        for name, points in curves.items()
    ]
    figures.save_png(path, figures.panels_figure(panels))


if __name__ == "__main__":
    main()
