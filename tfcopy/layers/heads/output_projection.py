"""The linear layer between a decoder's state and its output softmax."""

import keras
from keras import ops

from tfcopy.layers.heads.projected_outputs import ProjectedOutputs


@keras.saving.register_keras_serializable(package="tfcopy")
class OutputProjection(ProjectedOutputs):
    """`[hidden ; context] W + b`, without an activation.

    Arguments and results are as in `ProjectedOutputs`.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 4, the inner
        of its two products.
    """

    def _make_projections(self, kernel_initializer):
        self.projection = self._dense(kernel_initializer, "projection")

    def build(self, decoded_shape):
        hidden, context = decoded_shape["hidden"], decoded_shape["context"]
        self.projection.build((*hidden[:-1], hidden[-1] + context[-1]))

    def _project(self, decoded):
        inputs = [decoded["hidden"], decoded["context"]]
        return self.projection(ops.concatenate(inputs, axis=-1))
