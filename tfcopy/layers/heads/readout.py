"""The decoder's outputs from which words are predicted, unprojected."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfcopy")
class Readout(keras.layers.Layer):
    """Some of a decoder's outputs, concatenated.

    Args:
        parts: Names of `decoder_outputs`. Only the hidden state in CopyNet;
            `("hidden", "context", "inputs")` gives each a linear term in the
            head's logits.
        dropout: Share of the elements dropped in training.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: dict of `decoder_outputs`.

    Returns:
        `(B, T, F)`, the parts concatenated.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 7.
    """

    def __init__(self, parts=("hidden",), dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        self.dropout = dropout
        self.seed = seed
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def call(self, decoded, training=False):
        features = ops.concatenate([decoded[p] for p in self.parts], axis=-1)
        return self.dropout_layer(features, training=training)

    def compute_output_shape(self, decoded_shape):
        shapes = [decoded_shape[part] for part in self.parts]
        return (*shapes[0][:-1], sum(shape[-1] for shape in shapes))

    def get_config(self):
        return {
            **super().get_config(),
            "parts": self.parts,
            "dropout": self.dropout,
            "seed": self.seed,
        }
