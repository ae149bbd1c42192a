"""One beam search for every model of the zoo.

Shapes: B batch, K beams, N returned hypotheses, L maximum length, S source
steps, V target vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding.candidates import (
    describe_source,
    log_prob_of,
    next_words,
)
from tfcopy.decoding.options import SearchOptions
from tfcopy.layers.copying import MASKED, generation_ids

# A score below this belongs to no hypothesis.
_EMPTY = MASKED / 2


class SearchResult(NamedTuple):
    """The best hypotheses, the best first.

    Attributes:
        ids: Extended ids, `(B, N, L)`; PAD after EOS. A hypothesis that does
            not exist (fewer than N were found) is all PAD.
        scores: `(B, N)`, after the penalties; about `MASKED` if there is no
            such hypothesis.
        copied_from: `(B, N, L)`; the source position a word was copied from,
            -1 if it was generated.
        attention: `(B, N, L, S)`, or `(B, N, 0, S)` if not asked for.
    """

    ids: Any
    scores: Any
    copied_from: Any
    attention: Any


class _Beams(NamedTuple):
    """Hypotheses, alive or finished: what is reordered together.

    Attributes:
        log_probs: `(B, K)`; about `MASKED` if there is none.
        scores: `(B, K)`, the log-probabilities after the penalties.
        ids: `(B, K, L)`.
        copied_from: `(B, K, L)`.
        attention: `(B, K, L, S)` or `(B, K, 0, S)`.
        coverage: `(B, K, S)` or `(B, K, 0)`; attention so far.
    """

    log_probs: Any
    scores: Any
    ids: Any
    copied_from: Any
    attention: Any
    coverage: Any


def beam_search(model, source_ids, source_copy_ids, options=None, prefix=None):
    """Searches for the most probable target sentences.

    A hypothesis that chooses EOS is finished: it is set aside, keeps its
    place, and leaves one beam less to the others. A sentence is done when K
    are finished, or as soon as none alive can get into the N best.

    Args:
        model: A `Seq2Seq`, or anything with `encode`, `repeat`,
            `decode_step` and `vocabulary_size`.
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        options: `SearchOptions`.
        prefix: Optional extended ids `(B, P)` that every hypothesis begins
            with; PAD where a row's prefix has ended.

    Returns:
        `SearchResult`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148) (with
        `merge="max"`); the dl4mt tutorial, session 2, for the beam.
    """
    options = options or SearchOptions()
    source = describe_source(source_copy_ids)
    memory, state = model.encode(source_ids)
    memory, state = model.repeat(memory, state, options.num_beams)
    alive = _first_beams(source_ids, options)
    finished = alive._replace(
        log_probs=ops.full_like(alive.log_probs, MASKED),
        scores=ops.full_like(alive.scores, MASKED),
    )
    previous = ops.full_like(alive.ids[:, :, 0], tokens.BOS)

    def unfinished(step, previous, state, alive, finished):
        return ops.any(_can_improve(alive, finished, options))

    def body(step, previous, state, alive, finished):
        distribution, attention, state = model.decode_step(
            ops.reshape(previous, (-1,)), state, memory
        )
        candidates = _candidates(
            distribution, source, alive, options, step, prefix
        )
        parents, previous, grown = _grow(alive, candidates, attention, step)
        grown = _accept(grown, finished, options)
        finished, alive = _finish(grown, finished, previous, step, options)
        rows = _flat_rows(parents)
        state = tree.map_structure(lambda x: ops.take(x, rows, axis=0), state)
        previous = generation_ids(previous, model.vocabulary_size)
        return step + 1, previous, state, alive, finished

    loop = (ops.convert_to_tensor(0), previous, state, alive, finished)
    step, _, _, alive, finished = ops.while_loop(
        unfinished, body, loop, maximum_iterations=options.max_length
    )
    return _best(alive, finished, step, options)


def _first_beams(source_ids, options):
    """One empty hypothesis a sentence; the other beams hold none."""
    beams, length = options.num_beams, options.max_length
    batch, size = ops.shape(source_ids)
    only_first = ops.convert_to_tensor([0.0] + [MASKED] * (beams - 1))
    log_probs = ops.zeros((batch, beams)) + only_first
    kept = length if options.return_attention else 0
    width = size if options.coverage_penalty else 0
    ids = ops.full((batch, beams, length), tokens.PAD, dtype="int32")
    return _Beams(
        log_probs=log_probs,
        scores=log_probs,
        ids=ids,
        copied_from=ops.full_like(ids, -1),
        attention=ops.zeros((batch, beams, kept, size)),
        coverage=ops.zeros((batch, beams, width)),
    )


def _candidates(distribution, source, alive, options, step, prefix):
    """The next words, after all that is forbidden or forced."""
    extra = options.max_length if options.no_repeat_ngram else 0
    candidates = next_words(distribution, source, options, step, extra)
    log_probs = candidates.log_probs
    if options.no_repeat_ngram:
        repeats = _repeats_ngram(
            alive.ids, candidates.ids, step, options.no_repeat_ngram
        )
        log_probs = ops.where(repeats, MASKED, log_probs)
    candidates = candidates._replace(log_probs=log_probs)
    if prefix is None:
        return candidates
    return _force(candidates, distribution, source, options, step, prefix)


def _force(candidates, distribution, source, options, step, prefix):
    """Leaves only the prefix's word, as the first candidate."""
    length = ops.shape(prefix)[1]
    column = ops.take(prefix, ops.minimum(step, length - 1), axis=1)
    forced = ops.logical_and(step < length, column != tokens.PAD)  # (B,)
    log_probs, copied_from = log_prob_of(
        distribution, source, column, options.num_beams
    )
    forced = ops.expand_dims(ops.expand_dims(forced, 1), 2)
    count = ops.shape(candidates.ids)[2]
    first = ops.expand_dims(ops.expand_dims(ops.arange(count) == 0, 0), 0)

    def replace(old, word, other):
        word = ops.where(first, ops.expand_dims(word, 2), other)
        return ops.where(forced, word, old)

    ids = ops.repeat(ops.expand_dims(column, 1), options.num_beams, axis=1)
    return candidates._replace(
        ids=replace(candidates.ids, ids, tokens.PAD),
        log_probs=replace(candidates.log_probs, log_probs, MASKED),
        copied_from=replace(candidates.copied_from, copied_from, -1),
    )


def _repeats_ngram(history, ids, step, size):
    """Which candidates would repeat an n-gram, `(B, K, candidates)`."""
    length = history.shape[2]
    places = ops.arange(length)
    # Position i ends an n-gram whose beginning is what we have just said.
    same = ops.logical_and(places >= size - 1, places < step)
    for back in range(1, size):
        latest = ops.take(history, ops.maximum(step - back, 0), axis=2)
        shifted = ops.roll(history, back, axis=2)
        same = ops.logical_and(same, shifted == ops.expand_dims(latest, 2))
    same = ops.logical_and(same, step >= size - 1)
    said = ops.where(same, history, -1)  # (B, K, L)
    hits = ops.expand_dims(ids, 3) == ops.expand_dims(said, 2)
    return ops.any(hits, axis=-1)


def _grow(alive, candidates, attention, step):
    """The K best continuations of a sentence's beams.

    Returns:
        `(parents, words, beams)`: which beam each comes from, `(B, K)`, the
        word it adds, `(B, K)`, and the hypotheses themselves.
    """
    beams, length = alive.ids.shape[1:]
    count = ops.shape(candidates.ids)[2]
    total = ops.expand_dims(alive.log_probs, 2) + candidates.log_probs
    total = ops.reshape(total, (-1, beams * count))
    log_probs, chosen = ops.top_k(total, beams)
    chosen = ops.cast(chosen, "int32")
    parents = chosen // count

    def choose(x):
        return ops.take_along_axis(
            ops.reshape(x, (-1, beams * count)), chosen, axis=1
        )

    words, copied_from = choose(candidates.ids), choose(candidates.copied_from)
    here = ops.arange(length) == step  # (L,)
    rows = _flat_rows(parents)

    def grow(history, new):
        here_ = ops.reshape(here, (1, 1, -1, *[1] * (len(new.shape) - 2)))
        return ops.where(here_, ops.expand_dims(new, 2), history)

    history = _take_beams(alive, rows, beams)
    attention = ops.reshape(
        ops.take(attention, rows, axis=0),
        (-1, beams, ops.shape(attention)[-1]),
    )
    grown = history._replace(
        log_probs=ops.maximum(log_probs, MASKED),
        ids=grow(history.ids, words),
        copied_from=grow(history.copied_from, copied_from),
    )
    if alive.attention.shape[2] != 0:
        grown = grown._replace(attention=grow(history.attention, attention))
    if alive.coverage.shape[2] != 0:
        grown = grown._replace(coverage=history.coverage + attention)
    return parents, words, grown


def _accept(grown, finished, options):
    """Keeps as many hypotheses as the finished ones leave beams."""
    count = ops.sum(
        ops.cast(finished.log_probs > _EMPTY, "int32"), axis=1, keepdims=True
    )
    rank = ops.arange(options.num_beams, dtype="int32")
    kept = rank < options.num_beams - count
    return grown._replace(log_probs=ops.where(kept, grown.log_probs, MASKED))


def _finish(grown, finished, words, step, options):
    """Sets those that chose EOS aside.

    Returns:
        `(finished, alive)`.
    """
    ended = words == tokens.EOS
    alive = grown._replace(log_probs=ops.where(ended, MASKED, grown.log_probs))
    ended = ops.logical_and(ended, grown.log_probs > _EMPTY)
    scores = ops.where(ended, _score(grown, step + 1, options), MASKED)
    new = grown._replace(
        log_probs=ops.where(ended, grown.log_probs, MASKED), scores=scores
    )
    priority = ops.concatenate([finished.scores, scores], axis=1)
    return _best_of(finished, new, priority, options.num_beams), alive


def _score(beams, length, options):
    """Log-probabilities after the penalties, `(B, K)`."""
    scores = beams.log_probs
    if options.length_penalty:
        length = ops.cast(length, "float32")
        scores = scores / ops.power(length, options.length_penalty)
    if options.coverage_penalty:
        # Padding has no attention; it must not count as uncovered.
        covered = ops.clip(beams.coverage, 1e-6, 1.0)
        covered = ops.where(beams.coverage > 0, ops.log(covered), 0.0)
        penalty = options.coverage_penalty * ops.sum(covered, axis=-1)
        scores = scores + penalty
    return scores


def _best_of(first, second, priority, count):
    """The `count` hypotheses of both with the highest priority, in order."""
    _, chosen = ops.top_k(priority, count)
    if second is not None:
        first = _Beams(
            *(ops.concatenate([a, b], axis=1) for a, b in zip(first, second))
        )
    rows = _flat_rows(chosen, priority.shape[1])
    return _take_beams(first, rows, count)


def _flat_rows(beams, width=None):
    """Rows of `(B * width, ...)` for beam numbers `(B, K)`, flat."""
    width = width or beams.shape[1]
    beams = ops.cast(beams, "int32")
    sentences = ops.arange(ops.shape(beams)[0], dtype="int32") * width
    return ops.reshape(beams + ops.expand_dims(sentences, 1), (-1,))


def _take_beams(beams, rows, count):
    """Hypotheses by the flat rows of `_flat_rows`, `count` a sentence."""

    def take(x):
        shape = [
            size if size is not None else ops.shape(x)[i]
            for i, size in enumerate(x.shape)
        ]
        if 0 in x.shape[2:]:
            return x[:, :count]
        flat = ops.reshape(x, (-1, *shape[2:]))
        taken = ops.take(flat, rows, axis=0)
        return ops.reshape(taken, (shape[0], count, *shape[2:]))

    return _Beams(*(take(x) for x in beams))


def _can_improve(alive, finished, options):
    """Which sentences could still change their N best, `(B,)`.

    Log-probabilities only fall, and no penalty but the division by the
    length ever raises a score: the bound is exact.
    """
    highest = ops.max(alive.log_probs, axis=1)
    if options.length_penalty > 0:
        bound = highest / options.max_length**options.length_penalty
    else:
        bound = highest
    worst = finished.scores[:, options.num_hypotheses - 1]
    return ops.logical_and(highest > _EMPTY, bound > worst)


def _best(alive, finished, step, options):
    """The N best: finished ones first, then those cut off at the end."""
    scores = _score(alive, step, options)
    alive = alive._replace(
        scores=ops.where(alive.log_probs > _EMPTY, scores, MASKED)
    )
    alive = _best_of(alive, None, alive.scores, options.num_beams)
    # After the finished ones, in their own order.
    rank = ops.arange(options.num_beams, dtype="float32")
    behind = ops.where(alive.log_probs > _EMPTY, -1e6 - rank, MASKED)
    priority = ops.concatenate([finished.scores, behind], axis=1)
    best = _best_of(finished, alive, priority, options.num_hypotheses)
    missing = best.log_probs <= _EMPTY
    hidden = ops.expand_dims(missing, 2)
    return SearchResult(
        ids=ops.where(hidden, tokens.PAD, best.ids),
        scores=ops.where(missing, MASKED, best.scores),
        copied_from=ops.where(hidden, -1, best.copied_from),
        attention=best.attention,
    )
