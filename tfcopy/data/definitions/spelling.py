"""Spellings of words, read like definitions: each character is a token.

Shapes: B sentences, T words, W distinct words, K the longest spelling.

Reference: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 3.
"""

import collections
from collections.abc import Mapping

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.packing import (
    check_options,
    distinct,
    num_fillers,
    without_frequent,
)
from tfcopy.data.ragged_rows import keep, rows_of
from tfcopy.data.text.vocabulary import Vocabulary

TOO_LONG = ("crop", "ends")


def count_characters(counts: Mapping[str, int]) -> collections.Counter:
    """Counts characters, for `Vocabulary.build`.

    Args:
        counts: Words (`str`) and how often each occurs.

    Returns:
        `Counter` of characters (code points); blanks are left out.
    """
    characters = collections.Counter()
    for word, count in counts.items():
        for character in word:
            if not character.isspace():
                characters[character] += count
    return characters


def spellings(
    words,
    characters: Vocabulary,
    max_length: int | None = 24,
    *,
    too_long: str = "crop",
    ids=None,
    exclude_top_k: int | None = None,
    multiple: int | None = None,
):
    """The characters of the words of a batch, as TensorFlow ops.

    Each distinct word is spelt once, in order of first occurrence. Words differ
    by case. A character is a code point; invalid UTF-8 becomes U+FFFD.

    Args:
        words: Strings of shape `(B, T)`, `""` where there is no word; or a
            list, tuple or dict of such (tf.data takes no lists).
        characters: `Vocabulary` of characters.
        max_length: Most characters of a word, `None` for all.
        too_long: What remains of longer words: `"crop"`, their first
            characters; or `"ends"`, the first half of `max_length`, a hyphen
            and the last half (as in the paper's code, with ten characters).
        ids: int32 of the structure and shapes of `words`, their ids in the
            text's own vocabulary. Used by `exclude_top_k` only.
        exclude_top_k: Number of frequent words that are not spelt, as in
            `DefinitionPacker`.
        multiple: Pads W to a multiple, and K to what `max_length` allows, for
            few distinct shapes.

    Returns:
        Dict of `slots`, int32 of the structure and shapes of `words`, 0 for
        none; and `ids`, int32 `(W + 1, K)`, row w the spelling of slot w
        between `BOS` and `EOS`, then `PAD`. Row 0 and fillers hold only `EOS`.

    Raises:
        ValueError: If an option is out of its range, or if `ids` are missing
            or of other shapes.
    """
    if too_long not in TOO_LONG:
        raise ValueError(
            f"`too_long` must be one of {TOO_LONG}. Received: {too_long!r}."
        )
    check_options(
        max_length=max_length, exclude_top_k=exclude_top_k, multiple=multiple
    )
    words = without_frequent(words, ids, exclude_top_k, "")
    values, slots = distinct(words, nothing="")
    spelt = tf.strings.unicode_split(values[1:], "UTF-8")  # (W, None)
    if max_length is not None:
        spelt = _shortened(spelt, max_length, too_long)
    size = spelt.nrows(out_type=tf.int32)
    rows = tf.concat(
        [
            tf.fill([size, 1], special.BOS),
            characters.lookup(spelt),
            tf.fill([size, 1], special.EOS),
        ],
        axis=1,
    )
    width = None
    if multiple and max_length is not None:
        width = 2 + max_length + (too_long == "ends")
    more = num_fillers(size, multiple) if multiple else 0
    filler = tf.RaggedTensor.from_tensor([[special.EOS]])
    fillers = tf.RaggedTensor.from_tensor(tf.fill([more, 1], special.EOS))
    rows = tf.concat([filler, rows, fillers], axis=0)
    return {
        "slots": slots,
        "ids": rows.to_tensor(special.PAD, shape=[None, width]),
    }


def _shortened(spelt, max_length, too_long):
    """Ragged characters, `(W, None)`, without those beyond `max_length`."""
    if too_long == "crop":
        return spelt[:, :max_length]
    lengths = tf.gather(spelt.row_lengths(), rows_of(spelt))
    places = tf.ragged.range(spelt.row_lengths()).values
    half = max_length // 2
    is_short = lengths <= max_length
    # The hyphen replaces the first character that is cut out.
    is_hyphen = ~is_short & (places == half)
    is_end = (places < half) | (places >= lengths - half)
    spelt = spelt.with_values(tf.where(is_hyphen, "-", spelt.values))
    return keep(spelt, is_short | is_hyphen | is_end)
