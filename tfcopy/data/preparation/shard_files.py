"""The files of a preparation: texts, counts, hashes, and shards of ids.

Texts are in files of so many pairs each, one JSON list a line.

A file of counts has the words of one part of a corpus in sections: word w is
in the section of its CRC-32 modulo their number. A section of the whole is the
sum of that section of all files, so that they are added up without all of them
in memory.

To find duplicates, each part of the corpus is a file of the hashes of its
pairs, in their order; each range of hashes is then looked at on its own, in all
files. Two pairs are the same if 128 bits of BLAKE2 are.

A shard of some thousand encoded pairs is an int32 array in NumPy's format. With
n pairs of S source and T target positions in all it holds, one after the other:

    n  lengths of sources         S  source_ids        T  target_ids
    n  lengths of targets         S  source_copy_ids   T  pointers
    n  numbers of the pairs, counted from the first pair read for the shard

Pairs are drawn at random from memory-mapped files, which are read as needed: an
order of an epoch, its resumption at any batch and the slices of workers are the
same as for arrays in memory. ArrayRecord was measured against it
(`benchmarks/shard_reading.py`): each of its records needs a call and a copy of
its own, which a batch must take apart.
"""

import collections
import dataclasses
import hashlib
import heapq
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import tqdm

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data.pairs.encoding import COUNTS, SIDES, EncodedCorpus
from tfcopy.data.text.blanks import is_word

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
    """Returns the path of the file of a number."""
    return os.path.join(folder, f"{name}-{number:05d}.jsonl")


def read_texts(path) -> Iterator[tuple[str, str]]:
    """Yields the pairs of a file, in order."""
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
        if is_word(word):
            data = word.encode()
            section = sections[zlib.crc32(data) % num_sections]
            section.append(b"%d %s\n" % (count, data))
    sections = [b"".join(section) for section in sections]
    head = json.dumps(list(map(len, sections))).encode() + b"\n"
    atomic_files.write_atomically(
        path, lambda file: file.writelines([head, *sections])
    )


def read_counts(path, section: int) -> dict[str, int]:
    """Reads the counts of one section."""
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
    """Finds the most frequent words of a section of several files.

    Args:
        paths: The files.
        section: Which of their sections.
        most: Number of words; `None` for all.
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
    """Finds the pairs that repeat earlier ones, in a range of hashes.

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
    """Reads the numbers from `start` to `end` of ascending files."""
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


# === Shards of encoded pairs ===


_IDS = tuple(itertools.chain(*SIDES.values()))


@dataclasses.dataclass(frozen=True)
class Shard:
    """Facts of a shard that are known before its file is read.

    Attributes:
        file: Name of the file in its folder.
        checksum: SHA-256 of the file's bytes, hexadecimal.
        pairs: Number of pairs in it.
        source_tokens, target_tokens: Their positions on each side.
        num_read, num_empty, num_too_long: As in an `EncodedCorpus`.
    """

    file: str
    checksum: str
    pairs: int
    source_tokens: int
    target_tokens: int
    num_read: int
    num_empty: int
    num_too_long: int

    @property
    def sizes(self) -> list[int]:
        """The sizes of the seven parts of the file."""
        sides = self.source_tokens, self.target_tokens
        return [self.pairs] * 3 + [size for size in sides for _ in range(2)]


class JoinedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Arrays of several files, indexed as if they were one.

    Computations with it read all of it into memory.

    Args:
        parts: int32 arrays of one dimension, at least one.
    """

    dtype = np.dtype(np.int32)

    def __init__(self, parts: Sequence[np.ndarray]):
        self._parts = list(parts)
        self._starts = np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, places) -> np.ndarray:
        """Values at an array of places `(N,)`, or of a slice in steps of 1."""
        if isinstance(places, slice):
            first, last, _ = places.indices(len(self))
            return np.concatenate(
                [
                    part[max(0, first - start) : max(0, last - start)]
                    for part, start in zip(self._parts, self._starts)
                ]
            )
        owners = np.searchsorted(self._starts, places, "right") - 1
        order = np.argsort(owners, kind="stable")
        places, owners = places[order], owners[order]
        edges = np.flatnonzero(np.diff(owners)) + 1
        found = np.empty(len(places), self.dtype)
        for start, end in itertools.pairwise([0, *edges, len(places)]):
            if end > start:
                owner = owners[start]
                part = self._parts[owner]
                own = places[start:end] - self._starts[owner]
                found[order[start:end]] = part[own]
        return found

    def __array_ufunc__(self, function, method, *inputs, **options):
        arrays = [
            np.asarray(x) if isinstance(x, JoinedArray) else x for x in inputs
        ]
        return getattr(function, method)(*arrays, **options)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Reads all of it into memory."""
        return np.concatenate(self._parts).astype(dtype or self.dtype)


@dataclasses.dataclass(frozen=True, eq=False)
class ShardedCorpus(EncodedCorpus):
    """An `EncodedCorpus` whose ids stay in their files.

    Lengths and numbers of its pairs are in memory, 24 bytes a pair.

    Args:
        stored_checksum: The checksum that the same arrays in memory have.
    """

    stored_checksum: str = dataclasses.field(kw_only=True)

    @property
    def checksum(self) -> str:
        """Checksum of the same pairs in memory."""
        return self.stored_checksum


def write(folder, file: str, arrays: Mapping[str, np.ndarray]) -> Shard:
    """Writes a shard as a whole or not at all.

    Args:
        folder: Where it is written.
        file: Its name.
        arrays: Results of `encoding.encode_arrays`.
    """
    parts = [
        np.diff(arrays["source_splits"]),
        np.diff(arrays["target_splits"]),
        arrays["indices"],
        *(arrays[name] for name in _IDS),
    ]
    path = os.path.join(folder, file)
    with atomic_files.replacement(path) as new, open(new, "wb") as stream:
        np.save(stream, np.concatenate(parts).astype(np.int32))
    return Shard(
        file,
        checked_files.checksum_of(path),
        len(parts[0]),
        len(parts[3]),
        len(parts[5]),
        *map(int, arrays["counts"]),
    )


def load(
    folder, shards: Sequence[Shard], checksum: str, name: str = "corpus"
) -> ShardedCorpus:
    """Opens shards as one corpus, after looking at the checksum of each.

    Args:
        folder: Where they are.
        shards: All of them, in order.
        checksum: Result of `corpus_checksum`.
        name: Name of the corpus, for the bar.

    Raises:
        FileNotFoundError: If a shard is missing.
        DamagedFileError: Naming a file that is not as it was written.
        ValueError: If no pair is left.
    """
    for shard in tqdm.tqdm(
        shards, f"Checking {name}", unit=" files", disable=None, leave=False
    ):
        check_file(os.path.join(folder, shard.file), shard.checksum)
    columns = list(zip(*(_parts(folder, shard) for shard in shards)))
    if not sum(shard.pairs for shard in shards):
        raise ValueError(f"{name}: no sentence pair is left to work with.")
    starts = np.cumsum([0, *(shard.num_read for shard in shards)])
    indices = [part + start for part, start in zip(columns[2], starts)]
    arrays = dict(
        zip(_IDS, map(JoinedArray, columns[3:])),
        source_splits=np.cumsum(np.concatenate([[0], *columns[0]])),
        target_splits=np.cumsum(np.concatenate([[0], *columns[1]])),
        indices=np.concatenate(indices),
    )
    counts = {x: sum(getattr(shard, x) for shard in shards) for x in COUNTS}
    return ShardedCorpus(**arrays, **counts, stored_checksum=checksum)


def check_file(path, checksum: str) -> None:
    """Raises a DamagedFileError if the SHA-256 of a file is another."""
    if checked_files.checksum_of(path) != checksum:
        raise checked_files.DamagedFileError(
            f"{path} is damaged (its SHA-256 is another). Remove the folder "
            "and prepare the corpus again."
        )


def corpus_checksum(folder, shards: Sequence[Shard]) -> str:
    """Computes the `checksum` of an `EncodedCorpus` of the same pairs.

    It reads one part of a shard at a time.
    """
    digest = hashlib.sha256()
    for lengths, names in zip((0, 1), ((3, 4), (5, 6))):
        for number in names:
            for shard in shards:
                part = _parts(folder, shard)[number]
                digest.update(np.ascontiguousarray(part).data)
        total = np.int64(0)
        digest.update(total.tobytes())
        for shard in shards:
            splits = np.cumsum(_parts(folder, shard)[lengths], dtype=np.int64)
            splits += total
            digest.update(splits.data)
            total = splits[-1] if len(splits) else total
    return digest.hexdigest()[:16]


def _parts(folder, shard):
    """Maps the seven parts of a shard into memory."""
    path = checked_files.local_cache(
        os.path.join(folder, shard.file), shard.checksum
    )
    # There is no map of no bytes.
    values = np.load(path, mmap_mode="r" if any(shard.sizes) else None)
    return np.split(np.asarray(values), np.cumsum(shard.sizes)[:-1])
