"""Signatures and addresses of models, and conversion of texts to arrays.

The engines of `ExportedModel` are in `local_model`, for folders, and
`remote_model`, for servers.
"""

import os
import re
from collections.abc import Mapping, Set
from numbers import Integral
from typing import NamedTuple

import numpy as np

from tfcopy import filesystem

# Maximum bytes of a response; the attention of 32 texts of 200 words is a
# fifth.
LARGEST_ANSWER = 256 << 20
# Status of a request that may be answered later.
UNAVAILABLE = "UNAVAILABLE"
_SERVERS = ("grpc", "http", "https")  # gRPC is refused with a reason.
_HOST_AND_PORT = re.compile(r"[^/\\]+:\d+")


class ModelError(Exception):
    """A model, or a file for it, cannot be used; the message says why.

    Attributes:
        code: Name of the status of a request to a server that failed, such as
            "NOT_FOUND", or `None`.
    """

    exit_code = 2

    def __init__(self, message: str, code: str | None = None):
        super().__init__(message)
        self.code = code


class Signature(NamedTuple):
    """Inputs and outputs of a function of a model.

    Attributes:
        inputs: Dict from the names of text inputs to their rank: 1 for one
            text per example, 2 for a row of texts.
        outputs: Names of the outputs.
    """

    inputs: dict[str, int]
    outputs: tuple[str, ...]


def check_whole(least: int, **numbers):
    """Checks that arguments are whole numbers, of at least a minimum.

    Raises:
        ModelError: If one is not; the message names it.
    """
    for name, number in numbers.items():
        is_whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_whole or number < least:
            raise ModelError(
                f"`{name}` must be a whole number of at least {least}. "
                f"Received: {number!r}."
            )


def text_arrays(
    model, signature: str, inputs: Mapping, extra: Mapping = {}
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Converts the inputs of a signature to arrays of `bytes`.

    Args:
        model: An `ExportedModel`.
        signature: Name of one of its signatures.
        inputs: Dict of inputs by name: lists of texts, `bytes` or `str`, or
            lists of rows with the same number of texts each.
        extra: Dict of inputs that all examples share: lists of texts.

    Returns:
        Dict of arrays, one row per example, and a list with the number of bytes
        of the `inputs` of each example.

    Raises:
        ModelError: If the model has no such signature, or takes other inputs.
    """
    if signature not in model.signatures:
        names = ", ".join(model.signatures)
        raise ModelError(
            f"{model.name}: no signature {signature!r}. Available: {names}."
        )
    ranks = model.signatures[signature].inputs
    if not {1, 2}.issuperset(ranks.values()):
        raise ModelError(
            f"{model.name}: signature {signature!r} takes more than texts."
        )
    arrays = {
        name: _texts(name, x, ranks.get(name, 1)) for name, x in inputs.items()
    }
    lengths = [
        sum(len(text) for x in row for text in np.ravel(x))
        for row in zip(*arrays.values())
    ]
    for name, texts in extra.items():
        row = _texts(name, [texts], 2)
        arrays[name] = np.broadcast_to(row, (len(lengths), row.shape[1]))
    sizes = {len(x) for x in arrays.values()}
    if arrays.keys() != ranks.keys() or len(sizes) != 1:
        raise ModelError(
            f"{model.name}: signature {signature!r} takes as many rows of "
            f"{' and '.join(ranks)}. Received: "
            + ", ".join(f"{k} ({len(x)} rows)" for k, x in arrays.items())
            + "."
        )
    return arrays, lengths


def _texts(name, value, rank):
    """Returns an array of `bytes` from a list, which may be empty."""
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
        raise ModelError(
            f"{name}: expected a list of {expected}. Received: "
            f"{str(value)[:80]!r}, of type {type(value).__name__}."
        )
    shape = (len(rows), width) if rank == 2 else (width,)
    array = np.empty(shape, object)
    array.flat = [encode_text(x) for row in rows for x in row]
    return array


def _is_list(value):
    wrong = (str, bytes, Mapping, Set)
    return hasattr(value, "__len__") and not isinstance(value, wrong)


def encode_text(text: str | bytes) -> bytes:
    """Returns a text in UTF-8."""
    # JSON may contain half a character.
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


# Processes in which libraries were started, by library.
_started = {}


def check_process(name: str, library: str):
    """Checks that a library was started in this process.

    TensorFlow hangs in a process that was forked after it was started, since
    its threads do not exist there.

    Args:
        name: Name of the model, for messages.
        library: Name of the library.

    Raises:
        ModelError: If it was started in another process.
    """
    process = _started.setdefault(library, os.getpid())
    if process != os.getpid():
        raise make_fork_error(name, f"{library} was started", process)


def make_fork_error(name: str, fact: str, process: int) -> ModelError:
    """Returns the error of a process that would hang, being forked."""
    return ModelError(
        f"{name}: {fact} in process {process}, before this one was forked from "
        "it, and would hang here. Load models only after the fork, or start "
        "processes with 'spawn'."
    )


def is_server(where: str) -> bool:
    """Returns whether a text is the address of a server, not a folder."""
    if filesystem.is_url(where):
        return where.split("://")[0].lower() in _SERVERS
    return bool(_HOST_AND_PORT.fullmatch(where)) and not filesystem.exists(
        where
    )


def split_location(where: str) -> tuple[str | None, str]:
    """Splits `ADDRESS/MODEL` into the address and the name of the model.

    Returns:
        The address and the name; `None` and the text for a folder.

    Raises:
        ModelError: If the name of the model is missing.
    """
    address, _, model = where.rpartition("/")
    if not is_server(address):
        address, model = None, where
    if not model or is_server(model):
        raise ModelError(
            f"{where}: which model of the server? Give its name behind the "
            f"address, as in {where.rstrip('/')}/europarl_ps."
        )
    return address, model
