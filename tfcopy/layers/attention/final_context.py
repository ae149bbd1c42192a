"""The whole source in one vector, instead of an attention.

Shapes: B batch, S source steps, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.copying import MASKED
from tfcopy.layers.loop import Memory
from tfcopy.layers.tensors import copies, or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class FinalContext(keras.layers.Layer):
    """The encoder's last states are the context of every step.

    It has the methods of an attention, so that any decoder cell becomes the
    plain encoder-decoder: the context is the last states of a bidirectional
    encoder, `[forward at the last word ; backward at the first]`, whatever the
    query. The attention weights are uniform over the words.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), section 2.2.
    """

    query_units = 0  # nothing of a query is projected
    output_sizes = {}

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)

    def build(self, query_shape, value_shape, inputs_shape=None):
        self.query_size = query_shape[-1]

    def query_matrix(self):
        """`(query_dim, 0)`."""
        return ops.zeros((self.query_size, 0), self.compute_dtype)

    def project(self, inputs, training=False):
        """Returns `None`: the previous words add nothing to the query."""
        return None

    def combine(self, product, words, memory):
        """The query that `step` ignores."""
        return product

    def outputs(self, state):
        """Outputs for the layers after the decoder: none."""
        return {}

    def prepare(self, value, value_mask=None):
        """The context and the weights of all steps.

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

    def initial_state(self, memory):
        """Nothing is kept between steps."""
        return ()

    def step(self, query, state, memory, read=None):
        """One step, like that of `BahdanauAttention`.

        Args:
            query: `(B, 0)`, or `(B, K, 0)` in a search with K beams.
            state: `()`.
            memory: From `prepare`.
            read: Must be `None`; there are no values for a cell to read.

        Returns:
            `(context, log_weights, state)`.
        """
        if read is not None:
            raise ValueError(
                "A cell that reads the source by weights of its own needs an "
                "attention, such as `BahdanauAttention`. "
                "Received: attention=FinalContext()."
            )
        context, log_weights = (
            memory.sentences[name] for name in ("context", "log_weights")
        )
        if query is not None and len(query.shape) == 3:
            beams = query.shape[1]
            context = copies(context, beams)
            log_weights = copies(log_weights, beams)
        return context, log_weights, state
