"""The two-layer GRU decoder of the planners' released training script.

Shapes: B batch, D units of a layer, C value size, E embedding size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.gru import gru_update
from tfcopy.layers.cells.two_layer_cell import TwoLayerCell
from tfcopy.layers.cutting import split
from tfcopy.layers.layer_norm import add_norms, cast_norms, normalize
from tfcopy.layers.loop import Product


@keras.saving.register_keras_serializable(package="tfcopy")
class TwoLayerGRUCell(TwoLayerCell):
    """Attention with the last states, then two stacked GRUs.

    1. `c, l = attention(states', word)`.
    2. `h1 = GRU_1([e ; c], h1')`, and `h2 = GRU_2([h1 ; c], h2')`.

    The reset gate acts after the product. With `layer_norm` the word's
    products, and the inputs of the gates and of the candidate of each GRU, are
    normalised; the two gates together.

    Args are as in `TwoLayerCell`.

    Reference:
        The authors' code of
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087).
    """

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self._query_size)
        units = self.units
        self.input_kernel = self._kernel("input", inputs_shape[-1], 3)
        self.input_bias = self._bias("input", 3)
        self.first_kernel = self._kernel("first", units, 3, recurrent=True)
        self.between_kernel = self._kernel("between", units, 3)
        self.second_kernel = self._kernel("second", units, 3, recurrent=True)
        self.second_bias = self._bias("second", 3)
        # Both layers' kernels of the context, side by side.
        self.context_kernel = self._kernel("context", annotations_shape[-1], 6)
        self.norms = {}
        if self.layer_norm:
            names = ("input", "first", "second")
            sizes = {f"{name}_gates": 2 * units for name in names}
            sizes |= {f"{name}_candidate": units for name in names}
            self.norms = add_norms(self, sizes)

    def _project(self, inputs, matches):
        """The first GRU's input products, `(..., 3 * units)`, float32."""
        projected = self._multiply(inputs, self.input_kernel, self.input_bias)
        if not self.layer_norm:
            return projected
        gates, candidate = split(projected, [2 * self.units])
        norms = cast_norms(self.norms)
        return ops.concatenate(
            [
                normalize(gates, norms["input_gates"]),
                normalize(candidate, norms["input_candidate"]),
            ],
            axis=-1,
        )

    def prepare(self, annotations, mask=None):
        """Computes all that the steps of a sentence share, a `Memory`."""
        cast = self._cast
        weights = {
            "norms": cast_norms(self.norms),
            "query": Product(cast(self.attention.query_matrix())),
            "context": Product(cast(self.context_kernel)),
            "first": Product(cast(self.first_kernel)),
            "between": Product(
                cast(self.between_kernel), ops.cast(self.second_bias, "float32")
            ),
            "second": Product(cast(self.second_kernel)),
        }
        return self._prepare(annotations, mask, weights)

    def step(self, inputs, state, memory):
        """One step.

        Args:
            inputs: From `project`, without the steps.
            state: Dict of `first` and `second`, both `(B, units)`, and the
                attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`; `outputs` is a dict of `hidden`, both states,
            `(B, 2 * units)`, `context` `(B, C)` and `attention`, the logs of
            the attention weights, `(B, S)`.
        """
        context, log_weights, attention_state = self._attend_with_states(
            inputs, state, memory
        )
        weights = memory.weights
        read = ops.split(weights["context"](context), 2, axis=-1)
        first = self._gru("first", inputs["words"] + read[0], state, weights)
        below = weights["between"](first) + read[1]
        second = self._gru("second", below, state, weights)
        outputs = self._outputs(first, second, context, log_weights)
        state = {
            "first": first,
            "second": second,
            "attention": attention_state,
        }
        return outputs, state

    def _gru(self, name, inputs, state, weights):
        """The new state of a layer, which reads `inputs`."""
        recurrent = weights[name](state[name])
        if not self.layer_norm:
            return gru_update(inputs, recurrent, state[name])
        gates, candidate = split(inputs, [2 * self.units])
        more, recurrent = split(recurrent, [2 * self.units])
        norms = weights["norms"]
        gates = normalize(gates + more, norms[f"{name}_gates"])
        reset, update = ops.split(ops.sigmoid(gates), 2, axis=-1)
        candidate = ops.tanh(
            normalize(candidate + reset * recurrent, norms[f"{name}_candidate"])
        )
        return candidate + update * (state[name] - candidate)
