"""Checks that the tests of all layers share, on every Keras backend."""

import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import ops

from tfcopy import keras_internals
from tfcopy.layers import CopyDistribution

# A layer's outputs in bfloat16 may differ this much from those in float32.
BFLOAT16_TOLERANCE = 0.1

dtype_policy = keras_internals.dtype_policy


def to_numpy(structure):
    """Nested tensors and arrays to nested arrays; bfloat16 becomes float32."""

    def convert(x):
        if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
            x = ops.cast(x, "float32")
        return ops.convert_to_numpy(x)

    return keras.tree.map_structure(convert, structure)


def assert_close(actual, expected, rtol=1e-5, atol=1e-5):
    """Each tensor of a nested structure is close to that of the other.

    Lists and numbers in `expected` are arrays.
    """
    if isinstance(expected, (list, float, int)):
        expected = np.array(expected)
    actual = keras.tree.flatten(to_numpy(actual))
    expected = keras.tree.flatten(to_numpy(expected))
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def distribution_of(generated, copied):
    """The `CopyDistribution` of known probabilities.

    Args:
        generated: `(B, T, V)`.
        copied: `(B, T, S)`.
    """

    def log(x):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.asarray(x, "float64")), -1e9)

    tensors = (
        log(generated) + 3.0,  # Logits are not normalised.
        log(np.sum(generated, axis=-1)),
        log(copied),
        log(copied),
    )
    return CopyDistribution(
        *(ops.convert_to_tensor(x.astype("float32")) for x in tensors)
    )


def probabilities(distribution):
    """`p(generate each word)` and `p(point at each position)`, in NumPy."""
    logits, offset, copied = to_numpy(
        (
            distribution.generate_logits,
            distribution.generate_offset,
            distribution.copy_log_probs,
        )
    )
    return np.exp(logits + offset[..., None]), np.exp(copied)


def arguments(inputs):
    """A layer's call arguments, from a flat dict.

    `decoded_hidden`, `decoded_state` and so on go into the dict `decoded`;
    those of its entries that are not given are empty, but for
    `decoded_copy_scores`, which few cells have.
    """
    prefix = "decoded_"
    flat = {k: x for k, x in inputs.items() if not k.startswith(prefix)}
    if len(flat) == len(inputs):
        return flat
    names = ("hidden", "state", "inputs", "context", "attention")
    decoded = {k: inputs.get(prefix + k) for k in names}
    present = next(x for x in decoded.values() if x is not None)
    decoded = {
        k: present[..., :0] if x is None else x for k, x in decoded.items()
    }
    if prefix + "copy_scores" in inputs:
        decoded["copy_scores"] = inputs[prefix + "copy_scores"]
    return {**flat, "decoded": decoded}


def evaluate(function, tensors):
    """`function(dict of tensors)`; on JAX in one piece, which is faster."""
    if keras.backend.backend() == "jax":
        return compiled(function, tensors)(tensors)
    return function(tensors)


def compiled(function, tensors, dynamic_axes=None, jit_compile=False):
    """`function(dict of tensors)` as a graph; on JAX always through XLA.

    Args:
        function: Takes a dict of tensors.
        tensors: The dict, or one with the same shapes and dtypes.
        dynamic_axes: Dict of the axes whose size the graph must not know
            (TensorFlow only), by name.
        jit_compile: Whether TensorFlow compiles the graph by XLA.
    """
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    axes = dynamic_axes or {}
    specs = {
        name: tf.TensorSpec(_with_unknown(x.shape, axes.get(name, ())), x.dtype)
        for name, x in tensors.items()
    }
    return tf.function(
        function,
        input_signature=[specs],
        autograph=False,
        jit_compile=jit_compile,
    )


def gradients(function, tensors, variables=()):
    """Derivatives of a scalar.

    Args:
        function: Takes `tensors` (a nested structure); returns a scalar.
        tensors: Nested structure of floating tensors.
        variables: Keras variables.

    Returns:
        `(value, d_tensors, d_variables)`; a derivative is `None` if the
        backend knows that there is none.
    """
    return _derivatives(lambda x: [function(x)] * 2, tensors, variables)


def outputs_and_gradients(function, tensors, variables=()):
    """Outputs, and the derivatives of their `weighted_sum`.

    Args:
        function: Takes `tensors` (a nested structure); returns tensors.
        tensors, variables: As in `gradients`.

    Returns:
        `(outputs, d_tensors, d_variables)`.
    """

    def with_sum(tensors):
        outputs = function(tensors)
        return weighted_sum(outputs), outputs

    return _derivatives(with_sum, tensors, variables)


def _derivatives(function, tensors, variables):
    """Computes `gradients` of a function to a scalar and other outputs."""
    tensors = keras.tree.map_structure(ops.convert_to_tensor, tensors)
    if keras.backend.backend() == "jax":
        import jax

        def stateless(tensors, values):
            mapping = list(zip(variables, values))
            with keras.StatelessScope(state_mapping=mapping):
                return function(tensors)

        values = [v.value for v in variables]
        (_, outputs), (d_tensors, d_variables) = jax.jit(
            jax.value_and_grad(stateless, argnums=(0, 1), has_aux=True)
        )(tensors, values)
        return outputs, d_tensors, d_variables
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(keras.tree.flatten(tensors))
        value, outputs = function(tensors)
    d_tensors, d_variables = tape.gradient(
        value, [tensors, [v.value for v in variables]]
    )
    dense = tf.convert_to_tensor  # The gradient of a gather may be sparse.
    return (
        outputs,
        d_tensors,
        [None if g is None else dense(g) for g in d_variables],
    )


def weighted_sum(structure, seed=1):
    """A scalar that depends on each element of `structure` in its own way."""
    rng = np.random.default_rng(seed)
    return sum(
        ops.sum(ops.cast(x, "float32") * rng.normal(size=x.shape).astype("f"))
        for x in keras.tree.flatten(structure)
    )


def with_dtype(layer, dtype):
    """The same layer, and all layers in it, with another dtype policy.

    If the layer is built the other has the same weights.
    """

    def replace(config):
        if isinstance(config, dict):
            return {
                k: dtype if k == "dtype" else replace(v)
                for k, v in config.items()
            }
        return config

    return type(layer).from_config(replace(layer.get_config()))


def check_layer(
    layer,
    inputs,
    *,
    mixed_dtypes="float32",
    padded=None,
    dynamic_axes=None,
    without_gradient=(),
):
    """Checks what every layer promises.

    The shapes of its outputs with and without data; a copy made from its
    config; saving in a functional model; batches and lengths that are not
    known in advance; mixed precision; gradients; padding.

    Args:
        layer: An unbuilt layer.
        inputs: Dict of its call arguments, as arrays; see `arguments`.
        mixed_dtypes: Dtype of its output in mixed precision, or the list of
            their dtypes; of integers it is not asked.
        padded: Dict from the name of a mask to the names of the inputs whose
            axis 1 it masks.
        dynamic_axes: Dict of the axes that may have any size, where that is
            not the batch, and the second axis of sequences (whatever has
            three axes, or two and is not floating).
        without_gradient: Names of weights that move nothing.
    """
    inputs = {name: _as_float32(x) for name, x in inputs.items()}
    dynamic_axes = {**_default_axes(inputs), **(dynamic_axes or {})}
    outputs = layer(**arguments(inputs))
    _check_symbolic(layer, inputs, outputs)
    _check_copy(layer, inputs, outputs)
    _check_dynamic(layer, inputs, dynamic_axes)
    _check_functional_model(layer, inputs, outputs, dynamic_axes)
    _check_mixed_precision(layer, inputs, outputs, mixed_dtypes)
    _check_gradients(layer, inputs, without_gradient)
    for mask, names in (padded or {}).items():
        _check_padding(layer, inputs, outputs, mask, names)


def _outputs(layer, inputs):
    return evaluate(lambda tensors: layer(**arguments(tensors)), inputs)


def _as_float32(x):
    x = np.asarray(x)
    return x.astype("float32") if x.dtype.kind == "f" else x


def _default_axes(inputs):
    return {
        name: (0, 1)
        if x.ndim == 3 or (x.ndim == 2 and x.dtype.kind != "f")
        else (0,)
        for name, x in inputs.items()
    }


def _with_unknown(shape, axes):
    return tuple(None if i in axes else size for i, size in enumerate(shape))


def _symbolic(inputs, dynamic_axes):
    return {
        name: keras.Input(
            batch_shape=_with_unknown(x.shape, dynamic_axes[name]),
            dtype=x.dtype.name,
            name=name,
        )
        for name, x in inputs.items()
    }


def _check_symbolic(layer, inputs, outputs):
    symbolic = layer(**arguments(_symbolic(inputs, dict.fromkeys(inputs, ()))))
    for spec, x in zip(
        keras.tree.flatten(symbolic), keras.tree.flatten(outputs), strict=True
    ):
        assert spec.shape == tuple(x.shape)
        assert spec.dtype == keras.backend.standardize_dtype(x.dtype)


def _check_copy(layer, inputs, outputs):
    config = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(config)
    assert copy.get_config() == layer.get_config()
    _copy_weights(layer, copy)
    assert_close(_outputs(copy, inputs), outputs)


def _copy_weights(layer, copy):
    assert [w.shape for w in copy.weights] == [w.shape for w in layer.weights]
    names = [w.path.split("/", 1)[-1] for w in layer.weights]
    assert len(set(names)) == len(names), "Two weights of one name."
    copy.set_weights(layer.get_weights())


def _check_dynamic(layer, inputs, dynamic_axes):
    """One graph for all sizes does what the layer does for the size known."""
    shorter = {}
    for name, x in inputs.items():
        for axis in dynamic_axes[name]:
            x = np.take(x, range(x.shape[axis] - 1), axis)
        shorter[name] = x
    graph = compiled(
        lambda tensors: layer(**arguments(tensors)), inputs, dynamic_axes
    )
    for some in (inputs, shorter):
        assert_close(graph(some), _outputs(layer, some))


def _check_functional_model(layer, inputs, outputs, dynamic_axes):
    symbolic = _symbolic(inputs, dynamic_axes)
    model = keras.Model(symbolic, layer(**arguments(symbolic)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        loaded = keras.saving.load_model(path)
    assert_close(evaluate(loaded, inputs), outputs)


def _check_mixed_precision(layer, inputs, outputs, dtypes):
    mixed = with_dtype(layer, "mixed_bfloat16")
    specs = mixed(**arguments(_symbolic(inputs, dict.fromkeys(inputs, ()))))
    _copy_weights(layer, mixed)
    assert all(w.dtype == "float32" for w in mixed.weights)
    specs, mixed_outputs, outputs = (
        keras.tree.flatten(x) for x in (specs, _outputs(mixed, inputs), outputs)
    )
    if isinstance(dtypes, str):
        dtypes = [dtypes] * len(outputs)
    for spec, dtype, x, y in zip(
        specs, dtypes, mixed_outputs, outputs, strict=True
    ):
        mixed_dtype = keras.backend.standardize_dtype(x.dtype)
        assert spec.dtype == mixed_dtype
        assert mixed_dtype == dtype or "float" not in mixed_dtype
        assert_close(x, y, BFLOAT16_TOLERANCE, BFLOAT16_TOLERANCE)


def _check_gradients(layer, inputs, without_gradient):
    floats = {k: x for k, x in inputs.items() if x.dtype.kind == "f"}
    others = {k: x for k, x in inputs.items() if k not in floats}
    if not floats and not layer.trainable_weights:
        return
    _, d_inputs, d_weights = gradients(
        lambda tensors: weighted_sum(layer(**arguments({**tensors, **others}))),
        floats,
        layer.trainable_weights,
    )
    for name, gradient in d_inputs.items():
        if gradient is not None:  # Not all inputs matter to all layers.
            assert np.isfinite(to_numpy(gradient)).all(), name
    for weight, gradient in zip(layer.trainable_weights, d_weights):
        assert gradient is not None, f"{weight.path} has no gradient."
        gradient = to_numpy(gradient)
        assert np.isfinite(gradient).all(), f"{weight.path}: {gradient}"
        if weight.name not in without_gradient:
            assert gradient.any(), f"The gradient of {weight.path} is zero."


def _check_padding(layer, inputs, outputs, mask, names):
    """Whatever stands on the padding, nothing changes."""
    padding = ~inputs[mask]
    assert padding.any(), "The inputs should have some padding."
    rng = np.random.default_rng(2)
    other = dict(inputs)
    for name in names:
        x = inputs[name].copy()
        x[padding] = 10 * rng.normal(size=x[padding].shape)
        other[name] = x
    assert_close(_outputs(layer, other), outputs, rtol=0, atol=1e-6)
