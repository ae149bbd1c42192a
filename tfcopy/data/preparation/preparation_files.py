"""The files of a preparation: texts, counts of words, and hashes of pairs.

Texts are in files of so many pairs each, one JSON list a line.

A file of counts has the words of one part of a corpus in sections: word w is
in the section of its CRC-32 modulo their number. A section of the whole is the
sum of that section of all files, so that they are added up without all of them
in memory.

To find duplicates, each part of the corpus is a file of the hashes of its
pairs, in their order; each range of hashes is then looked at on its own, in all
files. Two pairs are the same if 128 bits of BLAKE2 are.
"""

import collections
import hashlib
import heapq
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tfcopy import atomic_files, filesystem

# === Texts ===


def write_texts(
    pairs: Iterable[tuple], folder, name: str, size: int
) -> list[int]:
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
        path = texts_path(folder, name, len(sizes))
        with atomic_files.replacement(path) as new, open(new, "wb") as file:
            count = 0
            for count, own in enumerate(itertools.chain([pair], some), 1):
                text = json.dumps(own, ensure_ascii=False) + "\n"
                file.write(text.encode("utf-8", "surrogatepass"))
        sizes.append(count)
    return sizes


def texts_path(folder, name: str, number: int) -> str:
    """The path of the file of a number."""
    return os.path.join(folder, f"{name}-{number:05d}.jsonl")


def read_texts(path) -> Iterator[tuple[str, str]]:
    """The pairs of a file, in order."""
    with filesystem.open(path, "rb") as file:
        for line in file:
            yield tuple(json.loads(line.decode("utf-8", "surrogatepass")))


# === Counts of words ===


def write_counts(path, counts: Mapping[str, int], num_sections: int) -> None:
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


def read_counts(path, section: int) -> dict[str, int]:
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
        total.update(read_counts(path, section))
    found = [(-n, word) for word, n in total.items() if n >= min_count]
    if most is not None:
        found = heapq.nsmallest(most, found)
    return {word: -n for n, word in found}


# === Hashes of pairs ===

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


def find_duplicates(paths: Sequence, part: int, num_parts: int) -> np.ndarray:
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


def numbers_between(paths: Iterable, start: int, end: int) -> np.ndarray:
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
