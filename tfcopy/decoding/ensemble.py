"""Several models that search as one.

Shapes: B batch, K beams, S source steps, V target vocabulary, M members.
"""

import math

from keras import ops

from tfcopy.layers.copying import CopyDistribution
from tfcopy.layers.loop import Memory


class Ensemble:
    """Searches by the mean of the distributions of several models.

    The mean is that of probabilities, not of their logs, and of all ways to
    say a word: one member may generate it where another one points at it. Each
    part of a member's distribution, the words that it generates and the
    positions that it points at, is averaged with the same part of the others,
    which is the same.

    Args:
        models: `Seq2Seq`s of the same target vocabulary, which read the same
            source ids.

    Raises:
        ValueError: If there is no model, or they do not fit together.
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
                "The `models` of an ensemble must read ids alone, no "
                "definitions."
            )
        (self.vocabulary_size,) = sizes
        self.source_inputs = ()

    @property
    def variables(self) -> list:
        """The variables of all members."""
        return [x for model in self.models for x in model.variables]

    def encode(self, source_ids, source_copy_ids):
        """As `Seq2Seq.encode`; each member has its own memory and state."""
        found = [
            model.encode(source_ids, source_copy_ids) for model in self.models
        ]
        memories, states = zip(*found)
        return _together(memories), states

    def restrict(self, memory, candidate_ids, log_weights=None):
        """As `Seq2Seq.restrict`."""
        return _together(
            model.restrict(part, candidate_ids, log_weights)
            for model, part in self._parts(memory)
        )

    def decode_step(self, ids, state, memory):
        """As `Seq2Seq.decode_step`, with the mean of all distributions."""
        found = [
            model.decode_step(ids, own, part)
            for (model, part), own in zip(self._parts(memory), state)
        ]
        distributions, attentions, states = zip(*found)
        attention = sum(attentions) / len(attentions)
        return _mean(distributions), attention, states

    def _parts(self, memory):
        """The members, each with its memory."""
        names = map(str, range(len(self.models)))
        return [(m, memory.part(name)) for m, name in zip(self.models, names)]


def _together(memories):
    whole = Memory({}, {})
    for number, memory in enumerate(memories):
        whole = whole.updated(*memory.nested(str(number)))
    return whole


def _mean(distributions):
    """The mean of `CopyDistribution`s of the same words and positions."""

    def generated(x):
        logits = ops.cast(x.generate_logits, "float32")
        words = ops.log_softmax(logits, axis=-1)
        return words + ops.expand_dims(x.log_generate, -1)

    return CopyDistribution(
        # Their softmax is the mean of generated words: log_generate is their
        # normaliser.
        generate_logits=_log_mean(map(generated, distributions)),
        log_generate=_log_mean(x.log_generate for x in distributions),
        copy_log_probs=_log_mean(x.copy_log_probs for x in distributions),
        attention=_log_mean(x.attention for x in distributions),
    )


def _log_mean(log_probs):
    several = ops.stack(list(log_probs), axis=-1)
    return ops.logsumexp(several, axis=-1) - math.log(several.shape[-1])
