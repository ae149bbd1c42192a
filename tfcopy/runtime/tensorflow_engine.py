"""TensorFlow as the engine of a model, and the operations that it allows.

A SavedModel is a program. On loading it could already write files, call Python,
or run any other operation of TensorFlow. Exports contain the operations that
`operations.txt` lists, which only compute, and no others, so that
`disallowed_operations` detects everything else.
"""

import contextlib
import logging
import os
import pathlib
import re
import tempfile
from collections.abc import Iterable

from tfcopy import filesystem
from tfcopy.runtime.signatures import Signature, check_process

# Paths that TensorFlow takes as they are.
_LITERAL = re.compile(r"[^*?\[\\\ud800-\udfff]*")
# One line of names after the other; `#` begins a comment.
_LINES = pathlib.Path(__file__).with_name("operations.txt").read_text()
LISTED = frozenset(
    x for y in _LINES.splitlines() if y[:1] != "#" for x in y.split()
)
_CALLING = frozenset(
    "Case If PartitionedCall StatefulPartitionedCall StatelessCase StatelessIf "
    "StatelessWhile While Assert NoOp".split()
)
# Initialises a vocabulary from a file, which must be an asset.
_READING = "InitializeTableFromTextFileV2"
# Operations of the functions that save variables and restore them.
_RESTORING = {"RestoreV2"}
_SAVING = {*_RESTORING, "MergeV2Checkpoints", "SaveV2", "ShardedFilename"}
# Attribute of functions that XLA compiles.
COMPILED = "_XlaMustCompile"
# TensorFlow numbers functions; no operation has a name with this suffix.
_FUNCTION = re.compile(r".*_\d+")


class TensorFlowEngine:
    """A SavedModel, loaded in this process.

    Args:
        folder: Folder of the version.
        trust: Whether to allow operations that no export has, such as writing
            files.

    Raises:
        ModelError: If TensorFlow was started before this process was forked.
        ImportError: If TensorFlow is not installed.
        Exception: Damaged files cause errors of all kinds.
    """

    def __init__(self, folder, trust: bool):
        self._folder = folder
        check_process(folder, "TensorFlow")
        self._model = _load(folder, trust)
        self.signatures = {
            name: _read_signature(function)
            for name, function in self._model.signatures.items()
        }

    def answer(self, signature: str, inputs: dict) -> dict:
        """Returns the outputs of a signature.

        Args:
            signature: Name of the signature.
            inputs: Dict of arrays of `bytes`.
        """
        import tensorflow as tf

        check_process(self._folder, "TensorFlow")
        tensors = {
            name: tf.constant(x.tolist(), tf.string, x.shape)
            for name, x in inputs.items()
        }
        outputs = self._model.signatures[signature](**tensors)
        return {name: x.numpy() for name, x in outputs.items()}


def read_saved_model(folder):
    """Reads the message `SavedModel` from the folder of a version."""
    from tensorflow.core.protobuf import saved_model_pb2  # late: it is slow

    data = filesystem.read_bytes(os.path.join(folder, "saved_model.pb"))
    return saved_model_pb2.SavedModel.FromString(data)


def disallowed_operations(model) -> list[str]:
    """Finds operations that no export of tfcopy has, without running any.

    All functions count: those that a signature or another function calls, and
    those that nothing calls. Only the saver of the SavedModel may read and
    write variables, and only assets may be read from files.

    Args:
        model: The message `SavedModel`.

    Returns:
        Names of operations, sorted.
    """
    meta, *others = model.meta_graphs or [None]
    if meta is None or others or not meta.HasField("object_graph_def"):
        return ["a graph of TensorFlow 1"]
    library = meta.graph_def.library.function
    names_by_function = {}
    for x in library:  # Two functions may have the same name.
        names_by_function.setdefault(x.signature.name, set()).update(
            _collect_names(x.node_def)
        )
    called = set().union(*names_by_function.values())
    names = _collect_names(meta.graph_def.node) | called
    names -= {x for x in names_by_function if _FUNCTION.fullmatch(x)}
    allowed = LISTED
    if _only_saver_saves(meta, names_by_function, called):
        allowed |= _SAVING
    if _reads_only_assets(meta, called):
        allowed |= {_READING}
    return sorted(names - allowed)


def find_operations(model) -> set[str]:
    """Returns the operations of a SavedModel, with `COMPILED`."""
    names = set()
    for meta in model.meta_graphs:
        functions = meta.graph_def.library.function
        names |= _collect_names(meta.graph_def.node)
        names = names.union(*(_collect_names(x.node_def) for x in functions))
        names |= {COMPILED for x in functions if x.attr[COMPILED].b}
        names -= {x.signature.name for x in functions}
    return names


def _load(folder, trust):
    # Imported late, so that --help and errors are fast.
    import tensorflow as tf

    logging.getLogger("absl").setLevel(logging.ERROR)
    _check_operations(folder, trust)
    with _link_literally(folder) as path:
        return tf.saved_model.load(path)


def _check_operations(folder, trust):
    """Refuses operations that no export has, and imports needed ones."""
    model = read_saved_model(folder)
    disallowed = [] if trust else disallowed_operations(model)
    if disallowed:
        raise ValueError(
            "it contains operations that no tfcopy export uses: "
            f"{', '.join(disallowed)}. If you trust who made it, pass "
            "`trust=True` or --trust"
        )
    if _needs_subwords(model):
        import tensorflow_text  # noqa: F401 its operations


def _needs_subwords(model) -> bool:
    """Returns whether a SavedModel needs subword operations of TF Text."""
    return any(
        x.name == "SentencepieceOp"
        for meta in model.meta_graphs
        for x in meta.meta_info_def.stripped_op_list.op
    )


@contextlib.contextmanager
def _link_literally(folder):
    """Yields a path of a folder that TensorFlow takes literally.

    TensorFlow interprets some characters as patterns, and requires UTF-8.
    """
    if filesystem.is_url(folder) or _LITERAL.fullmatch(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as links:
        link = os.path.join(links, "model")
        os.symlink(os.path.abspath(folder), link)
        yield link


def _read_signature(function):
    ranks = {
        name: spec.shape.rank if spec.dtype.name == "string" else 0
        for name, spec in function.structured_input_signature[1].items()
    }
    return Signature(ranks, tuple(function.structured_outputs))


def _collect_names(nodes: Iterable) -> set[str]:
    """Returns the operations of nodes, and the functions that they call.

    A call may name an operation instead of a function. Functions that are
    arguments of a function are not resolved.
    """
    names = set()
    for node in nodes:
        names.add(node.op)
        if node.op in _CALLING or node.op not in LISTED:
            for value in node.attr.values():
                names.add(value.func.name)
                names.update(x.name for x in value.list.func)
                if value.placeholder:
                    names.add(f"<{value.placeholder}>")
    return names - {""}


def _only_saver_saves(meta, names_by_function, called):
    """Returns whether only the saver of the SavedModel reads and writes files.

    Args:
        meta: The graph, with its functions and objects.
        names_by_function: Dict from functions to the names that they use.
        called: All names that functions call.
    """
    saving = {name for name, x in names_by_function.items() if x & _SAVING}
    saver = meta.saver_def
    saves = saver.save_tensor_name.split(":")[0]
    places = {saves: _SAVING, saver.restore_op_name: _RESTORING}
    for node in meta.graph_def.node:
        names = _collect_names([node])
        inputs = {x.lstrip("^").split(":")[0] for x in node.input}
        allowed = places.get(node.name, set())
        does = names & _SAVING
        for name in names & saving:
            does = does | (names_by_function[name] & _SAVING)
        if not does <= allowed or not inputs.isdisjoint(places):
            return False
    return saving.isdisjoint(
        called | {*meta.object_graph_def.concrete_functions}
    )


def _reads_only_assets(meta, called):
    """Returns whether tables read no files but assets."""
    objects = meta.object_graph_def
    if _READING in _collect_names(meta.graph_def.node):
        return False
    for function in meta.graph_def.library.function:
        paths = [x.input[1] for x in function.node_def if x.op == _READING]
        if not paths:
            continue
        name = function.signature.name
        if name in called:
            return False
        # The last arguments of a function are its captured inputs.
        bound = objects.concrete_functions[name].bound_inputs
        arguments = [x.name for x in function.signature.input_arg]
        given = dict(zip(reversed(arguments), reversed(bound)))
        for path in paths:
            if path not in given:
                return False
            node = objects.nodes[given[path]]
            if node.WhichOneof("kind") != "asset" or node.registered_name:
                return False
    names = [x.filename for x in meta.asset_file_def]
    return all(os.path.basename(x) == x for x in names)
