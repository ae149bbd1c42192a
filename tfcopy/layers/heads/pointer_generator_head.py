"""Head of the pointer-generator network.

Shapes: B batch, T target steps, S source steps, V target vocabulary.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Initializer
from tfcopy.layers.heads.copynet_head import CopyNetHead
from tfcopy.layers.heads.softmax_head import SoftmaxHead
from tfcopy.layers.products import Dense


@keras.saving.register_keras_serializable(package="tfcopy")
class PointerGeneratorHead(SoftmaxHead):
    """Head that mixes a vocabulary softmax with the attention weights.

        p_gen = sigmoid(w . [context ; state ; inputs] + b)
        p(generate word) = p_gen softmax(logits)
        p(point at j) = (1 - p_gen) attention_j

    `state` is the whole state of the decoder, and `inputs` is the input of its
    recurrence, as in the authors' code. For an LSTM with input feeding these
    are cell and hidden state, and the token merged with the last context.

    ```python
    head = layers.PointerGeneratorHead(9)
    distribution = head(features, decoded, annotations, mask)
    ```

    Args:
        vocabulary_size: Size of the vocabulary.
        switch_bias: Initial `b`.
        kernel_initializer: Initializer of the output matrix.
        switch_initializer: Initializer of `w`.

    Call arguments: As `SoftmaxHead`.

    Returns:
        `CopyDistribution`.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 8 and 9.
    """

    def __init__(
        self,
        vocabulary_size: int,
        switch_bias: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        switch_initializer: Initializer = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(vocabulary_size, kernel_initializer, **kwargs)
        self.keep_arguments(locals())

    def build(self, features_shape, decoded_shape, annotations_shape=None):
        super().build(features_shape, decoded_shape)
        # In float32, since the head takes its log.
        self.switch = Dense(
            1,
            kernel_initializer=self.switch_initializer,
            bias_initializer=keras.initializers.Constant(self.switch_bias),
            dtype="float32",
            name="switch",
        )
        size = sum(shape[-1] for shape in _read(decoded_shape))
        self.switch.build((*features_shape[:-1], size))

    def switch_logit(self, decoded):
        """Computes the input of the switch's sigmoid, `(B, T)`, float32."""
        inputs = [ops.cast(x, "float32") for x in _read(decoded)]
        return ops.squeeze(self.switch(ops.concatenate(inputs, axis=-1)), -1)

    def mix(self, logits, decoded, annotations, source_mask, training=False):
        switch = self.switch_logit(decoded)
        point = ops.expand_dims(ops.log_sigmoid(-switch), -1)
        return ops.log_sigmoid(switch), point + decoded["attention"]

    log_likelihood = CopyNetHead.log_likelihood


def _read(decoded):
    """Returns the entries of `decoder_outputs` that the switch reads."""
    return decoded["context"], decoded["state"], decoded["inputs"]
