"""Packs the definitions of a batch, each read once, as TensorFlow ops.

Shapes: B sentences, T words, L entries of a word; U distinct entries, N
definitions and M tokens of definitions in the batch, K the longest.

Reference: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 3.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.lookup import FromArguments
from tfcopy.data.text.vocabulary import Vocabulary


class Rows:
    """Rows of numbers, of different lengths, that a graph gathers.

    A row has the ids of a definition, or the definitions of a group.

    Args:
        rows: The numbers of each row.
    """

    def __init__(self, rows: Sequence[Sequence[int]]):
        lengths = [len(row) for row in rows]
        values = np.fromiter((i for row in rows for i in row), np.int32)
        with tf.init_scope():
            self._values = tf.constant(values)
            self._starts = tf.constant(np.cumsum([0, *lengths[:-1]]), tf.int32)
            self._lengths = tf.constant(lengths, tf.int32)

    def lengths(self, rows):
        """Returns the lengths of rows, of any shape."""
        return tf.gather(self._lengths, rows)

    def gather(self, rows, lengths):
        """Gathers the numbers of rows, one row after another.

        Args:
            rows: int32 of shape `(N,)`.
            lengths: Their lengths.

        Returns:
            `(numbers, places)`, int32 of shape `(M,)`: the numbers, and the
            places in `rows` of the rows that they belong to.
        """
        starts = tf.gather(self._starts, rows)
        ranges = tf.ragged.range(
            starts, starts + lengths, row_splits_dtype=tf.int32
        )
        return tf.gather(self._values, ranges.values), ranges.value_rowids()

    def pad(self, rows, lengths):
        """Pads the numbers of rows, `(N, K)`, with `PAD`.

        Args:
            rows: int32 of shape `(N,)`.
            lengths: Their lengths.
        """
        starts, lengths = (
            tf.gather(self._starts, rows)[:, None],
            lengths[:, None],
        )
        steps = tf.range(tf.reduce_max(lengths))
        is_number = steps < lengths
        places = tf.where(is_number, starts + steps, 0)
        return tf.where(is_number, tf.gather(self._values, places), special.PAD)


def distinct(texts, nothing):
    """Numbers the distinct values of texts in order of first occurrence.

    Args:
        texts: Tensor of any shape, or a list, tuple or dict of such, which
            are numbered together.
        nothing: The value that has slot 0.

    Returns:
        `(values, slots)`: `(U + 1,)`, the value of each slot; and int32 of
        the structure and shapes of `texts`.
    """
    tensors = tf.nest.flatten(texts)
    flat = [tf.reshape(x, [-1]) for x in tensors]
    first = tf.constant([nothing], flat[0].dtype)
    values, numbers = tf.unique(tf.concat([first, *flat], 0))
    _, *parts = tf.split(numbers, [1, *(tf.size(x) for x in flat)])
    slots = [
        tf.ensure_shape(tf.reshape(part, tf.shape(x)), x.shape)
        for part, x in zip(parts, tensors)
    ]
    return values, tf.nest.pack_sequence_as(texts, slots)


def is_frequent(ids, top_k):
    """Returns which words are too frequent to get a definition.

    Unknown words never are; ids are assumed to be ordered by frequency, as in a
    counted `Vocabulary`. The special tokens do not count: 1 is only the most
    frequent word.

    Args:
        ids: int32 of any shape, words of the text's vocabulary.
        top_k: Number of the most frequent words; -1 for all known words.

    Returns:
        Boolean tensor of the shape of `ids`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3;
        the code counts the special tokens as words.
    """
    is_known = ids != special.UNK
    if top_k == -1:
        return is_known
    return is_known & (ids < len(special.SPECIAL_TOKENS) + top_k)


def replace_frequent(texts, ids, top_k, nothing):
    """Replaces words that are too frequent by `nothing`.

    Args:
        texts: Tensor of shape `(B, T)` or `(B, T, L)`, or a list, tuple or
            dict of such.
        ids: int32 of shape `(B, T)`, of the same structure; may be `None` if
            no word is too frequent.
        top_k: As in `is_frequent`; 0 or `None` for no word.
        nothing: Value in place of such words.
    """
    if not top_k:
        return texts

    def replace(text, ids):
        text, ids = map(tf.convert_to_tensor, (text, ids))
        if text.shape.rank > ids.shape.rank:
            ids = ids[..., None]
        return tf.where(is_frequent(ids, top_k), nothing, text)

    return tf.nest.map_structure(replace, texts, ids)


@dataclasses.dataclass(eq=False, repr=False)
class DefinitionPacker(FromArguments):
    """Packer of the definitions of the words of a batch.

    The definitions that an entry keeps are fixed when the packer is made: the
    first `max_definitions` that have words, each cut to `max_length` tokens. An
    entry that keeps none is no entry. A batch then only needs gathers, in
    `tf.data` or in a served graph.

    Args:
        definitions: `Definitions`; entry number 1 is the first headword.
        vocabulary: `Vocabulary` of the tokens of definitions.
        layout: `"flat"`, one definition after another, to be averaged; or
            `"padded"`, a definition a row, between `BOS` and `EOS`, for
            recurrent readers. The paper's code averages over both, too.
        max_definitions: Most definitions of an entry, `None` for all.
        max_length: Most tokens of a definition, `BOS` and `EOS` not counted;
            `None` for all.
        exclude_top_k: Number of the text's most frequent words, which get no
            definition; unknown words always may. -1 excludes all known words, 0
            or `None` no word.

    Raises:
        ValueError: If there is no such layout.
    """

    definitions: Definitions
    vocabulary: Vocabulary
    _: dataclasses.KW_ONLY
    layout: str
    max_definitions: int | None = 20
    max_length: int | None = 30
    exclude_top_k: int | None = None

    def __post_init__(self):
        if self.layout not in ("flat", "padded"):
            raise ValueError(
                "`layout` must be 'flat' or 'padded'. Received: "
                f"{self.layout!r}."
            )
        # Row 0 is the filler. An LSTM needs a step that is not padding.
        begin, end, filler = [], [], [special.PAD]
        if self.layout == "padded":
            begin, end = [special.BOS], [special.EOS]
            filler = [*begin, *end]
        rows, groups = [filler], [[]]  # entry 0 has none
        for entry in self.definitions.definitions:
            kept = [words for words in entry if words][: self.max_definitions]
            groups.append(range(len(rows), len(rows) + len(kept)))
            for words in kept:
                ids = map(self.vocabulary.id, words[: self.max_length])
                rows.append([*begin, *ids, *end])
        self._rows = Rows(rows)
        self._entries = Rows(groups)

    @property
    def num_entries(self) -> int:
        """The number of entries of the dictionary."""
        return len(self.definitions.definitions)

    def pack(self, entries, ids=None):
        """Packs the definitions of the words of one batch.

        Entries, and then their definitions, are in order of first occurrence.

        Args:
            entries: int32 of shape `(B, T, L)`, numbers of entries, 0 for
                none; or a list, tuple or dict of such, for texts that are
                read together (tf.data takes no lists).
            ids: int32 of shape `(B, T)`, ids of the words in the text's own
                vocabulary; of the structure of `entries`. Used by
                `exclude_top_k` only.

        Returns:
            Dict of `slots`, int32 of the structure and shapes of `entries`, 0
            for none; `ids`, int32, `(M,)`, or `(N, K)` with `PAD` after the
            end; `owners`, int32, the slot of each token `(M,)` or definition
            `(N,)`; `weights`, float32, one over the length of its definition
            `(M,)`, or ones `(N,)`; and `counts`, float32, `(U + 1,)`, the
            number of definitions of each slot, 0 for slot 0. If nothing is
            defined, there is a filler, whose owner and weight are 0.
        """
        usable = self._usable(entries, ids)
        numbers, slots = distinct(usable, nothing=0)
        return {"slots": slots, **self._read(numbers)}

    def _read(self, numbers):
        """Gathers the definitions of the entries of these numbers."""
        counts = self._entries.lengths(numbers)
        rows, owners = self._entries.gather(numbers, counts)
        filler = [[0, tf.cast(tf.size(rows) == 0, tf.int32)]]
        rows, owners = tf.pad(rows, filler), tf.pad(owners, filler)
        lengths = self._rows.lengths(rows)
        if self.layout == "flat":
            ids, places = self._rows.gather(rows, lengths)
            owners = tf.gather(owners, places)
            shares = 1.0 / tf.cast(tf.gather(lengths, places), tf.float32)
            weights = tf.where(owners > 0, shares, 0.0)
        else:
            ids = self._rows.pad(rows, lengths)
            weights = tf.cast(owners > 0, tf.float32)
        return {
            "ids": ids,
            "owners": owners,
            "weights": weights,
            "counts": tf.cast(counts, tf.float32),
        }

    def _usable(self, entries, ids):
        """Zeroes `entries` that are excluded or keep no definition."""

        def drop_empty(x):
            x = tf.convert_to_tensor(x)
            return tf.where(self._entries.lengths(x) > 0, x, 0)

        usable = tf.nest.map_structure(drop_empty, entries)
        return replace_frequent(usable, ids, self.exclude_top_k, 0)
