"""What decoder cells with two layers have alike.

Shapes: B batch, D units of a layer, Q the attention's query, C value size.
"""

from keras import ops

from tfcopy.layers.cells.decoder_cell import DecoderCell
from tfcopy.layers.initializers import Blockwise

QUERIES = ("both", "first", "second")


class TwoLayerCell(DecoderCell):
    """A fast layer that reads the words, and a slow one that reads the fast.

    At each step the states of the last step attend to the source; both layers
    read what they found, and words are read from both: `hidden` is the two
    states, side by side.

    Args:
        units: Of each layer.
        attention: As in `DecoderCell`, and so are the next two.
        kernel_initializer: As there.
        recurrent_initializer: As there.
        query: Whose last state attends: `"both"`, `"first"` or `"second"`.
        layer_norm: Whether what enters gates and candidates is normalised.
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
            state: Of both layers, `(B, 2 * units)`.
            memory: From `prepare`.
        """
        first, second = ops.split(ops.cast(state, "float32"), 2, axis=-1)
        return {
            "first": first,
            "second": second,
            "attention": self.attention.initial_state(memory),
        }

    @property
    def _query_size(self):
        return self.state_size if self.query == "both" else self.units

    def _kernel(self, name, rows, blocks, recurrent=False):
        """A kernel of so many blocks of `units` columns."""
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

    def _attend(self, state, inputs, memory):
        """`(context, log_weights, attention's state)` of the last states."""
        states = [state["first"], state["second"]]
        states = {
            "both": states,
            "first": states[:1],
            "second": states[1:],
        }[self.query]
        product = memory["query_product"](ops.concatenate(states, axis=-1))
        return self.attention.step(
            self._query(product, inputs, memory), state["attention"], memory
        )

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
