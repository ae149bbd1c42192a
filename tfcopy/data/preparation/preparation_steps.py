"""The steps of a preparation: each reads files and writes one.

Beside what a step has written stand its checksums. A step that finds both, and
that they agree, does nothing, so that what was interrupted goes on. Where a
step has to wait for all of an earlier one, the pipeline says so
(`corpus_preparation.py`). Nothing but names and numbers passes between steps.

To find duplicates, each part of the corpus is a file of the hashes of its
pairs, in their order; each range of hashes is then looked at on its own, in all
files. Two pairs are the same if 128 bits of BLAKE2 are.
"""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Iterable, Sequence

import numpy as np

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data.pairs import encoded_shards, encoding
from tfcopy.data.preparation import text_shards, word_counts
from tfcopy.data.preparation.preparation_settings import (
    FORMAT,
    MANIFEST,
    Settings,
    pairs_of,
    vocabulary_name,
)
from tfcopy.data.text import vocabulary

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


_MOST_SECTIONS = 64


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A corpus in text shards, on its way to ids.

    Attributes:
        work: The folder of all files.
        settings: `Settings`.
        sizes: Pairs of each text shard, by split: `train` and `validation`.
        about: What else the manifest tells.
    """

    work: str
    settings: Settings
    sizes: dict[str, list[int]]
    about: dict

    @property
    def num_train(self) -> int:
        """Number of shards of the training pairs."""
        return len(self.sizes["train"])

    @property
    def num_sections(self) -> int:
        """Number of sections of the counts of words."""
        return min(self.num_train, _MOST_SECTIONS)

    @property
    def shards(self) -> list[tuple[str, int]]:
        """Split and number of all shards that become ids."""
        return [
            (x, i) for x, sizes in self.sizes.items() for i in range(len(sizes))
        ]

    @property
    def num_checksums(self) -> int:
        """How many files of checksums there are in `work` at the end."""
        counted = bool(self._counted)
        of_train = 2 * self.settings.remove_duplicates + counted
        of_all = 2  # Texts and vocabularies.
        of_all += counted * self.num_sections + len(self.shards)
        return of_train * self.num_train + of_all

    # === Steps ===

    def hash_pairs(self, number: int) -> None:
        """Hashes the pairs of a training shard."""
        path = self._work("hashes", number, "npy")

        def make():
            pairs = text_shards.read(self._texts("train", number))
            start = self._start(number)
            write_hashes(path, pairs, start)

        _once([path], make)

    def find_duplicates(self, part: int) -> None:
        """Finds the pairs to leave out in a range of hashes."""
        path = self._work("duplicates", part, "npy")

        def make():
            hashes = self._all_work("hashes", "npy")
            found = find(hashes, part, self.num_train)
            write_array(path, found)

        _once([path], make)

    def count_words(self, number: int) -> None:
        """Counts the words of a training shard."""
        paths = {
            side: self._work(f"{side}-counts", number, "txt")
            for side in self._counted
        }

        def make():
            counts = vocabulary.count_words(
                self._pairs("train", number),
                self.settings.tokenizers,
                progress=False,
            )
            if self.settings.sides == ["both"]:
                counts = [counts[0] + counts[1]]
            counts = dict(zip(self.settings.sides, counts))
            for side, path in paths.items():
                word_counts.write(path, counts[side], self.num_sections)

        _once(list(paths.values()), make)

    def merge_counts(self, section: int) -> None:
        """Finds the most frequent words of a section of all shards."""
        settings = self.settings
        paths = {
            side: self._work(f"{side}-frequent", section, "txt")
            for side in self._counted
        }

        def make():
            for side, path in paths.items():
                found = word_counts.most_frequent(
                    self._all_work(f"{side}-counts", "txt"),
                    section,
                    settings.sizes[side],
                    settings.min_count,
                )
                word_counts.write(path, found, 1)

        _once(list(paths.values()), make)

    def make_vocabularies(self) -> None:
        """Writes the vocabularies."""
        settings = self.settings

        def made(side):
            given = settings.vocabulary_files.get(side)
            if given is not None:
                return vocabulary.Vocabulary.load(given)
            counts = {}
            for section in range(self.num_sections):
                file = self._work(f"{side}-frequent", section, "txt")
                counts.update(word_counts.read(file, 0))
            return vocabulary.Vocabulary.build(
                counts, settings.sizes[side], settings.min_count
            )

        def make():
            for side in settings.sides:
                made(side).save(self._vocabulary(side))

        _once(list(map(self._vocabulary, settings.sides)), make)

    def encode(self, split: str, number: int) -> None:
        """Turns a shard into ids."""
        record = self._record(split, number)
        count = len(self.sizes[split])
        name = f"{split}-{number:05d}-of-{count:05d}.npy"

        def make():
            arrays = encoding.encode_arrays(
                self._pairs(split, number),
                _vocabularies(*map(self._vocabulary, self.settings.sides)),
                self.settings.tokenizers,
                **self.settings.encoding_options(),
                progress=False,
            )
            shard = encoded_shards.write(self.work, name, arrays)
            checked_files.write_json(record, dataclasses.asdict(shard))

        _once([record, os.path.join(self.work, name)], make)

    def write_manifest(self) -> None:
        """Says that all is there, and what it is."""
        splits = {}
        for split, sizes in self.sizes.items():
            records = [
                checked_files.read_json(self._record(split, number))
                for number in range(len(sizes))
            ]
            shards = [encoded_shards.Shard(**record) for record in records]
            splits[split] = {
                "checksum": encoded_shards.corpus_checksum(self.work, shards),
                "shards": records,
            }
        content = {
            "format": FORMAT,
            **self.about,
            "settings": self.settings.identity(),
            "vocabularies": {
                side: {
                    "file": os.path.basename(self._vocabulary(side)),
                    "checksum": checked_files.checksum_of(
                        self._vocabulary(side)
                    ),
                }
                for side in self.settings.sides
            },
            "splits": splits,
        }
        content["pairs"] = pairs_of(content)
        checked_files.write_json(os.path.join(self.work, MANIFEST), content)

    # === Files ===

    @property
    def _counted(self):
        """The sides whose words are counted."""
        given = self.settings.vocabulary_files
        return [side for side in self.settings.sides if side not in given]

    def _pairs(self, split, number):
        """The pairs of a shard without duplicates, as they are read."""
        pairs = text_shards.read(self._texts(split, number))
        if split != "train" or not self.settings.remove_duplicates:
            return pairs
        start = self._start(number)
        files = self._all_work("duplicates", "npy")
        end = start + self.sizes["train"][number]
        left_out = between(files, start, end) - start
        left_out = frozenset(left_out.tolist())
        return (pair for i, pair in enumerate(pairs) if i not in left_out)

    def _start(self, number):
        """The number of the first pair of a training shard."""
        return sum(self.sizes["train"][:number])

    def _texts(self, split, number):
        return text_shards.path_of(self.work, split, number)

    def _work(self, name, number, extension):
        return os.path.join(self.work, f"{name}-{number:05d}.{extension}")

    def _record(self, split, number):
        return self._work(f"{split}-shard", number, "json")

    def _all_work(self, name, extension):
        count = self.num_train
        return [self._work(name, i, extension) for i in range(count)]

    def _vocabulary(self, side):
        return os.path.join(self.work, vocabulary_name(side))


def _once(paths, make):
    """Makes files unless they are there as they were made."""
    if not paths:
        return
    # TensorFlow's memory has no two names one of which begins the other.
    record = f"{os.path.splitext(paths[0])[0]}.sha256"
    if not checked_files.is_sealed(record, paths):
        make()
        checked_files.seal(record, paths)


# A process encodes many shards.
@functools.lru_cache(maxsize=1)
def _vocabularies(*paths):
    made = tuple(map(vocabulary.Vocabulary.load, paths))
    return made if len(made) == 2 else made * 2
