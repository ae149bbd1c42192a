"""The beginning of texts, as far as a model reads them."""

import tensorflow as tf

# Bytes for each token to begin with; most have fewer.
_BYTES = 64
_GROWTH = 16


def readable_text(text, tokenizer, count: int):
    """Texts without what is far behind their first tokens.

    A model that reads 200 words of a text need not cut all of its ten million
    characters into words. The first tokens are those of the whole text: as
    much of it is kept as has `tokenizer.reach` more of them, since only so many
    depend on where a text ends.

    Args:
        text: Strings, `(B,)`.
        tokenizer: `Tokenizer` or `SentencepieceTokenizer`.
        count: Number of tokens that are read.

    Returns:
        Strings, `(B,)`.
    """
    lengths = tf.cast(tf.strings.length(text), tf.int64)

    def beginning(size):
        begun = tf.strings.substr(text, tf.zeros_like(size), size)
        if tokenizer.cuts_words:
            whole = tf.strings.regex_replace(begun, r"\S*$", "", False)
            begun = tf.where(lengths > size, whole, begun)
        return begun

    def is_too_short(size):
        tokens = tokenizer.tokenize(beginning(size)).row_lengths()
        has_too_few = tokens < count + tokenizer.reach
        return tf.reduce_any((lengths > size) & has_too_few)

    def goes_on(size):
        return tf.cond(
            tf.reduce_any(lengths > size),
            lambda: is_too_short(size),
            lambda: tf.constant(False),
        )

    (size,) = tf.while_loop(
        goes_on,
        lambda size: [size * _GROWTH],
        [tf.constant(_BYTES * (count + tokenizer.reach), tf.int64)],
    )
    return beginning(size)
