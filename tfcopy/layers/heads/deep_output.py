"""The layer between a decoder's state and its output softmax."""

import keras
from keras import ops

from tfcopy.layers.heads.projected_outputs import ProjectedOutputs


@keras.saving.register_keras_serializable(package="tfcopy")
class DeepOutput(ProjectedOutputs):
    """`tanh(hidden W_s + b_s + inputs W_e + b_e + context W_c + b_c)`.

    Arguments and results are as in `ProjectedOutputs`.

    Reference:
        [Pascanu et al., 2014](https://arxiv.org/abs/1312.6026); the dl4mt
        tutorial, session 2.
    """

    def _make_projections(self, kernel_initializer):
        self.projections = [
            self._dense(kernel_initializer, f"{name}_projection")
            for name in ("state", "embedding", "context")
        ]

    def build(self, decoded_shape):
        for projection, shape in zip(self.projections, _read(decoded_shape)):
            projection.build(shape)

    def _project(self, decoded):
        inputs = _read(decoded)
        return ops.tanh(
            sum(layer(x) for layer, x in zip(self.projections, inputs))
        )


def _read(decoded):
    """The inputs of the projections, in order."""
    return decoded["hidden"], decoded["inputs"], decoded["context"]
