"""Search among some words of a large vocabulary.

Shapes: B batch, S source steps, T target steps, K candidates.
"""

import dataclasses

from keras import ops

from tfcopy.decoding.beam_search import beam_search
from tfcopy.layers.heads.restricted_vocabulary import restrict


def search_among(
    candidate_ids,
    model,
    source_ids,
    source_copy_ids,
    options=None,
    prefix=None,
    source_inputs=None,
):
    """`beam_search` that generates no words but the candidates.

    All words of a source can still be copied, those of the vocabulary too.

    Args:
        candidate_ids: `(K,)`, without repetition; the special tokens must
            come first, in their own order.
        model: A `Seq2Seq`.
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        options: `SearchOptions`.
        prefix: As in `beam_search`.
        source_inputs: As in `beam_search`.

    Returns:
        `SearchResult`, in extended ids of the whole vocabulary.
    """
    if options is not None and options.source_only:
        places = {int(word): i for i, word in enumerate(candidate_ids)}
        kept = tuple(places[x] for x in options.source_only if x in places)
        options = dataclasses.replace(options, source_only=kept)
    candidate_ids = ops.convert_to_tensor(candidate_ids, dtype="int32")

    def renumber(ids):
        return restrict(
            ids, source_copy_ids, candidate_ids, model.vocabulary_size
        )

    few = _Restricted(model, candidate_ids, source_copy_ids)
    result = beam_search(
        few,
        source_ids,
        renumber(source_copy_ids),
        options,
        None if prefix is None else renumber(prefix),
        source_inputs,
    )
    shape = ops.shape(result.ids)  # (B, N, L)
    ids = ops.reshape(result.ids, (shape[0], -1))
    ids = _whole(ids, candidate_ids, source_copy_ids)
    return result._replace(ids=ops.reshape(ids, shape))


class _Restricted:
    """The model, restricted to a vocabulary of the candidates."""

    def __init__(self, model, candidate_ids, source_copy_ids):
        self.model = model
        self.candidate_ids = candidate_ids
        self.source_copy_ids = source_copy_ids
        self.vocabulary_size = candidate_ids.shape[0]

    def encode(self, source_ids, _, **source_inputs):
        return self.model.encode(
            source_ids, self.source_copy_ids, **source_inputs
        )

    def decode_step(self, ids, state, memory):
        ids = _whole(
            ids, self.candidate_ids, memory.sentences["source_copy_ids"]
        )
        return self.model.decode_step(ids, state, memory, self.candidate_ids)


def _whole(ids, candidate_ids, source_copy_ids):
    """The inverse of `restrict`: `(B, T)` to extended ids, `(B, T)`."""
    count = candidate_ids.shape[0]
    generated = ops.take(candidate_ids, ops.minimum(ids, count - 1))
    places = ops.maximum(ids - count, 0)
    copied = ops.take_along_axis(source_copy_ids, places, axis=1)
    return ops.where(ids < count, generated, copied)
