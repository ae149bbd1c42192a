"""A Transformer decoder with an attention that points.

Shapes: B batch, T target steps, K beams, S source steps, E embedding size,
H heads, U units, d = U / H, N rows (T steps of training, or K beams).
"""

import keras
from keras import ops

from tfcopy.layers.cells.decoder_cell import HistoryCell
from tfcopy.layers.cells.transformer_block import (
    TransformerBlock,
    rotation,
    sinusoids,
)
from tfcopy.layers.configured import check_choice
from tfcopy.layers.tensors import add_norms, cast_norms, normalize, or_all

POSITIONS = ("sinusoidal", "learned", "rotary")


@keras.saving.register_keras_serializable(package="tfcopy")
class TransformerCell(HistoryCell):
    """Blocks of self-attention and attention over the source, then pointing.

    1. The previous words are projected to `units` and normalised, so that the
       scale of the embeddings does not matter, and get their positions.
    2. Blocks read them, those before, and the source; with `normalize_first`
       their output is normalised once more. It is `hidden`.
    3. It queries an attention of its own, whose weights copying heads point
       with, whatever the heads inside the blocks look at.

    A search keeps the keys and values of all steps before.

    Args:
        units: Positive integer, U, a multiple of `num_heads`.
        attention: The attention that points, such as `MultiHeadAttention`;
            none that plans.
        kernel_initializer: Initializer of each matrix.
        num_layers: Positive integer, the number of blocks.
        num_heads: Positive integer, the heads of each attention in a block.
        feedforward_units: As in `TransformerBlock`; `4 * units` if `None`.
        normalize_first: As in `TransformerBlock`.
        positions: `"sinusoidal"` or `"learned"` vectors that are added to the
            words, or `"rotary"`, by which queries and keys are rotated.
        num_positions: Number of learned positions; all later ones are like the
            last.
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
        units,
        attention,
        kernel_initializer="glorot_uniform",
        num_layers=2,
        num_heads=4,
        feedforward_units=None,
        normalize_first=True,
        positions="sinusoidal",
        num_positions=512,
        dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        self.keep_arguments(locals())
        if num_layers < 1 or num_heads < 1 or units % num_heads:
            raise ValueError(
                "`num_layers` and `num_heads` must be positive, and `units` a "
                f"multiple of `num_heads`. Received: units={units}, "
                f"num_layers={num_layers}, num_heads={num_heads}."
            )
        check_choice("positions", positions, POSITIONS)
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
        self.input_kernel = self.add_weight(
            name="input_kernel",
            shape=(inputs_shape[-1], units),
            initializer=self.kernel_initializer,
        )
        self.input_bias = self.add_weight(
            name="input_bias", shape=(units,), initializer="zeros"
        )
        sites = ("input", "output") if self.normalize_first else ("input",)
        self.norms = add_norms(self, dict.fromkeys(sites, units))
        if self.positions == "learned":
            self.position_table = self.add_weight(
                name="position_table",
                shape=(self.num_positions, units),
                initializer=keras.initializers.RandomNormal(stddev=0.02),
            )
        for block in self.blocks:
            block.build((*inputs_shape[:-1], units), annotations_shape)

    def _project(self, inputs, matches):
        """The words, projected and normalised.

        Args:
            inputs: Embedded words, `(..., E)`.
            matches: Ignored; see `DecoderCell.project`.

        Returns:
            `(..., units)`, float32.
        """
        words = self._multiply(inputs, self.input_kernel, self.input_bias)
        return normalize(words, cast_norms(self.norms)["input"])

    def prepare(self, annotations, mask=None):
        """Computes all that the steps of a sentence share, a `Memory`."""
        mask = or_all(mask, annotations)
        weights = {"norms": cast_norms(self.norms)}
        if self.positions == "learned":
            weights["positions"] = ops.cast(self.position_table, "float32")
        memory = self._prepare(annotations, mask, weights)
        for block in self.blocks:
            part = block.prepare(annotations, mask).nested(block.name)
            memory = memory.updated(*part)
        return memory

    def _no_rows(self, memory):
        return {
            block.name: {
                part: memory.sentences[block.name][part][:, :, :0]
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
        """The output of the blocks, and their keys and values.

        Args:
            x: Words, `(B, N, U)`.
            memory: From `prepare`.
            places: Positions, `(B or 1, N or 1)`.
            visible: As in `TransformerBlock.run`.
            join: As there, with the block's name before.
            training: Whether to drop.

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
            x = normalize(x, memory.weights["norms"]["output"])
        return x, rows
