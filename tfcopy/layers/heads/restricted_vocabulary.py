"""The large vocabulary trick: an output layer of a few words per batch.

A head given `candidate_ids` has logits for these words only. If a batch's words
are numbered in that smaller vocabulary, the loss of any head works unchanged.

Shapes: B batch, T target steps, S source steps, K candidates, V vocabulary.
"""

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import matches


def restrict(ids, source_copy_ids, candidate_ids, vocabulary_size):
    """Extended ids in the vocabulary of the candidates.

    A word becomes its index among the candidates; else K plus the first source
    position that holds it; else UNK.

    Args:
        ids: Extended ids, `(B, T)`; negative ones are unchanged.
        source_copy_ids: `(B, S)`.
        candidate_ids: `(K,)`, without repetition; the special tokens must
            come first, in their own order.
        vocabulary_size: V.

    Returns:
        `(B, T)`, int32.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1.
    """
    count = ops.shape(candidate_ids)[0]
    places = ops.scatter_update(
        ops.full((vocabulary_size,), -1, dtype="int32"),
        ops.expand_dims(candidate_ids, 1),
        ops.arange(count, dtype="int32"),
    )
    place = ops.take(places, ops.clip(ids, 0, vocabulary_size - 1))
    is_candidate = ops.logical_and(ids < vocabulary_size, place >= 0)
    is_at = matches(ids, source_copy_ids)  # (B, T, S)
    first = ops.cast(ops.argmax(ops.cast(is_at, "int8"), axis=-1), "int32")
    copied = ops.where(ops.any(is_at, axis=-1), count + first, tokens.UNK)
    return ops.where(ids < 0, ids, ops.where(is_candidate, place, copied))
