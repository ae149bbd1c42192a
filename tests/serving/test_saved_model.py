"""Graphs that plain servers do not run are refused."""

import types

import pytest
import tensorflow as tf

from tfcopy.serving.saved_model import _check_operations


def function_of(*operations):
    """A function whose graph has these operations."""
    nodes = [
        tf.compat.v1.NodeDef(name=f"n{i}", op=name)
        for i, name in enumerate(operations)
    ]
    graph = tf.compat.v1.GraphDef(node=nodes)
    return types.SimpleNamespace(
        graph=types.SimpleNamespace(as_graph_def=lambda: graph)
    )


@pytest.mark.parametrize(
    ("operation", "xla", "is_served"),
    [
        ("AddV2", False, True),
        ("_FusedMatMul", False, True),
        ("_XlaMustCompile", False, False),
        ("_XlaMustCompile", True, True),
        ("XlaLaunch", True, False),
        ("EagerPyFunc", False, False),
        ("CaseFoldUTF8", True, False),
    ],
)
def test_xla_is_served_where_it_is_asked_for(operation, xla, is_served):
    function = function_of("Placeholder", operation)
    if is_served:
        _check_operations(function, xla)
        return
    with pytest.raises(
        ValueError, match=f"Received operations: {operation}\\."
    ):
        _check_operations(function, xla)
