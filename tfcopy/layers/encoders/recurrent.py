"""Recurrent encoders: bidirectional GRU and LSTM, forward LSTM, word GRU.

Shapes: B batch, S source steps, E input size, U units per direction, G blocks
of a kernel; for `WordGRU` N words, E embedding size, D units.
"""

import keras
from keras import ops

from tfcopy.layers.cells import gates
from tfcopy.layers.configured import Configured, Initializer, Unmasked
from tfcopy.layers.loop import Product, scan
from tfcopy.layers.products import multiply, word_products
from tfcopy.layers.tensors import or_all, split


class Bidirectional(Configured, Unmasked):
    """Base of bidirectional recurrent encoders.

    Each step runs both directions at once, as one product of two stacked
    matrices. Padding must be on the right. The state does not change there, so
    that the backward direction starts at the last token with zeros.

    A subclass defines the number of blocks of its kernels (`blocks`), the
    number of tensors in its state (`num_states`), of which the hidden state is
    the last, and a step (`update`).

    Args:
        units: Positive integer, the size of one direction's hidden state.
        kernel_initializer: Initializer of each block of the input kernels.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Call arguments:
        inputs: Embedded tokens, `(B, S, E)`.
        mask: Boolean, `(B, S)`; `None` for no padding.

    Returns:
        `(annotations, final)`: `(B, S, 2 * units)`, float32, and the last
        states, `(B, num_states * 2 * units)`: for each tensor of the state, the
        concatenation of both directions.
    """

    blocks = None
    num_states = 1
    bias_initializer = "zeros"

    def __init__(
        self,
        units: int,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def products(self, kernels):
        """Returns the products of a step, a dict for the memory of `scan`.

        Args:
            kernels: Recurrent kernels, `(2, units, G * units)`.
        """
        return {"recurrent": Product(kernels)}

    def update(self, projected, state, memory):
        """Computes one step of both directions.

        Args:
            projected: Input products and bias, `(2, B, G * units)`.
            state: List of tensors `(2, B, units)`.
            memory: From `products`.

        Returns:
            The new state.
        """
        raise NotImplementedError

    def build(self, inputs_shape, mask_shape=None):
        size, bias = inputs_shape[-1], self.bias_initializer
        for prefix in ("forward_", "backward_"):
            gates.add_gate_weights(self, size, self.blocks, bias, prefix)

    def call(self, inputs, mask=None, training=False):
        mask = or_all(mask, inputs)
        inputs = self._cast(inputs)
        both = ops.stack(
            [
                self._project(inputs, "forward"),
                ops.flip(self._project(inputs, "backward"), axis=0),
            ],
            axis=1,
        )  # (S, 2, B, GU)
        keep = ops.cast(ops.transpose(mask), "float32")
        keep = ops.stack([keep, ops.flip(keep, axis=0)], axis=1)
        keep = ops.expand_dims(keep, -1)  # (S, 2, B, 1)
        kernels = self.forward_recurrent_kernel, self.backward_recurrent_kernel
        memory = self.products(ops.stack([self._cast(x) for x in kernels]))
        # `zeros_like` also works if the batch size is unknown.
        state = [ops.zeros_like(both[0, :, :, : self.units])] * self.num_states
        states, final = scan(self._step, (both, keep), state, memory, training)
        # No slices, since the gradient of a slice writes the whole tensor.
        forward, backward = ops.unstack(states, 2, axis=1)
        backward = ops.flip(backward, axis=0)
        annotations = ops.concatenate([forward, backward], axis=-1)
        final = [x[direction] for x in final for direction in (0, 1)]
        return (
            ops.transpose(annotations, (1, 0, 2)),
            ops.concatenate(final, axis=-1),
        )

    def _project(self, inputs, direction):
        """Computes the input products of all steps, `(S, B, GU)`, float32."""
        kernel = getattr(self, f"{direction}_kernel")
        bias = getattr(self, f"{direction}_bias")
        steps = ops.transpose(inputs, (1, 0, 2))
        projected = multiply(steps, kernel, self.compute_dtype)
        return projected + ops.cast(bias, "float32")

    def _step(self, inputs, state, memory):
        projected, keep = inputs
        new = self.update(projected, state, memory)
        state = [x + keep * (y - x) for x, y in zip(state, new)]
        return state[-1], state

    def compute_output_spec(self, inputs, mask=None, training=False):
        batch, length = inputs.shape[:2]
        size = 2 * self.units
        return (
            keras.KerasTensor((batch, length, size), "float32"),
            keras.KerasTensor((batch, self.num_states * size), "float32"),
        )


@keras.saving.register_keras_serializable(package="tfcopy")
class BidirectionalGRU(Bidirectional):
    """Bidirectional GRU encoder.

    Arguments and padding are as in `Bidirectional`. `final` is
    `[h_forward ; h_backward]`, `(B, 2 * units)`.

    ```python
    encoder = layers.BidirectionalGRU(4)
    annotations, final = encoder(embedded, mask)  # (2, 4, 8), (2, 8)
    ```

    Args:
        units: As in `Bidirectional`.
        kernel_initializer: As in `Bidirectional`.
        recurrent_initializer: As in `Bidirectional`.
        reset_after: Whether the reset gate acts after the product with the
            recurrent kernel (dl4mt tutorial) instead of before (Cho et al.).

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), A.2.1.
    """

    blocks = 3

    def __init__(
        self,
        units: int,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        reset_after: bool = True,
        **kwargs,
    ):
        super().__init__(
            units, kernel_initializer, recurrent_initializer, **kwargs
        )
        self.keep_arguments(locals())

    def products(self, kernels):
        if self.reset_after:
            return super().products(kernels)
        gate_kernels, candidate = split(kernels, [2 * self.units])
        return {"gates": Product(gate_kernels), "candidate": Product(candidate)}

    def update(self, projected, state, memory):
        (hidden,) = state
        if self.reset_after:
            return [
                gates.gru_update(projected, memory["recurrent"](hidden), hidden)
            ]
        return [
            gates.gru_update_reset_before(
                projected, memory["gates"](hidden), memory["candidate"], hidden
            )
        ]


@keras.saving.register_keras_serializable(package="tfcopy")
class BidirectionalLSTM(Bidirectional):
    """Bidirectional LSTM encoder.

    Arguments and padding are as in `Bidirectional`. `final` is
    `[c_forward ; c_backward ; h_forward ; h_backward]`, `(B, 4 * units)`.

    ```python
    encoder = layers.BidirectionalLSTM(4)
    annotations, final = encoder(embedded, mask)  # (2, 4, 8), (2, 16)
    ```

    Args:
        units: As in `Bidirectional`.
        kernel_initializer: As in `Bidirectional`.
        recurrent_initializer: As in `Bidirectional`.
        unit_forget_bias: Whether the bias of the forget gates starts at 1.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.1.
    """

    blocks = 4
    num_states = 2

    def __init__(
        self,
        units: int,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        unit_forget_bias: bool = True,
        **kwargs,
    ):
        super().__init__(
            units, kernel_initializer, recurrent_initializer, **kwargs
        )
        self.keep_arguments(locals())

    @property
    def bias_initializer(self):
        return gates.lstm_bias(self.unit_forget_bias)

    def update(self, projected, state, memory):
        cell, hidden = state
        recurrent = memory["recurrent"](hidden)
        hidden, cell = gates.lstm_update(projected + recurrent, cell)
        return [cell, hidden]


@keras.saving.register_keras_serializable(package="tfcopy")
class ForwardLSTM(Configured, Unmasked):
    """LSTM encoder that reads from left to right.

    It has no peepholes, and its first state is zero. The state does not change
    where the mask is `False`. The weights have the layout of
    `keras.layers.LSTM`. On a GPU, that layer cannot be compiled by XLA, and
    does not accept rows that are all padding.

    ```python
    states = layers.ForwardLSTM(4)(embedded, mask)  # (2, 4, 4)
    ```

    Args:
        units: Positive integer, U.
        kernel_initializer: Initializer of each block of the input kernel.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
        unit_forget_bias: Whether the bias of the forget gate starts at 1.

    Call arguments:
        inputs: Embedded tokens, `(B, S, E)`.
        mask: Optional boolean, `(B, S)`.

    Returns:
        The hidden state after each step, `(B, S, U)`, float32.

    Reference:
        [Gers et al., 2000](https://doi.org/10.1162/089976600300015015).
    """

    def __init__(
        self,
        units: int,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        unit_forget_bias: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def build(self, inputs_shape, mask_shape=None):
        bias = gates.lstm_bias(self.unit_forget_bias)
        gates.add_gate_weights(self, inputs_shape[-1], 4, bias)

    def call(self, inputs, mask=None, training=False):
        projected = multiply(
            ops.transpose(inputs, (1, 0, 2)), self.kernel, self.compute_dtype
        )
        projected = projected + ops.cast(self.bias, "float32")  # (S, B, 4U)
        steps = {"projected": projected}
        if mask is not None:
            keep = ops.cast(ops.transpose(mask), "float32")
            steps["keep"] = ops.expand_dims(keep, -1)  # (S, B, 1)
        # `zeros_like` also works if the batch size is unknown.
        zeros = ops.zeros_like(projected[0, :, : self.units])
        memory = {"recurrent": Product(self._cast(self.recurrent_kernel))}
        states, _ = scan(self._step, steps, (zeros, zeros), memory, training)
        return ops.transpose(states, (1, 0, 2))

    @staticmethod
    def _step(inputs, state, memory):
        cell, hidden = state
        projected = inputs["projected"] + memory["recurrent"](hidden)
        new_hidden, new_cell = gates.lstm_update(projected, cell)
        if "keep" in inputs:
            new_hidden = hidden + inputs["keep"] * (new_hidden - hidden)
            new_cell = cell + inputs["keep"] * (new_cell - cell)
        return new_hidden, (new_cell, new_hidden)

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (*inputs_shape[:-1], self.units)

    def compute_output_spec(self, inputs, mask=None, training=False):
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, "float32")


@keras.saving.register_keras_serializable(package="tfcopy")
class WordGRU(Configured, Unmasked):
    """GRU encoder that embeds words, and reads them from left to right.

    `word_products` computes the words' part of the gates. The first step has no
    recurrent product, since its state is zero.

    Padding must be on the right, where the state does not change.

    Args:
        num_words: N, including special tokens.
        embedding_dim: E.
        units: D.
        embeddings_initializer: Initializer of the table.
        kernel_initializer: Initializer of each block of the input kernel.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Call arguments:
        ids: `(B, S)`, S known.
        mask: Boolean, `(B, S)`.

    Returns:
        `(states, final)`: all states, `(B, S, D)`, and the last one, `(B, D)`;
        float32.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8, with the
        reset gate after the product.
    """

    def __init__(
        self,
        num_words,
        embedding_dim,
        units,
        embeddings_initializer="uniform",
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def build(self, ids_shape, mask_shape=None):
        if ids_shape[1] is None:
            raise ValueError(
                "`ids` must have a fixed length. "
                f"Received: shape={tuple(ids_shape)}."
            )
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_words, self.embedding_dim),
            initializer=self.embeddings_initializer,
        )
        gates.add_gate_weights(self, self.embedding_dim, 3)

    def call(self, ids, mask, training=False):
        batch, length = ops.shape(ids)
        project = word_products(
            ops.convert_to_tensor(self.embeddings),
            self.kernel,
            self.bias,
            batch * length,
            self.compute_dtype,
        )
        projected = project(ops.transpose(ids))  # (S, B, 3D), float32
        keep = ops.cast(ops.transpose(mask), "float32")
        keep = ops.expand_dims(keep, -1)  # (S, B, 1)
        first, others = split(projected, [1], axis=0)
        keep_first, keep_others = split(keep, [1], axis=0)
        zeros = ops.zeros_like(first)
        state = gates.gru_update(first, zeros, zeros[..., : self.units])
        states = keep_first * state  # (1, B, D)
        final = states[0]
        if ids.shape[1] > 1:
            memory = {"recurrent": Product(self._cast(self.recurrent_kernel))}
            following, final = scan(
                self._step, (others, keep_others), final, memory, training
            )
            states = ops.concatenate([states, following], axis=0)
        return ops.transpose(states, (1, 0, 2)), final

    @staticmethod
    def _step(inputs, state, memory):
        projected, keep = inputs
        new = gates.gru_update(projected, memory["recurrent"](state), state)
        state = state + keep * (new - state)
        return state, state

    def compute_output_spec(self, ids, mask, training=False):
        batch, length = ids.shape
        return (
            keras.KerasTensor((batch, length, self.units), "float32"),
            keras.KerasTensor((batch, self.units), "float32"),
        )
