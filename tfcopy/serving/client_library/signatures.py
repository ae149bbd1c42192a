"""Signatures of a model's functions, and texts as their arrays.

What the commands of `tfcopy.serving` ask is an `ExportedModel`: a folder in
`local_model`, a server in `remote_model`.
"""

import os
from collections.abc import Mapping, Set
from numbers import Integral
from typing import NamedTuple

import numpy as np


class AskError(Exception):
    """An error that is told to the user in one line."""


class Signature(NamedTuple):
    """Inputs and outputs of a function of a model.

    Attributes:
        inputs: Dict from the names of its texts to their rank: 1 for one text
            an example, 2 for a row of texts.
        outputs: Names of what it gives.
    """

    inputs: dict[str, int]
    outputs: tuple[str, ...]


def check_whole(least: int, **numbers):
    """Refuses arguments that are no whole numbers, or below the least.

    Raises:
        AskError: naming the argument.
    """
    for name, number in numbers.items():
        is_whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_whole or number < least:
            raise AskError(
                f"`{name}` must be a whole number of at least {least}. "
                f"Received: {number!r}."
            )


def text_arrays(
    model, signature: str, inputs: Mapping, more: Mapping = {}
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Makes arrays of `bytes` of the inputs of a signature, one row an example.

    Args:
        model: An `ExportedModel`.
        signature: Name of one of its signatures.
        inputs: Dict of its inputs: lists of texts, `bytes` or `str`, or of
            rows of as many texts each.
        more: Dict of inputs that are the same for all examples: lists of texts.

    Returns:
        The arrays by name, and for each example the number of bytes of its
        `inputs`.

    Raises:
        AskError: If the model has no such signature or other inputs.
    """
    if signature not in model.signatures:
        names = ", ".join(model.signatures)
        raise AskError(
            f"{model.name}: no signature {signature!r}. Available: {names}."
        )
    ranks = model.signatures[signature].inputs
    if not {1, 2}.issuperset(ranks.values()):
        raise AskError(
            f"{model.name}: signature {signature!r} takes more than texts."
        )
    arrays = {
        name: _texts(name, x, ranks.get(name, 1)) for name, x in inputs.items()
    }
    lengths = [
        sum(len(text) for x in row for text in np.ravel(x))
        for row in zip(*arrays.values())
    ]
    for name, texts in more.items():
        row = _texts(name, [texts], 2)
        arrays[name] = np.broadcast_to(row, (len(lengths), row.shape[1]))
    sizes = {len(x) for x in arrays.values()}
    if arrays.keys() != ranks.keys() or len(sizes) != 1:
        raise AskError(
            f"{model.name}: signature {signature!r} takes as many rows of "
            f"{' and '.join(ranks)}. Received: "
            + ", ".join(f"{k} ({len(x)} rows)" for k, x in arrays.items())
            + "."
        )
    return arrays, lengths


def _texts(name, value, rank):
    """An array of `bytes` from a list that may be empty."""
    rows = [value]
    if rank == 2 and _is_list(value):
        rows = value
    width = len(rows[0]) if len(rows) and _is_list(rows[0]) else 0
    if not all(
        _is_list(row)
        and len(row) == width
        and all(isinstance(x, (str, bytes)) for x in row)
        for row in rows
    ):
        expected = "texts" if rank == 1 else "rows of as many texts each"
        raise AskError(
            f"{name}: expected a list of {expected}. Received: "
            f"{str(value)[:80]!r}, of type {type(value).__name__}."
        )
    shape = (len(rows), width) if rank == 2 else (width,)
    array = np.empty(shape, object)
    array.flat = [_encoded(x) for row in rows for x in row]
    return array


def _is_list(value):
    wrong = (str, bytes, Mapping, Set)
    return hasattr(value, "__len__") and not isinstance(value, wrong)


def _encoded(text):
    # JSON may hold half a character.
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


# The processes in which libraries were started, by their names.
_started = {}


def check_process(name: str, library: str):
    """Raises an AskError where a library would hang.

    Neither TensorFlow nor gRPC runs in a process that was forked after they
    were started: their threads are not there.

    Args:
        name: What is to be asked.
        library: What is about to be used.
    """
    process = _started.setdefault(library, os.getpid())
    if process != os.getpid():
        raise AskError(
            f"{name}: {library} was started in process {process}, before this "
            "one was forked from it, and would hang here. Load models after "
            "the fork only, or start processes by 'spawn'."
        )
