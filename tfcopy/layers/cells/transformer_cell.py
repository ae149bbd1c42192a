"""Transformer decoder with an attention that points; its blocks, positions.

Shapes: B batch, T target steps, K beams, S source steps, E embedding size,
H heads, U units, d = U / H, C value size, N rows (T steps in training, or K
beams), M rows that may be attended to.
"""

import math

import keras
from keras import ops

from tfcopy.layers import configured, tensors
from tfcopy.layers.cells.decoder_cell import HistoryCell
from tfcopy.layers.loop import Memory, Product

POSITIONS = ("sinusoidal", "learned", "rotary")


@keras.saving.register_keras_serializable(package="tfcopy")
class TransformerCell(HistoryCell):
    """Decoder cell with Transformer blocks and an attention that points.

    1. The embeddings of the previous tokens are projected to `units` and
       normalised, so that their scale does not matter. Then positions are
       added.
    2. The blocks attend to all previous tokens and to the source. With
       `normalize_first` their output is normalised once more. The result is
       `hidden`.
    3. `hidden` is the query of a separate attention. Copying heads point with
       its weights, which do not depend on the attention weights of the blocks.

    A search keeps the keys and values of all earlier steps.

    ```python
    attention = layers.MultiHeadAttention(8, num_heads=2)
    cell = layers.TransformerCell(8, attention, num_layers=1, num_heads=2)
    decoded = layers.Decoder(cell)(targets, annotations, mask, matches)
    ```

    Args:
        units: Positive integer, U, a multiple of `num_heads`.
        attention: The attention that points, such as `MultiHeadAttention`;
            not `PlanAttention`.
        kernel_initializer: Initializer of each matrix.
        num_layers: Positive integer, the number of blocks.
        num_heads: Positive integer, the heads of each attention in a block.
        feedforward_units: As in `TransformerBlock`; `4 * units` if `None`.
        normalize_first: As in `TransformerBlock`.
        positions: `"sinusoidal"` or `"learned"` vectors are added to the
            tokens; `"rotary"` rotates queries and keys.
        num_positions: Number of learned positions; later positions get the
            vector of the last one.
        dropout: As in `TransformerBlock`.
        seed: Optional integer, of the dropout.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3;
        [Xiong et al., 2020](https://arxiv.org/abs/2002.04745) for
        `normalize_first`; [Su et al., 2021](https://arxiv.org/abs/2104.09864)
        for `"rotary"`.
    """

    def __init__(
        self,
        units: int,
        attention: keras.Layer,
        kernel_initializer: configured.Initializer = "glorot_uniform",
        num_layers: int = 2,
        num_heads: int = 4,
        feedforward_units: int | None = None,
        normalize_first: bool = True,
        positions: str = "sinusoidal",
        num_positions: int = 512,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        self.keep_arguments(locals())
        configured.check_heads(units, num_layers, num_heads)
        configured.check_choice("positions", positions, POSITIONS)
        if positions == "rotary" and units // num_heads % 2:
            raise ValueError(
                "With rotary `positions`, `units` must be an even multiple of "
                f"`num_heads`. Received: units={units}, num_heads={num_heads}."
            )
        self.blocks = [
            TransformerBlock(
                units,
                num_heads,
                feedforward_units or 4 * units,
                normalize_first,
                kernel_initializer,
                dropout,
                None if seed is None else seed + i,
                dtype=self.dtype_policy,
                name=f"block_{i}",
            )
            for i in range(num_layers)
        ]

    def build(self, inputs_shape, annotations_shape):
        units = self.units
        self._build_attention(inputs_shape, annotations_shape, units)
        self.input_kernel = self._add_kernel("input", inputs_shape[-1], units)
        self.input_bias = self._add_bias("input", units)
        sites = ("input", "output") if self.normalize_first else ("input",)
        self.norms = tensors.add_norms(self, dict.fromkeys(sites, units))
        if self.positions == "learned":
            self.position_table = self.add_weight(
                name="position_table",
                shape=(self.num_positions, units),
                initializer=keras.initializers.RandomNormal(stddev=0.02),
            )
        for block in self.blocks:
            block.build((*inputs_shape[:-1], units), annotations_shape)

    def _project(self, inputs, matches):
        """Projects and normalises the tokens.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            matches: Ignored; see `DecoderCell.project`.

        Returns:
            `(..., units)`, float32.
        """
        words = self._multiply(inputs, self.input_kernel, self.input_bias)
        return tensors.normalize(words, tensors.cast_norms(self.norms)["input"])

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        mask = tensors.or_all(mask, annotations)
        weights = {"norms": tensors.cast_norms(self.norms)}
        if self.positions == "learned":
            weights["positions"] = ops.cast(self.position_table, "float32")
        memory = self._prepare(annotations, mask, weights)
        for block in self.blocks:
            part = block.prepare(annotations, mask).nest(block.name)
            memory = memory.update(*part)
        return memory

    def _get_row_template(self, memory):
        return {
            block.name: {
                part: memory.sentences[block.name][part]
                for part in ("keys", "values")
            }
            for block in self.blocks
        }

    def _all_steps(self, words, memory, training):
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        earlier = ops.expand_dims(places, 1) >= places  # (T, T)
        hidden, _ = self._run(
            words,
            memory,
            ops.expand_dims(places, 0),
            ops.expand_dims(earlier, 0),
            lambda name, rows: rows,
            training,
        )
        return hidden

    def _one_step(self, words, memory, history):
        return self._run(
            words,
            memory,
            history.steps,
            history.visible(),
            lambda name, new: history.add(history.rows[name], new),
        )

    def _run(self, x, memory, places, visible, join, training=False):
        """Runs all blocks; returns their keys and values, too.

        Args:
            x: Projected tokens, `(B, N, U)`.
            memory: From `prepare`.
            places: Positions, `(B or 1, N or 1)`.
            visible: As in `TransformerBlock.run`.
            join: As in `TransformerBlock.run`, with the block's name as its
                first argument.
            training: Whether to apply dropout.

        Returns:
            `(hidden, rows)`: `(B, N, U)`, and the results of `join` by name.
        """
        turn, rows = None, {}
        if self.positions == "rotary":
            size = self.units // self.num_heads
            turn = rotation(ops.expand_dims(places, 1), size)
        elif self.positions == "sinusoidal":
            x = x + sinusoids(places, self.units)
        else:
            places = ops.minimum(places, self.num_positions - 1)
            x = x + ops.take(memory.weights["positions"], places, axis=0)
        for block in self.blocks:
            name = block.name
            x, rows[name] = block.run(
                x,
                memory.part(name),
                visible,
                lambda new, name=name: join(name, new),
                turn,
                training,
            )
        if self.normalize_first:
            x = tensors.normalize(x, memory.weights["norms"]["output"])
        return x, rows


_SITES = ("self", "cross", "feedforward")


@keras.saving.register_keras_serializable(package="tfcopy")
class TransformerBlock(configured.Configured, keras.layers.Layer):
    """Block of a Transformer decoder.

    It has self-attention, attention over the source, and a feed-forward
    network. The output of each is added to its input. With `normalize_first`
    the input is normalised, otherwise the sum.

    `run` takes all steps of training, or the beams of one step of a search, in
    the same axis. The two cases differ only in the rows that may be attended
    to. KerasHub's `TransformerDecoder` supports neither beams that share a
    source and each other's rows, nor rotary positions. It also computes the
    weights that all steps share again at each step.

    Args:
        units: Positive integer, U, a multiple of `num_heads`.
        num_heads: Positive integer, H.
        feedforward_units: Hidden size of the feed-forward network.
        normalize_first: Whether to normalise the inputs of the three parts,
            instead of the sums.
        kernel_initializer: Initializer of each matrix.
        dropout: Dropout rate of the attention weights, of the feed-forward
            network's hidden layer and of the outputs before they are added.
        seed: Optional integer, of the dropout.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.1.
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        feedforward_units: int | None,
        normalize_first: bool = True,
        kernel_initializer: configured.Initializer = "glorot_uniform",
        dropout: float = 0.0,
        seed: int | None = None,
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
        self.norms = tensors.add_norms(self, dict.fromkeys(_SITES, units))

    def _add_product(self, name, size, blocks, units):
        kernel = self.add_weight(
            name=f"{name}_kernel",
            shape=(size, blocks * units),
            initializer=configured.Blockwise(self.kernel_initializer, blocks),
        )
        return kernel, self._add_bias(name, blocks * units)

    def prepare(self, annotations, mask):
        """Prepares the `Memory` that all steps share.

        Args:
            annotations: `(B, S, C)`.
            mask: Boolean, `(B, S)`.
        """
        products = {
            name: Product(self._cast(kernel), ops.cast(bias, "float32"))
            for name, (kernel, bias) in self.products.items()
        }
        # Keys and values of the source are computed once, not at each step.
        both = products.pop("cross_key_value")(ops.cast(annotations, "float32"))
        keys, values = self._heads(both, 2)
        sentences = {"keys": keys, "values": values, "mask": mask}
        return Memory(
            sentences, {**products, "norms": tensors.cast_norms(self.norms)}
        )

    def run(self, x, memory, visible, join, turn=None, training=False):
        """Runs the block for some rows of each sentence.

        Args:
            x: `(B, N, U)`, float32.
            memory: From `prepare`.
            visible: Boolean, `(B or 1, N, M)`, the rows that each attends to.
            join: Function from the keys and values of these N rows, a dict of
                `(B, H, N, d)`, to the keys and values of all M rows.
            turn: From `rotation`, for the N positions; `None` without rotary
                positions.
            training: Whether to apply dropout.

        Returns:
            `(y, rows)`: `(B, N, U)`, and the result of `join`.
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
            y = function(
                tensors.normalize(x, norm) if self.normalize_first else x
            )
            x = x + self.dropout_layer(y, training=training)
            if not self.normalize_first:
                x = tensors.normalize(x, norm)
        return x, rows

    def _attend(self, queries, rows, visible, training):
        """Attends with queries `(B, H, N, d)`; returns `(B, N, U)`, float32."""
        queries = queries * math.sqrt(self.num_heads / self.units)
        scores = ops.einsum("bhnd,bhmd->bhnm", queries, rows["keys"])
        weights = tensors.masked_softmax(
            scores, ops.expand_dims(visible, 1), axis=-1
        )
        weights = self._cast(self.dropout_layer(weights, training=training))
        read = tensors.merge_heads(ops.matmul(weights, rows["values"]))
        return ops.cast(read, "float32")

    def _heads(self, x, parts):
        """Splits `(B, N, parts * U)` into `parts` tensors `(B, H, N, d)`."""
        places = [self.units * i for i in range(1, parts)]
        x = self._cast(x)
        several = tensors.split(x, places) if places else [x]
        return [tensors.split_heads(part, self.num_heads) for part in several]


_LONGEST = 10_000.0


def sinusoids(positions, units):
    """Computes the sinusoids of positions.

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
    """Computes the rotations of positions, for `rotate`.

    Args:
        positions: Integers, `(..., N)`.
        size: d, even.

    Returns:
        `(cosines, sines)`, each `(..., N, d / 2)`, float32.
    """
    angles = _angles(positions, size // 2)
    return ops.cos(angles), ops.sin(angles)


def rotate(x, rotation):
    """Rotates each pair of elements, so that products depend on distances.

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
    """Computes `position / 10000^(i / count)` for each i below `count`."""
    powers = ops.arange(count, dtype="float32") * (-math.log(_LONGEST) / count)
    positions = ops.cast(ops.expand_dims(positions, -1), "float32")
    return positions * ops.exp(powers)
