"""`scan` against a plain Python loop, the file of the backends without one."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import normal
from tfcopy.layers.loop import Product, scan, unroll_scan

T, B, D, G = 4, 2, 3, 2


def make_tensors(length=T):
    """Makes the inputs of a step, all that may have a gradient."""
    return {
        "x": normal(length, B, D),
        "groups": normal(length, G, B, D, seed=1),
        "hidden": normal(B, D, seed=2),
        "state_groups": normal(G, B, D, seed=3),
        "keys": normal(B, D, seed=4),
        "kernel": normal(D, 2 * D, seed=5),
        "bias": normal(2 * D, seed=6),
        "bare_kernel": normal(D, D, seed=7),
        "group_kernel": normal(G, D, D, seed=8),
        "group_bias": normal(G, 1, D, seed=9),
        "row_kernel": normal(B, D, D, seed=10),
    }


def run(scan, tensors):
    """A step with products of all kinds, integers, and nested structures.

    The memory is nested, too.
    """
    length, size = ops.shape(tensors["x"])[:2]
    numbers = ops.expand_dims(ops.arange(length, dtype="int32"), -1)
    inputs = {
        "x": tensors["x"],
        "rest": (tensors["groups"], numbers + ops.arange(size, dtype="int32")),
    }
    state = [
        {"hidden": tensors["hidden"], "groups": tensors["state_groups"]},
        ops.zeros_like(tensors["hidden"][:, 0], dtype="int32"),
        (),
    ]

    def step(inputs, state, memory):
        groups, numbers = inputs["rest"]
        hidden, count = state[0]["hidden"], state[1]
        pair = memory["pair"](hidden + inputs["x"])
        first, second = ops.split(pair, 2, axis=-1)
        gate = ops.sigmoid(first)
        numbers = numbers + memory["shift"]
        scale = 1.0 + 0.1 * ops.cast(ops.expand_dims(numbers, -1), "float32")
        (bare,), inner = memory["inner"]
        new = gate * ops.tanh(second) * scale + bare(gate * hidden)
        row = inner["row"](ops.expand_dims(new + memory["keys"], 1))
        new = ops.tanh(new + ops.squeeze(row, 1))
        new_groups = ops.tanh(inner["group"](state[0]["groups"]) + groups)
        outputs = {
            "hidden": new,
            "others": (ops.sum(new_groups, 0) * new, gate, count + numbers),
        }
        state = [{"hidden": new, "groups": new_groups}, count + numbers, ()]
        return outputs, state

    inner = {
        "group": Product(tensors["group_kernel"], tensors["group_bias"]),
        "row": Product(tensors["row_kernel"]),
        "empty": {},
    }
    memory = {
        "keys": tensors["keys"],
        "shift": ops.arange(size, dtype="int32"),
        "pair": Product(tensors["kernel"], tensors["bias"]),
        "inner": ([Product(tensors["bare_kernel"])], inner),
    }
    return scan(step, inputs, state, memory)


def floats(structure):
    return [
        x
        for x in keras.tree.flatten(structure)
        if keras.backend.is_float_dtype(x.dtype)
    ]


def as_tensors(arrays):
    return keras.tree.map_structure(ops.convert_to_tensor, arrays)


@pytest.mark.parametrize("length", [1, T])
def test_equals_a_python_loop(length):
    tensors = as_tensors(make_tensors(length))
    outputs, state = run(scan, tensors)
    expected, expected_state = run(unroll_scan, tensors)
    helpers.assert_close((outputs, state), (expected, expected_state))
    assert outputs["hidden"].shape == (length, B, D)
    assert outputs["others"][2].shape == (length, B)
    assert keras.backend.standardize_dtype(state[1].dtype) == "int32"


def gradients_of(scan, tensors):
    def value(tensors):
        return helpers.weighted_sum(floats(run(scan, tensors)))

    return helpers.gradients(value, tensors)[:2]


@pytest.mark.parametrize("length", [1, T])
def test_gradients_equal_those_of_a_python_loop(length):
    tensors = make_tensors(length)
    value, gradients = gradients_of(scan, tensors)
    expected_value, expected = gradients_of(unroll_scan, tensors)
    helpers.assert_close(value, expected_value)
    for name in tensors:
        helpers.assert_close(gradients[name], expected[name])
        assert helpers.to_numpy(gradients[name]).any(), name


def test_gradients_of_the_state_alone_and_of_one_output_alone():
    for part in (
        lambda outputs, state: state[0]["hidden"],
        lambda outputs, state: outputs["others"][1],
    ):
        gradients, expected = (
            helpers.gradients(
                lambda tensors: helpers.weighted_sum(part(*run(f, tensors))),
                make_tensors(),
            )[1]
            for f in (scan, unroll_scan)
        )
        for name, x in expected.items():
            x = np.zeros(gradients[name].shape) if x is None else x
            helpers.assert_close(gradients[name], x)


def values_and_gradients(tensors):
    """Both of them, for a graph: TensorFlow's tape inside of it."""

    def value(tensors):
        outputs, state = run(scan, tensors)
        total = ops.sum(ops.square(outputs["hidden"]))
        return (
            total + ops.sum(outputs["others"][0]) + ops.sum(state[0]["hidden"])
        )

    return helpers.gradients(value, tensors)[:2]


LENGTHS = {"x": (0, 1), "groups": (0, 2), "hidden": (0,), "keys": (0,)}
LENGTHS.update({"state_groups": (1,), "row_kernel": (0,)})


def test_one_graph_for_all_lengths_and_batch_sizes():
    tensors = make_tensors()
    graph = helpers.compiled(values_and_gradients, tensors, LENGTHS)
    for length, size in ((T, B), (1, B), (T - 1, 1)):
        tensors = make_tensors(length)
        for name, axes in LENGTHS.items():
            tensors[name] = np.take(tensors[name], range(size), axes[-1])
        tensors = as_tensors(tensors)
        helpers.assert_close(graph(tensors), values_and_gradients(tensors))


@pytest.mark.long
def test_compiled_by_xla():
    tensors = as_tensors(make_tensors())
    graph = helpers.compiled(values_and_gradients, tensors, jit_compile=True)
    helpers.assert_close(graph(tensors), values_and_gradients(tensors))
    if keras.backend.backend() == "tensorflow":
        program = graph.experimental_get_compiler_ir(tensors)("optimized_hlo")
        loops = [line for line in program.splitlines() if " while(" in line]
        assert loops
        for line in loops:
            assert f'"known_trip_count":{{"n":"{T}"}}' in line, line


@pytest.mark.long
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the loop of TensorFlow"
)
def test_without_gradients_nothing_is_kept_for_them():
    import tensorflow as tf

    from tfcopy.layers.tensorflow_loop import disable_gradients

    def writes(graph, operation):
        functions = graph.as_graph_def().library.function
        bodies = [x.node_def for x in functions if "body" in x.signature.name]
        return sum(x.op == operation for body in bodies for x in body)

    graphs = [tf.function(lambda: run(scan, make_tensors())) for _ in range(2)]
    kept = graphs[0].get_concrete_function()
    with disable_gradients():
        alone = graphs[1].get_concrete_function()
    for x, y in zip(tf.nest.flatten(kept()), tf.nest.flatten(alone())):
        np.testing.assert_array_equal(x, y)
    outputs = len(tf.nest.flatten(alone.structured_outputs[0]))
    assert writes(alone.graph, "XlaDynamicUpdateSlice") == outputs
    assert writes(alone.graph, "TensorListSetItem") == 0
    assert writes(kept.graph, "TensorListSetItem") > outputs


def test_a_step_may_have_no_memory_and_no_products():
    def step(x, state, memory):
        return state * x, state + x

    x = ops.convert_to_tensor(normal(T, D))
    state = ops.zeros((D,))
    actual = scan(step, x, state, {})
    helpers.assert_close(actual, unroll_scan(step, x, state, {}))


def test_products_in_bfloat16_leave_the_state_in_float32():
    kernel = ops.cast(normal(D, D), "bfloat16")

    def step(x, state, memory):
        new = ops.tanh(memory["product"](state) + x)
        return new, new

    def value(scan, tensors):
        memory = {"product": Product(ops.cast(tensors["kernel"], "bfloat16"))}
        return scan(step, tensors["x"], tensors["state"], memory)

    tensors = {"x": normal(T, B, D), "state": normal(B, D), "kernel": kernel}
    tensors["kernel"] = ops.cast(kernel, "float32")
    outputs, state = value(scan, as_tensors(tensors))
    for x in (outputs, state):
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
    actual, expected = (
        helpers.gradients(lambda t: helpers.weighted_sum(value(f, t)), tensors)[
            :2
        ]
        for f in (scan, unroll_scan)
    )
    helpers.assert_close(actual, expected, rtol=0.03, atol=0.03)


def test_the_result_of_a_product_has_the_dtype_of_its_operand():
    product = Product(ops.cast(normal(D, 5), "bfloat16"), normal(5))
    y = product(ops.convert_to_tensor(normal(B, D)))
    assert keras.backend.standardize_dtype(y.dtype) == "float32"
    assert y.shape == (B, 5)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="about tf.function"
)
def test_a_graph_is_traced_once():
    import tensorflow as tf

    traces = []

    def step(x, state, memory):
        traces.append(None)
        new = ops.tanh(memory["product"](state) + x)
        return new, new

    @tf.function(reduce_retracing=True)
    def graph(x, state, kernel):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            outputs, _ = scan(step, x, state, {"product": Product(kernel)})
        return tape.gradient(outputs, kernel)

    specs = [
        tf.TensorSpec(shape) for shape in ((None, None, D), (None, D), (D, D))
    ]
    graph = tf.function(graph.python_function, input_signature=specs)
    for length, size in ((3, 2), (5, 1), (1, 4)):
        graph(normal(length, size, D), normal(size, D), normal(D, D))
        if length == 3:
            first = len(traces)
    assert graph.experimental_get_tracing_count() == 1
    assert len(traces) == first


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="about tf.function"
)
def test_an_eager_call_traces_no_graph():
    import tensorflow as tf

    is_eager = []

    def step(x, state, memory):
        is_eager.append(tf.executing_eagerly())
        new = ops.tanh(memory["product"](state) + x)
        return new, new

    memory = {"product": Product(ops.ones((D, D)))}
    scan(step, normal(T, B, D), ops.ones((B, D)), memory)
    assert is_eager == [True] * (T + 1)  # The first step gives the shapes.


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="others do not replay"
)
@pytest.mark.parametrize(
    "calls, message", [(0, r"\['product'\]"), (2, "only once")]
)
def test_each_product_is_called_once_a_step(calls, message):
    def step(x, state, memory):
        for _ in range(calls):
            state = memory["product"](state)
        return state, state

    product = Product(ops.ones((D, D)))
    with pytest.raises(ValueError, match=message):
        scan(step, normal(T, B, D), ops.ones((B, D)), {"product": product})
