"""Decoder cell of the pointer-generator network.

Shapes: B batch, S source steps, E embedding size, X input size, D units,
A attention units, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.decoder_cell import RecurrentCell, cell_outputs
from tfcopy.layers.cells.gates import UnitForget, add_gate_weights, lstm_update
from tfcopy.layers.configured import Initializer
from tfcopy.layers.loop import Product
from tfcopy.layers.tensors import split


@keras.saving.register_keras_serializable(package="tfcopy")
class InputFeedingLSTMCell(RecurrentCell):
    """Decoder cell with an LSTM and input feeding, followed by attention.

    1. A linear layer merges the token and the last context:
       `x = W_x [e ; context'] + b_x`.
    2. The LSTM reads the result: `c, s = LSTM(x, (c', s'))`.
    3. The whole state of the LSTM attends to the source:
       `context, l = attention([c ; s])`.

    The context before the first step is zero. For the calls of a cell see
    `ConditionalGRUCell`.

    ```python
    cell = layers.InputFeedingLSTMCell(5, layers.CoverageAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, states)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Args:
        units: Positive integer, the size of `c` and of `s`.
        attention: An attention layer, such as `CoverageAttention`.
        input_units: Size of the merged input; the embedding size if `None`.
        kernel_initializer: Initializer of each gate's kernel for `x`.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
        input_initializer: Initializer of `W_x`.
        decode_initial_attention: Whether a search attends once before the
            first step, as in the authors' code. The first context is then not
            zero, and coverage always includes one more vector of weights than
            in training.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2; the
        merged input is from the authors' code (`attention_decoder`).
    """

    def __init__(
        self,
        units: int,
        attention: keras.Layer,
        input_units: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        input_initializer: Initializer = "glorot_uniform",
        decode_initial_attention: bool = False,
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

    @property
    def state_size(self):
        """Size of the initial state, which the encoder provides."""
        return 2 * self.units

    def build(self, inputs_shape, annotations_shape):
        self.embedding_dim = inputs_shape[-1]
        self.context_size = annotations_shape[-1]
        if self.input_units is None:
            self.input_units = self.embedding_dim
        self._build_attention(inputs_shape, annotations_shape, self.state_size)
        self.input_kernel = self.add_weight(
            name="input_kernel",
            shape=(self.embedding_dim + self.context_size, self.input_units),
            initializer=self.input_initializer,
        )
        self.input_bias = self._add_bias("input", self.input_units)
        add_gate_weights(self, self.input_units, 4, UnitForget())

    def _project(self, inputs, matches):
        """Computes the tokens' part of the merged input.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            matches: Ignored; see `DecoderCell.project`.

        Returns:
            `(..., X)`, float32.
        """
        kernel, _ = self._input_kernels()
        return self._multiply(inputs, kernel, self.input_bias)

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        _, context_kernel = self._input_kernels()
        kernel = ops.concatenate(
            [self._cast(self.kernel), self._cast(self.recurrent_kernel)]
        )
        weights = {
            "context": Product(context_kernel),
            "lstm": Product(kernel, ops.cast(self.bias, "float32")),
            "query": Product(self._cast(self.attention.query_matrix())),
        }
        return self._prepare(annotations, mask, weights)

    def initial_state(self, state, memory):
        """Returns the state before the first step of training.

        Args:
            state: `[c ; s]`, `(B, 2 * units)`.
            memory: From `prepare`.
        """
        cell, hidden = ops.split(ops.cast(state, "float32"), 2, axis=-1)
        batch = ops.shape(state)[0]
        return {
            "hidden": hidden,
            "cell": cell,
            "context": ops.zeros((batch, self.context_size), "float32"),
            "attention": self._attention_state(memory),
        }

    def search_state(self, state, memory):
        """Returns the state before the first step of a search.

        Args:
            state: From `initial_state`.
            memory: From `prepare`.
        """
        if not self.decode_initial_attention:
            return state
        context, _, attention = self._attend_with_state({}, state, memory)
        return {**state, "context": context, "attention": attention}

    def step(self, inputs, state, memory):
        """Runs one step.

        Args:
            inputs: From `project`, without the axis of steps.
            state: Dict of `hidden` and `cell`, both `(B, units)`, `context`
                `(B, C)` and the attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`; `outputs` is a dict of `hidden`, `cell`,
            `inputs`, the merged input `(B, X)`, `context` `(B, C)` and
            `attention`, the logs of the attention weights, `(B, S)`.
        """
        merged = inputs["words"] + memory.weights["context"](state["context"])
        both = ops.concatenate([merged, state["hidden"]], axis=-1)
        hidden, cell = lstm_update(memory.weights["lstm"](both), state["cell"])
        state = {**state, "hidden": hidden, "cell": cell}
        context, log_weights, attention_state = self._attend_with_state(
            inputs, state, memory
        )
        state = {**state, "context": context, "attention": attention_state}
        return {
            "cell": cell,
            "inputs": merged,
            **cell_outputs(hidden, context, log_weights),
        }, state

    def _attend_with_state(self, inputs, state, memory):
        """Attends with the whole state, `[c ; s]`, as the query."""
        both = ops.concatenate([state["cell"], state["hidden"]], axis=-1)
        query = memory.weights["query"](both)
        return self._attend(query, inputs, state, memory)

    def _input_kernels(self):
        """Splits the kernel into the rows for the token and for the context."""
        kernel = self._cast(self.input_kernel)
        return split(kernel, [self.embedding_dim], axis=0)
