"""Constrained search: runs of source tokens that a hypothesis must contain.

A run is one token, or several consecutive ones: a span of the text before its
tokenisation. A hypothesis must contain a run exactly as often as the source. If
several runs have the same first tokens, the tokens after these decide which run
it is. All ways to produce a token, by generating it and by pointing at any of
its positions, are equivalent. Some runs, such as `%s` and `%d`, must also keep
their order: only the first of those that are left may be next.

As a continuation, the first token of a run is at its first position where a run
begins. Any other token is at the first of its other positions in runs, or else
at its first position.

Shapes: B batch, K beams, S source steps, V target vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import MASKED, matches
from tfcopy.layers.tensors import argmax, take_each
from tfcopy.tokens import GOES_ON, IN_TURN

# Minimum of the log-probability of required tokens, which may be the only ones
# that are allowed.
LEAST = -1e3
# More than the number of occurrences of any run, and of all tokens.
NO_TURN = 1e6
_ALL = 2**30
# Kinds of continuations: a token outside of runs; the first token of a run; a
# later one; a token of the prefix, which may be any of these; a forbidden one.
PLAIN, BEGINS, CONTINUES, GIVEN, NEVER = range(5)


class Runs(NamedTuple):
    """Required runs of a source, all `(B, S)` but `same`.

    Attributes:
        starts: Boolean, the first position of each run.
        inner: Boolean, all later positions of runs.
        ends: Boolean, the last position of each run.
        first: For each position of a run, the start of the first equal run.
        length: Number of tokens of a run, at its start; 0 elsewhere.
        offset: Number of tokens of a run before a position.
        same: `(B, S, S)`, 1.0 where two equal runs begin.
        plain: Boolean, positions whose token is also allowed outside of runs.
        in_turn: At the start of a run that must keep the order of the source,
            the number of equal runs further on, elsewhere `NO_TURN`; or `None`
            if the order of no run is required.
    """

    starts: Any
    inner: Any
    ends: Any
    first: Any
    length: Any
    offset: Any
    same: Any
    plain: Any
    in_turn: Any


class Left(NamedTuple):
    """Required tokens that each beam has not generated yet.

    Attributes:
        counts: int32, `(B, K, S)`, the number of times that a run is left, at
            the start of the first equal run; 0 elsewhere.
        following: int32, `(B, K, S)`: `CONTINUES` at the next tokens of runs
            that have begun; `NEVER` at tokens that must not be next, since they
            would form a run out of tokens outside of runs; `PLAIN` elsewhere.
        done: int32, `(B, K)`, the start of the run that has just been
            completed, while a longer run may still continue; S after a token of
            the prefix that may be either the first of a run or outside of runs;
            otherwise -1.
    """

    counts: Any
    following: Any
    done: Any


def describe(protected, same, valid, only=False):
    """Computes the `Runs` of a batch.

    Args:
        protected: `(B, S)`, as in `beam_search`.
        same: `(B, S, S)`, 1.0 where two positions hold the same token.
        valid: Boolean, `(B, S)`; positions that may be copied.
        only: Boolean, `(B, S)`; positions of tokens that are allowed outside of
            runs only if the source holds them outside of runs, too.
    """
    has_turns = ops.dtype(protected) != "bool"
    protected = ops.where(valid, ops.cast(protected, "int32"), 0)
    positions = ops.arange(ops.shape(same)[1], dtype="int32")
    is_later = ops.expand_dims(positions, 1) < positions
    outer = protected != GOES_ON
    # Where the run of a position begins, and the number of its tokens.
    others = ops.expand_dims(outer, 1)
    begin = ops.max(ops.where(~is_later & others, positions, 0), axis=2)
    after = ops.where(is_later & others, positions, ops.shape(same)[1])
    length = ops.min(after, axis=2) - positions
    starts = outer & (protected > 0)
    inner = take_each(starts, begin) & ~outer

    def hold_a_word_of(mask):
        found = ops.matmul(same, ops.expand_dims(ops.cast(mask, "float32"), 2))
        return ops.squeeze(found, 2) > 0

    # If a token is a run of its own anywhere, it is one wherever it is alone.
    short = hold_a_word_of(starts & (length == 1))
    longer = inner | (starts & (length > 1))
    starts = starts | (short & ~longer)
    length = ops.where(starts, length, 0)
    equal = _equal_runs(same, starts, length)
    first = argmax(equal)
    in_run = starts | inner
    free = hold_a_word_of(~in_run)
    in_turn = None
    if has_turns:
        times = ops.sum(ops.where(is_later, equal, 0.0), axis=2)
        ordered = ops.cast(protected == IN_TURN, "float32")
        ordered = ops.matmul(equal, ops.expand_dims(ordered, 2))
        in_turn = ops.where(ops.squeeze(ordered, 2) > 0, times, NO_TURN)
    last = begin + take_each(length, begin) - 1
    return Runs(
        starts=starts,
        inner=inner,
        ends=in_run & (positions == last),
        first=take_each(first, begin),
        length=length,
        offset=positions - begin,
        same=equal,
        plain=free | ~(hold_a_word_of(starts) | only),
        in_turn=in_turn,
    )


def _equal_runs(same, starts, length):
    """Returns where two equal runs begin, `(B, S, S)`, 1.0 or 0.0."""
    size = ops.shape(same)[1]
    # Two runs are compared along a column, if indexed by their distance.
    different = ops.cumsum(_shift_to_distances(1.0 - same), axis=1)
    different = ops.pad(different, [[0, 0], [1, 0], [0, 0]])
    places = ops.arange(size, dtype="int32")
    found = take_each(different, places + length)
    found = found - different[:, :-1]
    equal = _shift_from_distances(ops.cast(found == 0, "float32"))
    # Not `transpose`: LiteRT's converter confuses it with one of the loop's.
    turned = ops.expand_dims(places * size, 0) + ops.expand_dims(places, 1)
    flat = ops.reshape(equal, (-1, size * size))
    equal = ops.maximum(equal, ops.take(flat, turned, axis=1))
    equal = equal * ops.cast(matches(length, length), "float32")
    starts = ops.cast(starts, "float32")
    return equal * ops.expand_dims(starts, 1) * ops.expand_dims(starts, 2)


def _shift_to_distances(x):
    """Moves `[p, p + d]` of `(B, S, S)` to `[p, d]`; 1.0 beyond the end."""
    size = ops.shape(x)[1]
    x = ops.pad(x, [[0, 0], [0, 0], [0, size]], constant_values=1.0)
    x = ops.pad(ops.reshape(x, (-1, 2 * size * size)), [[0, 0], [0, size]])
    return ops.reshape(x, (-1, size, 2 * size + 1))[:, :, :size]


def _shift_from_distances(x):
    """Moves `[p, d]` of `(B, S, S)` to `[p, p + d]`; 0.0 elsewhere."""
    size = ops.shape(x)[1]
    x = ops.pad(x, [[0, 0], [0, 0], [0, size + 1]])
    x = ops.reshape(x, (-1, size * (2 * size + 1)))[:, : 2 * size * size]
    return ops.reshape(x, (-1, size, 2 * size))[:, :, :size]


def find_continuations(source_ids, required, vocabulary_size):
    """Returns which tokens are continuations of positions only, `(B, V)`."""
    batch, size = ops.shape(source_ids)
    hit = required & (source_ids < vocabulary_size)
    columns = ops.where(hit, source_ids, tokens.PAD)
    rows = ops.zeros_like(columns) + ops.expand_dims(
        ops.arange(batch, dtype="int32"), 1
    )
    hits = ops.scatter(
        ops.reshape(ops.stack([rows, columns], axis=2), (-1, 2)),
        ops.reshape(ops.cast(hit, "float32"), (-1,)),
        (batch, vocabulary_size),
    )
    return hits > 0


def possible(copied, runs):
    """Raises log-probabilities, `(B, K, S)`, to at least `LEAST` in runs."""
    least = ops.where(runs.starts | runs.inner, LEAST, MASKED)
    return ops.maximum(copied, ops.expand_dims(least, 1))


def first_left(source):
    """Returns all required tokens of a source, as `Left` of `(B, ...)`."""
    runs = source.runs
    counts = ops.cast(ops.sum(runs.same, axis=2), "int32")
    places = ops.arange(ops.shape(counts)[1], dtype="int32")
    return Left(
        counts=ops.where(runs.starts & (runs.first == places), counts, 0),
        following=ops.zeros_like(counts),
        done=ops.full_like(counts[:, 0], -1),
    )


def is_complete(left):
    """Returns which beams contain all required tokens, if any, `(B, K)`."""
    if not isinstance(left, Left):
        return ops.all(left == 0, axis=2)
    return (ops.sum(left.counts, axis=2) == 0) & ~_must_go_on(left)


def _must_go_on(left):
    """Returns which beams have begun a run and must continue it, `(B, K)`."""
    return ops.any(left.following == CONTINUES, axis=2) & (left.done < 0)


def ways(source, left):
    """Returns the kind of each position as a continuation, int32 `(B, K, S)`.

    It is `BEGINS` if the token may begin a run, `CONTINUES` if it may continue
    one, `NEVER` if it is forbidden, and otherwise `PLAIN`.

    Args:
        source: `Source`.
        left: `Left`.
    """
    runs = source.runs
    beams = left.done.shape[1]
    following = left.following
    masks = [_may_begin(left, runs), following == CONTINUES, following == NEVER]
    masks = ops.cast(ops.concatenate(masks, axis=1), "float32")
    masks = ops.matmul(masks, source.same) > 0
    begins, continues, repeats = (
        masks[:, i * beams : (i + 1) * beams] for i in range(3)
    )
    go_on = ops.expand_dims(_must_go_on(left), 2)
    plain = ops.expand_dims(runs.plain, 1) & ~(go_on | repeats)
    return ops.where(
        ops.expand_dims(runs.starts, 1),
        ops.where(begins & ~go_on, BEGINS, NEVER),
        ops.where(continues, CONTINUES, ops.where(plain, PLAIN, NEVER)),
    )


def _may_begin(left, runs):
    """Returns where a run begins that is left and allowed next, `(B, K, S)`."""
    times = ops.matmul(ops.cast(left.counts, "float32"), runs.same)
    may_begin = times > 0
    if runs.in_turn is None:
        return may_begin
    # Among the ordered runs, the first that is left, at the last of its
    # positions.
    is_left = times > ops.expand_dims(runs.in_turn, 1)
    following = argmax(ops.cast(is_left, "int32"))
    following = ops.expand_dims(take_each(runs.first, following), 2)
    is_next = following == ops.expand_dims(runs.first, 1)
    return may_begin & (is_next | ~ops.expand_dims(runs.in_turn < NO_TURN, 1))


def update(left, parents, words, kinds, source):
    """Returns the required tokens that are left after a step.

    Args:
        left: `Left` of the beams before the step.
        parents: The beams that are extended, `(B, N)`.
        words: Extended ids of the new tokens, `(B, N)`.
        kinds: Kinds of the new tokens, `(B, N)`: `BEGINS`, `CONTINUES` or
            `PLAIN`, or `GIVEN` for tokens of the prefix.
        source: `Source`.
    """
    runs = source.runs
    left = Left(*(take_each(x, parents) for x in left))
    holds = matches(words, source.ids)
    kinds = ops.expand_dims(kinds, 2)
    later = holds & (left.following == CONTINUES) & (kinds >= CONTINUES)
    goes_on = ops.any(later, axis=2, keepdims=True)
    places = ops.arange(ops.shape(source.ids)[1], dtype="int32")
    begun = holds & ops.expand_dims(runs.first == places, 1)
    begun = begun & ((kinds == BEGINS) | (kinds == GIVEN))
    begun = begun & _may_begin(left, runs)
    here = ops.where(goes_on, later, begun)
    ends = ops.expand_dims(runs.ends, 1)
    first = ops.expand_dims(runs.first, 1)
    done = ops.max(ops.where(here & ends, first, -1), axis=2)
    counts = left.counts - _one_hot(done, places)
    # A longer run continues, so that the shorter one is left again.
    undone = ops.where(ops.squeeze(goes_on, 2), left.done, -1)
    counts = counts + _one_hot(undone, places)
    # A token of the prefix may begin a run although it is also allowed outside
    # of runs. Such a token is never a run of its own.
    either = begun & ops.expand_dims(runs.plain, 1)
    either = ops.any(either & (kinds == GIVEN) & ~goes_on, axis=2)
    done = ops.where(either, ops.shape(places)[0], done)
    # Where the first token of a run is used outside of runs.
    outside = holds & ops.expand_dims(runs.starts, 1)
    within = ops.any(here, axis=2, keepdims=True)
    within = ops.where(ops.expand_dims(either, 2), here, within)
    outside = outside & ~within
    following = ops.where(here, CONTINUES, ops.where(outside, NEVER, PLAIN))
    following = ops.where(ends, PLAIN, following)
    following = ops.pad(following, [[0, 0], [0, 0], [1, 0]])[:, :, :-1]
    done = ops.where(ops.any(following == CONTINUES, axis=2), done, -1)
    return Left(counts, following, done)


def repeats(words, left, ended):
    """Returns which beams repeat an earlier one, in tokens and in `Left`.

    If runs have the same first tokens, the same tokens may belong to runs in
    several ways.

    Args:
        words: All tokens so far, `(B, K, L)`.
        left: `Left`.
        ended: Boolean, `(B, K)`, beams for which `left` no longer matters.

    Returns:
        Boolean, `(B, K)`.
    """
    done = ops.expand_dims(left.done, 2)
    state = ops.concatenate([left.counts, left.following, done], axis=2)
    state = ops.where(ops.expand_dims(ended, 2), 0, state)
    state = ops.concatenate([words, state], axis=2)
    same = ops.expand_dims(state, 1) == ops.expand_dims(state, 2)
    rank = ops.arange(words.shape[1])
    earlier = rank < ops.expand_dims(rank, 1)
    return ops.any(ops.all(same, axis=3) & earlier, axis=2)


def _one_hot(places, positions):
    """Returns the one-hot of places, `(B, N)`, int32; zeros for -1."""
    return ops.cast(ops.expand_dims(places, 2) == positions, "int32")


def constrain(continuations, source, left, kinds, step, max_length):
    """Forbids continuations that would violate the required runs.

    EOS is forbidden as long as a run is left. A run is forbidden once it occurs
    as often as required, or before its turn. All tokens but those of runs are
    forbidden if the remaining length only just suffices for the runs that are
    left, and also if EOS would be the most probable one of the allowed tokens:
    the translation is complete but for them, and whatever else followed would
    repeat it.

    Args:
        continuations: `Continuations`.
        source: `Source`.
        left: `Left`.
        kinds: From `ways`.
        step: Number of tokens so far; scalar tensor.
        max_length: Maximum number of tokens of a hypothesis, including EOS.

    Returns:
        `Continuations`, with `kinds`, `following` and `left`.
    """
    go_on = ops.expand_dims(_must_go_on(left), 2)
    begun = ops.where(
        left.following == CONTINUES, ops.expand_dims(source.runs.offset, 1), 0
    )
    begun = ops.where(go_on, ops.max(begun, axis=2, keepdims=True), 0)
    count = left.counts * ops.expand_dims(source.runs.length, 1)
    count = ops.sum(count, axis=2, keepdims=True) - begun  # (B, K, 1)
    unfinished = count > 0
    no_more = go_on | (unfinished & (count >= max_length - step - 1))
    generated = ops.full_like(continuations.ids, PLAIN)
    of_all = ops.concatenate([generated, kinds], axis=2)
    log_probs = ops.where(of_all == NEVER, MASKED, continuations.log_probs)
    is_end = continuations.words(source) == tokens.EOS
    end = ops.max(ops.where(is_end, log_probs, MASKED), axis=2, keepdims=True)
    would_end = end == ops.max(log_probs, axis=2, keepdims=True)
    no_more = no_more | (unfinished & would_end)
    bans = (no_more | (is_end & unfinished)) & (of_all == PLAIN)
    log_probs = ops.where(bans, MASKED, log_probs)
    in_run = (of_all == BEGINS) | (of_all == CONTINUES)
    return continuations._replace(
        log_probs=log_probs,
        kinds=kinds,
        following=left.following,
        left=count - ops.cast(in_run, "int32"),
    )


def reserve_place(chosen, total, left):
    """Reserves the last place for one of those that lack the fewest tokens.

    It is the best of them, and has this place unless one of them is among the
    best anyway, until a hypothesis has ended, which then takes the last place.
    Otherwise hypotheses that say nothing required, and so can never end, would
    crowd out all others. This is the beam allocation of
    [Post and Vilar, 2018](https://arxiv.org/abs/1804.06609) with a single place
    that is not given by score. A single beam changes only between those that
    are exactly as probable, such as a token and the same one that begins a run.

    Args:
        chosen: Indices of the K best continuations, `(B, K)`.
        total: Log-probabilities of all hypotheses, `(B, N)`.
        left: Number of required tokens that each lacks, int32 `(B, N)`.
    """
    if chosen.shape[1] == 1:
        is_best = total == ops.max(total, axis=1, keepdims=True)
        total = ops.where(is_best, total, MASKED)
    left = ops.where(total > MASKED / 2, left, _ALL)
    is_fewest = left == ops.min(left, axis=1, keepdims=True)
    best = argmax(ops.where(is_fewest, total, 2 * MASKED))
    best = ops.cast(ops.expand_dims(best, 1), chosen.dtype)
    others = ops.concatenate([chosen[:, :-1], best], axis=1)
    is_there = ops.any(take_each(is_fewest, chosen), axis=1, keepdims=True)
    return ops.where(is_there, chosen, others)


def places(words, kinds, following, copied, source):
    """Restricts the positions that tokens of runs are copied from to the runs.

    Args:
        words: Extended ids of some continuations, `(B, N)`.
        kinds: Their kinds, `(B, N)`.
        following: `following` of `Left`, for the beams that they extend.
        copied: `log p` of pointing at each position, `(B, N, S)`.
        source: `Source`.

    Returns:
        `(within, nowhere, copied)`: boolean `(B, N)`, tokens that are part of a
        run of several tokens, or of any if nothing points; boolean `(B, N)`,
        tokens outside of runs that the source holds only in such runs; and
        `copied` with less than `MASKED` at positions that are not allowed.
    """
    runs, kinds = source.runs, ops.expand_dims(kinds, 2)
    longer = runs.starts & ~runs.ends
    # A head that never points: a run of one token, too, is the source's.
    alone = ops.all(copied <= MASKED / 2, axis=2, keepdims=True)
    alone = alone & ops.expand_dims(runs.starts, 1)
    begins = (kinds == BEGINS) & (alone | ops.expand_dims(longer, 1))
    continues = (kinds == CONTINUES) & (following == CONTINUES)
    holds = matches(words, source.ids)
    here = (begins | continues) & holds
    within = ops.any(here, axis=2)
    other = ops.expand_dims(within, 2) & ~here
    is_plain = kinds == PLAIN
    in_run = is_plain & ops.expand_dims(longer | runs.inner, 1)
    nowhere = ops.squeeze(is_plain, 2) & ~ops.any(holds & ~in_run, axis=2)
    # Lower than where nothing points.
    return within, nowhere, ops.where(other | in_run, 1.5 * MASKED, copied)


def exempt(bans, kinds):
    """Lifts the bans of tokens that are part of required runs.

    Args:
        bans: Boolean, `(B, K, C + S)`, forbidden continuations.
        kinds: From `ways`.
    """
    generated = ops.shape(bans)[2] - ops.shape(kinds)[2]
    copied = bans[:, :, generated:] & ((kinds == PLAIN) | (kinds == NEVER))
    return ops.concatenate([bans[:, :, :generated], copied], axis=2)
