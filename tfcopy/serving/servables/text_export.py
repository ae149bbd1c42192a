"""Functions of texts as the file that answers need without TensorFlow.

See `tfcopy.runtime.text_program` for the format. A function's graph is written
step by step: equal steps once, those of constants as their results, and none
that no output needs.
"""

import graphlib
import hashlib
import json
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tfcopy.runtime.number_operations import OPERATIONS, attributes_of, budget
from tfcopy.runtime.text_program import CALLS, FILE_NAME, FORMAT, bound, encoded

_SAME = {"Identity", "StopGradient", "EnsureShape"}
_INTEGERS = {tf.int32.as_datatype_enum, tf.int64.as_datatype_enum}


def write(
    folder, functions: dict, resources: list, assets, signatures: dict
) -> str:
    """Writes `texts.json`, and the models of SentencePiece beside it.

    Args:
        folder: Where to write.
        functions: Concrete functions by name, whose outputs are dicts.
        resources: Variables and tables that they use.
        assets: Folder of the export's assets, where vocabularies are.
        signatures: What the file holds of signatures.

    Raises:
        ValueError: If a function has an operation that no program has.

    Returns:
        The SHA-256 of the file.
    """
    tables = [x for x in resources if hasattr(x, "resource_handle")]
    budget.start(0)
    writer = _Writer(folder, tables, assets)
    for name, function in functions.items():
        writer.add(name, function)
    content = {
        "format": FORMAT,
        "signatures": signatures,
        "files": writer.files,
        "functions": writer.functions,
    }
    data = json.dumps(content, separators=(",", ":")).encode()
    pathlib.Path(folder, FILE_NAME).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


class _Writer:
    """Writes functions, and what they call.

    Args:
        folder: Where models of SentencePiece are written.
        tables: Lookup tables of the functions.
        assets: Folder of vocabularies.
    """

    def __init__(self, folder, tables, assets):
        self.folder, self._tables = folder, tables
        self.functions, self.files = {}, {}
        self._names = {}
        self._vocabularies = {
            path.name: path.read_bytes()
            for path in sorted(pathlib.Path(assets).iterdir())
        }
        self._library = {}

    def add(self, name, function):
        """Adds a concrete function."""
        graph = function.graph.as_graph_def()
        self._library = {x.signature.name: x for x in graph.library.function}
        nodes = {x.name: x for x in graph.node}
        captured = {
            inner.name.split(":")[0]: outer
            for outer, inner in function.graph.captures
        }
        names = [x.name.split(":")[0] for x in function.graph.inputs]
        names = [x for x in names if x not in captured]
        steps = _Steps(self, nodes, names)
        for inner, outer in captured.items():
            steps.capture(inner, outer)
        # Dicts are flattened in the order of their keys.
        outputs = sorted(function.structured_outputs)
        places = steps.places([x.name for x in function.graph.outputs])
        self.functions[name] = {
            "inputs": names,
            "outputs": dict(zip(outputs, places, strict=True)),
            **steps.described(),
        }

    def called(self, name) -> str:
        """Adds a function that a step calls; returns its name in the file."""
        # TensorFlow gives no name twice in a process.
        if name not in self._names:
            self._names[name] = short = f"{len(self._names)}"
            function = self._library[name]
            inputs = [x.name for x in function.signature.input_arg]
            steps = _Steps(self, {x.name: x for x in function.node_def}, inputs)
            outputs = steps.places(
                [function.ret[x.name] for x in function.signature.output_arg]
            )
            self.functions[short] = {
                "inputs": inputs,
                "outputs": outputs,
                **steps.described(),
            }
        return self._names[name]

    def table(self, handle) -> dict:
        """Returns the attributes of a table."""
        (table,) = [x for x in self._tables if x.resource_handle is handle]
        keys, values = (x.numpy() for x in table.export())
        if (
            tf.string in (table.key_dtype, table.value_dtype)
            and keys.dtype != values.dtype
        ):
            of_words = keys.dtype == object
            numbers, words = (values, keys) if of_words else (keys, values)
            lines = b"".join(b"%b\n" % words[i] for i in np.argsort(numbers))
            for name, data in self._vocabularies.items():
                if data == lines:
                    self.files[name] = hashlib.sha256(data).hexdigest()
                    return {
                        "file": name,
                        "keys": "words" if of_words else "numbers",
                    }
        return {"keys": encoded(keys), "values": encoded(values)}

    def pieces(self, model: bytes) -> dict:
        """Writes a model of SentencePiece; returns the attributes."""
        checksum = hashlib.sha256(model).hexdigest()
        name = f"pieces-{checksum[:16]}.model"
        pathlib.Path(self.folder, name).write_bytes(model)
        self.files[name] = checksum
        return {"file": name}


class _Steps:
    """The steps of one function.

    Args:
        writer: The `_Writer`.
        nodes: Dict of its nodes by name.
        inputs: Names of its inputs, which have the first places.
    """

    def __init__(self, writer, nodes, inputs):
        self._writer, self._nodes = writer, nodes
        self._steps, self._size = [], len(inputs)
        # Places of the outputs of nodes; values of places that are constant.
        self._places = {name: [i] for i, name in enumerate(inputs)}
        self._constants, self._used = {}, set()
        self._written = {}

    def described(self) -> dict:
        """Returns what the file holds of it: only steps that are needed."""
        return {"size": self._size, "steps": self._steps}

    def capture(self, name, value):
        """Adds a captured tensor."""
        if value.dtype == tf.resource:
            attributes = self._writer.table(value)
            self._places[name] = self._add("Table", [], attributes, 1)
        else:
            self._places[name] = [self._constant(_value(value.numpy()))]

    def places(self, names) -> list[int]:
        """Returns the places of outputs, such as `node:1` or `node:y:0`."""
        needed, waiting = {}, [_node(name) for name in names]
        while waiting:
            name = waiting.pop()
            if name not in needed and name not in self._places:
                needed[name] = inputs = _inputs(self._nodes[name])
                waiting += map(_node, inputs)
        needed = {name: map(_node, inputs) for name, inputs in needed.items()}
        for name in graphlib.TopologicalSorter(needed).static_order():
            if name not in self._places:
                self._places[name] = self._visit(self._nodes[name])
        places = [self._find(name) for name in names]
        for place in places:
            self._use(place)
        return places

    def _find(self, name):
        node, *index = name.split(":")
        offset = int(index[-1]) if index else 0
        if len(index) == 2:
            offset += _offset(self._nodes[node], index[0])
        return self._places[node][offset]

    def _visit(self, node):
        """Adds a node after its inputs; returns the places of its outputs."""
        inputs = [self._find(x) for x in _inputs(node)]
        if node.op == "Const":
            return [self._constant(_value(_tensor(node.attr["value"].tensor)))]
        if node.op in _SAME or (
            node.op == "Cast"
            and _INTEGERS.issuperset(
                node.attr[x].type for x in ("SrcT", "DstT")
            )
        ):
            return inputs[:1]
        if node.op == "SentencepieceOp":
            attributes = self._writer.pieces(node.attr["model"].s)
            return self._add("Pieces", [], attributes, 1)
        outputs = _num_outputs(node)
        if node.op in CALLS:
            attributes = {
                x: self._writer.called(node.attr[x].func.name)
                for x in CALLS[node.op]
            }
        elif node.op in OPERATIONS:
            attributes = {
                x: _attribute(node.attr[x]) for x in attributes_of(node.op)
            }
            if all(x in self._constants for x in inputs):
                values = [self._constants[x] for x in inputs]
                found = bound(node.op, attributes, values)(*values)
                found = (
                    [found] if outputs == 1 and node.op != "Unpack" else found
                )
                return [self._constant(x) for x in found]
        else:
            raise ValueError(
                f"The texts' functions have the operation {node.op}, which "
                "needs TensorFlow."
            )
        return self._add(node.op, inputs, attributes, outputs)

    def _constant(self, value):
        key = json.dumps(encoded(value)), str(type(value))
        if key not in self._written:
            self._written[key] = self._size
            self._constants[self._size] = value
            self._size += 1
        return self._written[key]

    def _use(self, place):
        """Writes a constant before it is used."""
        if place in self._constants and place not in self._used:
            self._used.add(place)
            value = encoded(self._constants[place])
            self._steps.append(["Const", [], {"value": value}, [place]])

    def _add(self, op, inputs, attributes, outputs):
        key = json.dumps([op, inputs, attributes])
        if key not in self._written:
            for place in inputs:
                self._use(place)
            places = list(range(self._size, self._size + outputs))
            self._size += outputs
            self._steps.append([op, inputs, attributes, places])
            self._written[key] = places
        return self._written[key]


def _node(name):
    """Returns the node of an output."""
    return name.split(":")[0]


def _inputs(node):
    return [x for x in node.input if not x.startswith("^")]


def _tensor(message):
    """Returns a constant as an array, which may be empty."""
    shape = [x.size for x in message.tensor_shape.dim]
    if 0 in shape:
        return np.empty(shape, tf.as_dtype(message.dtype).as_numpy_dtype)
    return tf.make_ndarray(message)


def _value(array):
    """Returns a NumPy array as a value of programs."""
    if isinstance(array, bytes) or array.ndim:
        return array
    return array[()] if array.dtype.kind == "f" else array.item()


def _attribute(value):
    """Returns an attribute of a node as JSON can hold it."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return [encoded(x) for x in (*value.list.s, *value.list.i)]
    if kind == "type":
        return tf.as_dtype(value.type).name
    return encoded(getattr(value, kind))


def _definition(node):
    return op_def_registry.get(node.op)


def _width(argument, node):
    """Returns the number of tensors of an output of an operation."""
    if argument.number_attr:
        return node.attr[argument.number_attr].i
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return 1


def _num_outputs(node):
    return sum(_width(x, node) for x in _definition(node).output_arg)


def _offset(node, name):
    """Returns the place of an operation's output among all."""
    offset = 0
    for argument in _definition(node).output_arg:
        if argument.name == name:
            return offset
        offset += _width(argument, node)
    raise ValueError(f"{node.op} has no output {name}.")
