"""A model's reading of all entries of a dictionary, computed once.

Shapes: B texts, T words, L entries of a word, N entries of the dictionary, U
entries of a batch, D size of what a reader returns.
"""

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.packing import (
    DefinitionPacker,
    distinct,
    without_frequent,
)

_BLOCK = 1024  # entries that are read at once


class DefinitionTable(tf.Module):
    """A table with a row for each entry, used instead of its definitions.

    It is a packer for `DefinitionFeatures`, after which nothing is left to
    read. Numbers beyond those of the entries stand for further rows, such as
    those that a request brings.

    Args:
        embedding: `DefinitionEmbedding` with a reader. Its present weights
            count.
        packer: The `DefinitionPacker` of the model.
    """

    def __init__(self, embedding, packer: DefinitionPacker):
        super().__init__(name="definition_table")
        self.exclude_top_k = packer.exclude_top_k
        self.size = packer.num_entries + 1
        sums, counts = embedding.table(_blocks(packer))
        with tf.init_scope():
            self._sums = tf.Variable(sums, trainable=False, name="sums")
            self._counts = tf.Variable(counts, trainable=False, name="counts")

    def pack(self, entries, ids, phrases=None):
        """The entries of the words of one batch.

        Args:
            entries: Dict of int32 `(B, T, L)`, numbers of entries, 0 for none,
                or of further rows, from `size` on.
            ids: Dict of int32 `(B, T)`. As in `DefinitionPacker.pack`, but
                frequent words may have further rows as well.
            phrases: Optional dict of pairs of int32 `(B, T)`, as in
                `DefinitionPacker.pack`.

        Returns:
            Dict of `slots`, int32 of the structure and shapes of `entries`,
            and `numbers`, int32 `(U + 1,)`, what each slot stands for. With
            `phrases` their `phrase_slots` and `phrase_positions`, too.
        """
        usable = without_frequent(entries, ids, self.exclude_top_k, 0)
        entries = tf.nest.map_structure(
            lambda x, y: tf.where(x < self.size, y, x), entries, usable
        )
        if phrases is None:
            numbers, slots = distinct(entries, nothing=0)
            return {"slots": slots, "numbers": numbers}
        phrase_entries = {
            name: tf.where(tf.gather(self._counts, x) > 0, x, 0)
            for name, (x, _) in phrases.items()
        }
        numbers, (slots, of_phrases) = distinct(
            (entries, phrase_entries), nothing=0
        )
        positions = {
            name: tf.where(of_phrases[name] > 0, x, 0)
            for name, (_, x) in phrases.items()
        }
        return {
            "slots": slots,
            "numbers": numbers,
            "phrase_slots": of_phrases,
            "phrase_positions": positions,
        }

    def rows(self, numbers, further=None):
        """The reader's output for entries.

        Args:
            numbers: int32 `(U + 1,)`, as `pack` gives them.
            further: Optional pair, `(R, D)` and `(R,)`: sums and numbers of
                definitions of further rows.

        Returns:
            `(E, n)`, float32, `(U + 1, D)` and `(U + 1,)`, the `rows` of a
            `DefinitionEmbedding`.
        """
        kept = tf.minimum(numbers, self.size - 1)
        rows = tf.gather(self._sums, kept), tf.gather(self._counts, kept)
        if further is None:
            return rows
        # One row more, so that there is a row to gather.
        further = [
            tf.pad(x, [[1, 0]] + [[0, 0]] * (x.shape.rank - 1)) for x in further
        ]
        places = tf.maximum(numbers - self.size + 1, 0)
        is_kept = places == 0
        return (
            tf.where(is_kept[:, None], rows[0], tf.gather(further[0], places)),
            tf.where(is_kept, rows[1], tf.gather(further[1], places)),
        )


def _blocks(packer):
    """Yields packs of the entries 1, 2 and so on."""
    for start in range(1, packer.num_entries + 1, _BLOCK):
        stop = min(start + _BLOCK, packer.num_entries + 1)
        entries = tf.range(start, stop)[None, :, None]
        # No unknown word is too frequent.
        yield packer.pack(entries, tf.fill([1, stop - start], special.UNK))
