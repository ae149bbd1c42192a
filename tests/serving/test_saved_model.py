"""Graphs that plain servers do not run are refused."""

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from tfcopy.serving.saved_model import _check_operations


def write(folder, operation, is_compiled):
    """A SavedModel whose graph has an operation."""
    model = saved_model_pb2.SavedModel()
    meta = model.meta_graphs.add()
    meta.object_graph_def.SetInParent()
    meta.graph_def.node.add(name="a", op="Placeholder")
    meta.graph_def.node.add(name="b", op=operation)
    if is_compiled:
        function = meta.graph_def.library.function.add()
        function.signature.name = "f_1"
        function.attr["_XlaMustCompile"].b = True
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("operation", "is_compiled", "received"),
    [
        ("AddV2", False, None),
        ("AddV2", True, "_XlaMustCompile"),
        ("XlaLaunch", False, "XlaLaunch"),
        ("EagerPyFunc", False, "EagerPyFunc"),
        ("CaseFoldUTF8", False, "CaseFoldUTF8"),
    ],
)
def test_operations_that_servers_lack_are_refused(
    tmp_path, operation, is_compiled, received
):
    write(tmp_path, operation, is_compiled)
    if received is None:
        _check_operations(tmp_path)
        return
    with pytest.raises(ValueError, match=f"Received operations: {received}\\."):
        _check_operations(tmp_path)
