"""Base classes of decoder cells, recurrent or with self-attention.

Shapes: B batch, T target steps, K beams, S source steps, E embedding size, D
units, C value size.
"""

import keras
from keras import ops

from tfcopy.layers import configured
from tfcopy.layers.loop import Product, first_history, scan
from tfcopy.layers.products import multiply


class DecoderCell(configured.Configured, keras.layers.Layer):
    """Base of decoder cells: one step of a decoder with attention.

    Training calls `prepare` once per sentence and then `unroll`, which runs all
    steps of a known target. Search calls `prepare_search`, `initial_state` and
    `search_state`, and then `project` and `step` for each token.

    Args:
        units: Positive integer, the size of the hidden state.
        attention: An attention layer, such as `BahdanauAttention`.
        kernel_initializer: Initializer of the input kernels.
    """

    layer_arguments = ("attention",)
    emits_copy_scores = False
    input_units = None  # size of `inputs` in cells that change them

    def __init__(
        self,
        units: int,
        attention: keras.Layer,
        kernel_initializer: configured.Initializer = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        configured.check_positive("units", units)

    @property
    def state_size(self):
        """Size of the whole `state`, the input of switches."""
        return self.units

    @property
    def hidden_size(self):
        """Size of `hidden`, from which tokens are predicted."""
        return self.units

    def project(self, inputs, matches=None, training=False):
        """Projects the previous tokens for all steps at once.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            matches: 1.0 where the source holds the token, `(..., S)`; for cells
                with selective read.
            training: Whether to draw noise, in attentions that use it.

        Returns:
            Dict of `words`, the cell's own products, and, in some attentions,
            of `query`, the tokens' part of the attention's query.
        """
        projected = {"words": self._project(inputs, matches)}
        query = self.attention.project(inputs, training)
        return projected if query is None else {**projected, "query": query}

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """Runs all steps of a known target.

        Args:
            inputs: Embeddings of the previous tokens, `(B, T, E)`.
            matches: 1.0 where the source holds the token, `(B, T, S)`.
            first_state: The `state` argument of `initial_state`.
            memory: From `prepare`.
            training: Whether to draw noise.

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
        """Computes `inputs @ kernel + bias` of all steps at once, float32."""
        product = multiply(inputs, kernel, self.compute_dtype)
        return ops.add(product, ops.cast(bias, "float32"))  # fused

    def _prepare(self, annotations, mask, weights, sentences=None):
        """Returns the attention's memory with the cell's entries added."""
        memory = self.attention.prepare(annotations, mask).nest("attention")
        return memory.update(sentences, weights)

    def _attend(self, query, inputs, state, memory, read=None):
        """Runs the attention's step.

        Args:
            query: The product with the attention's `query_matrix`.
            inputs: From `project`, without the axis of steps.
            state: Dict with the attention's state.
            memory: From `prepare`.
            read: Optional second weights of the source; see
                `BahdanauAttention.step`.

        Returns:
            `(context, log_weights, attention's state)`.
        """
        memory = memory.part("attention")
        query = self.attention.combine(query, inputs.get("query"), memory)
        return self.attention.step(query, state["attention"], memory, read)

    def _attention_state(self, memory):
        return self.attention.initial_state(memory.part("attention"))

    def prepare_search(self, annotations, mask):
        """Prepares the memory of a search; by default calls `prepare`.

        Args:
            annotations: `(B, S, C)`.
            mask: Boolean, `(B, S)`.
        """
        return self.prepare(annotations, mask)

    def search_state(self, state, memory):
        """Returns the initial state of a search; by default `state`.

        Args:
            state: From `initial_state`.
            memory: From `prepare`.
        """
        return state


def cell_outputs(hidden, context, log_weights):
    """Returns the outputs of a step for the layers after the decoder.

    They are a dict of `hidden`, `context` and `attention`, the logs of the
    attention weights.
    """
    return {"hidden": hidden, "context": context, "attention": log_weights}


class RecurrentCell(DecoderCell):
    """Base of cells in which a step reads the hidden state before it.

    Args:
        units: As in `DecoderCell`.
        attention: As in `DecoderCell`.
        kernel_initializer: As in `DecoderCell`.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
    """

    def __init__(
        self,
        units: int,
        attention: keras.Layer,
        kernel_initializer: configured.Initializer = "glorot_uniform",
        recurrent_initializer: configured.Initializer = "orthogonal",
        **kwargs,
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        self.keep_arguments(locals())

    def _kernel(self, name, rows, blocks, recurrent=False):
        """Adds a kernel with a number of blocks of `units` columns."""
        initializer = self.kernel_initializer
        if recurrent:
            initializer = self.recurrent_initializer
        return self.add_weight(
            (rows, blocks * self.units),
            configured.Blockwise(initializer, blocks),
            name=f"{name}_kernel",
        )

    def _bias(self, name, blocks):
        size = blocks * self.units
        return self.add_weight((size,), "zeros", name=f"{name}_bias")

    def initial_state(self, state, memory):
        """Returns the state before the first step.

        Args:
            state: `(B, state_size)`.
            memory: From `prepare`.
        """
        return {
            "hidden": ops.cast(state, "float32"),
            "attention": self._attention_state(memory),
        }

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """Runs all steps of a known target, one after the other.

        Arguments and results are as in `DecoderCell`.
        """
        words = self.project(
            *(_swap(x) for x in (inputs, matches)), training=training
        )
        state = self.initial_state(first_state, memory)
        outputs, _ = scan(self._step_in_loop, words, state, memory, training)
        return {name: _swap(x) for name, x in outputs.items()}

    def _step_in_loop(self, inputs, state, memory):
        """Runs one step, and adds the outputs of the attention."""
        outputs, state = self.step(inputs, state, memory)
        return {**outputs, **self.attention.outputs(state["attention"])}, state


def _swap(x):
    """Exchanges the axes of batch and steps."""
    return ops.transpose(x, (1, 0, 2))


class HistoryCell(DecoderCell):
    """Base of cells with self-attention, and an attention on top that points.

    Training runs all steps at once. A search keeps the keys and values of all
    earlier steps in a `History`, and its steps have beams. The cell takes no
    first state from the encoder.

    A subclass has `_all_steps`, `_one_step` and `_get_row_template`.

    Args:
        units: As in `DecoderCell`.
        attention: The attention that points; not `PlanAttention`.
        kernel_initializer: As in `DecoderCell`.
    """

    def __init__(
        self, units, attention, kernel_initializer="glorot_uniform", **kwargs
    ):
        super().__init__(units, attention, kernel_initializer, **kwargs)
        if attention.output_sizes:
            raise ValueError(
                "`attention` must not be a `PlanAttention` in a Transformer "
                f"decoder. Received: attention={attention.name}."
            )

    def _all_steps(self, words, memory, training):
        """Computes `hidden` at all steps, `(B, T, units)`, float32.

        Args:
            words: From `_project`, `(B, T, *)`.
            memory: From `prepare`.
            training: Whether to apply dropout.
        """
        raise NotImplementedError

    def _one_step(self, words, memory, history):
        """Computes `hidden` at a step, and appends to the history's rows.

        Args:
            words: From `_project`, `(B, K, *)`.
            memory: From `prepare_search`.
            history: `History`.
        """
        raise NotImplementedError

    def _get_row_template(self, memory):
        """Returns nested `(B, H, *, d)`, shaped as the rows of a `History`."""
        raise NotImplementedError

    def _prepare(self, annotations, mask, weights, sentences=None):
        """Adds the kernel of the attention's query to the memory."""
        query = Product(self._cast(self.attention.query_matrix()))
        return super()._prepare(
            annotations, mask, {**weights, "query": query}, sentences
        )

    def initial_state(self, state, memory):
        """Returns the state before the first step, with an empty history.

        Args:
            state: Ignored.
            memory: From `prepare_search`.
        """
        return {
            "history": first_history(self._get_row_template(memory)),
            "attention": self._attention_state(memory),
        }

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """Runs all steps of a known target at once.

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
        """Runs one step of a search.

        Args:
            inputs: From `project`, `(B, K, *)`.
            state: Dict of `history`, a `History` of K beams, and the
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
        state = {"history": history.advance(rows), "attention": attention}
        return cell_outputs(hidden, context, log_weights), state

    def _query(self, hidden, inputs, memory):
        """Computes the attention's query, `(B, N, query_units)`."""
        product = memory.weights["query"](hidden)
        return self.attention.combine(
            product, inputs.get("query"), memory.part("attention")
        )
