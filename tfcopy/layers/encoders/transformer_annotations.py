"""Transformer encoder made of KerasHub's blocks.

Shapes: B batch, S source steps, E input size, C units.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured, Unmasked, check_heads
from tfcopy.layers.products import Dense
from tfcopy.layers.tensors import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class TransformerAnnotations(Configured, Unmasked):
    """Transformer encoder, for use in place of a `BidirectionalGRU`.

    The inputs are projected to `units` and normalised, so that the scale of the
    embeddings does not matter. Large embeddings would otherwise outweigh the
    positions and the outputs of the blocks. Positions are sinusoidal and have
    no maximum length. Each block normalises its inputs, and the sum of all
    blocks is normalised once more, so that training needs no warm-up.

    Masking: no token attends to padding; annotations of padding are zero.

    ```python
    encoder = layers.TransformerAnnotations(8, num_layers=1, num_heads=2)
    annotations, final = encoder(embedded, mask)  # (2, 4, 8), (2, 8)
    ```

    Args:
        units: Positive integer, the size of an annotation.
        num_layers: Positive integer, the number of blocks.
        num_heads: Positive integer that divides `units`.
        feedforward_units: Hidden size of a block's feed-forward network;
            `4 * units` if `None`.
        dropout: Dropout rate of the attention and of each block's outputs.

    Call arguments:
        inputs: Embedded tokens, `(B, S, E)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, final)`: `(B, S, units)`, float32, and their mean over
        the tokens of a sentence, `(B, units)`.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762);
        [Xiong et al., 2020](https://arxiv.org/abs/2002.04745) on the place of
        the normalisation.
    """

    def __init__(
        self,
        units: int,
        num_layers: int = 2,
        num_heads: int = 4,
        feedforward_units: int | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        # Imported late: it takes a second, and needs TensorFlow on any backend.
        import keras_hub

        check_heads(units, num_layers, num_heads)
        self.projection = Dense(
            units, use_bias=False, dtype=self.dtype_policy, name="projection"
        )
        # bfloat16 could not distinguish the positions after 256.
        self.positions = keras_hub.layers.SinePositionEncoding(
            dtype="float32", name="positions"
        )
        self.blocks = [
            keras_hub.layers.TransformerEncoder(
                feedforward_units or 4 * units,
                num_heads,
                dropout=dropout,
                normalize_first=True,
                dtype=self.dtype_policy,
                name=f"block_{i}",
            )
            for i in range(num_layers)
        ]
        self.input_norm, self.norm = (
            keras.layers.LayerNormalization(
                epsilon=1e-5, dtype=self.dtype_policy, name=name
            )
            for name in ("input_norm", "norm")
        )

    def build(self, inputs_shape, mask_shape=None):
        self.projection.build(inputs_shape)
        shape = (*inputs_shape[:-1], self.units)
        for layer in (self.input_norm, *self.blocks, self.norm):
            layer.build(shape)

    def call(self, inputs, mask=None, training=None):
        mask = or_all(mask, inputs)
        x = self.projection(self._cast(inputs))
        x = ops.cast(self.input_norm(x), "float32")
        x = self._cast(x + self.positions(x))
        for block in self.blocks:
            x = block(x, padding_mask=mask, training=training)
        annotations = ops.cast(self.norm(x), "float32")
        keep = ops.cast(ops.expand_dims(mask, -1), "float32")
        annotations = annotations * keep
        count = ops.maximum(ops.sum(keep, axis=1), 1.0)
        return annotations, ops.sum(annotations, axis=1) / count

    def compute_output_spec(self, inputs, mask=None, training=None):
        batch, length = inputs.shape[:2]
        return (
            keras.KerasTensor((batch, length, self.units), "float32"),
            keras.KerasTensor((batch, self.units), "float32"),
        )
