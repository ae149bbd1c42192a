"""The base of decoder cells with two layers.

Shapes: B batch, D units of a layer, Q the attention's query, C value size.
"""

from keras import ops

from tfcopy.layers.cells.recurrent_cell import RecurrentCell
from tfcopy.layers.initializers import Blockwise

QUERIES = ("both", "first", "second")


class TwoLayerCell(RecurrentCell):
    """A fast layer that reads the words, and a slow layer that reads the fast.

    At each step the states of the last step attend to the source, and both
    layers read the context. Words are predicted from both: `hidden` is the two
    states, concatenated.

    Args:
        units: Size of each layer's state.
        attention: As in `DecoderCell`.
        kernel_initializer: As in `DecoderCell`.
        recurrent_initializer: As in `RecurrentCell`.
        query: The layers whose last state attends: `"both"`, `"first"` or
            `"second"`.
        layer_norm: Whether the inputs of gates and candidates are normalised.
    """

    def __init__(
        self,
        units,
        attention,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        query="both",
        layer_norm=False,
        **kwargs,
    ):
        super().__init__(
            units,
            attention,
            kernel_initializer,
            recurrent_initializer,
            **kwargs,
        )
        if query not in QUERIES:
            raise ValueError(
                f"`query` must be one of {QUERIES}. Received: query={query!r}."
            )
        self.query = query
        self.layer_norm = layer_norm

    @property
    def state_size(self):
        """Size of the part of the state that an encoder initialises."""
        return 2 * self.units

    @property
    def hidden_size(self):
        """Size of the `hidden` that words are read from."""
        return 2 * self.units

    def initial_state(self, state, memory):
        """The state before the first step.

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

    def _kernel(self, name, rows, blocks, recurrent=False):
        """A kernel of a number of blocks of `units` columns."""
        initializer = self.kernel_initializer
        if recurrent:
            initializer = self.recurrent_initializer
        return self.add_weight(
            name=f"{name}_kernel",
            shape=(rows, blocks * self.units),
            initializer=Blockwise(initializer, blocks),
        )

    def _bias(self, name, blocks):
        return self.add_weight(
            name=f"{name}_bias",
            shape=(blocks * self.units,),
            initializer="zeros",
        )

    def _attend_with_states(self, inputs, state, memory):
        """Attends with the last states as the query."""
        states = [state["first"], state["second"]]
        states = {
            "both": states,
            "first": states[:1],
            "second": states[1:],
        }[self.query]
        query = memory.weights["query"](ops.concatenate(states, axis=-1))
        return self._attend(query, inputs, state, memory)

    @staticmethod
    def _outputs(first, second, context, log_weights):
        return {
            "hidden": ops.concatenate([first, second], axis=-1),
            "context": context,
            "attention": log_weights,
        }

    def get_config(self):
        return {
            **super().get_config(),
            "query": self.query,
            "layer_norm": self.layer_norm,
        }
