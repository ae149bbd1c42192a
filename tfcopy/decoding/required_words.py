"""Words of the source that a hypothesis must say, none of them too often.

A word is required as often as the source holds it. All ways to say it, of
generating it and of pointing at any of its positions, count as one, at its
first position. Of some words, such as `%s` and `%d`, the order counts, too: the
next one to be said is the first that has not been said.

Shapes: B batch, K beams, S source steps, V target vocabulary.
"""

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import MASKED
from tfcopy.layers.tensors import take_each

# The log-probability of a required word that the model gives less, or none:
# so that it can be said where nothing else may be.
LEAST = -1e3
# More than the times that any word is left to be said.
NO_TURN = 1e6


def is_required(protected, same):
    """Which positions hold a required word, boolean `(B, S)`.

    Args:
        protected: Boolean, `(B, S)`.
        same: `(B, S, S)`, 1.0 where two positions hold one word.
    """
    protected = ops.expand_dims(ops.cast(protected, "float32"), 2)
    return ops.squeeze(ops.matmul(same, protected), 2) > 0


def in_turn(protected, same):
    """The words whose order counts, as `Source.in_turn`, or `None`.

    Args:
        protected: `(B, S)`, as in `beam_search`.
        same: `(B, S, S)`, 1.0 where two positions hold one word.
    """
    if ops.dtype(protected) == "bool":
        return None
    positions = ops.arange(ops.shape(same)[1])
    is_later = ops.expand_dims(positions, 1) < positions
    num_later = ops.sum(ops.where(is_later, same, 0.0), axis=2)
    return ops.where(is_required(protected > 1, same), num_later, NO_TURN)


def generated_apart(source_ids, required, vocabulary_size):
    """Words that must not be generated beside their position, `(B, V)`."""
    batch, size = ops.shape(source_ids)
    hit = ops.logical_and(required, source_ids < vocabulary_size)
    columns = ops.where(hit, source_ids, tokens.PAD)
    rows = ops.zeros_like(columns) + ops.expand_dims(
        ops.arange(batch, dtype="int32"), 1
    )
    places = ops.stack([rows, columns], axis=2)
    hits = ops.scatter(
        ops.reshape(places, (-1, 2)),
        ops.reshape(ops.cast(hit, "float32"), (-1,)),
        (batch, vocabulary_size),
    )
    return hits > 0


def possible(copied, required):
    """`(B, K, S)` with at least `LEAST` at required words."""
    least = ops.where(required, LEAST, MASKED)
    return ops.maximum(copied, ops.expand_dims(least, 1))


def first_left(source):
    """How often each word must be said, `(B, S)`, at its first position."""
    counts = ops.cast(ops.sum(source.same, axis=2), "int32")
    here = ops.logical_and(source.required, source.first)
    return ops.where(here, counts, 0)


def after(left, parents, words, source):
    """How often each word must still be said.

    Args:
        left: int32, `(B, K, S)`.
        parents: `(B, N)`, beams.
        words: `(B, N)`, extended ids of the words that they have said.
        source: `Source`.
    """
    said = ops.expand_dims(source.ids, 1) == ops.expand_dims(words, 2)
    left = take_each(left, parents) - ops.cast(said, "int32")
    return ops.maximum(left, 0)


def constrain(continuations, source, left, step, max_length):
    """Forbids what would make a hypothesis incomplete, or say a word again.

    There is no end before all words have been said, and none is said more
    often than required, nor out of turn. Where there is just room for what is
    left, nothing else is said.

    Args:
        continuations: `Continuations`.
        source: `Source`.
        left: int32, `(B, K, S)`, how often each word must still be said.
        step: Number of words so far; scalar tensor.
        max_length: Most tokens of a hypothesis, EOS included.
    """
    count = ops.sum(left, axis=2, keepdims=True)  # (B, K, 1)
    unfinished = count > 0
    no_more = ops.logical_and(unfinished, count >= max_length - step - 1)
    too_early = ops.logical_and(continuations.ids == tokens.EOS, unfinished)
    generated = ops.logical_or(too_early, no_more)
    too_often = ops.logical_or(ops.expand_dims(source.required, 1), no_more)
    ends = ops.expand_dims(source.ids == tokens.EOS, 1)
    copied = ops.logical_or(too_often, ops.logical_and(ends, unfinished))
    copied = ops.logical_and(copied, left == 0)
    if source.in_turn is not None:
        copied = ops.logical_or(copied, _out_of_turn(source, left))
    bans = ops.concatenate([generated, copied], axis=2)
    log_probs = ops.where(bans, MASKED, continuations.log_probs)
    return continuations._replace(log_probs=log_probs)


def _out_of_turn(source, left):
    """Words whose order counts, but the next one of them, `(B, K, S)`."""
    # How often the word at each position is left; of its positions, the last.
    times = ops.matmul(ops.cast(left, "float32"), source.same)
    is_left = times > ops.expand_dims(source.in_turn, 1)
    following = ops.argmax(ops.cast(is_left, "int32"), axis=2)
    following = ops.expand_dims(take_each(source.word, following), 2)
    is_next = following == ops.expand_dims(source.word, 1)
    counts = ops.expand_dims(source.in_turn < NO_TURN, 1)
    return ops.logical_and(counts, ops.logical_not(is_next))


def exempt(bans, left):
    """Bans of continuations, without those of words that must be said.

    Args:
        bans: Boolean, `(B, K, C + S)`.
        left: int32, `(B, K, S)`.
    """
    generated = ops.shape(bans)[2] - ops.shape(left)[2]
    copied = ops.logical_and(bans[:, :, generated:], left == 0)
    return ops.concatenate([bans[:, :, :generated], copied], axis=2)
