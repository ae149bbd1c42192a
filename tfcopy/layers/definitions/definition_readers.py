"""Readers of definitions, which encode them as one vector per word.

Shapes: M tokens, N definitions, K tokens of the longest, U words with
definitions, V rows of a table, E embedding size, D output size.

Reference: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 3.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.keras_internals import serialize_shared
from tfcopy.layers.cells.gates import add_gate_weights, lstm_bias, lstm_update
from tfcopy.layers.configured import Configured, Initializer, check_positive
from tfcopy.layers.loop import Product, scan
from tfcopy.layers.products import multiply, word_products

# On JAX, no shape may depend on the values of tensors.
_SHAPES_ARE_STATIC = keras.backend.backend() == "jax"


class DefinitionReader(keras.layers.Layer):
    """Base of readers, which encode definitions and sum them by word.

    Call arguments:
        table: Embeddings of the words of definitions, `(V, E)`.
        definitions: Dict from a `DefinitionPacker`: `ids`; `owners`, the slot
            of each; `weights`, the weight of each; and `counts`, `(U + 1,)`, of
            which only the shape is used.

    Returns:
        `(U + 1, D)`, float32: for each slot the sum over its definitions. Row
        0, for words without definitions, is zero if everything in slot 0 has
        weight 0.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)

    def output_dim(self, embedding_dim):
        """Returns D, given E."""
        raise NotImplementedError

    def compute_output_spec(self, table, definitions, training=False):
        size = definitions["counts"].shape[0]
        shape = (size, self.output_dim(table.shape[-1]))
        return keras.KerasTensor(shape, "float32")


@keras.saving.register_keras_serializable(package="tfcopy")
class MeanReader(Configured, DefinitionReader):
    """Reader that averages the embeddings of a definition's tokens.

    `h = 1/k sum_i e(x_i)`, or `1/k sum_i V e(x_i)`. There is no padding: `ids`,
    `owners` and `weights` are all `(M,)`, one definition after another, and
    a token's weight is one over the length of its definition. `V` is applied
    after the sums, since both are linear.

    ```python
    definitions = {
        "ids": np.array([4, 5, 6]),  # of two entries
        "owners": np.array([1, 1, 2]),
        "weights": np.array([0.5, 0.5, 1.0], "float32"),
        "counts": np.array([0, 1, 1], "float32"),
    }
    table = np.ones((9, 6), "float32")
    vectors = layers.MeanReader(5)(table, definitions)  # (3, 5)
    ```

    Call arguments and results are as in `DefinitionReader`.

    Args:
        linear_units: D, the size of `V`, which has no bias; no `V` if `None`.
        kernel_initializer: Initializer of `V`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3,
        MP and MP-L.
    """

    def __init__(
        self,
        linear_units: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def output_dim(self, embedding_dim):
        return self.linear_units or embedding_dim

    def build(self, table_shape, definitions_shape=None):
        if self.linear_units is not None:
            self.kernel = self.add_weight(
                name="kernel",
                shape=(table_shape[-1], self.linear_units),
                initializer=self.kernel_initializer,
            )

    def call(self, table, definitions, training=False):
        vectors = ops.take(table, definitions["ids"], axis=0)  # (M, E)
        sums = _sum_by_owner(vectors, definitions)
        if self.linear_units is None:
            return sums
        return multiply(sums, self.kernel, self.compute_dtype)


@keras.saving.register_keras_serializable(package="tfcopy")
class LSTMReader(Configured, DefinitionReader):
    """Reader that returns the last state of an LSTM over a definition.

    The LSTM has no peepholes, and its first state is zero. `ids` are `(N, K)`,
    with `PAD` after the end of a definition, where the state stays the same.
    `owners` and `weights` are `(N,)`.

    Most definitions are much shorter than the longest. Hence they are sorted by
    length into `num_buckets` parts of equal size, and each part only runs up to
    its longest definition. The shapes then depend on the ids, which XLA cannot
    compile: on JAX there is always one bucket, and on TensorFlow `supports_jit`
    is `False` for more than one.

    `word_products` computes the tokens' part of the gates.

    ```python
    definitions = {
        "ids": np.array([[4, 5], [6, 0]]),  # of two entries
        "owners": np.array([1, 2]),
        "weights": np.array([1.0, 1.0], "float32"),
        "counts": np.array([0, 1, 1], "float32"),
    }
    table = np.ones((9, 6), "float32")
    vectors = layers.LSTMReader(5)(table, definitions)  # (3, 5)
    ```

    Call arguments and results are as in `DefinitionReader`.

    Args:
        units: Positive integer, D.
        kernel_initializer: Initializer of each block of the input kernel.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
        unit_forget_bias: Whether the bias of the forget gate starts at 1, not
            at 0 as in the authors' code.
        num_buckets: Positive integer; 1 for static shapes.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3;
        the authors' code has peepholes, and learns the first state.
    """

    def __init__(
        self,
        units: int,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        unit_forget_bias: bool = False,
        num_buckets: int = 4,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        check_positive("units", units)
        check_positive("num_buckets", num_buckets)
        self.supports_jit = num_buckets == 1 or _SHAPES_ARE_STATIC

    def output_dim(self, embedding_dim):
        return self.units

    def build(self, table_shape, definitions_shape=None):
        bias = lstm_bias(self.unit_forget_bias)
        add_gate_weights(self, table_shape[-1], 4, bias)

    def call(self, table, definitions, training=False):
        ids = definitions["ids"]
        num_definitions, longest = ops.shape(ids)
        project = word_products(
            table,
            self.kernel,
            self.bias,
            num_definitions * longest,
            self.compute_dtype,
        )
        lengths = ops.sum(ops.cast(ids != tokens.PAD, "int32"), axis=1)
        order, buckets = self._buckets(lengths)
        states = []
        for bucket in buckets:
            read = ops.take(ids, bucket, axis=0)
            if len(buckets) > 1:
                longest = ops.max(ops.take(lengths, bucket), initial=1)
                read = read[:, :longest]
            states.append(self._last_state(read, project, training))
        sorted_definitions = {
            **definitions,
            "owners": ops.take(definitions["owners"], order),
            "weights": ops.take(definitions["weights"], order),
        }
        return _sum_by_owner(
            ops.concatenate(states, axis=0), sorted_definitions
        )

    def _buckets(self, lengths):
        """Sorts definitions by length, and splits them into buckets."""
        size = ops.shape(lengths)[0]
        if self.num_buckets == 1 or _SHAPES_ARE_STATIC:
            order = ops.arange(size)
            return order, [order]
        order = ops.argsort(lengths)
        number = self.num_buckets
        bounds = [i * size // number for i in range(number + 1)]
        return order, [order[i:j] for i, j in zip(bounds, bounds[1:])]

    def _last_state(self, ids, project, training):
        """Computes the state after each definition, `(N, D)`."""
        ids = ops.transpose(ids)
        keep = ops.expand_dims(ops.cast(ids != tokens.PAD, "float32"), -1)
        projected = project(ids)  # (K, N, 4D)
        memory = {"recurrent": Product(self._cast(self.recurrent_kernel))}
        # `zeros_like` also works if the number of `ids` is unknown.
        zeros = ops.zeros_like(projected[0, :, : self.units])
        _, (_, hidden) = scan(
            self._step, (projected, keep), (zeros, zeros), memory, training
        )
        return hidden

    @staticmethod
    def _step(inputs, state, memory):
        projected, keep = inputs
        cell, hidden = state
        new_hidden, cell = lstm_update(
            projected + memory["recurrent"](hidden), cell
        )
        # The cell state after the end of a definition is never used.
        hidden = hidden + keep * (new_hidden - hidden)
        return (), (cell, hidden)


@keras.saving.register_keras_serializable(package="tfcopy")
class RecurrentReader(Configured, DefinitionReader):
    """Reader that returns the last output of a given recurrent layer.

    For instance, the LSTM of a language model can read definitions, too. `ids`
    are `(N, K)`, with `PAD` after the end of a definition and never first;
    `owners` and `weights` are `(N,)`.

    ```python
    definitions = {
        "ids": np.array([[4, 5], [6, 0]]),  # of two entries
        "owners": np.array([1, 2]),
        "weights": np.array([1.0, 1.0], "float32"),
        "counts": np.array([0, 1, 1], "float32"),
    }
    table = np.ones((9, 6), "float32")
    reader = layers.RecurrentReader(keras.layers.LSTM(5))
    vectors = reader(table, definitions)  # (3, 5)
    ```

    Call arguments and results are as in `DefinitionReader`.

    Args:
        layer: A layer that reads from left to right, such as
            `keras.layers.LSTM`. Called with `(N, K, E)` and a `mask`, `(N, K)`,
            it returns all outputs, `(N, K, D)`, or the last one, `(N, D)`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.3, "dict1".
    """

    layer_arguments = ("layer",)

    def __init__(self, layer: keras.Layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def output_dim(self, embedding_dim):
        return self.layer.compute_output_shape((None, None, embedding_dim))[-1]

    def build(self, table_shape, definitions_shape=None):
        if not self.layer.built:
            self.layer.build((None, None, table_shape[-1]))

    def call(self, table, definitions, training=False):
        ids = definitions["ids"]
        mask = ids != tokens.PAD
        outputs = self.layer(
            ops.take(table, ids, axis=0), mask=mask, training=training
        )
        if len(outputs.shape) == 3:
            last = ops.sum(ops.cast(mask, "int32"), axis=1) - 1
            last = ops.reshape(last, (-1, 1, 1))
            outputs = ops.take_along_axis(outputs, last, axis=1)[:, 0]
        return _sum_by_owner(outputs, definitions)

    def get_config(self):
        return {**super().get_config(), "layer": serialize_shared(self.layer)}


def _sum_by_owner(vectors, definitions):
    """Sums weighted vectors, `(M, D)` or `(N, D)`, to `(U + 1, D)`."""
    weights = ops.cast(definitions["weights"], "float32")
    vectors = ops.cast(vectors, "float32") * ops.expand_dims(weights, -1)
    size = ops.shape(definitions["counts"])[0]
    return ops.segment_sum(vectors, definitions["owners"], size)
