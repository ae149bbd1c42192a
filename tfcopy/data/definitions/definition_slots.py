"""Slots: distinct things that a batch reads once each.

Shapes: B sentences, T words, U distinct things, numbered from 1; slot 0 belongs
to words without any.
"""

import tensorflow as tf

from tfcopy import tokens as special


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
    """Which words are too frequent to get a definition.

    Unknown words never are; ids are assumed to be ordered by frequency, as in a
    counted `Vocabulary`. The special tokens do not count: 1 is only the most
    frequent word.

    Args:
        ids: int32 of any shape, words of the text's vocabulary.
        top_k: How many of the most frequent words; -1 for all known words,
            0 or `None` for no word.

    Returns:
        Boolean tensor of the shape of `ids`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3;
        the code counts the special tokens as words.
    """
    if not top_k:
        return tf.zeros_like(ids, tf.bool)
    is_known = ids != special.UNK
    if top_k == -1:
        return is_known
    return is_known & (ids < len(special.SPECIAL_TOKENS) + top_k)


def without_frequent(texts, ids, top_k, nothing):
    """Texts in which `nothing` replaces words that are too frequent.

    Args:
        texts: Tensor of shape `(B, T)` or `(B, T, L)`, or a list, tuple or
            dict of such.
        ids: int32 of shape `(B, T)`, of the same structure; may be `None` if
            no word is too frequent.
        top_k: As in `is_frequent`.
        nothing: What such words become.

    Raises:
        ValueError: If `ids` are missing, or not of the shape of `texts`.
    """
    if not top_k:
        return texts
    if ids is None:
        raise ValueError(
            "With `exclude_top_k`, `ids` must be given. Received: None."
        )

    def replace(text, ids):
        shape, expected = ids.shape, text.shape
        if len(expected) - len(shape) == 1:
            ids, expected = ids[..., None], expected[:-1]
        if not expected.is_compatible_with(shape):
            raise ValueError(
                "`ids` must have the shape of the words, "
                f"{tuple(expected)}. Received: {tuple(shape)}."
            )
        return tf.where(is_frequent(ids, top_k), nothing, text)

    tensors = [
        [tf.convert_to_tensor(x) for x in tf.nest.flatten(structure)]
        for structure in (texts, ids)
    ]
    if len(tensors[0]) != len(tensors[1]):
        raise ValueError(
            f"Expected `ids` for {len(tensors[0])} texts. Received: "
            f"{len(tensors[1])}."
        )
    replaced = [replace(*pair) for pair in zip(*tensors)]
    return tf.nest.pack_sequence_as(texts, replaced)


def num_fillers(size, multiple):
    """How many rows to add to `size`, for a multiple that is not 0."""
    multiple = multiple or 1
    return tf.where(size == 0, multiple, -size % multiple)


def check_options(**options):
    """Raises a ValueError that names an option out of its range.

    Args:
        **options: `exclude_top_k` may be -1, 0 or `None`; others are at least
            1, or `None`.
    """
    for name, value in options.items():
        least = -1 if name == "exclude_top_k" else 1
        if value is not None and value < least:
            raise ValueError(
                f"`{name}` must be at least {least}, or None. Received: "
                f"{name}={value}."
            )
