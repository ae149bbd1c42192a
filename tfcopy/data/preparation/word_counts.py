"""Counts of words as files, added up without all of them in memory.

A file of counts has the words of one part of a corpus in sections: word w is
in the section of its CRC-32 modulo their number. A section of the whole is the
sum of that section of all files.
"""

import collections
import heapq
import itertools
import json
import zlib
from collections.abc import Iterable, Mapping

from tfcopy import atomic_files, filesystem


def write(path, counts: Mapping[str, int], num_sections: int) -> None:
    """Writes the counts of words; those that hold a blank are left out.

    A vocabulary has none of them either.
    """
    sections = [[] for _ in range(num_sections)]
    for word, count in counts.items():
        if word.split() == [word]:
            data = word.encode()
            section = sections[zlib.crc32(data) % num_sections]
            section.append(b"%d %s\n" % (count, data))
    sections = [b"".join(section) for section in sections]
    head = json.dumps(list(map(len, sections))).encode() + b"\n"
    atomic_files.write_atomically(
        path, lambda file: file.writelines([head, *sections])
    )


def read(path, section: int) -> dict[str, int]:
    """The counts of one section."""
    with filesystem.open(path, "rb") as file:
        head = file.readline()
        starts = [0, *itertools.accumulate(json.loads(head))]
        file.seek(len(head) + starts[section])
        data = file.read(starts[section + 1] - starts[section])
    lines = (line.split(b" ", 1) for line in data.split(b"\n") if line)
    return {word.decode(): int(count) for count, word in lines}


def most_frequent(
    paths: Iterable, section: int, most: int | None, min_count: int
) -> dict[str, int]:
    """The most frequent words of a section of several files together.

    Args:
        paths: The files.
        section: Which of their sections.
        most: How many; `None` for all.
        min_count: Rarer words are left out.

    Returns:
        Dict from the words to their counts.
    """
    total = collections.Counter()
    for path in paths:
        total.update(read(path, section))
    found = [(-n, word) for word, n in total.items() if n >= min_count]
    if most is not None:
        found = heapq.nsmallest(most, found)
    return {word: -n for n, word in found}
