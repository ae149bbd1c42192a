"""Beam search for all sequence-to-sequence models of the package.

Shapes: B batch, K beams, N returned hypotheses, L maximum length, S source
steps, V target vocabulary.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding import batch_loop, required_tokens, sampling
from tfcopy.decoding import hypotheses as record
from tfcopy.decoding.continuations import (
    describe_source,
    log_prob_of,
    next_words,
)
from tfcopy.decoding.hypotheses import (
    EMPTY,
    Finished,
    add_beams,
    best_of,
    concatenate_finished,
    count,
    first_hypotheses,
    follow,
    only,
)
from tfcopy.decoding.options import SearchOptions
from tfcopy.layers.copying import MASKED
from tfcopy.layers.tensors import take, take_each, top_k

# Minimum of the attention that the coverage penalty assumes for a position.
_LEAST_COVERAGE = 1e-12


class SearchResult(NamedTuple):
    """The best hypotheses, the best first.

    ```python
    result = decoding.beam_search(model, source_ids, source_copy_ids)
    is_copied = result.copied_from != tokens.GENERATE  # (1, 1, 60)
    ```

    Attributes:
        ids: Extended ids, `(B, N, L)`; PAD after EOS. If fewer than N
            hypotheses were found, the others are all PAD.
        scores: `(B, N)`, after the penalties; about `MASKED` for a hypothesis
            that is all PAD.
        copied_from: `(B, N, L)`; the source position that a token was copied
            from, `tokens.GENERATE` if it was generated.
        generate_probs: `(B, N, L)`; the probability at each token, including
            EOS, of generating instead of copying (the switch, p_gen).
        attention: `(B, N, L, S)`, or `(B, N, 0, S)` without
            `return_attention`.
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
    protected=None,
):
    """Searches for the most probable target sentences.

    A hypothesis that ends with EOS is finished. It is set aside and keeps its
    beam, so that the others have one beam less. With `refill`, the best
    unfinished hypotheses take its beam instead. The search of a sentence ends
    when K hypotheses are finished, or when no unfinished one can still become
    one of the N best.

    ```python
    options = decoding.SearchOptions(num_beams=4, max_length=8)
    result = decoding.beam_search(model, source_ids, source_copy_ids, options)
    result.ids[:, 0]  # extended ids of the best hypotheses, (1, 8)
    ```

    Args:
        model: A `Seq2Seq`, or anything with `encode`, `decode_step` and
            `vocabulary_size`.
        source_ids: `(B, S)`.
        source_copy_ids: `(B, S)`.
        options: `SearchOptions`.
        prefix: Optional extended ids `(B, P)` that every hypothesis begins
            with; PAD after the end of a shorter prefix.
        source_inputs: Optional dict of further arguments of the model's
            `encode`, by name, such as the definitions of source words.
        protected: With the option `must_copy`, the source positions whose
            tokens are required, `(B, S)`. Boolean, or integers: 0 for tokens
            that are not required, 1 for required ones, 2 for required ones that
            must keep the order of the source, and 3 for tokens that must
            directly follow the previous one, as part of its run. None of them
            may be UNK.

    Returns:
        `SearchResult`.

    Raises:
        ValueError: If `must_copy` is set but `protected` is `None`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148) (with
        `merge="max"`); the dl4mt tutorial, session 2, for the beam;
        [See et al., 2017](https://arxiv.org/abs/1704.04368), the authors'
        code, for `refill`.
    """
    options = options or SearchOptions()
    if options.must_copy and protected is None:
        raise ValueError("`must_copy` needs `protected`. Received: None.")
    source = source_ids, source_copy_ids
    if options.must_copy:
        source += (protected,)
    search = _Search(model, source, options, prefix, source_inputs)
    batch, size = ops.shape(source_ids)
    # With `refill`, a step adds records of both the hypotheses that end and
    # those that continue.
    twice = options.refill and not options.sample
    rows = batch * options.num_beams * (2 if twice else 1)
    records = record.first_records(
        rows * options.max_length,
        size if options.return_attention else None,
        options.static_shapes,
    )
    step, finished, records = batch_loop.run(search, batch, records, options)
    missing = finished.scores <= EMPTY
    scores = ops.where(missing, MASKED, finished.scores)
    last = ops.where(missing, record.START, finished.last)
    ids, copied_from, generate_probs, attention = record.read(
        records, last, options.max_length, step
    )
    if attention is None:
        attention = ops.zeros((batch, options.num_hypotheses, 0, size))
    return SearchResult(ids, scores, copied_from, generate_probs, attention)


class _State(NamedTuple):
    """State of a search, which a step changes.

    Attributes:
        words: The last tokens, extended ids, `(B, K)`.
        model: The model's state, nested tensors `(B, K, ...)`.
        alive: `Alive`.
        finished: `Finished`.
    """

    words: Any
    model: Any
    alive: Any
    finished: Any


class _Sentences(NamedTuple):
    """Tensors of the sentences, which a step reads.

    Attributes:
        memory: The model's `Memory`.
        source: `Source`.
        prefix: `(B, P)`, or `None`.
    """

    memory: Any
    source: Any
    prefix: Any


class _Search:
    """Beam search with the methods that `batch_loop.run` calls."""

    def __init__(self, model, source, options, prefix, inputs):
        self.model = model
        self.options = options
        self.source = source
        self.prefix = prefix
        self.memory, self.first = model.encode(*source[:2], **(inputs or {}))

    def first_state(self, sentences):
        """Returns the `_State` of all sentences before the first step."""
        alive, finished = first_hypotheses(sentences.source, self.options)
        return _State(
            words=ops.full_like(alive.last, tokens.BOS),
            model=add_beams(self.first, self.options.num_beams),
            alive=alive,
            finished=finished,
        )

    def sentences(self, numbers):
        """Returns the `_Sentences` with these numbers, `(B,)`."""
        ids, copy_ids, *protected = (take(x, numbers) for x in self.source)
        source = describe_source(
            ids,
            copy_ids,
            self.model.vocabulary_size,
            self.options.source_only,
            *(protected or [None]),
            self.options.sample,
        )
        prefix = None if self.prefix is None else take(self.prefix, numbers)
        return _Sentences(self.memory.take(numbers), source, prefix)

    def take(self, state, places):
        """Returns the `_State` of the sentences at these indices, `(B,)`."""
        return tree.map_structure(lambda x: take(x, places), state)

    def is_unfinished(self, state):
        """Returns which sentences can still change their N best, `(B,)`."""
        return _can_improve(state.alive, state.finished, self.options)

    def step(self, step, state, records, sentences):
        """Extends all beams by one token; returns `(state, records)`."""
        source, options = sentences.source, self.options
        distribution, attention, model_state = self.model.decode_step(
            state.words, state.model, sentences.memory
        )
        continuations = _continuations(
            distribution, source, state.alive, options, step, sentences.prefix
        )

        def grow(records, kept=None):
            return _grow(
                state.alive,
                continuations,
                kept,
                attention,
                distribution.log_generate,
                source,
                step,
                records,
                options,
            )

        def score(alive):
            return _score(alive, step + 1, source, options)

        if options.refill and not options.sample:
            ends = continuations.words(source) == tokens.EOS
            parents, words, alive, finished, records = _finish_and_refill(
                grow, score, ends, state.finished, records, options
            )
        else:
            parents, words, alive, finished, records = _finish(
                grow, score, state.finished, records, options
            )
        model_state = follow(model_state, parents)
        return _State(words, model_state, alive, finished), records

    def outcome(self, step, state, sentences):
        """Returns the N best hypotheses as `Finished`, even if cut off.

        Hypotheses that were cut off come after all finished ones, unless
        `unfinished_compete`. Among them, those that lack required tokens come
        last.
        """
        options, alive = self.options, state.alive
        scores = _score(alive, step, sentences.source, options)
        scores = ops.where(alive.log_probs > EMPTY, scores, MASKED)
        complete = required_tokens.is_complete(alive.left)

        def cut_off(kept):
            some = Finished(ops.where(kept, scores, MASKED), alive.last)
            return best_of(some, options.num_beams)

        best = concatenate_finished(state.finished, cut_off(complete))
        if options.unfinished_compete:
            best = best_of(best, options.num_beams)
        # By rank alone: a sum of ranks and scores would lose float32 digits.
        found = concatenate_finished(best, cut_off(~complete))
        rank = ops.arange(found.scores.shape[1], dtype="float32")
        priority = ops.where(found.scores > EMPTY, -rank, MASKED)
        return best_of(found, options.num_hypotheses, priority)


def _continuations(distribution, source, alive, options, step, prefix):
    """Computes the next tokens, and applies all constraints and the prefix."""
    extra = options.max_length if options.no_repeat_ngram else 0
    continuations = next_words(distribution, source, options, step, extra)
    if options.must_copy:
        kinds = required_tokens.ways(source, alive.left)
    if options.no_repeat_ngram:
        words, size = continuations.words(source), options.no_repeat_ngram
        repeats = _repeats_ngram(alive.words, words, step, size)
        if options.must_copy:
            repeats = required_tokens.exempt(repeats, kinds)
        log_probs = ops.where(repeats, MASKED, continuations.log_probs)
        continuations = continuations._replace(log_probs=log_probs)
    if options.must_copy:
        continuations = required_tokens.constrain(
            continuations, source, alive.left, kinds, step, options.max_length
        )
    if prefix is None:
        return continuations
    return _force(continuations, distribution, source, options, step, prefix)


def _force(continuations, distribution, source, options, step, prefix):
    """Replaces the continuations by the next token of the prefix, if any."""
    length = ops.shape(prefix)[1]
    column = take(prefix, ops.minimum(step, length - 1), axis=1)
    forced = (step < length) & (column != tokens.PAD)  # (B,)
    log_probs, copied_from = log_prob_of(distribution, source, column, options)
    forced = ops.expand_dims(forced, 1)

    def replace(old, word, other):
        first = ops.arange(ops.shape(old)[2]) == 0
        word = ops.where(first, ops.expand_dims(word, 2), other)
        return ops.where(ops.expand_dims(forced, 2), word, old)

    words = ops.repeat(ops.expand_dims(column, 1), options.num_beams, axis=1)
    return continuations._replace(
        ids=replace(continuations.ids, words, tokens.PAD),
        log_probs=replace(continuations.log_probs, log_probs, MASKED),
        first_from=ops.where(forced, copied_from, tokens.GENERATE),
    )


def _repeats_ngram(history, ids, step, size):
    """Returns which continuations repeat an n-gram, `(B, K, continuations)`."""
    places = ops.arange(history.shape[2])
    # Positions that end an n-gram whose other tokens equal the latest tokens.
    same = (places >= size - 1) & (places < step)
    for back in range(1, size):
        latest = take(history, ops.maximum(step - back, 0), axis=2)
        shifted = ops.roll(history, back, axis=2)
        same = same & (shifted == ops.expand_dims(latest, 2))
    # No token has the id -1.
    ends = ops.where(same & (step >= size - 1), history, -1)  # (B, K, L)
    return ops.any(ops.expand_dims(ids, 3) == ops.expand_dims(ends, 2), axis=-1)


def _grow(
    alive,
    continuations,
    kept,
    attention,
    log_generate,
    source,
    step,
    records,
    options,
):
    """Selects a sentence's K best continuations, or draws one for each beam.

    Args:
        alive: `Alive`.
        continuations: `Continuations`.
        kept: Boolean, `(B, K, C + S)`, the continuations to select from; `None`
            for all.
        attention: `(B, K, S)`.
        log_generate: `(B, K)`.
        source: `Source`.
        step: Number of tokens so far.
        records: `Records`, to which the selected continuations are added.
        options: `SearchOptions`.

    Returns:
        `(parents, words, alive, records)`: the beams that are extended and the
        new tokens, both `(B, K)`, `Alive` and `Records`.
    """
    beams = alive.log_probs.shape[1]
    total = ops.expand_dims(alive.log_probs, 2) + continuations.log_probs
    if kept is not None:
        total = ops.where(kept, total, MASKED)
    number = ops.shape(total)[2]
    total = ops.reshape(total, (-1, beams * number))
    if options.sample:
        drawn = sampling.draw(
            continuations.log_probs, source.keys, step, options
        )
        chosen = ops.arange(beams, dtype="int32") * number + drawn
        log_probs = take_each(total, chosen)
    else:
        log_probs, chosen = top_k(total, beams)
        # With `refill`, the last place may decide which hypotheses end.
        decides = options.refill and not options.patient and beams > 1
        if options.must_copy and not decides:
            left = ops.reshape(continuations.left, (-1, beams * number))
            chosen = required_tokens.reserve_place(chosen, total, left)
            log_probs = take_each(total, chosen)
    parents, words, copied_from, kinds = continuations.choose(
        ops.cast(chosen, "int32"), source
    )
    keeps_attention = "attention" in records.tables
    if keeps_attention or alive.coverage.shape[2] != 0:
        attention = take_each(attention, parents)
    records, last = record.write(
        records,
        step,
        before=take_each(alive.last, parents),
        words=words,
        copied_from=copied_from,
        log_generate=take_each(log_generate, parents),
        attention=attention if keeps_attention else None,
    )
    grown = alive._replace(log_probs=ops.maximum(log_probs, MASKED), last=last)
    if alive.words.shape[2] != 0:
        here = ops.arange(alive.words.shape[2]) == step
        history = take_each(alive.words, parents)
        history = ops.where(here, ops.expand_dims(words, 2), history)
        grown = grown._replace(words=history)
    if alive.coverage.shape[2] != 0:
        coverage = take_each(alive.coverage, parents) + attention
        grown = grown._replace(coverage=coverage)
    if options.must_copy:
        left = required_tokens.update(alive.left, parents, words, kinds, source)
        grown = grown._replace(left=left)
        if not options.sample:
            ended = words == tokens.EOS
            repeats = required_tokens.repeats(grown.words, left, ended)
            grown = only(grown, ~repeats)
    return parents, words, grown, records


def _finish(grow, score, finished, records, options):
    """Sets aside hypotheses that end with EOS; each leaves one beam less.

    Args:
        grow: Function from `Records` and a mask of continuations, or `None`, to
            the results of `_grow`.
        score: Function from hypotheses to their scores.
        finished: `Finished`.
        records: `Records`.
        options: `SearchOptions`.

    Returns:
        `(parents, words, alive, finished, records)`: the results of `_grow`,
        and `Finished`.
    """
    parents, words, grown, records = grow(records)
    exist = grown.log_probs > EMPTY
    if not options.sample:  # In sampling, beams keep their places.
        rank = ops.arange(words.shape[1], dtype="int32")
        exist = exist & (rank < words.shape[1] - count(finished))
    ended = words == tokens.EOS
    alive = only(grown, exist & ~ended)
    finished = _add(grown, exist & ended, finished, score, options)
    return parents, words, alive, finished, records


def _finish_and_refill(grow, score, ends, finished, records, options):
    """Refills the beams of finished hypotheses, until K have finished.

    It goes through all continuations from the best to the worst. Those with EOS
    are set aside, and all others continue, until there are K of either kind; or
    if it is `patient`, those with EOS among the best K are set aside.

    Args:
        grow: As in `_finish`.
        score: As in `_finish`.
        ends: Boolean, the continuations that are EOS.
        finished: As in `_finish`.
        records: As in `_finish`.
        options: As in `_finish`.

    Returns:
        The results of `_finish`.
    """
    parents, words, alive, records = grow(records, ~ends)
    _, _, ended, records = grow(records, ends)
    rank = ops.arange(words.shape[1], dtype="int32")
    if options.patient:
        others = ops.expand_dims(alive.log_probs, 1)
        others = others > ops.expand_dims(ended.log_probs, 2)
        others = ops.sum(ops.cast(others, "int32"), axis=2)
        reached = rank + others < words.shape[1]
    else:
        reached = ended.log_probs > alive.log_probs[:, -1:]
        reached = reached & (rank < words.shape[1] - count(finished))
    reached = reached & (ended.log_probs > EMPTY)
    finished = _add(ended, reached, finished, score, options)
    # Otherwise results would depend on the length of other sentences.
    goes_on = count(finished) < words.shape[1]
    if options.patient:
        best = ops.max(score(alive), axis=1, keepdims=True)
        goes_on = goes_on | (best > finished.scores[:, -1:])
    alive = only(alive, goes_on)
    return parents, words, alive, finished, records


def _add(ended, exist, finished, score, options):
    """Returns the best K of all hypotheses that have finished so far."""
    now = Finished(ops.where(exist, score(ended), MASKED), ended.last)
    return best_of(concatenate_finished(finished, now), options.num_beams)


def _score(alive, length, source, options):
    """Computes the log-probabilities after the penalties, `(B, K)`."""
    scores = alive.log_probs
    if options.length_penalty:
        length = ops.cast(length + options.length_offset, "float32")
        scores = scores / ops.power(length, options.length_penalty)
    if options.coverage_penalty:
        # Clipped, since a position without attention would cost infinity.
        covered = ops.log(ops.clip(alive.coverage, _LEAST_COVERAGE, 1.0))
        covered = ops.where(ops.expand_dims(source.real, 1), covered, 0.0)
        scores = scores + options.coverage_penalty * ops.sum(covered, axis=-1)
    return scores


def _can_improve(alive, finished, options):
    """Returns which sentences can still change their N best, `(B,)`.

    Log-probabilities never rise, and no penalty but the division by the length
    can raise a score. Hence the bound is exact. Samples always run to their
    end.
    """
    highest = ops.max(alive.log_probs, axis=1)
    if options.sample:
        return highest > EMPTY
    if options.length_penalty > 0:
        longest = options.max_length + options.length_offset
        bound = highest / longest**options.length_penalty
    else:
        bound = highest
    worst = finished.scores[:, options.num_hypotheses - 1]
    return (highest > EMPTY) & (bound > worst)
