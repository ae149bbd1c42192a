"""Graphs, and the circuits that are told of them."""

import collections

from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.generated import eulerian


def edges(source):
    """Each line of a graph as a pair of nodes."""
    graph, _ = source.split(" ? ")
    lines = [line.split() for line in graph.split(" ;") if line.strip()]
    assert all(len(line) == 3 and line[1] == "to" for line in lines)
    return [(one, other) for one, _, other in lines]


def solve(source: str) -> str:
    """The circuit of a graph, followed along its edges."""
    graph, question = source.split(" ? ")
    first, second, _ = question.split()
    neighbours = {}
    for line in graph.split(" ;"):
        if line.strip():
            start, _, end = line.split()
            neighbours.setdefault(start, []).append(end)
    circuit = [first, second]
    while True:
        last, here = circuit[-2:]
        following = next(node for node in neighbours[here] if node != last)
        if following == first:
            return " ".join(circuit)
        circuit.append(following)


@settings(max_examples=30)
@given(
    st.integers(3, 9), st.sampled_from([0, 3, 4, 5, 8]), st.integers(0, 2**31)
)
def test_a_circuit_is_that_of_its_graph(num_nodes, num_distractors, seed):
    sizes = num_nodes, num_distractors
    for source, target in eulerian.generate("test", 3, *sizes, seed):
        nodes = num_nodes + num_distractors
        assert len(source.split()) == 8 * nodes + 4
        assert len(target.split()) == len(set(target.split())) == num_nodes
        assert solve(source) == target
        lines = edges(source)
        assert len(set(lines)) == len(lines)
        assert {(b, a) for a, b in lines} == set(lines)
        degrees = collections.Counter(a for a, _ in lines)
        assert set(degrees.values()) == {2} and len(degrees) == nodes
        assert source.split()[-3:-1] == target.split()[:2]


def test_sizes_of_the_paper():
    ((source, target),) = eulerian.generate("train", 1)
    assert len(source.split()) == 92 and len(target.split()) == 7
    assert len({*source.split(), *target.split()}) == 11 + 4
