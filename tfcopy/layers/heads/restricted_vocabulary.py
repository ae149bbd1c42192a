"""The large vocabulary trick: an output layer of a few words a batch.

A head given `candidate_ids` has logits for these words alone. What is left to
do is to number a batch's words as that smaller vocabulary would: the loss of
any head then works as it is.

Shapes: B batch, T target steps, S source steps, K candidates, V vocabulary.
"""

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import matches


def restrict(ids, source_copy_ids, candidate_ids, vocabulary_size):
    """Extended ids of a vocabulary that holds the candidates alone.

    A word becomes its place among the candidates; else K and the first source
    position that holds it; else UNK.

    Args:
        ids: Extended ids, `(B, T)`; negative ones stay as they are.
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
    known = ops.take(places, ops.clip(ids, 0, vocabulary_size - 1))
    known = ops.where(ids < vocabulary_size, known, -1)
    held = matches(ids, source_copy_ids)  # (B, T, S)
    first = ops.cast(ops.argmax(ops.cast(held, "int8"), axis=-1), "int32")
    copied = ops.where(ops.any(held, axis=-1), count + first, tokens.UNK)
    return ops.where(ids < 0, ids, ops.where(known >= 0, known, copied))
