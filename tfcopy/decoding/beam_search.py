"""One beam search for every model of the zoo.

Shapes: B batch, K beams, N returned hypotheses, L maximum length, S source
steps, V target vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding.beams import (
    EMPTY,
    best_of,
    count,
    exist,
    first_beams,
    flat_rows,
    only,
    take_beams,
)
from tfcopy.decoding.continuations import (
    best_place,
    describe_source,
    log_prob_of,
    next_words,
)
from tfcopy.decoding.options import SearchOptions
from tfcopy.layers.copying import MASKED
from tfcopy.layers.cutting import take

# The least attention that a source position counts as having received.
_LEAST_COVERAGE = 1e-12


class SearchResult(NamedTuple):
    """The best hypotheses, the best first.

    Attributes:
        ids: Extended ids, `(B, N, L)`; PAD after EOS. A hypothesis that does
            not exist (fewer than N were found) is all PAD.
        scores: `(B, N)`, after the penalties; about `MASKED` if there is no
            such hypothesis.
        copied_from: `(B, N, L)`; the source position a word was copied from,
            `tokens.GENERATE` if it was generated.
        generate_probs: `(B, N, L)`; the probability, before each word (and
            EOS), that it would be generated: the switch, p_gen.
        attention: `(B, N, L, S)`, or `(B, N, 0, S)` if not asked for.
    """

    ids: Any
    scores: Any
    copied_from: Any
    generate_probs: Any
    attention: Any


def beam_search(
    model,
    source_ids,
    source_copy_ids,
    options=None,
    prefix=None,
    source_inputs=None,
):
    """Searches for the most probable target sentences.

    A hypothesis that chooses EOS is finished: it is set aside, keeps its
    place, and leaves one beam less to the others. With `refill` the best of
    the unfinished take the place instead. A sentence is done when K are
    finished, or as soon as none alive can get into the N best.

    Args:
        model: A `Seq2Seq`, or anything with `encode`, `repeat`,
            `decode_step` and `vocabulary_size`.
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        options: `SearchOptions`.
        prefix: Optional extended ids `(B, P)` that every hypothesis begins
            with; PAD where a row's prefix has ended.
        source_inputs: Optional dict of what else the model's `encode` takes,
            by name, such as the definitions of source words.

    Returns:
        `SearchResult`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148) (with
        `merge="max"`); the dl4mt tutorial, session 2, for the beam;
        [See et al., 2017](https://arxiv.org/abs/1704.04368), the authors'
        code, for `refill`.
    """
    options = options or SearchOptions()
    source = describe_source(
        source_ids, source_copy_ids, model.vocabulary_size, options.source_only
    )
    memory, state = model.encode(
        source_ids, source_copy_ids, **(source_inputs or {})
    )
    memory, state = model.repeat(memory, state, options.num_beams)
    alive = first_beams(source_ids, options)
    finished = only(alive, ops.zeros_like(alive.log_probs, dtype="bool"))
    previous = ops.full_like(alive.ids[:, :, 0], tokens.BOS)
    finish = _finish_and_refill if options.refill else _finish

    def unfinished(step, previous, state, alive, finished):
        return ops.any(_can_improve(alive, finished, options))

    def body(step, previous, state, alive, finished):
        distribution, attention, state = model.decode_step(
            ops.reshape(previous, (-1,)), state, memory
        )
        continuations = _continuations(
            distribution, source, alive, options, step, prefix
        )

        def grow(kept=None):
            return _grow(
                alive,
                continuations,
                kept,
                attention,
                ops.exp(distribution.log_generate),
                source,
                step,
            )

        def score(beams):
            return _score(beams, step + 1, source, options)

        parents, alive, finished = finish(grow, score, continuations, finished)
        previous = take(alive.ids, step, axis=2)
        rows = flat_rows(parents)
        state = tree.map_structure(lambda x: take(x, rows), state)
        return step + 1, previous, state, alive, finished

    loop = (ops.convert_to_tensor(0), previous, state, alive, finished)
    step, _, _, alive, finished = ops.while_loop(
        unfinished, body, loop, maximum_iterations=options.max_length
    )
    return _best(alive, finished, step, source, options)


def _continuations(distribution, source, alive, options, step, prefix):
    """The next words, after all that is forbidden or forced."""
    extra = options.max_length if options.no_repeat_ngram else 0
    continuations = next_words(distribution, source, options, step, extra)
    log_probs = continuations.log_probs
    if options.no_repeat_ngram:
        repeats = _repeats_ngram(
            alive.ids, continuations.ids, step, options.no_repeat_ngram
        )
        log_probs = ops.where(repeats, MASKED, log_probs)
    continuations = continuations._replace(log_probs=log_probs)
    if prefix is None:
        return continuations
    return _force(continuations, distribution, source, options, step, prefix)


def _force(continuations, distribution, source, options, step, prefix):
    """Leaves only the prefix's word, as the first continuation."""
    length = ops.shape(prefix)[1]
    column = take(prefix, ops.minimum(step, length - 1), axis=1)
    forced = ops.logical_and(step < length, column != tokens.PAD)  # (B,)
    log_probs, copied_from = log_prob_of(
        distribution, source, column, options.num_beams
    )
    forced = ops.expand_dims(ops.expand_dims(forced, 1), 2)
    number = ops.shape(continuations.ids)[2]
    first = ops.expand_dims(ops.expand_dims(ops.arange(number) == 0, 0), 0)

    def replace(old, word, other):
        word = ops.where(first, ops.expand_dims(word, 2), other)
        return ops.where(forced, word, old)

    ids = ops.repeat(ops.expand_dims(column, 1), options.num_beams, axis=1)
    return continuations._replace(
        ids=replace(continuations.ids, ids, tokens.PAD),
        log_probs=replace(continuations.log_probs, log_probs, MASKED),
        copied_from=replace(
            continuations.copied_from, copied_from, tokens.GENERATE
        ),
    )


def _repeats_ngram(history, ids, step, size):
    """Which continuations would repeat an n-gram, `(B, K, continuations)`."""
    length = history.shape[2]
    places = ops.arange(length)
    # Position i ends an n-gram whose beginning equals the latest words.
    same = ops.logical_and(places >= size - 1, places < step)
    for back in range(1, size):
        latest = take(history, ops.maximum(step - back, 0), axis=2)
        shifted = ops.roll(history, back, axis=2)
        same = ops.logical_and(same, shifted == ops.expand_dims(latest, 2))
    same = ops.logical_and(same, step >= size - 1)
    said = ops.where(same, history, -1)  # (B, K, L); no word has the id -1
    hits = ops.expand_dims(ids, 3) == ops.expand_dims(said, 2)
    return ops.any(hits, axis=-1)


def _grow(alive, continuations, kept, attention, generate_probs, source, step):
    """The K best continuations of a sentence's beams.

    Args:
        alive: `Beams`.
        continuations: `Continuations`.
        kept: Boolean, as the continuations' ids, those to choose from; `None`
            for all.
        attention: `(B * K, S)`.
        generate_probs: `(B * K, 1)`.
        source: `Source`.
        step: Number of words so far.

    Returns:
        `(parents, words, beams)`: which beam each comes from, `(B, K)`, the
        word it adds, `(B, K)`, and the hypotheses themselves, the best first.
    """
    beams, length = alive.ids.shape[1:]
    number = ops.shape(continuations.ids)[2]
    total = ops.expand_dims(alive.log_probs, 2) + continuations.log_probs
    if kept is not None:
        total = ops.where(kept, total, MASKED)
    total = ops.reshape(total, (-1, beams * number))
    log_probs, chosen = ops.top_k(total, beams)
    chosen = ops.cast(chosen, "int32")
    parents = chosen // number

    def choose(x):
        return ops.take_along_axis(
            ops.reshape(x, (-1, beams * number)), chosen, axis=1
        )

    rows = flat_rows(parents)

    def of_parents(x):
        return ops.reshape(
            take(ops.reshape(x, (-1, ops.shape(x)[-1])), rows),
            (-1, beams, ops.shape(x)[-1]),
        )

    words, copied_from = (
        choose(continuations.ids),
        choose(continuations.copied_from),
    )
    if continuations.copied is not None:
        copied_from = best_place(
            of_parents(continuations.copied), source, words, copied_from
        )
    here = ops.arange(length) == step  # (L,)

    def grow(history, new):
        here_ = ops.reshape(here, (1, 1, -1, *[1] * (len(new.shape) - 2)))
        return ops.where(here_, ops.expand_dims(new, 2), history)

    history = take_beams(alive, rows, beams)
    grown = history._replace(
        log_probs=ops.maximum(log_probs, MASKED),
        ids=grow(history.ids, words),
        copied_from=grow(history.copied_from, copied_from),
        generate_probs=grow(
            history.generate_probs, of_parents(generate_probs)[:, :, 0]
        ),
    )
    attention = of_parents(attention)
    if alive.attention.shape[2] != 0:
        grown = grown._replace(attention=grow(history.attention, attention))
    if alive.coverage.shape[2] != 0:
        grown = grown._replace(coverage=history.coverage + attention)
    return parents, words, grown


def _finish(grow, score, continuations, finished):
    """Sets aside the hypotheses that chose EOS, which leave a beam less.

    Args:
        grow: Function of a mask of continuations, or `None`, to what `_grow`
            returns.
        score: Function of hypotheses to their scores.
        continuations: `Continuations`.
        finished: `Beams`.

    Returns:
        `(parents, alive, finished)`: the beams before that those alive come
        from, `(B, K)`, and `Beams`.
    """
    parents, words, grown = grow()
    rank = ops.arange(words.shape[1], dtype="int32")
    grown = only(grown, rank < words.shape[1] - count(finished))
    ended = words == tokens.EOS
    alive = only(grown, ops.logical_not(ended))
    return parents, alive, _add(only(grown, ended), finished, score)


def _finish_and_refill(grow, score, continuations, finished):
    """Refills finished beams; a sentence is done when K have finished.

    Down the list of all continuations, from the best: those with EOS are set
    aside and others go on, until there are K of either.

    Args and returns as in `_finish`.
    """
    ends = continuations.ids == tokens.EOS
    parents, words, alive = grow(ops.logical_not(ends))
    _, _, ended = grow(ends)
    rank = ops.arange(words.shape[1], dtype="int32")
    reached = ended.log_probs > alive.log_probs[:, -1:]
    places = rank < words.shape[1] - count(finished)
    reached = ops.logical_and(reached, places)
    finished = _add(only(ended, reached), finished, score)
    # So that no result depends on the length of other sentences.
    return parents, only(alive, count(finished) < words.shape[1]), finished


def _add(ended, finished, score):
    """The best K of the hypotheses finished before and now."""
    scores = ops.where(exist(ended), score(ended), MASKED)
    priority = ops.concatenate([finished.scores, scores], axis=1)
    ended = ended._replace(scores=scores)
    return best_of(finished, ended, priority, scores.shape[1])


def _score(beams, length, source, options):
    """Log-probabilities after the penalties, `(B, K)`."""
    scores = beams.log_probs
    if options.length_penalty:
        length = ops.cast(length + options.length_offset, "float32")
        scores = scores / ops.power(length, options.length_penalty)
    if options.coverage_penalty:
        # A position without attention must not cost infinitely much.
        covered = ops.log(ops.clip(beams.coverage, _LEAST_COVERAGE, 1.0))
        covered = ops.where(ops.expand_dims(source.real, 1), covered, 0.0)
        penalty = options.coverage_penalty * ops.sum(covered, axis=-1)
        scores = scores + penalty
    return scores


def _can_improve(alive, finished, options):
    """Which sentences could still change their N best, `(B,)`.

    Log-probabilities only fall, and no penalty but the division by the
    length ever raises a score: the bound is exact.
    """
    highest = ops.max(alive.log_probs, axis=1)
    if options.length_penalty > 0:
        longest = options.max_length + options.length_offset
        bound = highest / longest**options.length_penalty
    else:
        bound = highest
    worst = finished.scores[:, options.num_hypotheses - 1]
    return ops.logical_and(highest > EMPTY, bound > worst)


def _best(alive, finished, step, source, options):
    """The N best, finished or cut off at the end.

    Those cut off come after all others, unless they compete.
    """
    scores = _score(alive, step, source, options)
    alive = alive._replace(scores=ops.where(exist(alive), scores, MASKED))
    alive = best_of(alive, None, alive.scores, options.num_beams)
    priority = alive.scores
    if not options.unfinished_compete:
        # In their own order.
        rank = ops.arange(options.num_beams, dtype="float32")
        priority = ops.where(exist(alive), -1e6 - rank, MASKED)
    priority = ops.concatenate([finished.scores, priority], axis=1)
    best = best_of(finished, alive, priority, options.num_hypotheses)
    missing = best.log_probs <= EMPTY
    hidden = ops.expand_dims(missing, 2)
    return SearchResult(
        ids=ops.where(hidden, tokens.PAD, best.ids),
        scores=ops.where(missing, MASKED, best.scores),
        copied_from=ops.where(hidden, tokens.GENERATE, best.copied_from),
        generate_probs=ops.where(hidden, 0.0, best.generate_probs),
        attention=best.attention,
    )
