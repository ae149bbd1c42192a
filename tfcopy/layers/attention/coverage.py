"""Coverage as the state of an attention: the sum of all earlier weights.

Shapes: B batch, S source steps.
"""

from keras import ops


class Coverage:
    """What attentions with coverage share: a state, and its weight `w_c`.

    A subclass sets `starts_enabled`, and has `_coverage_size`, the size of
    `w_c`.
    """

    has_state = True

    def build(self, query_shape, value_shape, inputs_shape=None):
        super().build(query_shape, value_shape, inputs_shape)
        self.coverage_kernel = self.add_weight(
            name="coverage_kernel",
            shape=(self._coverage_size,),
            initializer="zeros",
        )
        self.enabled = self.add_weight(
            name="enabled",
            shape=(),
            initializer="ones" if self.starts_enabled else "zeros",
            trainable=False,
        )

    def enable(self):
        """Switches coverage on, for the second phase of training."""
        self.starts_enabled = True
        if self.built:
            self.enabled.assign(1.0)

    def prepare(self, value, value_mask=None):
        kernel = ops.cast(self.coverage_kernel, "float32")
        kernel = kernel * ops.cast(self.enabled, "float32")
        return (
            super()
            .prepare(value, value_mask)
            .updated(weights={"coverage": ops.expand_dims(kernel, 0)})
        )

    def initial_state(self, memory):
        """The coverage before the first step: zeros, `(B, S)`."""
        return ops.zeros_like(memory.sentences["mask_bias"])

    def _next_state(self, state, weights):
        return state + weights

    def get_config(self):
        return {**super().get_config(), "enabled": self.starts_enabled}
