"""Decoder cell of the pointer softmax's base system (conditional GRU).

Shapes: B batch, S source steps, D units, A attention units, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.decoder_cell import RecurrentCell, cell_outputs
from tfcopy.layers.cells.gates import gru_update
from tfcopy.layers.loop import Product
from tfcopy.layers.tensors import split


@keras.saving.register_keras_serializable(package="tfcopy")
class ConditionalGRUCell(RecurrentCell):
    """Decoder cell with attention between two GRU transitions.

    1. The first GRU reads the previous token: `q = GRU_1(e, s')`.
    2. `q` attends to the source: `c, l = attention(q)`.
    3. The second GRU reads the context: `s = GRU_2(c, q)`. Its reset gate
       multiplies the candidate's bias, too.

    Call `project` for the tokens of all steps at once, `prepare` once per
    sentence, and `step` at each step.

    ```python
    cell = layers.ConditionalGRUCell(5, layers.BahdanauAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, state)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Args:
        units: Positive integer, the size of the state.
        attention: An attention layer, such as `BahdanauAttention`.
        kernel_initializer: Initializer of the input kernels.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 3,
        whose base system is session 2 of the dl4mt tutorial.
    """

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self.units)
        self.input_kernel = self._kernel("input", inputs_shape[-1], 3)
        self.state_kernel = self._kernel("state", self.units, 3, recurrent=True)
        self.query_kernel = self._kernel("query", self.units, 3, recurrent=True)
        self.context_kernel = self._kernel("context", annotations_shape[-1], 3)
        self.input_bias = self._bias("input", 3)
        self.query_bias = self._bias("query", 3)

    def _project(self, inputs, matches):
        """Computes the products of the first GRU with the embedded tokens.

        Args:
            inputs: Embedded tokens, `(..., input_dim)`.
            matches: Ignored; see `DecoderCell.project`.

        Returns:
            `(..., 3 * units)`, float32.
        """
        return self._multiply(inputs, self.input_kernel, self.input_bias)

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        query_kernel = ops.concatenate(
            [
                self._cast(self.attention.query_matrix()),
                self._cast(self.query_kernel),
            ],
            axis=-1,
        )
        query_bias = ops.concatenate(
            [
                ops.zeros((self.attention.query_units,), "float32"),
                ops.cast(self.query_bias, "float32"),
            ]
        )
        weights = {
            "state": Product(self._cast(self.state_kernel)),
            "query": Product(query_kernel, query_bias),
            "context": Product(self._cast(self.context_kernel)),
        }
        return self._prepare(annotations, mask, weights)

    def step(self, inputs, state, memory):
        """Runs one step.

        Args:
            inputs: From `project`, without the axis of steps.
            state: Dict of `hidden` `(B, units)` and the attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`; `outputs` is a dict of `hidden`
            `(B, units)`, `context` `(B, C)` and `attention`, the logs of the
            attention weights, `(B, S)`.
        """
        hidden, weights = state["hidden"], memory.weights
        recurrent = weights["state"](hidden)
        query = gru_update(inputs["words"], recurrent, hidden)
        attention_query, recurrent = split(
            weights["query"](query), [self.attention.query_units], axis=-1
        )
        context, log_weights, attention_state = self._attend(
            attention_query, inputs, state, memory
        )
        hidden = gru_update(weights["context"](context), recurrent, query)
        outputs = cell_outputs(hidden, context, log_weights)
        return outputs, {"hidden": hidden, "attention": attention_state}
