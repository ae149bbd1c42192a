"""A block of a Transformer decoder, and positions in a sentence.

Shapes: B batch, N rows (target steps of training, or beams of a search),
M rows attended to, S source steps, H heads, U units, d = U / H, C value size.
"""

import math

import keras
from keras import ops

from tfcopy.layers.configured import Blockwise, Configured
from tfcopy.layers.loop import Memory, Product
from tfcopy.layers.tensors import (
    add_norms,
    cast_norms,
    masked_softmax,
    merge_heads,
    normalize,
    split,
    split_heads,
)

_SITES = ("self", "cross", "feedforward")


@keras.saving.register_keras_serializable(package="tfcopy")
class TransformerBlock(Configured, keras.layers.Layer):
    """Self-attention, attention over the source, and a feed-forward network.

    Each of the three is added to its input, which is normalised before it
    (`normalize_first`) or together with it.

    `run` is the same for all steps of training and for the beams of one step of
    a search, which stand in the same axis: only what they may attend to
    differs. KerasHub's `TransformerDecoder` knows neither beams that share a
    source and each other's rows, nor rotations, and computes the weights of
    all steps from its variables at each one.

    Args:
        units: Positive integer, U, a multiple of `num_heads`.
        num_heads: Positive integer, H.
        feedforward_units: Hidden size of the feed-forward network.
        normalize_first: Whether its inputs are normalised, not its outputs.
        kernel_initializer: Initializer of each matrix.
        dropout: Dropout rate of the attention weights, the feed-forward
            network's hidden layer and of what is added.
        seed: Optional integer, of the dropout.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.1.
    """

    def __init__(
        self,
        units,
        num_heads,
        feedforward_units,
        normalize_first=True,
        kernel_initializer="glorot_uniform",
        dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype="float32"
        )

    def build(self, inputs_shape, annotations_shape):
        units, hidden = self.units, self.feedforward_units
        shapes = {
            "self_query_key_value": (units, 3, units),
            "self_output": (units, 1, units),
            "cross_query": (units, 1, units),
            "cross_key_value": (annotations_shape[-1], 2, units),
            "cross_output": (units, 1, units),
            "feedforward_hidden": (units, 1, hidden),
            "feedforward_output": (hidden, 1, units),
        }
        self.products = {
            name: self._add_product(name, *shape)
            for name, shape in shapes.items()
        }
        self.norms = add_norms(self, dict.fromkeys(_SITES, units))

    def _add_product(self, name, size, blocks, units):
        kernel = self.add_weight(
            name=f"{name}_kernel",
            shape=(size, blocks * units),
            initializer=Blockwise(self.kernel_initializer, blocks),
        )
        bias = self.add_weight(
            name=f"{name}_bias", shape=(blocks * units,), initializer="zeros"
        )
        return kernel, bias

    def prepare(self, annotations, mask):
        """Computes what all steps share, a `Memory`.

        Args:
            annotations: `(B, S, C)`.
            mask: Boolean, `(B, S)`.
        """
        products = {
            name: Product(
                ops.cast(kernel, self.compute_dtype), ops.cast(bias, "float32")
            )
            for name, (kernel, bias) in self.products.items()
        }
        # The source is read once, not at each step.
        both = products.pop("cross_key_value")(ops.cast(annotations, "float32"))
        keys, values = self._heads(both, 2)
        sentences = {"keys": keys, "values": values, "mask": mask}
        return Memory(sentences, {**products, "norms": cast_norms(self.norms)})

    def run(self, x, memory, visible, join, turn=None, training=False):
        """The block's output for some rows of each sentence.

        Args:
            x: `(B, N, U)`, float32.
            memory: From `prepare`.
            visible: Boolean, `(B or 1, N, M)`, the rows that each attends to.
            join: Function from the keys and values of these N rows, a dict of
                `(B, H, N, d)`, to those of the M.
            turn: Rotation of the N positions, or `None`; see `positions`.
            training: Whether to drop.

        Returns:
            `(y, rows)`: `(B, N, U)`, and what `join` returned.
        """
        weights = memory.weights
        rows = {}

        def attend_self(x):
            both = weights["self_query_key_value"](x)
            queries, keys, values = self._heads(both, 3)
            if turn is not None:
                queries, keys = rotate(queries, turn), rotate(keys, turn)
            rows.update(join({"keys": keys, "values": values}))
            read = self._attend(queries, rows, visible, training)
            return weights["self_output"](read)

        def attend_source(x):
            (queries,) = self._heads(weights["cross_query"](x), 1)
            sentences = memory.sentences
            visible = ops.expand_dims(sentences["mask"], 1)
            read = self._attend(queries, sentences, visible, training)
            return weights["cross_output"](read)

        def feed_forward(x):
            hidden = ops.relu(weights["feedforward_hidden"](x))
            hidden = self.dropout_layer(hidden, training=training)
            return weights["feedforward_output"](hidden)

        for site, function in zip(
            _SITES, (attend_self, attend_source, feed_forward)
        ):
            norm = weights["norms"][site]
            y = function(normalize(x, norm) if self.normalize_first else x)
            x = x + self.dropout_layer(y, training=training)
            if not self.normalize_first:
                x = normalize(x, norm)
        return x, rows

    def _attend(self, queries, rows, visible, training):
        """What queries `(B, H, N, d)` read, `(B, N, U)`, float32."""
        queries = queries * math.sqrt(self.num_heads / self.units)
        scores = ops.einsum("bhnd,bhmd->bhnm", queries, rows["keys"])
        weights = masked_softmax(scores, ops.expand_dims(visible, 1), axis=-1)
        weights = self.dropout_layer(weights, training=training)
        weights = ops.cast(weights, self.compute_dtype)
        read = merge_heads(ops.matmul(weights, rows["values"]))
        return ops.cast(read, "float32")

    def _heads(self, x, parts):
        """Side by side `(B, N, parts * U)` to tensors `(B, H, N, d)`."""
        x = ops.cast(x, self.compute_dtype)
        places = [self.units * i for i in range(1, parts)]
        several = split(x, places) if places else [x]
        return [split_heads(part, self.num_heads) for part in several]


_LONGEST = 10_000.0


def sinusoids(positions, units):
    """The sinusoids of positions.

    Args:
        positions: Integers, `(..., N)`.
        units: U.

    Returns:
        `(..., N, U)`, float32: sines, then cosines.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.5.
    """
    angles = _angles(positions, (units + 1) // 2)
    both = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    return both[..., :units]


def rotation(positions, size):
    """The rotations of positions, for `rotate`.

    Args:
        positions: Integers, `(..., N)`.
        size: d, even.

    Returns:
        `(cosines, sines)`, each `(..., N, d / 2)`, float32.
    """
    angles = _angles(positions, size // 2)
    return ops.cos(angles), ops.sin(angles)


def rotate(x, rotation):
    """Rotates each pair of elements, so that products tell distances.

    Args:
        x: `(..., N, d)`; element i is paired with element i + d / 2.
        rotation: From `rotation`.

    Reference:
        [Su et al., 2021](https://arxiv.org/abs/2104.09864), eq. 34.
    """
    cosines, sines = (ops.cast(part, x.dtype) for part in rotation)
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate(
        [first * cosines - second * sines, second * cosines + first * sines],
        axis=-1,
    )


def _angles(positions, count):
    """`position / 10000^(i / count)` for each i below `count`."""
    powers = ops.arange(count, dtype="float32") * (-math.log(_LONGEST) / count)
    positions = ops.cast(ops.expand_dims(positions, -1), "float32")
    return positions * ops.exp(powers)
