"""Word alignments as text: a line `0-0 1-2 ...` for each pair of sentences.

A link is the position of a source word and that of a target word, from 0 on.
Aligners write this format, which is named after a decoder that read it.
"""

import array
import os
import re

import numpy as np

from tfcopy.atomic_files import write_atomically
from tfcopy.data.alignment.alignment_links import Links
from tfcopy.data.corpora.text_lines import read_lines

_LINK = re.compile(r"([0-9]+)-([0-9]+)")


def read(path, lengths: np.ndarray) -> Links:
    """Reads the links of pairs, from a file that may be gzipped.

    Args:
        path: The file, with a line for each pair, which may be empty.
        lengths: int array of shape `(P, 2)`, how many words source and target
            of each pair have.

    Raises:
        ValueError: naming file and line of what is wrong.
    """
    sizes = iter(lengths.tolist())
    found, number = array.array("i"), 0
    for number, line in enumerate(read_lines(path), start=1):
        size = next(sizes, None)
        if size is None:
            continue  # to tell how many lines there are
        links = {_parse(path, number, link, size) for link in line.split()}
        for link in sorted(links):
            found.extend((number - 1, *link))
    if number != len(lengths):
        raise ValueError(
            f"{os.fspath(path)}: expected {len(lengths):,} lines, one for each "
            f"pair of sentences. Received: {number:,} lines."
        )
    return Links(*np.array(found).reshape(-1, 3).T)


def write(path, links: Links, num_pairs: int) -> None:
    """Writes a line for each of the pairs, atomically."""
    bounds = np.searchsorted(links.pair, np.arange(num_pairs + 1))

    def write_lines(file):
        for start, end in zip(bounds, bounds[1:]):
            positions = zip(links.source[start:end], links.target[start:end])
            line = " ".join(f"{i}-{j}" for i, j in positions)
            file.write(f"{line}\n".encode("ascii"))

    write_atomically(path, write_lines)


def _parse(path, number, link, size):
    """The two positions of a link, in sentences of these two lengths."""
    match = _LINK.fullmatch(link)
    if not match:
        raise _error(path, number, "links such as 0-0 or 1-2", link)
    positions = int(match[1]), int(match[2])
    if positions[0] >= size[0] or positions[1] >= size[1]:
        expected = (
            f"links of sentences of {size[0]} and {size[1]} words, whose "
            "positions count from 0"
        )
        raise _error(path, number, expected, link)
    return positions


def _error(path, number, expected, received):
    return ValueError(
        f"{os.fspath(path)}, line {number}: expected {expected}. "
        f"Received: {received!r}."
    )
