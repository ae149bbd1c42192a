"""The base of all decoder cells.

Shapes: B batch, T target steps, S source steps, E embedding size, D units.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured, check_positive
from tfcopy.layers.rows import multiply


class DecoderCell(Configured, keras.layers.Layer):
    """One step of a decoder with attention; the base of such cells.

    A cell has two faces. Training calls `prepare` once per sentence and then
    `unroll`, which takes all steps of a known target. Search calls
    `prepare_search`, `initial_state` and `search_state`, and then, for each
    word, `project` and `step`.

    Args:
        units: Positive integer, the size of the hidden state.
        attention: An attention layer, such as `BahdanauAttention`.
        kernel_initializer: Initializer of the input kernels.
    """

    layer_arguments = ("attention",)
    emits_copy_scores = False
    input_units = None  # of cells that change the recurrence's inputs

    def __init__(
        self,
        units,
        attention,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        check_positive("units", units)

    @property
    def state_size(self):
        """Size of the whole `state` that switches read."""
        return self.units

    @property
    def hidden_size(self):
        """Size of the `hidden` that words are read from."""
        return self.units

    def project(self, inputs, matches=None, training=False):
        """What the steps read from the previous words, for all steps at once.

        Args:
            inputs: Embedded words, `(..., E)`.
            matches: 1.0 where the source holds the word, `(..., S)`; for cells
                with selective read.
            training: Whether noise is drawn, by attentions that have any.

        Returns:
            Dict of `words`, the cell's own products, and of `query`, what words
            add to the attention's query, if anything.
        """
        projected = {"words": self._project(inputs, matches)}
        query = self.attention.project(inputs, training)
        return projected if query is None else {**projected, "query": query}

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """All steps of a known target.

        Args:
            inputs: The previous words, embedded, `(B, T, E)`.
            matches: 1.0 where the source holds the word, `(B, T, S)`.
            first_state: What `initial_state` takes.
            memory: From `prepare`.
            training: Whether noise is drawn.

        Returns:
            Dict of the outputs of `step` and of the attention's `outputs`, all
            `(B, T, ...)`.
        """
        raise NotImplementedError

    def _build_attention(self, inputs_shape, annotations_shape, query_size):
        if not self.attention.built:
            query_shape = (*inputs_shape[:-1], query_size)
            self.attention.build(query_shape, annotations_shape, inputs_shape)

    def _multiply(self, inputs, kernel, bias):
        """`inputs @ kernel + bias`, float32; for all steps at once."""
        product = multiply(inputs, kernel, self.compute_dtype)
        return ops.add(product, ops.cast(bias, "float32"))  # fused

    def _prepare(self, annotations, mask, weights, sentences=None):
        """The attention's memory, and the cell's own entries."""
        memory = self.attention.prepare(annotations, mask).nested("attention")
        return memory.updated(sentences, weights)

    def _attend(self, query, inputs, state, memory, read=None):
        """The attention's step.

        Args:
            query: The product with the attention's `query_matrix`.
            inputs: From `project`, without the steps.
            state: Dict with the attention's state.
            memory: From `prepare`.
            read: Optional weights with which the cell reads the source, too;
                see `BahdanauAttention.step`.

        Returns:
            `(context, log_weights, attention's state)`.
        """
        memory = memory.part("attention")
        query = self.attention.combine(query, inputs.get("query"), memory)
        return self.attention.step(query, state["attention"], memory, read)

    def _attention_state(self, memory):
        return self.attention.initial_state(memory.part("attention"))

    def prepare_search(self, annotations, mask):
        """What `prepare` gives, and what search alone reads; by default none.

        Args:
            annotations: `(B, S, C)`.
            mask: Boolean, `(B, S)`.
        """
        return self.prepare(annotations, mask)

    def search_state(self, state, memory):
        """The state before the first step of a search; by default training's.

        Args:
            state: From `initial_state`.
            memory: From `prepare`.
        """
        return state

    def _cast(self, variable):
        return ops.cast(variable, self.compute_dtype)


def cell_outputs(hidden, context, log_weights):
    """What each step gives to the layers after the decoder, a dict.

    `hidden`, `context` and `attention`, the logs of the attention weights.
    """
    return {"hidden": hidden, "context": context, "attention": log_weights}
