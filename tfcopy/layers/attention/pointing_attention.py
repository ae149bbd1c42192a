"""Base class of the attention layers that copying heads point with.

Shapes: B batch, T target steps, S source steps.
"""

import keras
from keras import ops

from tfcopy.layers.copying import MASKED
from tfcopy.layers.loop import Memory, Product, expand_beams, scan
from tfcopy.layers.products import multiply
from tfcopy.layers.tensors import or_all


class PointingAttention(keras.layers.Layer):
    """Base of attention layers whose weights copying heads point with.

    A subclass has `units`, a `query_kernel` and `step`. In a decoder cell,
    call `prepare` once per sentence and `step` at each step, or `attend_all`
    for all steps. `call` does all of this for given queries.
    """

    output_sizes = {}  # sizes of the entries of `outputs`
    has_state = False  # whether a step depends on earlier steps

    @property
    def query_units(self):
        """Size of the query after the product with `query_matrix`."""
        return self.units

    def query_matrix(self):
        """Returns the kernel of the query, `(query_dim, query_units)`."""
        return self.query_kernel

    def prepare(self, value, value_mask=None):
        """Prepares the memory of all steps: the values, and the mask as a bias.

        Args:
            value: `(B, S, value_dim)`.
            value_mask: Optional, `(B, S)`.

        Returns:
            `Memory`.
        """
        value_mask = or_all(value_mask, value)
        sentences = {
            "values": Product(ops.cast(value, self.compute_dtype)),
            "mask_bias": ops.where(value_mask, 0.0, MASKED),  # (B, S)
        }
        return Memory(sentences, {})

    def project(self, inputs, training=False):
        """Returns `None`: by default the query does not depend on words."""

    def initial_state(self, memory):
        """Returns `()`: by default there is no state between steps."""
        return ()

    def combine(self, product, words, memory):
        """Combines the parts of the query for `step`.

        Args:
            product: The query times `query_matrix`, `(..., query_units)`.
            words: From `project`, for the same steps, or `None`.
            memory: From `prepare`.
        """
        return product if words is None else product + words

    def outputs(self, state):
        """Returns the outputs for the layers after the decoder.

        Args:
            state: The state after a step.

        Returns:
            Dict of tensors `(B, size)`, with the sizes of `output_sizes`.
        """
        return {}

    def _read(self, scores, memory, read):
        """Computes the softmax of scores, `(B, S)`, and the weighted values.

        Returns:
            `(context, log_weights, weights)`; see `step`.
        """
        mask_bias = expand_beams(memory.sentences["mask_bias"], scores)
        return self._weigh(masked_log_softmax(scores, mask_bias), memory, read)

    def _weigh(self, log_weights, memory, read):
        """Computes the results of `_read` from log weights, `(B, S)`."""
        weights = ops.exp(log_weights)
        rows = [weights] if read is None else [weights, read]
        values = memory.sentences["values"]
        if len(weights.shape) == 3:
            contexts = [values(x) for x in rows]  # (B, K, C)
            context = contexts[0]
            if read is not None:
                context = ops.concatenate(contexts, axis=-1)
            return context, log_weights, weights
        context = values(ops.stack(rows, axis=1))
        context = ops.reshape(context, (-1, len(rows) * context.shape[-1]))
        return context, log_weights, weights

    def _next_state(self, state, weights):
        """Returns the state after a step with these weights, `(B, S)`."""
        return state

    def call(self, query, value, value_mask=None, inputs=None, training=False):
        memory = self.prepare(value, value_mask)
        words = self.project(query if inputs is None else inputs, training)
        query = multiply(query, self.query_matrix(), self.compute_dtype)
        query = self.combine(query, words, memory)
        context, log_weights = self.attend_all(query, memory, training)
        return context, ops.exp(log_weights)

    def attend_all(self, queries, memory, training=False):
        """Attends with the queries of all steps.

        Args:
            queries: The `query` of `step` for all steps, `(B, T, query_units)`.
            memory: From `prepare`.
            training: Whether gradients will be computed; see `scan`.

        Returns:
            `(context, log_weights)`: `(B, T, value_dim)` and `(B, T, S)`.
        """
        if not self.has_state:
            # The steps take the axis of a search's beams.
            return self.step(queries, (), memory)[:2]

        def step(query, state, memory):
            context, log_weights, state = self.step(query, state, memory)
            return (context, log_weights), state

        steps = ops.transpose(queries, (1, 0, 2))
        outputs, _ = scan(
            step, steps, self.initial_state(memory), memory, training
        )
        return tuple(ops.transpose(x, (1, 0, 2)) for x in outputs)

    def compute_output_spec(
        self, query, value, value_mask=None, inputs=None, training=False
    ):
        batch, length = query.shape[0], query.shape[1]
        return (
            keras.KerasTensor((batch, length, value.shape[-1]), "float32"),
            keras.KerasTensor((batch, length, value.shape[1]), "float32"),
        )


def masked_log_softmax(scores, mask_bias):
    """Computes the log-softmax over the last axis, `MASKED` where masked.

    A position is masked if its `mask_bias` is negative. A row that is masked
    everywhere is `MASKED` everywhere.
    """
    log_weights = ops.log_softmax(scores + mask_bias, axis=-1)
    return ops.where(mask_bias < 0, MASKED, log_weights)
