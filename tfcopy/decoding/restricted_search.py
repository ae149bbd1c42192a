"""Beam search that generates only some words of a large vocabulary.

Shapes: B batch, S source steps, T target steps, K candidates.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy.decoding.beam_search import beam_search
from tfcopy.layers.heads.softmax_head import restrict


class Candidates(NamedTuple):
    """Words that a search may generate.

    Attributes:
        ids: `(K,)`, ascending, without repetition; they include the special
            tokens.
        log_weights: Optional `(B, K)`, added to the words' logits: 0, or
            `MASKED` for words that must not be generated for a sentence.
    """

    ids: Any
    log_weights: Any = None


def search_among(
    candidates,
    model,
    source_ids,
    source_copy_ids,
    options=None,
    prefix=None,
    source_inputs=None,
    protected=None,
):
    """Runs `beam_search` with generation restricted to the candidates.

    All words of a source can still be copied, even words of the vocabulary.

    Args:
        candidates: `Candidates`.
        model: A `Seq2Seq`.
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        options: `SearchOptions`. The words of `source_only` must be among the
            candidates, with the same index there as in the vocabulary.
        prefix: As in `beam_search`.
        source_inputs: As in `beam_search`.
        protected: As in `beam_search`.

    Returns:
        `SearchResult`, in extended ids of the whole vocabulary.
    """
    ids = ops.convert_to_tensor(candidates.ids, dtype="int32")
    candidates = candidates._replace(ids=ids)

    def renumber(ids):
        return restrict(
            ids, source_copy_ids, candidates.ids, model.vocabulary_size
        )

    few = _Restricted(model, candidates, source_copy_ids)
    result = beam_search(
        few,
        source_ids,
        renumber(source_copy_ids),
        options,
        None if prefix is None else renumber(prefix),
        source_inputs,
        protected,
    )
    shape = ops.shape(result.ids)  # (B, N, L)
    ids = ops.reshape(result.ids, (shape[0], -1))
    ids = _whole(ids, candidates.ids, source_copy_ids)
    return result._replace(ids=ops.reshape(ids, shape))


class _Restricted:
    """Model restricted to a vocabulary of the candidates."""

    def __init__(self, model, candidates, source_copy_ids):
        self.model = model
        self.candidates = candidates
        self.source_copy_ids = source_copy_ids
        ids = candidates.ids
        self.vocabulary_size = ids.shape[0] or ops.shape(ids)[0]

    def encode(self, source_ids, _, **source_inputs):
        memory, state = self.model.encode(
            source_ids, self.source_copy_ids, **source_inputs
        )
        memory = self.model.restrict(memory, *self.candidates)
        # Added here, since a model need not keep the copy ids in its memory.
        return memory.updated({"source_copy_ids": self.source_copy_ids}), state

    def decode_step(self, ids, state, memory):
        copy_ids = memory.sentences["source_copy_ids"]
        ids = _whole(ids, self.candidates.ids, copy_ids)
        return self.model.decode_step(ids, state, memory)


def _whole(ids, candidate_ids, source_copy_ids):
    """Inverts `restrict`: `(B, T)` to extended ids, `(B, T)`."""
    count = ops.shape(candidate_ids)[0]
    generated = ops.take(candidate_ids, ops.minimum(ids, count - 1))
    places = ops.maximum(ids - count, 0)
    copied = ops.take_along_axis(source_copy_ids, places, axis=1)
    return ops.where(ids < count, generated, copied)
