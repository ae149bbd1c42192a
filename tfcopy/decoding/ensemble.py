"""Ensemble of several models, for beam search.

Shapes: B batch, K beams, S source steps, V target vocabulary, M members.
"""

import math

from keras import ops

from tfcopy.layers.copying import CopyDistribution
from tfcopy.layers.loop import Memory


class Ensemble:
    """Model whose distribution is the mean over several models.

    The mean is over probabilities, not over their logs. It includes all ways to
    produce a token: one member may generate it where another points at it. This
    equals a mean of each part, of generated tokens and of source positions,
    over all members.

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
        return _together(memories), states

    def restrict(self, memory, candidate_ids, log_weights=None):
        """Restricts the vocabulary, as `Seq2Seq.restrict` does."""
        return _together(
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
        attention = sum(attentions) / len(attentions)
        return _mean(distributions), attention, states

    def _parts(self, memory):
        """Returns the members, each with its memory."""
        names = map(str, range(len(self.models)))
        return [(m, memory.part(name)) for m, name in zip(self.models, names)]


def _together(memories):
    whole = Memory({}, {})
    for number, memory in enumerate(memories):
        whole = whole.updated(*memory.nested(str(number)))
    return whole


def _mean(distributions):
    """Computes the mean of `CopyDistribution`s with the same shapes."""

    def generated(x):
        logits = ops.cast(x.generate_logits, "float32")
        words = ops.log_softmax(logits, axis=-1)
        return words + ops.expand_dims(x.log_generate, -1)

    return CopyDistribution(
        # The softmax of these is the mean over generated tokens, since
        # log_generate is their normaliser.
        generate_logits=_log_mean(map(generated, distributions)),
        log_generate=_log_mean(x.log_generate for x in distributions),
        copy_log_probs=_log_mean(x.copy_log_probs for x in distributions),
        attention=_log_mean(x.attention for x in distributions),
    )


def _log_mean(log_probs):
    several = ops.stack(list(log_probs), axis=-1)
    return ops.logsumexp(several, axis=-1) - math.log(several.shape[-1])
