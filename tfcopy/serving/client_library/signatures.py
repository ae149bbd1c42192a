"""What a model's functions take, whoever asks them: texts, as arrays.

What the commands of `tfcopy.serving` ask is a model of three attributes: its
`name`, for messages; its `signatures`, a dict of `Signature`; and `ask`. In
`local_model` it is a folder, in `remote_model` a server.
"""

from collections.abc import Mapping, Set
from typing import NamedTuple

import numpy as np


class AskError(Exception):
    """An error that is told to the user in one line."""


class Signature(NamedTuple):
    """What a function of a model takes and gives.

    Attributes:
        inputs: Dict from the names of its texts to their rank: 1 for one text
            an example, 2 for a row of texts.
        outputs: Names of what it gives.
    """

    inputs: dict[str, int]
    outputs: tuple[str, ...]


def text_arrays(
    model, signature: str, inputs: Mapping
) -> dict[str, np.ndarray]:
    """The inputs of a signature as arrays of `bytes`, one row an example.

    Args:
        model: What is asked.
        signature: Name of one of its signatures.
        inputs: Dict of its inputs: lists of texts, `bytes` or `str`, or of
            rows of as many texts each.

    Raises:
        AskError: If the model has no such signature or other inputs.
    """
    if signature not in model.signatures:
        names = ", ".join(model.signatures)
        raise AskError(
            f"{model.name}: no signature {signature!r}. Available: {names}."
        )
    ranks = model.signatures[signature].inputs
    sizes = {len(x) for x in inputs.values()}
    is_text = {1, 2}.issuperset(ranks.values())
    if inputs.keys() != ranks.keys() or len(sizes) != 1 or not is_text:
        raise AskError(
            f"{model.name}: signature {signature!r} takes as many rows of "
            f"{' and '.join(ranks)}. Received: "
            + ", ".join(f"{k} ({len(x)} rows)" for k, x in inputs.items())
            + "."
        )
    return {name: _texts(x, ranks[name]) for name, x in inputs.items()}


def _texts(value, rank):
    """An array of `bytes` from a list that may be empty."""
    rows = value if rank == 2 else [value]
    width = len(rows[0]) if len(rows) else 0
    is_list = not any(
        isinstance(x, (str, bytes, Mapping, Set)) for x in (value, *rows)
    )
    if not is_list or not all(
        len(row) == width and all(isinstance(x, (str, bytes)) for x in row)
        for row in rows
    ):
        raise AskError(
            "Expected a list of texts, or of rows of as many texts each. "
            f"Received: {str(value)[:80]}"
        )
    shape = (len(rows), width) if rank == 2 else (width,)
    array = np.empty(shape, object)
    array.flat = [_encoded(x) for row in rows for x in row]
    return array


def _encoded(text):
    # JSON may hold half a character.
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
