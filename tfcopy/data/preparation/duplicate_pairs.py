"""Pairs that a corpus has before, found without all of it in memory.

Each part of the corpus is a file of the hashes of its pairs, in their order;
each range of hashes is then looked at on its own, in all files. Two pairs
are the same if 128 bits of BLAKE2 are.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from tfcopy import atomic_files, filesystem

_HASH = np.dtype([("high", "<u8"), ("low", "<u8"), ("index", "<i8")])


def write_hashes(path, pairs: Iterable[tuple[str, str]], start: int) -> None:
    """Writes the hashes of pairs, in ascending order.

    Args:
        path: The file, in NumPy's format.
        pairs: (source, target) strings.
        start: The number of the first of them in the corpus.
    """
    data = bytearray()
    for source, target in pairs:
        # The end of a source is not the start of a target.
        text = f"{len(source)} {source}{target}".encode(
            "utf-8", "surrogatepass"
        )
        data += hashlib.blake2b(text, digest_size=16).digest()
    found = np.frombuffer(data, "<u8").reshape(-1, 2)
    rows = np.empty(len(found), _HASH)
    rows["high"], rows["low"] = found.T
    rows["index"] = np.arange(start, start + len(rows))
    write_array(path, np.sort(rows))


def find(paths: Sequence, part: int, num_parts: int) -> np.ndarray:
    """The pairs that are not the first of their kind, of a range of hashes.

    Args:
        paths: The files of hashes.
        part: Number of the range, from 0.
        num_parts: Number of ranges that all hashes are cut into.

    Returns:
        int64 array of their numbers in the corpus, ascending.
    """
    edges = [2**64 * i // num_parts for i in (part, part + 1)]
    some = []
    for path in paths:
        with filesystem.local_copy(path) as local:
            rows = np.load(local, mmap_mode="r")
            first, last = (
                np.searchsorted(rows["high"], np.uint64(edge))
                if edge < 2**64
                else len(rows)
                for edge in edges
            )
            some.append(np.array(rows[first:last]))
    rows = np.sort(np.concatenate(some))
    same = (rows["high"][1:] == rows["high"][:-1]) & (
        rows["low"][1:] == rows["low"][:-1]
    )
    return np.sort(rows["index"][1:][same])


def between(paths: Iterable, start: int, end: int) -> np.ndarray:
    """The numbers from `start` to `end` in files of ascending numbers."""
    some = [np.zeros(0, np.int64)]
    for path in paths:
        with filesystem.open(path, "rb") as file:
            numbers = np.load(file)
        first, last = np.searchsorted(numbers, [start, end])
        some.append(numbers[first:last])
    return np.concatenate(some)


def write_array(path, array: np.ndarray) -> None:
    """Writes an array as a whole or not at all."""
    atomic_files.write_atomically(path, lambda file: np.save(file, array))
