"""A fixed context vector for the whole source, instead of an attention.

Shapes: B batch, S source steps, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.attention.pointing_attention import PointingAttention
from tfcopy.layers.copying import MASKED
from tfcopy.layers.loop import Memory
from tfcopy.layers.tensors import copies, or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class FinalContext(PointingAttention):
    """Context that is the same at each step: the last states of the encoder.

    The layer has the methods of an attention, so that any decoder cell becomes
    a plain encoder-decoder. The context consists of the last states of a
    bidirectional encoder, `[forward at the last word ; backward at the first]`,
    for any query. The attention weights are uniform over the source tokens.

    ```python
    cell = layers.AttentionalGRUCell(5, layers.FinalContext())
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, state)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), section 2.2.
    """

    query_units = 0  # a query has no effect

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)

    def build(self, query_shape, value_shape, inputs_shape=None):
        self.query_size = query_shape[-1]

    def query_matrix(self):
        """Returns an empty kernel, `(query_dim, 0)`."""
        return ops.zeros((self.query_size, 0), self.compute_dtype)

    def prepare(self, value, value_mask=None):
        """Computes the context and the weights of all steps.

        Args:
            value: Annotations of a bidirectional encoder, `(B, S, C)`.
            value_mask: Optional, `(B, S)`.
        """
        value = ops.cast(value, "float32")
        value_mask = or_all(value_mask, value)
        real = ops.cast(value_mask, "float32")
        count = ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)
        # Padding is on the right.
        positions = ops.arange(ops.shape(value)[1], dtype="float32")
        last = ops.cast(positions == count - 1.0, "float32")
        forward, backward = ops.split(value, 2, axis=-1)
        forward = ops.einsum("bs,bsc->bc", last, forward)
        sentences = {
            "context": ops.concatenate([forward, backward[:, 0]], axis=-1),
            "log_weights": ops.where(value_mask, -ops.log(count), MASKED),
        }
        return Memory(sentences, weights={})

    def step(self, query, state, memory, read=None):
        """Returns the context and the weights, as `BahdanauAttention` does.

        Args:
            query: `(B, 0)`, or `(B, K, 0)` in a search with K beams.
            state: `()`.
            memory: From `prepare`.
            read: Must be `None`: the layer keeps no values.

        Returns:
            `(context, log_weights, state)`.
        """
        if read is not None:
            raise ValueError(
                "A cell with selective read needs an attention with values, "
                "such as `BahdanauAttention`. "
                "Received: attention=FinalContext()."
            )
        context, log_weights = (
            memory.sentences[name] for name in ("context", "log_weights")
        )
        if query is not None and len(query.shape) == 3:
            context = copies(context, query.shape[1])
            log_weights = copies(log_weights, query.shape[1])
        return context, log_weights, state
