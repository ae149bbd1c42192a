"""Functions of texts, exported from TensorFlow and run without it.

An export's functions before and after a search cut texts and join them by the
operations of TensorFlow with which the model was trained. The file `texts.json`
lists these operations, so that there is no second tokenizer:

    {"format": 1,
     "files": {"source_vocabulary.txt": "<SHA-256>"},
     "signatures": {"serving_default": {"read": "read", ...}},
     "functions": {"read": {"inputs": ["text"], "size": 9, "steps": [...],
                            "outputs": {"ids": 8, ...}}}}

A function has `size` places for values: of its inputs first, then of the
results of its steps. A step is `[operation, places of its inputs, attributes,
places of its results]`. Functions that steps call have lists of outputs.

Bytes in JSON are text, in which a byte that is not UTF-8 is half a character,
as Python's `surrogateescape` writes it.
"""

import functools
import hashlib
import os
from collections.abc import Callable

import numpy as np

from tfcopy import checked_files, filesystem
from tfcopy.runtime import text_operations  # noqa: F401 registers its own
from tfcopy.runtime.number_operations import (
    DTYPES,
    LARGE,
    OPERATIONS,
    ProgramError,
    at,
    attributes_of,
    budget,
    check_size,
    slices,
    strings,
)

# Beside the programs of LiteRT, in the folder `assets.extra` of a version.
FILE_NAME = "texts.json"
FORMAT = 1
# Operations whose attributes name functions.
CALLS = {
    **dict.fromkeys(("If", "StatelessIf"), ("then_branch", "else_branch")),
    **dict.fromkeys(("While", "StatelessWhile"), ("cond", "body")),
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), ("f",)),
}
# What a step costs, in elements of arrays: loops end after 4 million steps.
_STEP = 16
# Bytes of the file and of each that it names. JSON may take 50 times as much.
_LARGEST_FILE = 1 << 25
_FIELDS = {
    "format": int,
    "files": {...: str},
    "signatures": {
        ...: {
            **{"inputs": {...: int}, "outputs": [str]},
            **dict.fromkeys(("read", "search", "write"), str),
        }
    },
    "functions": {
        ...: {"inputs": [str], "size": int, "steps": [list], "outputs": object}
    },
}


def encoded(value):
    """Returns a value as JSON can hold it; see `decoded`."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    is_text = value.dtype == object
    flat = [encoded(x) for x in value.ravel().tolist()]
    dtype = "string" if is_text else str(value.dtype)
    return {"dtype": dtype, "shape": list(value.shape), "values": flat}


def decoded(value):
    """Returns the value that `encoded` made JSON.

    Raises:
        ProgramError: If there is none.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, float):
        return np.float32(value)
    if isinstance(value, int):
        return value
    if not isinstance(value, dict):
        raise ProgramError(f"{value!r} is no value")
    values, shape = value["values"], value["shape"]
    if value["dtype"] == "string":
        texts = (x.encode("utf-8", "surrogateescape") for x in values)
        return strings(texts, shape)
    dtype = DTYPES[value["dtype"]]
    array = np.array(values or np.empty(0, dtype))
    if array.dtype.kind not in ("biuf" if dtype is np.float32 else "biu"):
        raise ProgramError(f"numbers of {value['dtype']} are {array.dtype}")
    return array.astype(dtype).reshape(shape)


class TextPrograms:
    """The functions of an export's texts.

    Args:
        path: The file `texts.json`.
        assets: Folders of the files that it names.
        checksum: Its SHA-256, if it is known.

    Attributes:
        signatures: For each signature a dict of its `inputs` with their rank,
            the names of its `outputs`, its functions `read` and `write`, and
            the kind of program `search`.

    Raises:
        ProgramError: If it cannot be read.
        OSError: As above.
    """

    def __init__(self, path, *assets, checksum: str | None = None):
        self._path = path
        budget.start(0)
        content = checked_files.read_json(path, _read(path, checksum))
        if content.get("format") != FORMAT:
            raise ProgramError(
                f"{path} is of another release of tfcopy (format "
                f"{content.get('format')!r}; this one reads {FORMAT})"
            )
        checked_files.check_fields(path, content, _FIELDS)
        try:
            self._files = {
                name: _read_asset(name, checksum, assets)
                for name, checksum in content["files"].items()
            }
            self._described = content["functions"]
            self.signatures = content["signatures"]
            self._functions = {}
            self._names = {
                name: (x["inputs"], [*x["outputs"]])
                for name, x in self._described.items()
                if isinstance(x["outputs"], dict)
            }
            for name in self._names:
                self.function(name)
        except ProgramError as error:
            raise ProgramError(f"{path} is damaged ({error})") from None
        except Exception as error:  # Damage causes errors of all kinds.
            raise ProgramError(
                f"{path} is damaged ({type(error).__name__}: {error})"
            ) from None

    def run(self, name: str, inputs: dict, size: int = 0) -> dict:
        """Runs a function.

        Args:
            name: Its name.
            inputs: Dict of arrays by the names of its inputs; others are
                ignored.
            size: Number of elements and bytes of inputs that do not come from
                another function, which may need as much memory and time.

        Raises:
            ProgramError: If it cannot run; a damaged file or a hostile one.
        """
        budget.start(size)
        try:
            wanted, outputs = self._names[name]
            with np.errstate(divide="raise", invalid="raise"):
                found = self.function(name)(*(inputs[x] for x in wanted))
        except ProgramError as error:
            raise ProgramError(f"{self._path}: {name}: {error}") from None
        except Exception as error:  # NumPy raises errors of all kinds.
            raise ProgramError(
                f"{self._path}: {name} failed ({type(error).__name__}: {error})"
            ) from error
        missing = [x for x, value in zip(outputs, found) if value is None]
        if missing:
            raise ProgramError(f"{self._path}: {name} has no {missing[0]}")
        return dict(zip(outputs, found))

    def function(self, name: str, callers=()) -> Callable:
        """Returns a function, with the steps that it calls."""
        if name in callers:
            raise ProgramError(f"{name} calls itself")
        if name not in self._functions:
            self._functions[name] = Function(
                self._described[name],
                self._files,
                functools.partial(self.function, callers=(*callers, name)),
            )
        return self._functions[name]


def _read_asset(name, checksum, folders):
    if os.path.basename(name) != name:
        raise ProgramError(f"{name!r} is not a file of this export")
    for folder in folders:
        path = os.path.join(folder, name)
        if filesystem.isfile(path):
            return _read(path, checksum)
    raise ProgramError(f"{name}: no such file in {folders[0]}")


def _read(path, checksum):
    with filesystem.open(path, "rb") as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise ProgramError(f"{path} is too large")
    if checksum not in (None, hashlib.sha256(data).hexdigest()):
        raise ProgramError(f"{path} is damaged, or of another export")
    return data


class Function:
    """A function as a list of steps.

    Args:
        described: The function in JSON.
        files: Dict from the names of assets to their content.
        function: Function of a name that returns another `Function`.
    """

    def __init__(self, described, files, function):
        self.inputs = len(described["inputs"])
        outputs = described["outputs"]
        if isinstance(outputs, dict):
            outputs = outputs.values()
        self._outputs = [*outputs]
        # The values of constants; the others are overwritten at each call.
        size = described["size"]
        check_size(size)
        self._values = [None] * size
        self._cost = size + _STEP * (1 + len(described["steps"]))
        budget.spend(self._cost)
        self.steps = []
        known = set()
        self._check(self._outputs)
        for name, places, attributes, results in described["steps"]:
            self._check((*places, *results))
            called = CALLS.get(name)
            if name in CONSTANTS:
                (place,) = results
                self._values[place] = CONSTANTS[name](attributes, files)
                known.add(place)
                continue
            constants = [
                self._values[x] if x in known else None for x in places
            ]
            if called:
                step = _call(name, [function(attributes[x]) for x in called])
            else:
                step = bound(name, attributes, constants)
            is_one = len(results) == 1 and name not in (*CALLS, "Unpack")
            place = results[0] if is_one else tuple(results)
            self.steps.append((step, tuple(places), place))

    def _check(self, places):
        size = len(self._values)
        if not all(type(x) is int and 0 <= x < size for x in places):
            raise ProgramError(f"not all of {places} are below {size}")

    def __call__(self, *arguments) -> list:
        budget.spend(self._cost)
        values = self._values.copy()
        values[: self.inputs] = arguments
        spent = 0
        for step, places, result in self.steps:
            found = step(*[values[x] for x in places])
            if type(result) is int:
                values[result] = found
                if type(found) is np.ndarray:
                    spent += found.size
            else:
                for place, value in zip(result, found, strict=True):
                    values[place] = value
                    if type(value) is np.ndarray:
                        spent += value.size
            if spent > LARGE:
                budget.spend(spent)
                spent = 0
            budget.look()
        budget.spend(spent)
        return [values[x] for x in self._outputs]


def _call(name, functions):
    if len(functions) == 1:
        return functions[0]
    first, second = functions

    def choose(condition, *inputs):
        return (first if condition else second)(*inputs)

    def loop(*state):
        while first(*state)[0]:
            state = second(*state)
        return state

    return choose if name.endswith("If") else loop


def bound(name: str, attributes: dict, constants) -> Callable:
    """Returns the function of a step.

    Args:
        name: Name of the operation.
        attributes: Its attributes, as JSON holds them.
        constants: The values of its inputs, `None` for those that vary.
    """
    if name not in OPERATIONS:
        raise ProgramError(f"there is no operation {name}")
    wrong = attributes.keys() - set(attributes_of(name))
    if wrong:
        raise ProgramError(f"{name} has no {', '.join(sorted(wrong))}")
    attributes = {
        key: _attribute(key, value) for key, value in attributes.items()
    }
    if name == "StridedSlice" and all(x is not None for x in constants[1:]):
        masks = [attributes.get(f"{x}_mask", 0) for x in _MASKS]
        index = slices(*(x.tolist() for x in constants[1:]), masks)
        return lambda x, *_: at(x, index)
    function = OPERATIONS[name]
    return functools.partial(function, **attributes) if attributes else function


_MASKS = "ellipsis", "new_axis", "shrink_axis", "begin", "end"
# Attributes that are names in Python, not `bytes`.
_NAMES = {"DstT", "T", "out_type", "element_dtype"}


def _attribute(key, value):
    if isinstance(value, list):
        return [_attribute(key, x) for x in value]
    return (
        decoded(value)
        if isinstance(value, str) and key not in _NAMES
        else value
    )


def _table(attributes, files):
    """Returns a table as a dict: of its entries, or of a vocabulary's lines."""
    if "file" not in attributes:
        entries = (decoded(attributes[x]).tolist() for x in ("keys", "values"))
        return dict(zip(*entries, strict=True))
    by_number = attributes["keys"] == "numbers"
    return _once(files, _vocabulary, attributes["file"], by_number)


def _once(files, read, name, *more):
    """Reads a file once, whatever number of steps name it."""
    key = name, *more
    if key not in files:
        files[key] = read(files[name], *more)
    return files[key]


def _vocabulary(data, by_number):
    budget.spend(8 * data.count(b"\n"))
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if by_number:
        return dict(enumerate(lines))
    return dict(zip(lines, range(len(lines))))


def _pieces(attributes, files):
    return _once(files, _model, attributes["file"])


def _model(data):
    import sentencepiece  # late: exports of words need none

    model = sentencepiece.SentencePieceProcessor()
    try:
        model.LoadFromSerializedProto(data)
    except RuntimeError as error:
        raise ProgramError(f"no model of SentencePiece ({error})") from None
    return model


# Steps whose result is a constant.
CONSTANTS = {
    "Const": lambda attributes, files: decoded(attributes["value"]),
    "Pieces": _pieces,
    "Table": _table,
}
