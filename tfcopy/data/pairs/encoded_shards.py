"""Encoded pairs in files of some thousand pairs each, read in place.

A shard is an int32 array in NumPy's format. With n pairs of S source and T
target positions in all it holds, one after the other:

    n  lengths of sources         S  source_ids        T  target_ids
    n  lengths of targets         S  source_copy_ids   T  pointers
    n  numbers of the pairs, counted from the first pair read for the shard

Pairs are drawn at random from memory-mapped files, so that what is not in
memory is read as it is needed: an order of an epoch, its resumption at any
batch and the slices of workers are the same as for arrays in memory.
ArrayRecord was measured against it (`benchmarks/shard_reading.py`): each of its
records is a call and a copy of its own, which a batch has to take apart.
"""

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence

import numpy as np
import tqdm

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data.pairs.encoding import COUNTS, SIDES, EncodedCorpus

_IDS = tuple(itertools.chain(*SIDES.values()))


@dataclasses.dataclass(frozen=True)
class Shard:
    """What is known of a shard before its file is read.

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

    What computes with it reads all of it into memory.

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
        """All of it in memory."""
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
        """Equal to that of the same pairs in memory."""
        return self.stored_checksum


def write(folder, file: str, arrays: Mapping[str, np.ndarray]) -> Shard:
    """Writes a shard as a whole or not at all.

    Args:
        folder: Where it is written.
        file: Its name.
        arrays: What `encoding.encode_arrays` returns.
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
        checksum: What `corpus_checksum` returned.
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
    """The `checksum` of an `EncodedCorpus` of the same pairs.

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
    """The seven parts of a shard, mapped into memory."""
    path = filesystem.local_cache(
        os.path.join(folder, shard.file), shard.checksum
    )
    # There is no map of no bytes.
    mode = "r" if any(shard.sizes) else None
    values = np.load(path, mmap_mode=mode)
    return np.split(np.asarray(values), np.cumsum(shard.sizes)[:-1])
