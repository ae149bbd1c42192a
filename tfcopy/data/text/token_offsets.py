"""The positions of tokens in the text they were cut from.

Like the tokenizer, it uses core TensorFlow only, so that an answer is cut out
of the text as it was typed, both in training and in a served graph.

Shapes: B batch; tokens are ragged, (B, None).
"""

import numpy as np
import tensorflow as tf

from tfcopy.data.ragged_rows import keep, rows_of
from tfcopy.data.text.tokenization import Tokenizer

# Whether a code point is a blank, a control character or the zero-width space;
# the last stands for all above.
_BLANKS = np.zeros(0x3002, bool)
_BLANKS[[*range(0x21), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200C)]] = 1
_BLANKS[[0x2028, 0x2029, 0x202F, 0x205F, 0x3000]] = True
_BYTE_ORDER_MARK = 0xFEFF


def tokenize_with_offsets(text, tokenizer: Tokenizer):
    """Cuts text into tokens with their positions.

    Args:
        text: String tensor of shape `(B,)`.
        tokenizer: Cuts it into tokens; SentencePiece is not supported, as its
            pieces may differ from the text.

    Returns:
        `(tokens, starts, ends)`, ragged tensors of shape `(B, None)`: the
        tokens of `tokenizer.tokenize`, and int32 offsets into the text in code
        points, such that the token is `text[start:end]`. In character mode, the
        token of a blank stands for the first of several.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise ValueError(
            "`tokenizer` must be a `Tokenizer`, whose tokens stand in the "
            f"text. Received: {tokenizer!r}."
        )
    tokens = tokenizer.tokenize(text)
    places = _places(text, tokenizer)
    if tokenizer.mode == "characters":
        lengths = tf.ones_like(tokens.flat_values, tf.int32)
    else:
        lengths = tf.strings.length(tokens.flat_values, unit="UTF8_CHAR")
    last = tf.cumsum(lengths) - 1
    starts = tf.gather(places.flat_values, last - lengths + 1)
    ends = tf.gather(places.flat_values, last) + 1
    return (
        tokens,
        tokens.with_flat_values(starts),
        tokens.with_flat_values(ends),
    )


def cut_out(text, starts, ends, first, last):
    """The text from the first to the last token of a span.

    Args:
        text: String tensor of shape `(B,)`.
        starts: Ragged, `(B, None)`, from `tokenize_with_offsets`.
        ends: Ragged, `(B, None)`, from `tokenize_with_offsets`.
        first: int32 `(B,)`, the span's first token.
        last: int32 `(B,)`, the token after its last one; there may be fewer.

    Returns:
        String tensor of shape `(B,)`; `""` where the span has no token.
    """
    last = tf.minimum(last, tf.cast(starts.row_lengths(), tf.int32))
    is_empty = last <= first
    rows = tf.cast(starts.row_starts(), tf.int32)
    begins, stops = (
        # One more, so that there is a value even without any token.
        tf.gather(
            tf.concat([offsets.flat_values, [0]], 0),
            tf.where(is_empty, 0, rows + place),
        )
        for offsets, place in ((starts, first), (ends, last - 1))
    )
    begins = tf.where(is_empty, 0, begins)
    stops = tf.where(is_empty, 0, stops)
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    return tf.strings.substr(text, begins, stops - begins, unit="UTF8_CHAR")


def covering_span(
    starts: np.ndarray, ends: np.ndarray, start: int, end: int
) -> tuple[int, int]:
    """The fewest tokens that cover a part of their text.

    Args:
        starts: int array, the start offsets of one text's tokens; see
            `tokenize_with_offsets`.
        ends: int array, their end offsets.
        start: Where the part begins, in code points.
        end: Where it ends, exclusive.

    Returns:
        `(first, last)`: the first of these tokens, and the one after the last;
        the same number twice where there is none.
    """
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(starts, end, side="left"))
    return first, max(first, last)


def _places(text, tokenizer):
    """Positions of the code points that are in tokens: ragged `(B, None)`."""
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    characters = tf.strings.unicode_decode(text, "UTF-8")
    is_kept = characters.with_flat_values(~_is_blank(characters.flat_values))
    places = tf.ragged.range(tf.cast(characters.row_lengths(), tf.int32))
    places = tf.RaggedTensor.from_row_splits(
        places.flat_values, characters.row_splits, validate=False
    )
    if tokenizer.mode == "characters" and tokenizer.language != "zh":
        is_kept = _with_first_blanks(is_kept, places)
    return keep(places, is_kept.values)


def _is_blank(points):
    """Whether code points are what `normalize_blanks` takes for blanks."""
    is_blank = tf.gather(_BLANKS, tf.minimum(points, len(_BLANKS) - 1))
    return is_blank | (points == _BYTE_ORDER_MARK)


def _with_first_blanks(is_kept, places):
    """Also marks the first blank between two characters that are kept."""
    kept = is_kept.flat_values
    after_kept = tf.concat([[False], kept[:-1]], 0) & (places.flat_values > 0)
    # The last one of each text, or -1.
    last = tf.reduce_max(
        places.with_flat_values(tf.where(kept, places.flat_values, -1)), axis=1
    )
    last = tf.gather(last, rows_of(places))
    return is_kept.with_flat_values(
        kept | (after_kept & (places.flat_values < last))
    )
