"""Golden values of the planners, worked out in float64 elsewhere."""

from keras import ops

from tests import helpers
from tests.layers.attention import plan_values
from tfcopy.layers import PlanAttention

PLAN = [
    [0.613572, 0.374823, 0.973535, 0.524124],
    [0.600271, -0.763766, 0.278624, 0.459534],
    [0.575670, -0.441377, -0.919847, 0.369610],
    [2.107346, 1.542261, -0.831143, 1.793589],
]
WEIGHTS = [
    [0.310473, 0.244533, 0.444994, 0],
    [0.504903, 0.129067, 0.366031, 0],
    [0.630599, 0.228063, 0.141338, 0],
    [0.616805, 0.350538, 0.032657, 0],
]
CONTEXTS = [
    [-0.236746, -0.190847],
    [0.133106, 0.399015],
    [0.846133, 0.721214],
    [1.131802, 0.640443],
]
REPEATED = [
    [0.671154, 0.188852, 0.139995, 0],
    [0.671154, 0.188852, 0.139995, 0],
    [0.419197, 0.410499, 0.170304, 0],
]


def make(**options):
    layer = PlanAttention(
        2, plan_steps=plan_values.k, summary_units=2, **options
    )
    layer.build((1, 1, 2), (1, 4, 2), (1, 1, 2))
    plan_values.set_weights(layer)
    return layer


def run(layer, switches):
    """The states and outputs of steps that re-plan as told."""
    memory = layer.prepare(plan_values.VALUE, plan_values.MASK)
    state, actual = layer.initial_state(memory), []
    for query, words, switch in zip(
        plan_values.QUERIES, plan_values.WORDS, switches
    ):
        plan = ops.full_like(state["commitment"]["plan"], float(switch))
        state["commitment"]["plan"] = plan
        product = ops.matmul(query, layer.query_matrix())
        query = layer.combine(product, layer.project(words), memory)
        context, log_weights, state = layer.step(query, state, memory)
        actual.append((context, ops.exp(log_weights), state))
    return actual


def test_plan():
    for t, (context, weights, state) in enumerate(run(make(), [1, 0, 0, 1])):
        helpers.assert_close(state["alignment"][0, :, 0], PLAN[t])
        helpers.assert_close(weights[0], WEIGHTS[t])
        helpers.assert_close(context[0], CONTEXTS[t])
        assert ops.convert_to_numpy(weights)[0, 3] == 0


def test_commitment():
    layer = make()
    _, _, state = run(layer, [1])[0]
    actual = state["commitment"]
    helpers.assert_close(actual["logits"], [[0.024036, 1.689408, 1.508581]])
    helpers.assert_close(
        actual["probabilities"], [[0.055474, 0.529834, 0.414692]]
    )
    helpers.assert_close(actual["plan"], [[0, 1, 0]])
    outputs = layer.outputs(state)
    helpers.assert_close(outputs["commitment_deviation"], [[0.122437]])
    helpers.assert_close(outputs["replan"], [[1]])


def test_repeat():
    actual = run(make(mode="repeat"), [1, 0, 1])
    for (_, weights, _), expected in zip(actual, REPEATED):
        helpers.assert_close(weights[0], expected)
