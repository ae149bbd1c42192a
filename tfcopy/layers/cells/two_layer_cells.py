"""Decoder cells with two layers: stacked GRUs, and the biscale cell.

Shapes: B batch, D units of a layer, Q query size of the attention, C value
size, E embedding size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.decoder_cell import RecurrentCell, cell_outputs
from tfcopy.layers.cells.gates import gru_update
from tfcopy.layers.configured import Initializer, check_choice
from tfcopy.layers.loop import Product
from tfcopy.layers.tensors import add_norms, cast_norms, normalize, split

QUERIES = ("both", "first", "second")
# Layer normalisations of a `BiscaleGRUCell`.
_GATES = ("fast_gate", "fast_candidate", "slow_gate", "slow_candidate")


class TwoLayerCell(RecurrentCell):
    """Base of cells with two layers, of which the second reads the first.

    At each step the states of the last step attend to the source, and both
    layers read the context. Tokens are predicted from both layers: `hidden` is
    the concatenation of the two states.

    Args:
        units: Size of each layer's state.
        attention: As in `DecoderCell`.
        kernel_initializer: As in `DecoderCell`.
        recurrent_initializer: As in `RecurrentCell`.
        query: The layers whose last state attends: `"both"`, `"first"` or
            `"second"`.
        layer_norm: Whether to normalise the inputs of gates and candidates.
    """

    def __init__(
        self,
        units: int,
        attention: keras.Layer,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        query: str = "both",
        layer_norm: bool = False,
        **kwargs,
    ):
        super().__init__(
            units,
            attention,
            kernel_initializer,
            recurrent_initializer,
            **kwargs,
        )
        self.keep_arguments(locals())
        check_choice("query", query, QUERIES)

    @property
    def state_size(self):
        """Size of the first state, which comes from the encoder."""
        return 2 * self.units

    @property
    def hidden_size(self):
        """Size of `hidden`, from which tokens are predicted."""
        return 2 * self.units

    def initial_state(self, state, memory):
        """Returns the state before the first step.

        Args:
            state: States of both layers, `(B, 2 * units)`.
            memory: From `prepare`.
        """
        first, second = ops.split(ops.cast(state, "float32"), 2, axis=-1)
        return {
            "first": first,
            "second": second,
            "attention": self._attention_state(memory),
        }

    @property
    def _query_size(self):
        return self.state_size if self.query == "both" else self.units

    def _attend_with_states(self, inputs, state, memory):
        """Attends with the last states as the query."""
        names = ("first", "second") if self.query == "both" else (self.query,)
        states = [state[name] for name in names]
        query = memory.weights["query"](ops.concatenate(states, axis=-1))
        return self._attend(query, inputs, state, memory)

    @staticmethod
    def _outputs(first, second, context, log_weights):
        hidden = ops.concatenate([first, second], axis=-1)
        return cell_outputs(hidden, context, log_weights)


@keras.saving.register_keras_serializable(package="tfcopy")
class TwoLayerGRUCell(TwoLayerCell):
    """Decoder cell with attention before two stacked GRUs.

    1. `c, l = attention(states', word)`.
    2. `h1 = GRU_1([e ; c], h1')`, and `h2 = GRU_2([h1 ; c], h2')`.

    The reset gate acts after the product. With `layer_norm` the products of the
    token are normalised, and the inputs of the gates and of the candidate of
    each GRU. The two gates of a GRU are normalised together.

    Args are as in `TwoLayerCell`.

    ```python
    cell = layers.TwoLayerGRUCell(5, layers.PlanAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, states)
    decoded["hidden"]  # (2, 3, 5)
    ```

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
        # The kernels of the context of both layers, concatenated.
        self.context_kernel = self._kernel("context", annotations_shape[-1], 6)
        self.norms = {}
        if self.layer_norm:
            names = ("input", "first", "second")
            sizes = {f"{name}_gates": 2 * units for name in names}
            sizes |= {f"{name}_candidate": units for name in names}
            self.norms = add_norms(self, sizes)

    def _project(self, inputs, matches):
        """Computes the first GRU's products with the tokens, float32."""
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
        """Prepares the `Memory` that all steps share."""
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
        """Runs one step.

        Args:
            inputs: From `project`, without the axis of steps.
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
        state = {"first": first, "second": second, "attention": attention_state}
        return outputs, state

    def _gru(self, name, inputs, state, weights):
        """Computes the new state of the GRU called `name`."""
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


@keras.saving.register_keras_serializable(package="tfcopy")
class BiscaleGRUCell(TwoLayerCell):
    """Decoder cell in which a gate of the fast layer updates the slow layer.

    With the last states `h1'`, `h2'` and gates `g1'`, `g2'`, token `e` and
    context `c` (from attention with the last states):

        a = (1 - g1') h1',  b = g1' h2'
        g1 = sigmoid(a U_cc + b U_wc + e W_xc + c W_pc + b_c)
        h1 = tanh(a X_cc + b X_wc + e X_x + c X_p + b_xc)
        f = (1 - g2') h2',  d = g1 h1
        g2 = sigmoid(f U_ww + d W_cw + c W_pw + b_w)
        n = tanh(f X_ww + d X_cw + c X_pw + b_xw)
        h2 = g1 n + (1 - g1) h2'

    With `layer_norm`, the argument of each `sigmoid` and `tanh` is normalised.

    Args are as in `TwoLayerCell`.

    ```python
    cell = layers.BiscaleGRUCell(5, layers.PlanAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, states)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Reference:
        [Chung et al., 2016](https://arxiv.org/abs/1603.06147), section 4.2,
        and its code.
    """

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self._query_size)
        units = self.units
        # Kernels of gate and candidate, concatenated.
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
        """Computes the fast layer's products, `(..., 2 * units)`."""
        return self._multiply(inputs, self.input_kernel, self.fast_bias)

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
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
        """Runs one step.

        Args:
            inputs: From `project`, without the axis of steps.
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
        """Returns `(gate, candidate)` of a layer."""
        gate, candidate = ops.split(products, 2, axis=-1)
        if self.layer_norm:
            norms = weights["norms"]
            gate = normalize(gate, norms[f"{name}_gate"])
            candidate = normalize(candidate, norms[f"{name}_candidate"])
        return ops.sigmoid(gate), ops.tanh(candidate)
