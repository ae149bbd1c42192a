"""Pairs of texts in files of so many pairs each: one JSON list a line."""

import itertools
import json
import os
from collections.abc import Iterable, Iterator

from tfcopy import atomic_files, filesystem


def write(pairs: Iterable[tuple], folder, name: str, size: int) -> list[int]:
    """Writes files `<name>-00000.jsonl` and on; keeps one pair in memory.

    Args:
        pairs: (source, target) strings.
        folder: Where the files are written.
        name: How their names begin.
        size: The most pairs of a file; all but the last have as many.

    Returns:
        The number of pairs of each file.
    """
    sizes = []
    pairs = iter(pairs)
    for pair in pairs:
        some = itertools.islice(pairs, size - 1)
        path = path_of(folder, name, len(sizes))
        with atomic_files.replacement(path) as new, open(new, "wb") as file:
            count = 0
            for count, own in enumerate(itertools.chain([pair], some), 1):
                text = json.dumps(own, ensure_ascii=False) + "\n"
                file.write(text.encode("utf-8", "surrogatepass"))
        sizes.append(count)
    return sizes


def path_of(folder, name: str, number: int) -> str:
    """The path of the file of a number."""
    return os.path.join(folder, f"{name}-{number:05d}.jsonl")


def read(path) -> Iterator[tuple[str, str]]:
    """The pairs of a file, in order."""
    with filesystem.open(path, "rb") as file:
        for line in file:
            yield tuple(json.loads(line.decode("utf-8", "surrogatepass")))
