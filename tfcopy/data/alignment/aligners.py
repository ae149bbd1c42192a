"""Aligner of words: IBM Model 1.

All arrays are flat. A cell is a source word and a target word of one pair; the
cells of a target word are adjacent, in a row.

Shapes: P pairs, N source words and M target words over all pairs, L links.

Reference:
    Brown et al., 1993, The Mathematics of Statistical Machine Translation,
    section 4.2.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from tfcopy.data.alignment.word_links import Links, Sentences
from tfcopy.data.parallel import make_bar

NULL = -1  # no source word

_CHUNK = 1 << 20  # cells


@dataclasses.dataclass(frozen=True, eq=False)
class TranslationTable:
    """t(target word | source word) of the words that share a pair.

    Args:
        keys: int64 array, ascending: `(source id + 1) * num_targets + target
            id`.
        probabilities: Float array of the same shape.
        num_targets: Number of target words.
    """

    keys: np.ndarray
    probabilities: np.ndarray
    num_targets: int

    def probability(self, source_ids, target_ids) -> np.ndarray:
        """Returns t of words, arrays that broadcast; 0 without a pair."""
        target_ids = np.asarray(target_ids)
        queries = (np.asarray(source_ids, np.int64) + 1) * self.num_targets
        queries = np.where(
            target_ids < self.num_targets, queries + target_ids, -1
        )
        if not len(self.keys):
            return np.zeros(queries.shape)
        distinct, inverse = np.unique(queries, return_inverse=True)
        places = np.searchsorted(self.keys, distinct)
        places = np.minimum(places, len(self.keys) - 1)
        is_known = self.keys[places] == distinct
        return np.where(is_known, self.probabilities[places], 0.0)[inverse]


def align(
    source: Sentences,
    target: Sentences,
    *,
    rounds: int = 5,
    progress: bool = False,
) -> Links:
    """Aligns by IBM Model 1, learnt on these pairs in both directions.

    Two words are linked if each is the likeliest translation of the other. Of
    equally likely words, the one nearest to the diagonal counts.

    Args:
        source: P sentences.
        target: Their translations.
        rounds: Number of passes over all pairs.
        progress: Whether to show a bar with the time left.

    Returns:
        Links, one to one.
    """
    options = {"rounds": rounds, "progress": progress}
    best_source = _best(ibm_model1(source, target, **options), source, target)
    best_target = _best(ibm_model1(target, source, **options), target, source)
    targets = np.flatnonzero(best_source >= 0)
    mutual = targets[best_target[best_source[targets]] == targets]
    return Links.from_places(source, target, best_source[mutual], mutual)


def ibm_model1(
    source: Sentences,
    target: Sentences,
    *,
    rounds: int = 5,
    null: bool = True,
    progress: bool = False,
) -> TranslationTable:
    """Learns t(target word | source word) by expectation-maximisation.

    From a uniform start, each round shares each target word e out among the
    source words f of its pair, then computes t from the shares of all pairs:

        share(e, f) = t(e | f) / sum_f' t(e | f')        f' includes NULL
        t(e | f) = sum share(e, f) / sum_e' sum share(e', f)

    Memory: about 4 bytes per cell, and 40 for each two words that share a pair.

    Args:
        source: P sentences.
        target: Their translations.
        rounds: Number of passes over all pairs.
        null: Whether a target word may come from no source word, `NULL`.
        progress: Whether to show a bar with the time left.
    """
    num_targets = 1 + int(target.ids.max(initial=0))
    if null:
        ids = np.insert(source.ids, source.splits[:-1], NULL)
        source = Sentences(ids, source.splits + np.arange(len(source) + 1))
    total = (2 + rounds) * int(source.lengths @ target.lengths)
    bar = make_bar("IBM 1", total, " cells", progress)

    def chunks():
        for sources, targets, rows in _cells(source, target):
            keys = (source.ids[sources].astype(np.int64) + 1) * num_targets
            yield keys + np.repeat(target.ids[targets], rows), rows
            bar.update(len(keys))

    with bar:
        distinct = [np.unique(keys) for keys, _ in chunks()]
        keys = np.unique(np.concatenate([np.zeros(0, np.int64), *distinct]))
        del distinct
        cells = [(_places(keys, part), rows) for part, rows in chunks()]
        owners = keys // num_targets
        t = np.ones(len(keys))
        for _ in range(rounds):
            counts = np.zeros(len(keys))
            for places, rows in cells:
                shares = t[places]
                totals = np.add.reduceat(shares, np.cumsum(rows) - rows)
                shares /= np.repeat(totals, rows)
                np.add.at(counts, places, shares)
                bar.update(len(places))
            t = counts / np.bincount(owners, counts)[owners]
    return TranslationTable(keys, t, num_targets)


def _cells(source, target) -> Iterator[tuple]:
    """Yields all cells, in chunks of whole pairs.

    Yields:
        The place of the source word of each cell, the place of the target word
        of each row, and the number of cells of each row.
    """
    pairs = np.flatnonzero(source.lengths * target.lengths)
    widths, heights = source.lengths[pairs], target.lengths[pairs]
    chunk = np.cumsum(widths * heights) // _CHUNK
    cuts = 1 + np.flatnonzero(np.diff(chunk))
    for some in np.split(np.arange(len(pairs)), cuts):
        if len(some):
            rows = np.repeat(widths[some], heights[some])
            starts = np.repeat(source.splits[pairs[some]], heights[some])
            yield (
                _ranges(starts, rows),
                _ranges(target.splits[pairs[some]], heights[some]),
                rows,
            )


def _ranges(starts, lengths):
    """Concatenates the ranges `range(start, start + length)`."""
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.arange(lengths.sum()) + np.repeat(shifts, lengths)


def _places(keys, queries):
    """Returns the positions, int32, of queries in ascending keys."""
    distinct, inverse = np.unique(queries, return_inverse=True)
    return np.searchsorted(keys, distinct).astype(np.int32)[inverse]


def _best(table, source, target):
    """Finds the likeliest source word of each target word.

    Returns:
        int64 `(M,)`; -1 for `NULL`, or for no word.
    """
    best = np.full(len(target.ids), -1)
    for sources, targets, rows in _cells(source, target):
        starts = np.cumsum(rows) - rows
        row = np.repeat(np.arange(len(rows)), rows)  # of each cell
        ids = target.ids[targets]
        t = table.probability(source.ids[sources], ids[row])
        highest = np.maximum(
            np.maximum.reduceat(t, starts), table.probability(NULL, ids)
        )
        cells = np.flatnonzero((t == highest[row]) & (t > 0))
        row = row[cells]
        pair = target.owners(targets)
        where = (targets - target.splits[pair] + 0.5) / target.lengths[pair]
        distance = np.abs((cells - starts[row] + 0.5) / rows[row] - where[row])
        order = np.lexsort((distance, row))
        found, first = np.unique(row[order], return_index=True)
        best[targets[found]] = sources[cells[order[first]]]
    return best
