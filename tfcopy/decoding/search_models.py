"""Models that a search makes of others: an ensemble, and one of few words.

Shapes: B batch, S source steps, T target steps, K beams or candidates, V target
vocabulary, M members.
"""

import math
from typing import Any, NamedTuple

from keras import ops

from tfcopy.decoding.beam_search import beam_search
from tfcopy.layers.copying import CopyDistribution
from tfcopy.layers.heads.softmax_head import restrict
from tfcopy.layers.loop import Memory


class Ensemble:
    """Model whose distribution is the mean over several models.

    The mean is over probabilities, not over their logs. It includes all ways to
    produce a token: one member may generate it where another points at it. This
    equals a mean of each part, of generated tokens and of source positions,
    over all members.

    ```python
    other = models.copynet(9, 9, embedding_dim=4, units=4)
    ensemble = decoding.Ensemble([model, other])
    result = decoding.beam_search(ensemble, source_ids, source_copy_ids)
    ```

    Args:
        models: `Seq2Seq`s with the same source and target vocabularies.

    Raises:
        ValueError: If there is no model, or if the models do not match.
    """

    def __init__(self, models):
        self.models = tuple(models)
        sizes = {model.vocabulary_size for model in self.models}
        if len(sizes) != 1:
            raise ValueError(
                "The `models` of an ensemble must have the same target "
                f"vocabulary. Received: sizes {sorted(sizes)}."
            )
        if any(model.source_inputs for model in self.models):
            raise ValueError(
                "The `models` of an ensemble must take ids as their only "
                "inputs, and no definitions."
            )
        (self.vocabulary_size,) = sizes
        self.source_inputs = ()

    @property
    def variables(self) -> list:
        """The variables of all members."""
        return [x for model in self.models for x in model.variables]

    def encode(self, source_ids, source_copy_ids):
        """Encodes as `Seq2Seq.encode`, with a memory and a state per member."""
        found = [
            model.encode(source_ids, source_copy_ids) for model in self.models
        ]
        memories, states = zip(*found)
        return _join_memories(memories), states

    def restrict(self, memory, candidate_ids, log_weights=None):
        """Restricts the vocabulary, as `Seq2Seq.restrict` does."""
        return _join_memories(
            model.restrict(part, candidate_ids, log_weights)
            for model, part in self._parts(memory)
        )

    def decode_step(self, ids, state, memory):
        """Runs a step as `Seq2Seq.decode_step`; averages the distributions."""
        found = [
            model.decode_step(ids, own, part)
            for (model, part), own in zip(self._parts(memory), state)
        ]
        distributions, attentions, states = zip(*found)
        return _mean(distributions), sum(attentions) / len(attentions), states

    def _parts(self, memory):
        """Returns the members, each with its memory."""
        names = map(str, range(len(self.models)))
        return [(m, memory.part(name)) for m, name in zip(self.models, names)]


def _join_memories(memories):
    whole = Memory({}, {})
    for number, memory in enumerate(memories):
        whole = whole.update(*memory.nest(str(number)))
    return whole


def _mean(distributions):
    """Computes the mean of `CopyDistribution`s with the same shapes."""

    def get_generated(x):
        words = ops.log_softmax(ops.cast(x.generate_logits, "float32"), axis=-1)
        return words + ops.expand_dims(x.log_generate, -1)

    return CopyDistribution(
        # The softmax of these is the mean over generated tokens, since
        # log_generate is their normaliser.
        generate_logits=_log_mean(map(get_generated, distributions)),
        log_generate=_log_mean(x.log_generate for x in distributions),
        copy_log_probs=_log_mean(x.copy_log_probs for x in distributions),
        attention=_log_mean(x.attention for x in distributions),
    )


def _log_mean(log_probs):
    several = ops.stack(list(log_probs), axis=-1)
    return ops.logsumexp(several, axis=-1) - math.log(several.shape[-1])


class Candidates(NamedTuple):
    """Words that a search may generate.

    ```python
    candidates = decoding.Candidates(np.array([0, 1, 2, 3, 6, 8]))
    ```

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

    ```python
    candidates = decoding.Candidates(np.array([0, 1, 2, 3, 6, 8]))
    result = decoding.search_among(
        candidates, model, source_ids, source_copy_ids
    )
    ```

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

    result = beam_search(
        _Restricted(model, candidates, source_copy_ids),
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
        return memory.update({"source_copy_ids": self.source_copy_ids}), state

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
