"""Readouts: features for a head, computed from the outputs of a decoder."""

import keras
from keras import ops

from tfcopy.layers.configured import Configured, Initializer
from tfcopy.layers.products import dense


class ProjectedOutputs(Configured, keras.layers.Layer):
    """Base of layers that project the outputs of a decoder for a head.

    A subclass makes its layers (`_make_projections`) and calls them
    (`_project`).

    Args:
        units: Positive integer, the size of the features.
        dropout: Dropout rate of the features.
        kernel_initializer: Initializer of all matrices.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: Dict of `decoder_outputs`.

    Returns:
        `(B, T, units)`.
    """

    def __init__(
        self,
        units: int,
        dropout: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        # Not converted: from a name, each matrix gets its own initializer and
        # seed, while a single initializer would give all the same values.
        self._make_projections(kernel_initializer)
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def _make_projections(self, kernel_initializer):
        raise NotImplementedError

    def _project(self, decoded):
        raise NotImplementedError

    def call(self, decoded, training=False):
        return self.dropout_layer(self._project(decoded), training=training)


@keras.saving.register_keras_serializable(package="tfcopy")
class Readout(Configured, keras.layers.Layer):
    """Layer that concatenates some of a decoder's outputs.

    ```python
    readout = layers.Readout(("hidden", "context"))
    features = readout(decoded)  # (2, 3, 13)
    ```

    Args:
        parts: Names of `decoder_outputs`. CopyNet has only the hidden state.
            With `("hidden", "context", "inputs")`, each has a linear term in
            the head's logits.
        dropout: Dropout rate of the result.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: Dict of `decoder_outputs`.

    Returns:
        `(B, T, F)`, the parts concatenated.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 7.
    """

    def __init__(
        self,
        parts: tuple[str, ...] = ("hidden",),
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.parts = tuple(parts)
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def call(self, decoded, training=False):
        features = ops.concatenate([decoded[p] for p in self.parts], axis=-1)
        return self.dropout_layer(features, training=training)


@keras.saving.register_keras_serializable(package="tfcopy")
class DeepOutput(ProjectedOutputs):
    """Deep output of the dl4mt tutorial, a hidden layer before the softmax.

    `tanh(hidden W_s + b_s + inputs W_e + b_e + context W_c + b_c)`. Arguments
    and results are as in `ProjectedOutputs`.

    ```python
    features = layers.DeepOutput(4)(decoded)  # (2, 3, 4)
    ```

    Reference:
        [Pascanu et al., 2014](https://arxiv.org/abs/1312.6026); the dl4mt
        tutorial, session 2.
    """

    def _make_projections(self, kernel_initializer):
        self.projections = [
            dense(self, self.units, f"{name}_projection", kernel_initializer)
            for name in ("state", "embedding", "context")
        ]

    def build(self, decoded_shape):
        for projection, shape in zip(self.projections, _read(decoded_shape)):
            projection.build(shape)

    def _project(self, decoded):
        return ops.tanh(
            sum(layer(x) for layer, x in zip(self.projections, _read(decoded)))
        )


def _read(decoded):
    """Returns the inputs of the projections, in order."""
    return decoded["hidden"], decoded["inputs"], decoded["context"]


@keras.saving.register_keras_serializable(package="tfcopy")
class OutputProjection(ProjectedOutputs):
    """Linear layer before the softmax, in the pointer-generator network.

    `[hidden ; context] W + b`. Arguments and results are as in
    `ProjectedOutputs`.

    ```python
    features = layers.OutputProjection(4)(decoded)  # (2, 3, 4)
    ```

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 4, the inner
        of its two products.
    """

    def _make_projections(self, kernel_initializer):
        self.projection = dense(
            self, self.units, "projection", kernel_initializer
        )

    def build(self, decoded_shape):
        hidden, context = decoded_shape["hidden"], decoded_shape["context"]
        self.projection.build((*hidden[:-1], hidden[-1] + context[-1]))

    def _project(self, decoded):
        inputs = [decoded["hidden"], decoded["context"]]
        return self.projection(ops.concatenate(inputs, axis=-1))
