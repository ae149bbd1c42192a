"""A SavedModel may only compute when it is loaded and asked."""

import os
import shutil

import pytest
import tensorflow as tf

from tfcopy.runtime.loading import load
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.tensorflow_engine import (
    LISTED,
    disallowed_operations,
    read_saved_model,
)


class Module(tf.Module):
    """Answers a text by what it is given; has a variable and a table."""

    def __init__(self, say, vocabulary):
        super().__init__()
        self.offset = tf.Variable(0)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                *(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE),
                *(tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER),
            ),
            -1,
        )
        text = tf.TensorSpec([None], tf.string, "text")

        @tf.function(input_signature=[text], autograph=False)
        def ask(text):
            place = tf.cast(self.table.lookup(text), tf.int32) + self.offset
            return {"text": say(text), "copied_from": place}

        self.ask = ask


@pytest.fixture(scope="module")
def save(tmp_path_factory):
    """Returns the function that saves what says something, as a version."""

    def save(say=tf.identity):
        folder = tmp_path_factory.mktemp("saved")
        (folder / "words.txt").write_text("a\nb\n")
        module = Module(say, str(folder / "words.txt"))
        names = dict.fromkeys(["serving_default", "analyse"], module.ask)
        tf.saved_model.save(module, str(folder / "1"), names)
        return folder / "1"

    return save


@pytest.fixture(scope="module")
def harmless(save):
    return save()


@pytest.fixture
def model(harmless):
    """The message of a harmless SavedModel, which a test may change."""
    return read_saved_model(harmless)


def function(model, part):
    """The function of a SavedModel whose name has a part."""
    library = model.meta_graphs[0].graph_def.library.function
    return next(x for x in library if part in x.signature.name)


def node(function, op):
    return next(x for x in function.node_def if x.op == op)


def test_a_harmless_model_is_loaded_and_answers(harmless):
    with load(harmless) as model:
        assert [x["copied_from"] for x in model.answer(["a", "b"])] == [0, 1]
    assert disallowed_operations(read_saved_model(harmless)) == []


def test_what_is_listed_exists_and_does_nothing_else():
    import tensorflow_text

    names = {x for x in LISTED if "Sentencepiece" not in x}
    assert {x for x in names if not hasattr(tf.raw_ops, x)} == set()
    assert tensorflow_text is not None
    words = "File PyFunc Print Debug Dataset Save Restore Send Recv Remote Rpc"
    assert not [x for x in names if any(y in x for y in words.split())]


@pytest.mark.parametrize("is_nested", [False, True])
def test_what_would_write_a_file_is_not_run(save, tmp_path, is_nested):
    target = tmp_path / "written"

    def write(text):
        def run():
            with tf.control_dependencies([tf.io.write_file(str(target), "x")]):
                return tf.identity(text)

        if is_nested:
            return tf.cond(tf.size(text) > 0, run, lambda: text)
        return run()

    folder = save(write)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert str(caught.value) == (
        f"{folder}: cannot be loaded (it contains operations that no "
        "tfcopy export uses: WriteFile. If you trust who made it, pass "
        "`trust=True` or --trust)."
    )
    assert not target.exists()
    load(folder, trust=True)
    assert target.read_text() == "x"


def test_python_is_not_called(save):
    def call(text):
        return tf.numpy_function(pytest.fail, [text], tf.string)

    with pytest.raises(ModelError, match="no tfcopy export uses: PyFunc. If"):
        load(save(call))


def test_where_a_function_is_called_no_operation_is(model):
    """TensorFlow takes the name of an operation for a branch."""
    call = node(function(model, "signature_wrapper"), "StatefulPartitionedCall")
    call.attr["f"].func.name = "WriteFile"
    assert disallowed_operations(model) == ["WriteFile"]
    call.attr["f"].func.name = function(model, "_ask_").signature.name
    call.attr["g"].list.func.add().name = "ReadFile"
    assert disallowed_operations(model) == ["ReadFile"]
    call.attr["g"].placeholder = "a"
    assert disallowed_operations(model) == ["<a>"]


def test_a_function_has_no_name_of_an_operation(model):
    other = model.meta_graphs[0].graph_def.library.function.add()
    other.signature.name = "WriteFile"
    function(model, "_ask_").node_def.add().op = "WriteFile"
    assert disallowed_operations(model) == ["WriteFile"]


def test_of_functions_of_one_name_all_count(model):
    library = model.meta_graphs[0].graph_def.library
    name = library.function[0].signature.name
    library.function[0].node_def.add().op = "WriteFile"
    library.function.add().signature.name = name
    assert disallowed_operations(model) == ["WriteFile"]


@pytest.mark.parametrize("name", ["traced_save", "traced_restore"])
def test_variables_are_saved_by_the_saver_alone(model, name):
    saving = function(model, name).signature.name
    call = node(function(model, "signature_wrapper"), "StatefulPartitionedCall")
    called = call.attr["f"].func.name
    call.attr["f"].func.name = saving
    assert "RestoreV2" in disallowed_operations(model)
    call.attr["f"].func.name = called
    assert disallowed_operations(model) == []
    objects = model.meta_graphs[0].object_graph_def
    objects.concrete_functions[saving].SetInParent()
    assert "RestoreV2" in disallowed_operations(model)
    del objects.concrete_functions[saving]
    # A server runs this graph.
    graph = model.meta_graphs[0].graph_def
    graph.node.add(op="StatefulPartitionedCall", name="more")
    graph.node[-1].attr["f"].func.name = saving
    assert "RestoreV2" in disallowed_operations(model)


def test_nothing_is_written_as_variables_are_read(model):
    saver = model.meta_graphs[0].saver_def
    saver.restore_op_name = saver.save_tensor_name.split(":")[0]
    assert "SaveV2" in disallowed_operations(model)


def test_nothing_takes_what_the_saver_gives(model):
    meta = model.meta_graphs[0]
    init = next(x for x in meta.graph_def.node if x.op == "NoOp")
    init.input.append(f"^{meta.saver_def.save_tensor_name.split(':')[0]}")
    assert "SaveV2" in disallowed_operations(model)


def test_a_table_is_read_from_an_asset_alone(model):
    meta = model.meta_graphs[0]
    reading = ["InitializeTableFromTextFileV2"]
    (asset,) = meta.asset_file_def
    for name in ("../words.txt", "/etc/passwd"):
        asset.filename, kept = name, asset.filename
        assert disallowed_operations(model) == reading
        asset.filename = kept
    initializer = function(model, "initializer")
    table = node(initializer, reading[0])
    table.input[1], kept = "path:output:0", table.input[1]
    assert disallowed_operations(model) == reading
    table.input[1] = kept
    assert disallowed_operations(model) == []
    meta.object_graph_def.concrete_functions[
        initializer.signature.name
    ].bound_inputs[:] = []
    assert disallowed_operations(model) == reading


def test_a_graph_of_tensorflow_1_is_no_export(model):
    model.meta_graphs[0].ClearField("object_graph_def")
    assert disallowed_operations(model) == ["a graph of TensorFlow 1"]


def test_a_damaged_file_is_told(harmless, tmp_path):
    shutil.copytree(harmless, tmp_path / "1")
    path = tmp_path / "1" / "saved_model.pb"
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ModelError, match="1: cannot be loaded"):
        load(tmp_path)
