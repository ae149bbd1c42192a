"""From texts to the sources of a search.

Shapes: B texts, S source positions (with EOS).
"""

from typing import Any, NamedTuple

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.pairs.copy_ids import encode_source
from tfcopy.data.ragged_rows import append
from tfcopy.data.text.readable_text import readable_text

_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
_EOS_WORD = special.SPECIAL_TOKENS[special.EOS]
# How sums are rounded depends on the shapes of the matrices multiplied, but, as
# was measured to the last bit, not between shapes of this multiple.
_POSITIONS = 16


class Sources(NamedTuple):
    """A batch of texts as a search reads them.

    Attributes:
        ids: `(B, S)`.
        copy_ids: `(B, S)`.
        words: Strings, `(B, S)`; `</s>` at EOS, `""` on padding.
        keys: Strings, `(B, S)`, what `Entities` make of the words; `None`
            without.
        protected: Boolean, `(B, S)`, words that an answer must have; `None` if
            it need not have any.
        is_blank: Boolean, `(B,)`; texts without a word.
        inputs: Dict of what else the model reads, by name.
        longest: int32, the positions of the longest text; there is padding
            behind them.
    """

    ids: Any
    copy_ids: Any
    words: Any
    keys: Any
    protected: Any
    is_blank: Any
    inputs: Any
    longest: Any


def read_sources(translator, text, rows, must_have=None) -> Sources:
    """Cuts texts into words and looks these up.

    Args:
        translator: The `Translator`, whose tokenizer, vocabularies and limits
            apply.
        text: Strings.
        rows: int32 `(B,)`, which of the texts to read, some of them repeatedly.
        must_have: Function of ragged words to which of them an answer must
            have; `None` if it need not have any.
    """
    tokenizer, longest = (
        translator.source_tokenizer,
        translator.max_source_length,
    )
    text = readable_text(text, tokenizer, longest)
    words = tf.gather(tokenizer.tokenize(text)[:, :longest], rows)
    is_blank = words.row_lengths() == 0
    readable = words
    if not translator.append_eos:
        # No encoder reads a sentence without any position.
        readable = tf.concat([words, _filler(is_blank)], axis=1)
    ids, copy_ids = encode_source(
        readable,
        translator.source_vocabulary,
        translator.target_vocabulary,
        append_eos=translator.append_eos,
        fold_source=translator.source_tokenizer.fold,
        fold_target=translator.target_tokenizer.fold,
        entities=translator.entities,
    )
    longest = tf.cast(ids.bounding_shape(axis=1), tf.int32)
    width = -(-longest // _POSITIONS) * _POSITIONS
    ids = ids.to_tensor(special.PAD, shape=tf.stack([tf.size(is_blank), width]))
    protected = None
    if must_have is not None:
        protected = must_have(words).to_tensor(False, shape=tf.shape(ids))
    keys = None
    if translator.entities is not None:
        keys = translator.entities.source(words)
        keys = keys.to_tensor("", shape=tf.shape(ids))
        words = translator.entities.surfaces(words)
    inputs = {}
    if translator.definitions is not None:
        inputs = translator.definitions.source_inputs(
            words.to_tensor("", shape=tf.shape(ids)), ids
        )
    if translator.append_eos:
        words = append(words, _EOS_WORD)
    return Sources(
        ids,
        copy_ids.to_tensor(special.NO_COPY, shape=tf.shape(ids)),
        words.to_tensor("", shape=tf.shape(ids)),
        keys,
        protected,
        is_blank,
        inputs,
        longest,
    )


def _filler(is_blank):
    """Ragged `(B, None)`: one word where a text has none."""
    lengths = tf.cast(is_blank, tf.int64)
    words = tf.fill([tf.reduce_sum(lengths)], _UNK_WORD)
    return tf.RaggedTensor.from_row_lengths(words, lengths, validate=False)
