"""Packs the definitions of a batch, each read once, as TensorFlow ops.

Shapes: B sentences, T words, L entries of a word; U distinct entries, N
definitions and M tokens of definitions in the batch, K the longest.

Reference: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 3.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.lookup import FromArguments
from tfcopy.data.ragged_rows import rows_of
from tfcopy.data.text.vocabulary import Vocabulary


def constant_rows(rows: Sequence[Sequence[int]]) -> tf.RaggedTensor:
    """Returns rows of numbers, of different lengths, that a graph gathers."""
    with tf.init_scope():
        return tf.RaggedTensor.from_row_lengths(
            np.fromiter(itertools.chain(*rows), np.int32),
            [len(row) for row in rows],
            validate=False,
        )


def gather_rows(rows, numbers):
    """Gathers rows of `constant_rows` by their numbers, int32 `(N,)`.

    Returns:
        `(rows, places)`: ragged rows, and for each of their values the place of
        its row in `numbers`, int32 of shape `(M,)`.
    """
    rows = tf.gather(rows, numbers)
    return rows, tf.cast(rows_of(rows), tf.int32)


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
        self._rows = constant_rows(rows)
        self._entries = constant_rows(groups)
        with tf.init_scope():
            self._counts = tf.constant(list(map(len, groups)), tf.int32)

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
        numbers, slots = distinct(self._usable(entries, ids), nothing=0)
        return {"slots": slots, **self._read(numbers)}

    def _read(self, numbers):
        """Gathers the definitions of the entries of these numbers."""
        rows, owners = gather_rows(self._entries, numbers)
        filler = [[0, tf.cast(tf.size(rows.values) == 0, tf.int32)]]
        rows = tf.pad(rows.values, filler)
        owners = tf.pad(owners, filler)
        definitions, places = gather_rows(self._rows, rows)
        if self.layout == "flat":
            ids, owners = definitions.values, tf.gather(owners, places)
            lengths = tf.gather(definitions.row_lengths(), places)
            shares = 1.0 / tf.cast(lengths, tf.float32)
            weights = tf.where(owners > 0, shares, 0.0)
        else:
            ids = definitions.to_tensor(special.PAD)
            weights = tf.cast(owners > 0, tf.float32)
        return {
            "ids": ids,
            "owners": owners,
            "weights": weights,
            "counts": tf.cast(tf.gather(self._counts, numbers), tf.float32),
        }

    def _usable(self, entries, ids):
        """Zeroes `entries` that are excluded or keep no definition."""

        def drop_empty(x):
            x = tf.convert_to_tensor(x)
            return tf.where(tf.gather(self._counts, x) > 0, x, 0)

        usable = tf.nest.map_structure(drop_empty, entries)
        return replace_frequent(usable, ids, self.exclude_top_k, 0)
