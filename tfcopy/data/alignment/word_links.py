"""Sentences as word ids, the links of their words, and files of links.

A link is a pair of positions, of a source word and of a target word, from 0 on.
A file has a line `0-0 1-2 ...` for each pair of sentences, as aligners write
it; the format is named after a decoder that read it, Pharaoh.

Shapes: P pairs, N source words and M target words over all pairs, L links, B
pairs in a batch of S source and T target positions.
"""

import array
import dataclasses
import hashlib
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.text_pairs import line_error, read_lines


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences of word ids; number i has `splits[i]` to `splits[i + 1]`.

    A place is the index of a word in the words of all sentences.

    Args:
        ids: int array of shape `(N,)`.
        splits: int64 array of shape `(P + 1,)`.
    """

    ids: np.ndarray
    splits: np.ndarray

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[int]]) -> "Sentences":
        """Concatenates rows of word ids."""
        rows = [np.asarray(row, np.int64) for row in rows]
        ids = np.concatenate([np.zeros(0, np.int64), *rows])
        return cls(ids, np.cumsum([0, *map(len, rows)]))

    def __len__(self) -> int:
        return len(self.splits) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.ids[self.splits[i] : self.splits[i + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """int64 array `(P,)`."""
        return np.diff(self.splits)

    def owners(self, places) -> np.ndarray:
        """Returns the numbers of the sentences that hold some places."""
        return np.searchsorted(self.splits, places, side="right") - 1

    def keep(self, is_kept) -> "Sentences":
        """Returns a copy whose sentences are empty where not `is_kept`."""
        ids = self.ids[np.repeat(is_kept, self.lengths)]
        lengths = np.where(is_kept, self.lengths, 0)
        return Sentences(ids, np.cumsum([0, *lengths]))


class Links(NamedTuple):
    """Links of all pairs: three int arrays `(L,)`, in ascending order.

    Positions count from 0 in each sentence.
    """

    pair: np.ndarray
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def from_places(
        cls, source: Sentences, target: Sentences, sources, targets
    ) -> "Links":
        """Makes links from the words' places, two arrays `(L,)`."""
        order = np.lexsort((targets, sources))
        sources, targets = sources[order], targets[order]
        pair = source.owners(sources)
        return cls(
            pair, sources - source.splits[pair], targets - target.splits[pair]
        )

    def places(self, source: Sentences, target: Sentences) -> tuple:
        """Returns the places of the linked words, in source and target."""
        return (
            source.splits[self.pair] + self.source,
            target.splits[self.pair] + self.target,
        )

    def reverse(self) -> "Links":
        """Returns the links from the target to the source."""
        order = np.lexsort((self.source, self.target, self.pair))
        return Links(self.pair[order], self.target[order], self.source[order])


def one_to_one(links: Links, source: Sentences, target: Sentences) -> Links:
    """Keeps the links that are the best match for both of their words.

    A link is better the more its two words are linked to each other rather than
    to others in the whole text (Dice's coefficient). Links of an intersection
    are one to one already: all of them stay.
    """
    places = links.places(source, target)
    source_ids, target_ids = source.ids[places[0]], target.ids[places[1]]
    num_targets = 1 + target_ids.max(initial=0)
    keys = source_ids.astype(np.int64) * num_targets + target_ids
    _, both, count = np.unique(keys, return_inverse=True, return_counts=True)
    count_source, count_target = map(np.bincount, (source_ids, target_ids))
    dice = count[both] / (count_source[source_ids] + count_target[target_ids])
    is_best = np.ones(len(keys), bool)
    for side in places:
        order = np.lexsort((-dice, side))
        first = np.unique(side[order], return_index=True)[1]
        is_first = np.zeros(len(keys), bool)
        is_first[order[first]] = True
        is_best &= is_first
    return Links(*(x[is_best] for x in links))


_LINK = re.compile(r"([0-9]+)-([0-9]+)")


def read(path, lengths: np.ndarray) -> Links:
    """Reads the links of pairs from a file, plain or compressed.

    Args:
        path: The file, with a line for each pair, which may be empty.
        lengths: int array of shape `(P, 2)`, the numbers of words of source and
            target of each pair.

    Raises:
        ValueError: naming file and line of the fault.
    """
    sizes = iter(lengths.tolist())
    found, number = array.array("i"), 0
    for number, line in enumerate(read_lines(path), start=1):
        size = next(sizes, None)
        if size is None:
            continue  # The error below names the number of lines.
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
    """Parses a link of two sentences of the given lengths."""
    match = _LINK.fullmatch(link)
    if not match:
        raise line_error(path, number, "links such as 0-0 or 1-2", link)
    positions = int(match[1]), int(match[2])
    if positions[0] >= size[0] or positions[1] >= size[1]:
        expected = (
            f"links of sentences of {size[0]} and {size[1]} words, whose "
            "positions count from 0"
        )
        raise line_error(path, number, expected, link)
    return positions


_NO_LIMIT = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True, eq=False)
class GuidedAlignment:
    """Source words that each target word translates, for training.

    The links of all pairs follow each other; pair i has `splits[i]` to
    `splits[i + 1]`.

    Args:
        source: int32 array `(L,)`, positions in the sources.
        target: int32 array `(L,)`, positions in the targets.
        splits: int64 array `(P + 1,)`.
    """

    source: np.ndarray
    target: np.ndarray
    splits: np.ndarray

    @classmethod
    def load(cls, path, encoded, lines, num_lines: int) -> "GuidedAlignment":
        """Reads the links of an encoded corpus, from a file of Pharaoh's.

        Args:
            path: The file; it has a line for each line of the corpus's files,
                and its positions count the words that the tokenizers cut.
            encoded: `EncodedCorpus`, each text with `EOS` at its end.
            lines: int array, the numbers of the lines, from 0 on, that the
                pairs were read from.
            num_lines: Number of these lines.

        Raises:
            ValueError: naming file and line of the fault.
        """
        own = np.asarray(lines)[encoded.indices]
        # Of pairs that were left out, nothing is known and nothing needed.
        lengths = np.full((num_lines, 2), _NO_LIMIT)
        sides = encoded.source_lengths, encoded.target_lengths
        lengths[own] = np.stack(sides, axis=1) - 1  # without EOS
        links = read(path, lengths)
        starts = np.searchsorted(links.pair, own)
        counts = np.searchsorted(links.pair, own, side="right") - starts
        splits = np.cumsum([0, *counts])
        places = np.arange(splits[-1]) + np.repeat(starts - splits[:-1], counts)
        return cls(
            links.source[places].astype(np.int32),
            links.target[places].astype(np.int32),
            splits,
        )

    @property
    def checksum(self) -> str:
        """Changes with any link."""
        digest = hashlib.sha256()
        for part in (self.source, self.target, self.splits):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()[:16]

    def weights(self, rows: np.ndarray, lengths: tuple[int, int]) -> np.ndarray:
        """Returns the target attention of some pairs.

        Args:
            rows: int array `(B,)`, the pairs.
            lengths: `(S, T)`.

        Returns:
            float32 `(B, T, S)`: a target word's links share 1; zeros for a word
            without any.
        """
        counts = self.splits[rows + 1] - self.splits[rows]
        owners = np.repeat(np.arange(len(rows)), counts)
        first = np.repeat(
            self.splits[rows] - np.cumsum(counts) + counts, counts
        )
        places = first + np.arange(len(owners))
        found = np.zeros((len(rows), lengths[1], lengths[0]), np.float32)
        found[owners, self.target[places], self.source[places]] = 1
        return found / np.maximum(found.sum(axis=-1, keepdims=True), 1)
