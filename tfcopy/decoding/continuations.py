"""The words that may come next, few enough to rank.

A beam never looks at all V + S words: the K best words to generate and the S
positions to point at hold its K best, exactly.

Shapes: B batch, K beams, C generated words, S source steps, V target
vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import MASKED, gather_last
from tfcopy.layers.cutting import repeat

_ALMOST_ALL = 1.0 - 1e-6


class Source(NamedTuple):
    """What a search needs to know of the source, made once per sentence.

    Attributes:
        ids: Copy ids, `(B, S)`.
        valid: Boolean, `(B, S)`; positions that may be copied.
        first: Boolean, `(B, S)`; a word's first position.
        same: `(B, S, S)`, 1.0 where two positions hold one word.
        real: Boolean, `(B, S)`; all but the padding.
        missing: Boolean, `(B, V)`, words of `source_only` that it does not
            hold; or `None`.
    """

    ids: Any
    valid: Any
    first: Any
    same: Any
    real: Any
    missing: Any = None


class Continuations(NamedTuple):
    """Next words of each beam: C generated ones, then the S positions.

    Attributes:
        ids: Extended ids, `(B, K, C + S)`.
        log_probs: `(B, K, C + S)`, about `MASKED` where not allowed.
        copied_from: `(B, K, C + S)`; `tokens.GENERATE` if (mostly) generated.
        copied: `(B, K, S)`, the logs of pointing at each position, where
            `copied_from` is but the word's first position and `best_place`
            tells which one it is; else `None`.
    """

    ids: Any
    log_probs: Any
    copied_from: Any
    copied: Any = None


def describe_source(
    source_ids, source_copy_ids, vocabulary_size, source_only=()
):
    """`Source` of a batch of ids and of copy ids, both `(B, S)`."""
    valid = source_copy_ids >= 0
    same = ops.expand_dims(source_copy_ids, 2) == ops.expand_dims(
        source_copy_ids, 1
    )
    same = ops.logical_and(same, ops.expand_dims(valid, 1))
    positions = ops.arange(ops.shape(source_copy_ids)[1], dtype="int32")
    first = ops.argmax(ops.cast(same, "int32"), axis=-1)
    first = ops.cast(first, "int32") == positions
    missing = None
    if source_only:
        words = ops.convert_to_tensor(source_only, dtype="int32")
        is_at = ops.expand_dims(source_copy_ids, 1) == ops.reshape(
            words, (1, -1, 1)
        )
        absent = ops.logical_not(ops.any(is_at, axis=-1))
        onehot = ops.one_hot(words, vocabulary_size, dtype="float32")
        missing = ops.matmul(ops.cast(absent, "float32"), onehot) > 0
    return Source(
        source_copy_ids,
        valid,
        ops.logical_and(first, valid),
        ops.cast(same, "float32"),
        source_ids != tokens.PAD,
        missing,
    )


def next_words(distribution, source, options, step, extra=0):
    """The continuations of one step.

    Args:
        distribution: A `CopyDistribution` of `(B * K, 1, ...)`.
        source: `Source`.
        options: `SearchOptions`.
        step: Number of words so far; scalar tensor.
        extra: How many more words a later filter may remove from a beam.

    Returns:
        `Continuations`.
    """
    beams = options.num_beams
    size = ops.shape(source.ids)[1]
    logits = ops.cast(distribution.generate_logits[:, 0], "float32")
    copied = ops.reshape(distribution.copy_log_probs, (-1, beams, size))

    forbidden = [tokens.PAD, tokens.BOS]
    if options.forbid_unk:
        forbidden.append(tokens.UNK)
    # One more for EOS, which may be too early or is set aside.
    count = min(beams + len(forbidden) + 1 + extra, logits.shape[-1])
    log_probs, ids = ops.top_k(_sayable(logits, source, options), count)
    # The normaliser, from the softmax (one fused operation) of the best word.
    best = ops.take_along_axis(ops.softmax(logits, axis=-1), ids[:, :1], axis=1)
    offset = distribution.log_generate + ops.log(best) - log_probs[:, :1]
    if options.forbid_unk and options.rescale:
        rest = _log_rest(logits[:, tokens.UNK : tokens.UNK + 1] + offset)
        offset = offset - rest
        copied = copied - ops.reshape(rest, (-1, beams, 1))
    ids = ops.reshape(ops.cast(ids, "int32"), (-1, beams, count))
    log_probs = ops.reshape(log_probs + offset, (-1, beams, count))

    word_ids = ops.expand_dims(source.ids, 1)  # (B, 1, S)
    word_ids = ops.broadcast_to(word_ids, ops.shape(copied))
    allowed = ops.expand_dims(source.valid, 1)
    positions = ops.arange(size, dtype="int32")
    copied_from = ops.broadcast_to(positions, ops.shape(copied))
    pointing = None
    if options.merge == "sum":
        pointing = copied
        copied, is_copied = _merge(logits, offset, copied, source)
        copied_from = ops.where(is_copied, copied_from, tokens.GENERATE)
        allowed = ops.expand_dims(source.first, 1)
        # A generated word that the source holds is already among the copied.
        doubles = ops.any(
            ops.expand_dims(ids, 3)
            == ops.expand_dims(ops.expand_dims(source.ids, 1), 1),
            axis=-1,
        )
        log_probs = ops.where(doubles, MASKED, log_probs)
    copied = ops.where(allowed, copied, MASKED)

    ids = ops.concatenate([ids, word_ids], axis=-1)
    log_probs = ops.concatenate([log_probs, copied], axis=-1)
    # Whether generated or copied.
    banned = ops.logical_and(ids == tokens.EOS, step < options.min_length)
    for word in forbidden:
        banned = ops.logical_or(banned, ids == word)
    generated = ops.full_like(ids[:, :, :count], tokens.GENERATE)
    return Continuations(
        ids,
        ops.where(banned, MASKED, log_probs),
        ops.concatenate([generated, copied_from], axis=-1),
        pointing,
    )


def _sayable(logits, source, options):
    """Logits without those of words that the source would have to hold."""
    if source.missing is None:
        return logits
    missing = repeat(source.missing, options.num_beams)
    return ops.where(missing, MASKED, logits)


def _log_rest(log_prob):
    """`log(1 - p)`, finite even where nothing is left."""
    return ops.log1p(-ops.minimum(ops.exp(log_prob), _ALMOST_ALL))


def _merge(logits, offset, copied, source):
    """Merges all ways to produce the word at each position.

    Returns:
        `(log_probs, is_copied)`, both `(B, K, S)`; whether pointing is the
        greater part.
    """
    beams = copied.shape[1]
    vocabulary_size = logits.shape[-1]
    in_vocabulary = ops.logical_and(source.valid, source.ids < vocabulary_size)
    ids = ops.where(in_vocabulary, source.ids, tokens.UNK)
    ids = repeat(ids, beams)  # (B * K, S)
    generated = ops.take_along_axis(logits, ids, axis=1) + offset
    generated = ops.reshape(
        generated,
        (-1, *copied.shape[1:2], copied.shape[2] or ops.shape(copied)[2]),
    )
    generated = ops.where(ops.expand_dims(in_vocabulary, 1), generated, MASKED)
    # (B, K, S) x (B, S, S): each position gets the mass of its word.
    mass = ops.matmul(ops.exp(copied), source.same)
    total = ops.where(mass > 0, ops.log(ops.maximum(mass, 1e-38)), MASKED)
    return ops.logaddexp(generated, total), total > generated


def best_place(copied, source, ids, copied_from):
    """The position at which each copied word is pointed at most, `(B, K)`.

    Args:
        copied: The logs of pointing at each position, `(B, K, S)`.
        source: `Source`.
        ids: Extended ids, `(B, K)`.
        copied_from: `tokens.GENERATE` where the word is generated, `(B, K)`.
    """
    holds = ops.expand_dims(source.ids, 1) == ops.expand_dims(ids, 2)
    # Never a position that must not be copied: no word has its id.
    best = ops.argmax(ops.where(holds, copied, 2 * MASKED), axis=-1)
    best = ops.cast(best, "int32")
    return ops.where(copied_from == tokens.GENERATE, tokens.GENERATE, best)


def log_prob_of(distribution, source, ids, beams):
    """`log p` and position of one given word per sentence, for prefixes.

    Args:
        distribution: A `CopyDistribution` of `(B * K, 1, ...)`.
        source: `Source`.
        ids: Extended ids, `(B,)`.
        beams: K.

    Returns:
        `(log_probs, copied_from)`, both `(B, K)`.
    """
    logits = ops.cast(distribution.generate_logits[:, 0], "float32")
    vocabulary_size = logits.shape[-1]
    size = ops.shape(source.ids)[1]
    in_vocabulary = ops.expand_dims(ids < vocabulary_size, 1)
    repeated = repeat(ops.where(ids < vocabulary_size, ids, tokens.UNK), beams)
    generated = gather_last(logits, repeated)
    generated = generated + distribution.generate_offset[:, 0]
    generated = ops.reshape(generated, (-1, beams))
    copied = ops.reshape(distribution.copy_log_probs, (-1, beams, size))
    match = ops.logical_and(source.ids == ops.expand_dims(ids, 1), source.valid)
    copied = ops.where(ops.expand_dims(match, 1), copied, MASKED)
    total = ops.maximum(ops.logsumexp(copied, axis=-1), MASKED)
    best = ops.cast(ops.argmax(copied, axis=-1), "int32")
    # A word that can be neither generated nor copied counts as UNK.
    possible = ops.logical_or(in_vocabulary, total <= MASKED / 2)
    generated = ops.where(possible, generated, MASKED)
    return (
        ops.logaddexp(generated, total),
        ops.where(total > generated, best, tokens.GENERATE),
    )
