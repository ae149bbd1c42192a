"""`scan` for TensorFlow: a while loop over the steps, with its own gradient.

TensorFlow can differentiate `tf.while_loop`, but then it keeps every
intermediate of every step and adds up each kernel's gradient step by step.
Here the forward loop keeps only a step's state and the results of its products.
The backward loop recomputes the cheap rest (sigmoids, tanhs, softmax) and
returns the gradients of the products' results. After the loop, one large
product turns these gradients of all steps into the gradient of each kernel.

The recomputation never multiplies matrices: a replayed product returns the
result that the forward loop kept.
"""

import contextlib
import contextvars

import keras
import tensorflow as tf

from tfcopy.layers.products import Product

_KEEPS = contextvars.ContextVar("keeps", default=True)


@contextlib.contextmanager
def disable_gradients():
    """Builds the loops inside it without gradients, and without their tensors.

    It is for inference graphs, such as LiteRT's programs, from which no
    optimiser removes unused tensors. All shapes in them must be known.
    """
    token = _KEEPS.set(False)
    try:
        yield
    finally:
        _KEEPS.reset(token)


def scan(step, inputs, state, memory, training=False):
    """Runs `step` over the leading axis of `inputs`, differentiably.

    Args:
        step: `step(inputs_t, state, memory) -> (outputs, state)`, a pure
            function of its arguments that multiplies matrices through the
            `Product`s of `memory` only, each called once a step.
        inputs: Nested structure of tensors `(T, ...)`, `T >= 1`.
        state: Nested structure of tensors; a step keeps its shapes and dtypes.
        memory: Nested structure of tensors and `Product`s, the same at every
            step.
        training: Whether gradients will be computed. If `True`, the gradient is
            quicker, but the graph cannot be saved. Gradients are available in
            both cases.

    Returns:
        `(outputs, state)`: the steps' outputs, each stacked to `(T, ...)`,
        and the state after the last step.
    """
    return _Scan(step, inputs, state, memory, training)()


class _Replay(Product):
    """Product with a known result; a call only passes gradients through."""

    def __init__(self, kernel_transposed, result):
        super().__init__(kernel_transposed)
        self.result = result
        self.operand = None

    def __call__(self, x):
        self.operand = x
        transposed = self.kernel

        @tf.custom_gradient
        def replay(x, result):
            def gradient(upstream):
                dx = tf.matmul(tf.cast(upstream, transposed.dtype), transposed)
                return tf.cast(dx, x.dtype), upstream

            return tf.identity(result), gradient

        return replay(x, self.result)


class _Record(Product):
    """Product that keeps its result."""

    def __init__(self, product):
        super().__init__(*product.tensors())
        self.result = None

    def __call__(self, x):
        if self.result is not None:
            raise ValueError("A step must call each product only once.")
        self.result = super().__call__(x)
        return self.result


class _Scan:
    def __init__(self, step, inputs, state, memory, training):
        self.step = step
        self.training = training
        self.memory = memory
        leaves = {
            "/".join(str(key) for key in path): x
            for path, x in keras.tree.flatten_with_path(memory)
        }
        self.paths = list(leaves)
        self.products = {
            k: x for k, x in leaves.items() if isinstance(x, Product)
        }
        tensors = {k: x for k, x in leaves.items() if k not in self.products}
        products = {k: p.tensors() for k, p in self.products.items()}
        self.arguments = keras.tree.map_structure(
            tf.convert_to_tensor, [inputs, state, tensors, products]
        )

    def __call__(self):
        flat = tf.nest.flatten(self.arguments)
        self.outputs_spec, self.results_spec = self._specs()
        if _KEEPS.get():
            outputs = tf.custom_gradient(self._run)(*flat)
        else:
            outputs, _ = self._run(*flat, keeps=False)
        return tf.nest.pack_sequence_as(
            (self.outputs_spec, self.arguments[1]), outputs
        )

    def _pack(self, flat):
        return tf.nest.pack_sequence_as(self.arguments, flat)

    def _memory(self, tensors, products):
        """Returns a memory of the same structure with other leaves."""
        leaves = {**tensors, **products}
        return keras.tree.pack_sequence_as(
            self.memory, [leaves[path] for path in self.paths]
        )

    def _step_and_results(self, inputs_t, state, tensors, products):
        """Runs one step; returns the results of its products, by name, too."""
        recorded = {
            name: _Record(self.products[name].replace(products[name]))
            for name in products
        }
        outputs, state = self.step(
            inputs_t, state, self._memory(tensors, recorded)
        )
        results = {name: p.result for name, p in recorded.items()}
        unused = [name for name, result in results.items() if result is None]
        if unused:
            raise ValueError(
                f"A step must call each product once. Never called: {unused}."
            )
        return outputs, state, results

    def _specs(self):
        """Returns the specs of a step's outputs and products' results."""
        if tf.executing_eagerly():
            # Running a step costs a fraction of tracing it.
            inputs, *others = self.arguments
            first = tf.nest.map_structure(lambda x: x[0], inputs)
            outputs, _, results = self._step_and_results(first, *others)
            return tf.nest.map_structure(_spec, (outputs, results))
        inputs, *others = tf.nest.map_structure(_spec, self.arguments)
        inputs = tf.nest.map_structure(_step_spec, inputs)
        graph = tf.function(
            self._step_and_results, autograph=False
        ).get_concrete_function(inputs, *others)
        outputs, _, results = graph.structured_outputs
        return outputs, results

    def _run(self, *flat, keeps=True):
        inputs, state, tensors, products = self._pack(flat)
        length = _length(inputs)
        sources = _Arrays.unstack(inputs, length)
        saved = _Arrays.empty(self.outputs_spec, length)
        kept_specs = (state, self.results_spec) if keeps else ()
        kept = _Arrays.empty(kept_specs, length)

        def body(t, state, saved_arrays, kept_arrays):
            outputs, new_state, results = self._step_and_results(
                sources.read(t), state, tensors, products
            )
            # Copy static shapes that a step's broadcasting may have lost.
            new_state = tf.nest.map_structure(_cast_like, new_state, state)
            return (
                t + 1,
                new_state,
                saved.write(saved_arrays, t, outputs),
                kept.write(kept_arrays, t, (state, results) if keeps else ()),
            )

        _, final, saved_arrays, kept_arrays = _while(
            length, body, (0, state, saved.arrays, kept.arrays)
        )
        outputs = saved.stack(saved_arrays)
        if self.training:
            # Passed without stacking, which would copy them twice.
            kept = _Arrays(kept.structure, kept_arrays)
        else:
            stacked = kept.stack(kept_arrays)

        def gradient(*upstream):
            arrays = kept if self.training else _Arrays.unstack(stacked, length)
            return self._backward(flat, arrays, upstream)

        return tf.nest.flatten((outputs, final)), gradient

    def _backward(self, flat, kept, upstream):
        inputs, state, tensors, products = self._pack(flat)
        d_outputs, d_state = tf.nest.pack_sequence_as(
            (self.outputs_spec, state),
            [tf.convert_to_tensor(x) for x in upstream],
        )
        length = _length(inputs)
        sources = _Arrays.unstack((inputs, d_outputs), length)
        transposed = {
            name: tf.linalg.matrix_transpose(tensors_[0])
            for name, tensors_ in products.items()
        }
        saved = _Arrays.empty(
            (
                [_step_spec(x) for x in _floats(inputs)],
                self.results_spec,
                self._operands_spec(products),
            ),
            length,
        )

        def body(i, d_state, d_tensors, arrays):
            t = length - 1 - i
            inputs_t, d_outputs_t = sources.read(t)
            state_t, results_t = kept.read(t)
            floats = (
                _floats(inputs_t),
                _floats(state_t),
                _floats(tensors),
                results_t,
            )
            with tf.GradientTape() as tape:
                tape.watch(floats)
                replayed = {
                    name: _Replay(transposed[name], results_t[name])
                    for name in products
                }
                outputs, new_state = self.step(
                    inputs_t, state_t, self._memory(tensors, replayed)
                )
                targets = _floats([outputs, new_state])
            d_inputs, d_state, d_new, d_results = tape.gradient(
                targets,
                floats,
                output_gradients=[
                    _select_floating(outputs, d_outputs_t),
                    d_state,
                ],
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            d_tensors = tf.nest.map_structure(tf.add, d_tensors, d_new)
            operands = {name: p.operand for name, p in replayed.items()}
            arrays = saved.write(arrays, t, (d_inputs, d_results, operands))
            return i + 1, d_state, d_tensors, arrays

        _, d_state, d_tensors, arrays = _while(
            length,
            body,
            (
                0,
                _select_floating(state, d_state),
                tf.nest.map_structure(tf.zeros_like, _floats(tensors)),
                saved.arrays,
            ),
        )
        d_inputs, d_results, operands = saved.stack(arrays)
        d_products = {
            name: _product_gradient(
                products[name], operands[name], d_results[name]
            )
            for name in products
        }
        return tf.nest.flatten(
            [
                _unfloats(inputs, d_inputs),
                _unfloats(state, d_state),
                _unfloats(tensors, d_tensors),
                d_products,
            ]
        )

    def _operands_spec(self, products):
        """Returns the specs of the operands, from those of the results."""
        spec = {}
        for name, result in self.results_spec.items():
            shape = result.shape[:-1] + products[name][0].shape[-2:-1]
            spec[name] = tf.TensorSpec(shape, result.dtype)
        return spec


def _product_gradient(tensors, operands, upstream):
    """Computes the gradient of kernel and bias for all steps at once.

    `operands` is `(T, ..., I)` and `upstream` is `(T, ..., O)`. With one kernel
    for each of `G` groups, they are `(T, G, M, I)` and `(T, G, M, O)`.
    """
    kernel = tensors[0]
    if kernel.shape.rank == 3:
        operands = _rows_of_groups(operands)
        upstream = _rows_of_groups(upstream)
        d_bias = tf.reduce_sum(upstream, axis=1, keepdims=True)
    else:
        operands = tf.reshape(operands, (-1, operands.shape[-1]))
        upstream = tf.reshape(upstream, (-1, upstream.shape[-1]))
        d_bias = None
        if len(tensors) > 1:
            d_bias = tf.reduce_sum(upstream, axis=0)
    d_kernel = tf.matmul(
        tf.cast(operands, kernel.dtype),
        tf.cast(upstream, kernel.dtype),
        transpose_a=True,
    )
    gradients = [d_kernel]
    if len(tensors) > 1:
        gradients.append(tf.cast(d_bias, tensors[1].dtype))
    return gradients


def _rows_of_groups(x):
    """Merges steps and rows: `(T, G, M, I)` to `(G, T * M, I)`."""
    x = tf.transpose(x, (1, 0, 2, 3))
    shape = tf.shape(x)
    return tf.reshape(x, (shape[0], shape[1] * shape[2], shape[3]))


class _Arrays:
    """Nested structure of TensorArrays, or of tensors, accessed together."""

    def __init__(self, structure, arrays):
        self.structure = structure
        self.arrays = arrays

    @classmethod
    def unstack(cls, structure, length):
        flat = tf.nest.flatten(structure)
        arrays = [_array(_step_spec(x), length).unstack(x) for x in flat]
        return cls(structure, arrays)

    @classmethod
    def empty(cls, structure, length):
        """Makes empty arrays for the tensors or specs of one step."""
        make = _array if _KEEPS.get() else _rows
        specs = tf.nest.flatten(structure)
        return cls(structure, [make(x, length) for x in specs])

    def read(self, t):
        return tf.nest.pack_sequence_as(
            self.structure, [a.read(t) for a in self.arrays]
        )

    def write(self, arrays, t, values):
        values = tf.nest.flatten(values)
        return [_write(a, t, x) for a, x in zip(arrays, values)]

    def stack(self, arrays):
        return tf.nest.pack_sequence_as(
            self.structure,
            [a if tf.is_tensor(a) else a.stack() for a in arrays],
        )


def _array(spec, length):
    return tf.TensorArray(
        spec.dtype, length, element_shape=spec.shape, clear_after_read=False
    )


def _rows(spec, length):
    """Returns a tensor for the steps' outputs, for loops that LiteRT runs.

    LiteRT does not know the shape of a TensorArray's elements. With
    TensorArrays it prepares this loop and all later ones again at each step.
    XNNPACK keeps some memory each time and goes through all of it later, so
    that searches became slower and slower.
    """
    return tf.zeros((length, *spec.shape), spec.dtype)


def _write(array, t, x):
    """Writes `x` at `t` into a TensorArray, or a tensor `(T, ...)`."""
    if not tf.is_tensor(array):
        return array.write(t, x)
    start = [t] + [0] * len(x.shape)
    return keras.ops.slice_update(array, start, x[tf.newaxis])


def _length(inputs):
    first = tf.nest.flatten(inputs)[0]
    # XLA needs a static length.
    return first.shape[0] or tf.shape(first)[0]


def _while(length, body, loop_variables):
    # No `maximum_iterations`: its counter hides the number of iterations from
    # XLA.
    return tf.while_loop(lambda t, *_: t < length, body, loop_variables)


def _spec(x):
    return tf.TensorSpec(x.shape, x.dtype)


def _step_spec(x):
    return tf.TensorSpec(x.shape[1:], x.dtype)


def _cast_like(x, reference):
    return tf.ensure_shape(tf.cast(x, reference.dtype), reference.shape)


def _floats(structure):
    """Returns the floating tensors of a nested structure, as a flat list."""
    return [x for x in tf.nest.flatten(structure) if x.dtype.is_floating]


def _select_floating(reference, gradients):
    """Returns the gradients of the floating tensors of `reference`."""
    pairs = zip(tf.nest.flatten(reference), tf.nest.flatten(gradients))
    return [g for x, g in pairs if x.dtype.is_floating]


def _unfloats(structure, gradients):
    """Returns flat gradients for all tensors, `None` for integer ones."""
    gradients = iter(gradients)
    return [
        next(gradients) if x.dtype.is_floating else None
        for x in tf.nest.flatten(structure)
    ]
