"""What pointing costs on a Transformer: training steps and search.

    python -m benchmarks.pointing_cost
    python -m benchmarks.pointing_cost --pointing additive --coverage
    python -m benchmarks.pointing_cost --source_length 400 --target_length 60

Two Transformers of the same sizes, one that only generates (a softmax of its
hidden states), and one with an attention that points, a projection of what it
read and a head that copies, take the same batches of random words, now the one
first and now the other; then each searches for answers of `--target_length`
words. The exit status is 1 if pointing takes more than `--limit` times as long
in either.
"""

import sys

import keras
import numpy as np
from keras import ops

from benchmarks import flags, timing
from tfcopy import losses
from tfcopy.layers import (
    OutputProjection,
    Readout,
    TransformerAnnotations,
    TransformerCell,
)
from tfcopy.layers.attention.pointing_attention import PointingAttention
from tfcopy.models import Seq2Seq
from tfcopy.models.assembly import make_embedding, make_head, transformer_cell
from tfcopy.tokens import POINTING_HEADS
from tfcopy.training import Adam

WARM_UP = 3


def main():
    parser = flags.make_parser(
        __doc__,
        ("units", 256, "of encoder and decoder"),
        ("layers", 3, "blocks of either"),
        ("heads", 4, "of each attention"),
        ("vocabulary", 10_000, "words of either side"),
        ("batch_size", 64, "sentences"),
        ("source_length", 20, "words"),
        ("target_length", 20, "words"),
        ("num_beams", 5, "of the search"),
        ("steps", 12, "batches timed"),
        ("pointing", ("heads", "additive"), "attention that points"),
        ("coverage", False, "lets it see where it has pointed"),
        ("limit", 1.15, "largest ratio wanted"),
    )
    parser.add_argument(
        "--head", choices=POINTING_HEADS, default="pointer_generator"
    )
    arguments = parser.parse_args()
    models = {
        name: make_model(arguments, points)
        for name, points in (("plain", False), ("pointing", True))
    }
    fulfilled = True
    for title, sides in (
        ("Training steps", steps(models, arguments)),
        ("Search", searches(models, arguments)),
    ):
        print(title)
        seconds = timing.race(sides, batches(arguments), WARM_UP)
        timing.print_times(seconds)
        ratio = timing.print_ratio(
            seconds, "pointing", "plain", arguments.limit
        )
        fulfilled &= ratio <= arguments.limit
    return int(not fulfilled)


class Nowhere(PointingAttention):
    """The place of an attention that points, in a decoder without any."""

    query_units = 0

    def build(self, query_shape, value_shape, inputs_shape=None):
        self.query_size, self.value_size = query_shape[-1], value_shape[-1]

    def query_matrix(self):
        return ops.zeros((self.query_size, 0), self.compute_dtype)

    def step(self, query, state, memory, read=None):
        def zeros(size):
            return ops.zeros((*ops.shape(query)[:-1], size))

        length = ops.shape(memory.sentences["mask_bias"])[1]
        return zeros(self.value_size), zeros(length), state


def make_model(arguments, points):
    """A Transformer, that points or not."""
    keras.utils.set_random_seed(0)
    units, words = arguments.units, arguments.vocabulary
    sizes = {"num_layers": arguments.layers, "num_heads": arguments.heads}
    if points:
        cell = transformer_cell(
            units,
            pointing=arguments.pointing,
            coverage=arguments.coverage,
            **sizes,
        )
    else:
        cell = TransformerCell(units, Nowhere(), **sizes)
    embedding = keras.initializers.RandomNormal(stddev=1.0)
    model = Seq2Seq(
        source_embedding=make_embedding(words, units, embedding, "source"),
        encoder=TransformerAnnotations(units, **sizes, name="encoder"),
        initial_state=None,
        target_embedding=make_embedding(words, units, embedding, "target"),
        cell=cell,
        # Without a context nothing but the hidden states is read.
        deep_output=OutputProjection(units) if points else Readout(),
        head=make_head(arguments.head if points else "softmax", words),
    )
    print(f"{model.count_params():,} parameters")
    return model


def batches(arguments):
    """Random words; all sentences have the same length."""
    rng = np.random.default_rng(0)
    for _ in range(WARM_UP + arguments.steps):
        batch = timing.random_batch(
            rng,
            arguments.batch_size,
            (arguments.vocabulary,) * 2,
            (arguments.source_length, arguments.target_length),
        )
        yield {**batch, "source_copy_ids": batch["source_ids"]}


def steps(models, arguments):
    """A training step for each model."""
    spec = timing.specs(next(batches(arguments)))
    objectives = {
        "plain": losses.generation_loss,
        "pointing": losses.of_head(models["pointing"].head),
    }
    return {
        name: timing.make_step(
            model, objectives[name], Adam(1e-4), spec, clip_norm=5.0
        )
        for name, model in models.items()
    }


def searches(models, arguments):
    """A search that goes on to the last word, for each model."""
    sizes = arguments.num_beams, arguments.target_length
    return {x: timing.make_search(models[x], *sizes) for x in models}


if __name__ == "__main__":
    sys.exit(main())
