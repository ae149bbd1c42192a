"""Candidates for the next token of each beam, few enough to rank.

A beam does not rank all V + S continuations. Its K best are, exactly, among the
K best generated tokens and the S source positions. All ways to produce a token
are merged into one continuation. For a token of the source, this is its first
position.

Shapes: B batch, K beams, C generated tokens, S source steps, V target
vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.decoding import required_tokens, sampling
from tfcopy.layers.copying import MASKED, gather_last, matches, same_words
from tfcopy.layers.tensors import argmax, repeat, take, take_each, top_k

_ALMOST_ALL = 1.0 - 1e-6


class Source(NamedTuple):
    """Tensors that describe the source, computed once per sentence.

    Attributes:
        ids: Copy ids, `(B, S)`.
        valid: Boolean, `(B, S)`; positions that may be copied.
        word: `(B, S)`, the first position that holds the same token.
        first: Boolean, `(B, S)`; one position of each token among the positions
            where a run begins, and one among all others: the first one, if
            possible in a run.
        same: `(B, S, S)`, 1.0 where two positions hold the same token.
        real: Boolean, `(B, S)`; all but the padding.
        known: Boolean, `(B, S)`; tokens of the target vocabulary.
        missing: Boolean, `(B, V)`, tokens that are never generated: tokens of
            `source_only` that the source does not hold, and required ones,
            which are continuations at their first position; or `None`.
        runs: The `Runs` of required tokens, or `None`.
        keys: Hashes of the texts, `(B,)`, or `None`.
    """

    ids: Any
    valid: Any
    word: Any
    first: Any
    same: Any
    real: Any
    known: Any
    missing: Any = None
    runs: Any = None
    keys: Any = None


class Continuations(NamedTuple):
    """Next tokens of each beam: C generated ones, then the S positions.

    Attributes:
        ids: Extended ids of the generated tokens, `(B, K, C)`. The ids of the
            positions are in `Source`.
        log_probs: `(B, K, C + S)`, about `MASKED` where not allowed.
        copied: `(B, K, S)`, `log p` of pointing at each position, not merged.
            `best_place` selects the copied position from them.
        is_copied: Boolean, `(B, K, S)`; whether copying is the likeliest way to
            produce the token.
        first_from: `(B, K)`; if a token is forced, it is the first of the
            generated ones, and this is the position that it is copied from, or
            `tokens.GENERATE`. `None` if no token is forced.
        kinds: int32, `(B, K, S)`, the kind of each position's continuation,
            from `required_tokens.ways`. `None` without required tokens.
        following: `following` of `required_tokens.Left`.
        left: int32, `(B, K, C + S)`, the number of required tokens that are
            left after each.
    """

    ids: Any
    log_probs: Any
    copied: Any
    is_copied: Any
    first_from: Any = None
    kinds: Any = None
    following: Any = None
    left: Any = None

    def words(self, source):
        """Returns the extended ids of all, `(B, K, C + S)`."""
        shape = (*ops.shape(self.ids)[:2], ops.shape(source.ids)[1])
        copied = ops.broadcast_to(ops.expand_dims(source.ids, 1), shape)
        return ops.concatenate([self.ids, copied], axis=-1)

    def choose(self, chosen, source):
        """Looks up continuations that were chosen among a sentence's beams.

        Args:
            chosen: Indices into `log_probs`, flattened to `(B, K * (C + S))`;
                `(B, N)`.
            source: `Source`.

        Returns:
            `(parents, words, copied_from, kinds)`: the beams that they extend,
            extended ids, the positions that they are copied from
            (`tokens.GENERATE` if generated), and their kinds, for
            `required_tokens.update`; all `(B, N)`.
        """
        beams = self.ids.shape[1]
        number = self.ids.shape[2] or ops.shape(self.ids)[2]
        size = ops.shape(source.ids)[1]
        parents = chosen // (number + size)
        place = chosen - parents * (number + size)
        position = ops.maximum(place - number, 0)
        is_position = place >= number
        among = parents * number + ops.minimum(place, number - 1)
        ids = ops.reshape(self.ids, (-1, beams * number))
        words = ops.where(
            is_position, take_each(source.ids, position), take_each(ids, among)
        )

        def take_position(x):
            x = ops.reshape(x, (-1, beams * size))
            return take_each(x, parents * size + position)

        is_copied = is_position & take_position(self.is_copied)
        copied = take_each(self.copied, parents)
        kinds = ops.zeros_like(words)
        if self.kinds is not None:
            kinds = ops.where(is_position, take_position(self.kinds), kinds)
            within, nowhere, copied = required_tokens.places(
                words, kinds, take_each(self.following, parents), copied, source
            )
            # A token that cannot be generated is copied from its position.
            known = take_each(source.known, position)
            is_copied = (is_copied & ~(nowhere & known)) | within
        copied_from = ops.where(is_copied, position, tokens.GENERATE)
        if self.first_from is not None:
            first_from = take_each(self.first_from, parents)
            copied_from = ops.where(place == 0, first_from, copied_from)
            kinds = ops.where(place == 0, required_tokens.GIVEN, kinds)
        copied_from = best_place(copied, source, words, copied_from)
        return parents, words, copied_from, kinds


def describe_source(
    source_ids,
    source_copy_ids,
    vocabulary_size,
    source_only=(),
    protected=None,
    sample=False,
):
    """Computes the `Source` of a batch.

    Args:
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        vocabulary_size: V.
        source_only: As in `SearchOptions`.
        protected: `(B, S)`, positions of required tokens, as in `beam_search`;
            or `None`.
        sample: As in `SearchOptions`.
    """
    valid = source_copy_ids >= 0
    same, word = same_words(source_copy_ids)
    positions = ops.arange(ops.shape(source_copy_ids)[1], dtype="int32")
    missing, only = None, False
    if source_only:
        words = ops.convert_to_tensor(source_only, dtype="int32")
        is_at = matches(words, source_copy_ids)
        absent = ~ops.any(is_at, axis=-1)
        # A product with one-hot rows would store them all in the graph.
        missing = ops.scatter(
            ops.expand_dims(words, 1),
            ops.cast(ops.transpose(absent), "float32"),
            (vocabulary_size, ops.shape(absent)[0]),
        )
        missing = ops.transpose(missing) > 0
        only = ops.any(is_at, axis=1)
    first, runs = word, None
    if protected is not None:
        # Tokens that can only be copied must not come from inside a run.
        only = only | (source_copy_ids >= vocabulary_size)
        runs = required_tokens.describe(protected, same, valid, only)
        apart = required_tokens.find_continuations(
            source_copy_ids, runs.starts, vocabulary_size
        )
        missing = apart if missing is None else missing | apart
        alike = matches(runs.starts, runs.starts)
        # Positions in runs come first, since `possible` raises no others.
        inner = ops.expand_dims(ops.cast(runs.inner, "float32"), 1)
        first = argmax(ops.where(alike, same * (1.0 + inner), 0.0))
    return Source(
        source_copy_ids,
        valid,
        word,
        (ops.cast(first, "int32") == positions) & valid,
        same,
        source_ids != tokens.PAD,
        source_copy_ids < vocabulary_size,
        missing,
        runs,
        sampling.text_keys(source_copy_ids, valid) if sample else None,
    )


def next_words(distribution, source, options, step, extra=0):
    """Computes the continuations of one step.

    Args:
        distribution: A `CopyDistribution` of `(B, K, ...)`.
        source: `Source`.
        options: `SearchOptions`.
        step: Number of tokens so far; scalar tensor.
        extra: Maximum number of tokens that a later filter removes per beam.

    Returns:
        `Continuations`.
    """
    beams = options.num_beams
    logits = ops.cast(distribution.generate_logits, "float32")
    masked = _rows(_mask_missing(logits, source))
    logits = _rows(logits)  # (B * K, V)
    copied = distribution.copy_log_probs

    forbidden = [tokens.PAD, tokens.BOS]
    if options.forbid_unk:
        forbidden.append(tokens.UNK)
    # One more for EOS, which may be forbidden or set aside.
    count = beams + len(forbidden) + 1 + extra
    if logits.shape[-1] is None:
        count = ops.minimum(count, distribution.vocabulary_size)
    else:
        count = min(count, logits.shape[-1])
    if options.sample:  # from all tokens
        count = 1
    log_probs, ids = top_k(masked, count)
    # The normaliser, from the softmax (one fused operation) of the best token.
    best = take_each(ops.softmax(logits, axis=-1), ids[:, :1])
    log_generate = ops.reshape(distribution.log_generate, (-1, 1))
    offset = log_generate + ops.log(best) - log_probs[:, :1]
    if options.sample:
        log_probs, count = masked, ops.shape(masked)[1]
        ids = ops.zeros_like(masked, dtype="int32") + ops.arange(
            count, dtype="int32"
        )
    if options.forbid_unk and options.rescale:
        rest = _log_rest(logits[:, tokens.UNK : tokens.UNK + 1] + offset)
        offset = offset - rest
        copied = copied - ops.reshape(rest, (-1, beams, 1))
    ids = ops.reshape(ops.cast(ids, "int32"), (-1, beams, count))
    log_probs = ops.reshape(log_probs + offset, (-1, beams, count))

    def find_banned(words):
        """Returns which tokens must be neither generated nor copied."""
        is_banned = words == forbidden[0]
        for word in forbidden[1:]:
            is_banned = is_banned | (words == word)
        if options.min_length:
            too_early = step < options.min_length
            is_banned = is_banned | ((words == tokens.EOS) & too_early)
        return is_banned

    # Generated tokens that the source holds are merged with the copied ones.
    bans = find_banned(ids) | _is_in_source(ids, source, options)
    pointing = copied
    copied, is_copied = _merge(logits, offset, pointing, source, options)
    if source.runs is not None:
        copied = required_tokens.possible(copied, source.runs)
    allowed = ~find_banned(source.ids) & source.first
    log_probs = ops.where(bans, MASKED, log_probs)
    copied = ops.where(ops.expand_dims(allowed, 1), copied, MASKED)
    log_probs = ops.concatenate([log_probs, copied], axis=-1)
    return Continuations(ids, log_probs, pointing, is_copied)


def _is_in_source(ids, source, options):
    """Returns whether the source holds generated tokens, `(B, K or 1, C)`."""
    if options.sample:  # `ids` is the whole vocabulary
        held = required_tokens.find_continuations(
            source.ids, source.valid, ops.shape(ids)[2]
        )
        return ops.expand_dims(held, 1)
    return ops.any(matches(ids, ops.expand_dims(source.ids, 1)), axis=-1)


def _rows(x):
    return ops.reshape(x, (-1, x.shape[-1] or ops.shape(x)[-1]))


def _mask_missing(logits, source):
    """Masks the logits of tokens that are never generated."""
    if source.missing is None:
        return logits
    return ops.where(ops.expand_dims(source.missing, 1), MASKED, logits)


def _log_rest(log_prob):
    """Computes `log(1 - p)`, finite even where `p` is 1."""
    return ops.log1p(-ops.minimum(ops.exp(log_prob), _ALMOST_ALL))


def _merge(logits, offset, copied, source, options):
    """Merges all ways to produce each token of the source.

    Returns:
        `(log_probs, is_copied)`, both `(B, K, S)`. `is_copied` is `True` if
        copying is more probable than generating.
    """
    vocabulary_size = logits.shape[-1] or ops.shape(logits)[-1]
    in_vocabulary = source.valid & (source.ids < vocabulary_size)
    ids = ops.where(in_vocabulary, source.ids, tokens.UNK)
    ids = repeat(ids, options.num_beams)  # (B * K, S)
    generated = take_each(logits, ids) + offset
    generated = ops.reshape(generated, ops.shape(copied))
    generated = ops.where(ops.expand_dims(in_vocabulary, 1), generated, MASKED)
    if options.adds_ways:
        # (B, K, S) x (B, S, S): each position gets the mass of its word.
        mass = ops.matmul(ops.exp(copied), source.same)
        total = ops.where(mass > 0, ops.log(ops.maximum(mass, 1e-38)), MASKED)
        return ops.logaddexp(generated, total), total > generated
    rows, size = ops.shape(ids)
    word = repeat(source.word, options.num_beams)
    word += ops.expand_dims(ops.arange(rows, dtype="int32") * size, 1)
    word = ops.reshape(word, (-1,))
    best = ops.segment_max(ops.reshape(copied, (-1,)), word, rows * size)
    best = ops.reshape(take(best, word), ops.shape(copied))
    return ops.maximum(generated, best), best > generated


def best_place(copied, source, ids, copied_from):
    """Returns the most probable position of each copied token, `(B, K)`.

    Args:
        copied: `log p` of pointing at each position, `(B, K, S)`.
        source: `Source`.
        ids: Extended ids, `(B, K)`.
        copied_from: `tokens.GENERATE` where the token is generated, `(B, K)`.
    """
    # No token has the id of a position that must not be copied.
    best = argmax(ops.where(matches(ids, source.ids), copied, 2 * MASKED))
    return ops.where(copied_from == tokens.GENERATE, tokens.GENERATE, best)


def log_prob_of(distribution, source, ids, options):
    """Computes `log p` and position of a given token per sentence.

    Args:
        distribution: A `CopyDistribution` of `(B, K, ...)`.
        source: `Source`.
        ids: Extended ids of the next token of a prefix, `(B,)`.
        options: `SearchOptions`.

    Returns:
        `(log_probs, copied_from)`, both `(B, K)`.
    """
    logits = ops.cast(distribution.generate_logits, "float32")
    vocabulary_size = distribution.vocabulary_size
    known = ops.where(ids < vocabulary_size, ids, tokens.UNK)
    known = ops.reshape(
        repeat(known, options.num_beams), (-1, options.num_beams)
    )
    generated = gather_last(logits, known) + distribution.generate_offset
    copied = distribution.copy_log_probs
    match = (source.ids == ops.expand_dims(ids, 1)) & source.valid
    copied = ops.where(ops.expand_dims(match, 1), copied, MASKED)
    total, either = ops.max(copied, axis=-1), ops.maximum
    if options.adds_ways:
        total, either = ops.logsumexp(copied, axis=-1), ops.logaddexp
    total = ops.maximum(total, MASKED)
    best = argmax(copied)
    # A token that can be neither generated nor copied counts as UNK.
    possible = ops.expand_dims(ids < vocabulary_size, 1) | (total <= MASKED / 2)
    generated = ops.where(possible, generated, MASKED)
    copied_from = ops.where(total > generated, best, tokens.GENERATE)
    return either(generated, total), copied_from
