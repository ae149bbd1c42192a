"""The biscale decoder of character-level translation.

Shapes: B batch, D units of a layer, C value size, E embedding size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.two_layer_cell import TwoLayerCell
from tfcopy.layers.layer_norm import add_norms, cast_norms, normalize
from tfcopy.layers.loop import Product

_GATES = ("fast_gate", "fast_candidate", "slow_gate", "slow_candidate")


@keras.saving.register_keras_serializable(package="tfcopy")
class BiscaleGRUCell(TwoLayerCell):
    """A fast and a slow layer whose gates decide when the slow one moves.

    With the last states `h1'`, `h2'` and gates `g1'`, `g2'`, word `e` and
    context `c` (found by the last states):

        a = (1 - g1') h1',  b = g1' h2'
        g1 = sigmoid(a U_cc + b U_wc + e W_xc + c W_pc + b_c)
        h1 = tanh(a X_cc + b X_wc + e X_x + c X_p + b_xc)
        f = (1 - g2') h2',  d = g1 h1
        g2 = sigmoid(f U_ww + d W_cw + c W_pw + b_w)
        n = tanh(f X_ww + d X_cw + c X_pw + b_xw)
        h2 = g1 n + (1 - g1) h2'

    With `layer_norm`, the arguments of each `sigmoid` and `tanh` of gates and
    candidates are normalised.

    Args are as in `TwoLayerCell`.

    Reference:
        [Chung et al., 2016](https://arxiv.org/abs/1603.06147), section 4.2,
        and its code.
    """

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self._query_size)
        units = self.units
        # Gate and candidate side by side.
        self.fast_kernel = self._kernel("fast", units, 2, recurrent=True)
        self.slow_to_fast_kernel = self._kernel(
            "slow_to_fast", units, 2, recurrent=True
        )
        self.slow_kernel = self._kernel("slow", units, 2, recurrent=True)
        self.fast_to_slow_kernel = self._kernel(
            "fast_to_slow", units, 2, recurrent=True
        )
        self.input_kernel = self._kernel("input", inputs_shape[-1], 2)
        self.context_kernel = self._kernel("context", annotations_shape[-1], 4)
        self.fast_bias = self._bias("fast", 2)
        self.slow_bias = self._bias("slow", 2)
        self.norms = {}
        if self.layer_norm:
            self.norms = add_norms(self, dict.fromkeys(_GATES, units))

    def _project(self, inputs, matches):
        """The fast layer's products of the words, `(..., 2 * units)`."""
        return self._multiply(inputs, self.input_kernel, self.fast_bias)

    def prepare(self, annotations, mask=None):
        """Computes all that the steps of a sentence share, a `Memory`."""
        cast = self._cast
        kernels = {
            "fast": [self.fast_kernel, self.slow_to_fast_kernel],
            "slow": [self.slow_kernel, self.fast_to_slow_kernel],
        }
        fast, slow = (
            ops.concatenate([cast(kernel) for kernel in kernels[name]])
            for name in ("fast", "slow")
        )
        weights = {
            "norms": cast_norms(self.norms),
            "query": Product(cast(self.attention.query_matrix())),
            "context": Product(cast(self.context_kernel)),
            "fast": Product(fast),
            "slow": Product(slow, ops.cast(self.slow_bias, "float32")),
        }
        return self._prepare(annotations, mask, weights)

    def initial_state(self, state, memory):
        state = super().initial_state(state, memory)
        zeros = ops.zeros_like(state["first"])
        return {**state, "first_gate": zeros, "second_gate": zeros}

    def step(self, inputs, state, memory):
        """One step.

        Args:
            inputs: From `project`, without the steps.
            state: Dict of `first`, `second`, `first_gate` and `second_gate`,
                all `(B, units)`, and the attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`, as in `TwoLayerGRUCell`.
        """
        context, log_weights, attention_state = self._attend_with_states(
            inputs, state, memory
        )
        weights = memory.weights
        read = ops.split(weights["context"](context), 2, axis=-1)
        last, slow = state["first_gate"], state["second"]
        both = [(1.0 - last) * state["first"], last * slow]
        products = weights["fast"](ops.concatenate(both, axis=-1))
        products = products + inputs["words"] + read[0]
        gate, first = self._activate("fast", products, weights)
        both = [(1.0 - state["second_gate"]) * slow, gate * first]
        products = weights["slow"](ops.concatenate(both, axis=-1))
        second_gate, new = self._activate("slow", products + read[1], weights)
        second = slow + gate * (new - slow)
        outputs = self._outputs(first, second, context, log_weights)
        state = {
            "first": first,
            "second": second,
            "first_gate": gate,
            "second_gate": second_gate,
            "attention": attention_state,
        }
        return outputs, state

    def _activate(self, name, products, weights):
        """`(gate, candidate)` of a layer."""
        gate, candidate = ops.split(products, 2, axis=-1)
        if self.layer_norm:
            norms = weights["norms"]
            gate = normalize(gate, norms[f"{name}_gate"])
            candidate = normalize(candidate, norms[f"{name}_candidate"])
        return ops.sigmoid(gate), ops.tanh(candidate)
