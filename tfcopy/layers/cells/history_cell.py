"""The base of decoder cells whose steps read all steps before.

Shapes: B batch, T target steps, K beams, S source steps, C value size.
"""

from tfcopy.layers.cells.decoder_cell import DecoderCell, cell_outputs
from tfcopy.layers.history import first_history
from tfcopy.layers.loop import Product


class HistoryCell(DecoderCell):
    """A decoder of self-attention, and an attention that points on top of it.

    Training takes all steps at once. A step of a search keeps what self-
    attention reads of all steps before in a `History`, and has beams. No first
    state comes from the encoder.

    A subclass has `_all_steps`, `_one_step` and `_no_rows`.

    Args:
        units: As in `DecoderCell`.
        attention: The attention that points; none that plans.
        kernel_initializer: As in `DecoderCell`.
    """

    def __init__(
        self, units, attention, kernel_initializer="glorot_uniform", **kwargs
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        if attention.output_sizes:
            raise ValueError(
                "A Transformer decoder takes no attention that plans. "
                f"Received: attention={attention.name}."
            )

    def _all_steps(self, words, memory, training):
        """`hidden` at all steps, `(B, T, units)`, float32.

        Args:
            words: From `_project`, `(B, T, *)`.
            memory: From `prepare`.
            training: Whether to drop.
        """
        raise NotImplementedError

    def _one_step(self, words, memory, history):
        """`hidden` at a step, and the history's rows with those of this step.

        Args:
            words: From `_project`, `(B, K, *)`.
            memory: From `prepare_search`.
            history: `History`.
        """
        raise NotImplementedError

    def _no_rows(self, memory):
        """The rows of a `History` before the first step."""
        raise NotImplementedError

    def _prepare(self, annotations, mask, weights, sentences=None):
        """As in `DecoderCell`, with the matrix of the attention's query."""
        query = Product(self._cast(self.attention.query_matrix()))
        return super()._prepare(
            annotations, mask, {**weights, "query": query}, sentences
        )

    def initial_state(self, state, memory):
        """The state before the first step: no words, and the attention's.

        Args:
            state: `None`.
            memory: From `prepare_search`.
        """
        return {
            "history": first_history(self._no_rows(memory)),
            "attention": self._attention_state(memory),
        }

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """All steps of a known target at once.

        Arguments and results are as in `DecoderCell`.
        """
        projected = self.project(inputs, training=training)
        hidden = self._all_steps(projected["words"], memory, training)
        context, log_weights = self.attention.attend_all(
            self._query(hidden, projected, memory),
            memory.part("attention"),
            training,
        )
        return cell_outputs(hidden, context, log_weights)

    def step(self, inputs, state, memory):
        """One step of a search.

        Args:
            inputs: From `project`, `(B, K, *)`.
            state: Dict of `history`, a `History` of K beams, and of the
                attention's state.
            memory: From `prepare_search`.

        Returns:
            `(outputs, state)`; `outputs` is a dict of `hidden`
            `(B, K, units)`, `context` `(B, K, C)` and `attention`, the logs of
            the attention weights, `(B, K, S)`.
        """
        history = state["history"]
        hidden, rows = self._one_step(inputs["words"], memory, history)
        context, log_weights, attention = self.attention.step(
            self._query(hidden, inputs, memory),
            state["attention"],
            memory.part("attention"),
        )
        state = {"history": history.after_step(rows), "attention": attention}
        return cell_outputs(hidden, context, log_weights), state

    def _query(self, hidden, inputs, memory):
        """The attention's query for `hidden`, `(B, N, query_units)`."""
        product = memory.weights["query"](hidden)
        return self.attention.combine(
            product, inputs.get("query"), memory.part("attention")
        )
