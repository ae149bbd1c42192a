"""Decoder cell of the first attentional translation systems (RNNsearch).

Shapes: B batch, S source steps, E embedding size, D units, A attention units,
C value size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.decoder_cell import RecurrentCell, cell_outputs
from tfcopy.layers.cells.gates import add_gate_weights, gru_update_reset_before
from tfcopy.layers.loop import Product
from tfcopy.layers.tensors import split


@keras.saving.register_keras_serializable(package="tfcopy")
class AttentionalGRUCell(RecurrentCell):
    """Decoder cell with attention before a GRU transition.

    1. The last state attends to the source: `c, l = attention(s')`.
    2. The GRU reads token and context: `s = GRU([e ; c], s')`. Its reset gate
       acts before the product.

    For the calls of a cell see `ConditionalGRUCell`.

    ```python
    cell = layers.AttentionalGRUCell(5, layers.BahdanauAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, state)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Args:
        units: Positive integer, the size of the state.
        attention: An attention layer, such as `BahdanauAttention`.
        kernel_initializer: Initializer of each gate's kernel for the tokens and
            the context.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), A.2.2.
    """

    reads = 1  # number of source vectors that the GRU reads at a step

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self.units)
        # One matrix for all inputs of the GRU, initialised as one.
        self.embedding_dim = inputs_shape[-1]
        size = self.embedding_dim + self.reads * annotations_shape[-1]
        add_gate_weights(self, size, 3)

    def _project(self, inputs, matches):
        """Computes the products of the GRU with the embedded tokens.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            matches: Ignored; see `DecoderCell.project`.

        Returns:
            `(..., 3 * units)`, float32.
        """
        return self._multiply(inputs, self._kernels()[0], self.bias)

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        gates, candidate = split(
            self._cast(self.recurrent_kernel), [2 * self.units], axis=-1
        )
        state_kernel = ops.concatenate(
            [self._cast(self.attention.query_matrix()), gates], axis=-1
        )
        weights = {
            "state": Product(state_kernel),
            "candidate": Product(candidate),
            "context": Product(self._kernels()[1]),
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
        return self._step(inputs, state, memory)

    def _step(self, inputs, state, memory, read=None):
        """Runs one step, with optional second weights of the source, `read`.

        `read` is `(B, S)`. The context is then the context of the attention,
        followed by the sum of the annotations weighted by `read`.
        """
        hidden, weights = state["hidden"], memory.weights
        query, gates = split(
            weights["state"](hidden), [self.attention.query_units], axis=-1
        )
        context, log_weights, attention_state = self._attend(
            query, inputs, state, memory, read
        )
        hidden = gru_update_reset_before(
            inputs["words"] + weights["context"](context),
            gates,
            weights["candidate"],
            hidden,
        )
        outputs = cell_outputs(hidden, context, log_weights)
        return outputs, {"hidden": hidden, "attention": attention_state}

    def _kernels(self):
        """Splits the kernel into the rows for the token, and all others."""
        return split(self._cast(self.kernel), [self.embedding_dim], axis=0)
