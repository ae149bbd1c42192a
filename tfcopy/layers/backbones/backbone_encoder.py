"""The encoder of a pretrained network.

Shapes: B batch, S source steps, D hidden size.
"""

import keras
from keras import ops

from tfcopy.layers.backbones.hub_backbone import OfBackbone, parts_of
from tfcopy.layers.configured import Unmasked


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneEncoder(OfBackbone, Unmasked):
    """Reads a sentence with the encoder of a backbone of KerasHub.

    Args:
        backbone: The backbone.

    Call arguments:
        inputs: Its embedded words, `(B, S, D)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, first)`: `(B, S, D)`, float32, and the annotation of the
        first word, `(B, D)`.
    """

    def __init__(self, backbone, **kwargs):
        super().__init__(**kwargs)
        self.parts = parts_of(backbone)
        self.encoder_layers = self.parts.encoder_layers

    def build(self, inputs_shape, mask_shape=None):
        """The layers are built: they belong to the backbone."""

    def call(self, inputs, mask, training=False):
        annotations = self.parts.encode(inputs, mask, training)
        annotations = ops.cast(annotations, "float32")
        return annotations, annotations[:, 0]

    def compute_output_spec(self, inputs, mask, training=False):
        batch, length, size = inputs.shape
        return (
            keras.KerasTensor((batch, length, size), "float32"),
            keras.KerasTensor((batch, size), "float32"),
        )
