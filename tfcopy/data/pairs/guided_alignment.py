"""Which source words a target word is a translation of, for training.

Shapes: P pairs, L links over all pairs, B pairs in a batch of S source and T
target positions.
"""

import dataclasses
import hashlib

import numpy as np

from tfcopy.data.alignment import word_alignment

_NO_LIMIT = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True, eq=False)
class GuidedAlignment:
    """The links of all pairs; pair i has `splits[i]` to `splits[i + 1]`.

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
            num_lines: How many lines there are.

        Raises:
            ValueError: naming file and line of what is wrong.
        """
        own = np.asarray(lines)[encoded.indices]
        # Of pairs that were left out, nothing is known and nothing needed.
        lengths = np.full((num_lines, 2), _NO_LIMIT)
        sides = encoded.source_lengths, encoded.target_lengths
        lengths[own] = np.stack(sides, axis=1) - 1  # without EOS
        links = word_alignment.read(path, lengths)
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
        for array in (self.source, self.target, self.splits):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def weights(self, rows: np.ndarray, lengths: tuple[int, int]) -> np.ndarray:
        """What the attention of some pairs should be.

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
