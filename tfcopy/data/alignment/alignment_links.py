"""Sentences of word ids, and links between the words of pairs of them.

Shapes: P pairs, N source words and M target words over all pairs, L links.
"""

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


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
        rows = [np.asarray(row, np.int64) for row in rows]
        ids = np.concatenate([np.zeros(0, np.int64), *rows])
        return cls(ids, np.cumsum([0, *map(len, rows)]))

    def __len__(self) -> int:
        return len(self.splits) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.ids[self.splits[i] : self.splits[i + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.splits)

    def owners(self, places) -> np.ndarray:
        """The numbers of the sentences that hold some places."""
        return np.searchsorted(self.splits, places, side="right") - 1

    def keep(self, is_kept) -> "Sentences":
        """A copy in which the sentences that are not `is_kept` are empty."""
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
        """The places of the linked words in the source and in the target."""
        return (
            source.splits[self.pair] + self.source,
            target.splits[self.pair] + self.target,
        )

    def reversed(self) -> "Links":
        """The links from the target to the source."""
        order = np.lexsort((self.source, self.target, self.pair))
        return Links(self.pair[order], self.target[order], self.source[order])


def one_to_one(links: Links, source: Sentences, target: Sentences) -> Links:
    """The links that are the best ones of both their words.

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
