"""The base of decoder cells whose steps follow one another.

Shapes: B batch, T target steps, D units.
"""

from keras import ops

from tfcopy.layers.cells.decoder_cell import DecoderCell
from tfcopy.layers.initializers import Blockwise
from tfcopy.layers.loop import scan


class RecurrentCell(DecoderCell):
    """A decoder cell whose step reads the hidden state of the step before.

    Args:
        units: As in `DecoderCell`.
        attention: As in `DecoderCell`.
        kernel_initializer: As in `DecoderCell`.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
    """

    def __init__(
        self,
        units,
        attention,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        **kwargs,
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        self.keep_arguments(locals())

    def _kernel(self, name, rows, blocks, recurrent=False):
        """A kernel of a number of blocks of `units` columns."""
        initializer = self.kernel_initializer
        if recurrent:
            initializer = self.recurrent_initializer
        return self.add_weight(
            (rows, blocks * self.units),
            Blockwise(initializer, blocks),
            name=f"{name}_kernel",
        )

    def _bias(self, name, blocks):
        size = blocks * self.units
        return self.add_weight((size,), "zeros", name=f"{name}_bias")

    def initial_state(self, state, memory):
        """The state before the first step.

        Args:
            state: `(B, state_size)`.
            memory: From `prepare`.
        """
        return {
            "hidden": ops.cast(state, "float32"),
            "attention": self._attention_state(memory),
        }

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """All steps of a known target, one after the other.

        Arguments and results are as in `DecoderCell`.
        """
        words = self.project(
            *(_swap(x) for x in (inputs, matches)), training=training
        )
        state = self.initial_state(first_state, memory)
        outputs, _ = scan(self._step_in_loop, words, state, memory, training)
        return {name: _swap(x) for name, x in outputs.items()}

    def _step_in_loop(self, inputs, state, memory):
        """A step, including the outputs of its attention."""
        outputs, state = self.step(inputs, state, memory)
        of_attention = self.attention.outputs(state["attention"])
        return {**outputs, **of_attention}, state


def _swap(x):
    """Exchanges the axes of batch and steps."""
    return ops.transpose(x, (1, 0, 2))
