"""Definitions that come with a request, as TensorFlow ops.

Shapes: B examples, R lines of each; N definitions of all of them, H headwords
(different examples have different ones); W words of texts, L entries and C
possible headwords of a word.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.dictionary_entries import RULES
from tfcopy.data.ragged_rows import rows_of
from tfcopy.data.text import tokenization
from tfcopy.data.text.vocabulary import Vocabulary, table

_LINES = [tf.TensorSpec([None, None], tf.string)]


class Requested(NamedTuple):
    """The definitions of one batch of requests.

    Attributes:
        headwords: Strings, `(H,)`.
        examples: int32 `(H,)`, the example that each belongs to.
        pack: Dict of a `DefinitionPacker` without `slots`: headword h is slot
            `h + 1`.
    """

    headwords: Any
    examples: Any
    pack: Any


class RequestedDefinitions(tf.Module):
    """Reads lines `headword<TAB>definition`, and finds the words they define.

    A line of any other form is ignored, and so is one without a word in its
    headword or in its definition: a server must not refuse a whole batch for
    one line. A third field is ignored. All definitions of a headword count, and
    are truncated like the dictionary's. Words outside of the vocabulary are
    unknown.

    Words are looked up by their lemmas, too, where the model's features are, by
    the rules for English; they do not apply to the irregular forms of the
    dictionary.

    Args:
        served: The `TextModel`.
        vocabulary: The vocabulary of definitions; it may read another file than
            the packer's.
    """

    def __init__(self, served, vocabulary: Vocabulary):
        super().__init__(name="requested_definitions")
        packer = served.features.packer
        self.layout, self.max_length = packer.layout, packer.max_length
        self.vocabulary = vocabulary
        self.tokenizer = served.definition_tokenizer
        self.lemmas = served.features.lookup.lemmas
        # What an export has to track.
        self._vocabulary_table = vocabulary.table()
        with tf.init_scope():
            self._irregular = table(dict.fromkeys(served.definitions.lemmas, 1))

    @tf.function(input_signature=_LINES, autograph=False)
    def read(self, lines) -> Requested:
        """Reads the definitions of lines, strings of shape `(B, R)`."""
        examples = tf.range(tf.shape(lines)[0])[:, None]
        examples = tf.reshape(tf.broadcast_to(examples, tf.shape(lines)), [-1])
        fields = tf.strings.split(tf.reshape(lines, [-1]), "\t")
        fields = fields.to_tensor("", shape=[None, 2])
        headwords, texts = tf.unstack(
            tokenization.normalize_blanks(fields, ""), axis=1
        )
        is_line = (headwords != "") & (texts != "")
        headwords, texts, examples = (
            tf.boolean_mask(x, is_line) for x in (headwords, texts, examples)
        )
        words = self.tokenizer.tokenize(texts)
        is_read = words.row_lengths() > 0
        headwords, examples, words = (
            tf.ragged.boolean_mask(x, is_read)
            for x in (headwords, examples, words)
        )
        # A headword belongs to one example, not to the others.
        _, numbers = tf.unique(headwords)
        keys = _keys(examples, numbers, tf.size(headwords))
        keys, owners = tf.unique(keys)
        first = tf.math.unsorted_segment_min(
            tf.range(tf.size(owners)), owners, tf.size(keys)
        )
        return Requested(
            tf.gather(headwords, first),
            tf.gather(examples, first),
            self._pack(words[:, : self.max_length], owners, tf.size(keys)),
        )

    def _pack(self, words, owners, size):
        """Packs ragged tokens of definitions, `(N, None)`, by headword."""
        mark = tf.ones([words.nrows(), 1], tf.int32)
        begin, end = [special.BOS * mark], [special.EOS * mark]
        ids = self.vocabulary.lookup(words)
        if self.layout == "padded":
            ids = tf.concat([*begin, ids, *end], axis=1)
        # Something must be read, even if nothing is defined.
        filler = tf.ragged.constant([[special.EOS]], tf.int32)
        ids = tf.concat([ids, filler], axis=0)
        owners = tf.concat([owners + 1, [0]], axis=0)
        counts = tf.math.bincount(owners, minlength=size + 1)
        is_headword = tf.cast(tf.range(size + 1) > 0, tf.float32)
        pack = {"counts": tf.cast(counts, tf.float32) * is_headword}
        weights = tf.cast(owners > 0, tf.float32)
        if self.layout == "padded":
            ids = ids.to_tensor(special.PAD)
            return {**pack, "ids": ids, "owners": owners, "weights": weights}
        rows = rows_of(ids)
        weights /= tf.cast(ids.row_lengths(), tf.float32)
        return {
            **pack,
            "ids": ids.flat_values,
            "owners": tf.gather(owners, rows),
            "weights": tf.gather(weights, rows),
        }

    @tf.function(autograph=False)
    def find(self, requested: Requested, words, examples, headwords):
        """Finds the headword of its own example that defines each word.

        It is the first one that exists of: the word itself; the word in lower
        case; the headwords of its entries in the dictionary; and its possible
        lemmas by the rules.

        Args:
            requested: The result of `read`.
            words: Strings, `(W,)`.
            examples: int32 `(W,)`, the example of each word.
            headwords: Strings, `(W, L)`, of its entries, `""` for none.

        Returns:
            int32 `(W,)`, the slot of the headword, 0 for none.
        """
        distinct, places = tf.unique(words)
        forms = tf.gather(self._forms(distinct), places)
        candidates = tf.concat(
            [forms[:, :2], headwords, forms[:, 2:]], axis=1
        )  # (W, C)
        size = tf.size(requested.headwords)
        _, numbers = tf.unique(
            tf.concat([requested.headwords, tf.reshape(candidates, [-1])], 0)
        )
        keys = _keys(requested.examples, numbers[:size], size)
        rows = tf.repeat(examples, tf.shape(candidates)[1])
        others = _keys(rows, numbers[size:], size)
        _, slots = tf.unique(tf.concat([keys, others], 0))
        # The keys of headwords are distinct, so that they have the numbers
        # below their own.
        slots = tf.reshape(slots[size:], tf.shape(candidates))
        is_headword = slots < size
        first = tf.argmax(is_headword, axis=1, output_type=tf.int32)
        slots = tf.gather(slots, first, batch_dims=1) + 1
        return tf.where(tf.reduce_any(is_headword, axis=1), slots, 0)

    def _forms(self, words):
        """Returns words, in lower case, too, and their stems: `(W, C - L)`."""
        lower = tokenization.lower(words)
        forms = [words, lower]
        if self.lemmas:
            rules = dict.fromkeys(
                rule for rules in RULES.values() for rule in rules
            )
            lower = tf.where(self._irregular.lookup(lower) > 0, "", lower)
            forms += [tf.strings.regex_replace(lower, *rule) for rule in rules]
        return tf.stack(forms, axis=1)


def _keys(examples, numbers, size):
    """Encodes pairs as numbers, -1 if the second is no headword's."""
    size = tf.cast(size, tf.int64)
    numbers = tf.cast(numbers, tf.int64)
    keys = tf.cast(examples, tf.int64) * size + numbers
    return tf.where(numbers < size, keys, -1)
