"""The search of the pointer-generator's authors, beside theirs in Python."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decoding.searching import search_sources, unpadded
from tests.decoding.table_model import TableModel, probabilities, random_model
from tfcopy import tokens
from tfcopy.decoding import SearchOptions

V = 7
# JAX compiles each search anew, for seconds.
EXAMPLES = 30 if keras.backend.backend() == "tensorflow" else 4
SOURCE_IDS = np.array([[4, 1, 5, 1], [6, 1, 3, 0]], "int32")
COPY_IDS = np.array([[4, V + 1, 4, V], [V + 2, 1, -1, -1]], "int32")


def authors_search(model, row, options):
    """Log-probability and words, from the best average log-probability.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), `beam_search.py`
        of the authors' code.
    """
    beams = options.num_beams

    def average(hypothesis):
        log_prob, ids = hypothesis
        return log_prob / len(ids)

    live, finished = [(0.0, [tokens.BOS])] * beams, []
    for step in range(options.max_length):
        if len(finished) == beams:
            break
        candidates = []
        for log_prob, ids in live[:1] if step == 0 else live:
            previous = ids[-1] if ids[-1] < V else tokens.UNK
            p = probabilities(model, row, step, previous, COPY_IDS[row])
            for word in np.argsort(-p)[: 2 * beams]:
                if p[word] > 0:
                    grown = [*ids, int(word)]
                    candidates.append((log_prob + np.log(p[word]), grown))
        live = []
        for candidate in sorted(candidates, key=average, reverse=True):
            if candidate[1][-1] != tokens.EOS:
                live.append(candidate)
            elif step >= options.min_length:
                finished.append(candidate)
            if beams in (len(live), len(finished)):
                break
    best = sorted(finished or live, key=average, reverse=True)
    return [(average(x), x[1][1:]) for x in best]


def transformers_search(model, row, options):
    """The same, from the best score, as `transformers` finds them.

    Reference: `GenerationMixin._beam_search` of transformers 5, with
    `early_stopping=False`.
    """
    beams, penalty = options.num_beams, options.length_penalty
    live, finished = [(0.0, [tokens.BOS])], []
    for step in range(options.max_length):
        candidates = []
        for log_prob, ids in live:
            previous = ids[-1] if ids[-1] < V else tokens.UNK
            p = probabilities(model, row, step, previous, COPY_IDS[row])
            candidates += [
                (log_prob + np.log(x), [*ids, word])
                for word, x in enumerate(p)
                if x > 0
            ]
        candidates.sort(key=lambda x: -x[0])
        ended = [x for x in candidates[:beams] if x[1][-1] == tokens.EOS]
        live = [x for x in candidates if x[1][-1] != tokens.EOS][:beams]
        length = (step + 1) ** penalty
        finished += [(x / length, ids[1:]) for x, ids in ended]
        finished = sorted(finished, key=lambda x: -x[0])[:beams]
        if len(finished) == beams and live[0][0] / length <= finished[-1][0]:
            break
    return finished


@settings(max_examples=EXAMPLES)
@given(
    seed=st.integers(0, 2**20),
    num_beams=st.integers(1, 4),
    penalty=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    eos_logit=st.sampled_from([-1.0, 1.0, 3.0]),
)
def test_a_patient_search_finds_what_transformers_finds(
    seed, num_beams, penalty, eos_logit
):
    options = SearchOptions(
        num_beams=num_beams,
        max_length=6,
        length_penalty=penalty,
        refill=True,
        patient=True,
    )
    model = random_model(seed, SOURCE_IDS, 6, V, eos_logit)
    result = search(model, options)
    for row in range(2):
        if expected := transformers_search(model, row, options)[:1]:
            assert (result.scores[row, 0], unpadded(result.ids[row, 0])) == (
                pytest.approx(expected[0][0], abs=1e-4),
                expected[0][1],
            )


def search(model, options, rows=slice(None)):
    return search_sources(model, SOURCE_IDS[rows], COPY_IDS[rows], options)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(
    seed=st.integers(0, 2**20),
    num_beams=st.integers(1, 4),
    max_length=st.integers(2, 6),
    min_length=st.integers(0, 4),
    eos_logit=st.sampled_from([-9.0, -1.0, 1.0, 3.0]),
    only_best=st.booleans(),
)
def test_finds_what_the_authors_search_finds(
    seed, num_beams, max_length, min_length, eos_logit, only_best
):
    options = SearchOptions(
        num_beams=num_beams,
        num_hypotheses=1 if only_best else num_beams,
        max_length=max_length,
        min_length=min(min_length, max_length - 1),
        length_penalty=1.0,
        length_offset=1,
        refill=True,
    )
    model = random_model(seed, SOURCE_IDS, max_length, V, eos_logit)
    result = search(model, options)
    for row in range(2):
        expected = authors_search(model, row, options)
        expected = expected[: options.num_hypotheses]
        actual = [unpadded(i) for i in result.ids[row]][: len(expected)]
        assert actual == [ids for _, ids in expected]
        np.testing.assert_allclose(
            result.scores[row, : len(expected)],
            [score for score, _ in expected],
            atol=1e-4,
        )


def certain_words(p):
    """A model of one sentence that gives a word a step the probability `p`.

    The words are 4, 5 and EOS; what is left goes to the word 6.
    """
    logits = np.full((1, len(p), V, V), -40.0)
    for step, (word, share) in enumerate(zip([4, 5, tokens.EOS], p)):
        logits[0, step, :, word] = np.log(share)
        logits[0, step, :, 6] = np.log1p(-share)
    attention = np.full((1, len(p), V, 4), 0.25)
    return TableModel(logits, attention, np.full((1, len(p), V), 1 - 1e-7))


def test_the_average_may_count_bos():
    model = certain_words(np.exp([-0.1, -0.2, -0.3]))
    for offset, score in [(1, -0.15), (0, -0.2)]:
        options = SearchOptions(
            num_beams=1,
            max_length=3,
            length_penalty=1.0,
            length_offset=offset,
            refill=True,
        )
        result = search(model, options, rows=[0])
        assert unpadded(result.ids[0, 0]) == [4, 5, tokens.EOS]
        np.testing.assert_allclose(result.scores, [[score]], atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("min_length, length", [(34, 35), (35, 36)])
def test_eos_is_dropped_before_the_least_length(min_length, length):
    model = random_model(0, SOURCE_IDS, 40, V, eos_logit=9.0)
    options = SearchOptions(
        num_beams=4, max_length=40, min_length=min_length, refill=True
    )
    result = search(model, options)
    for row in range(2):
        ids = unpadded(result.ids[row, 0])
        assert len(ids) == length and ids.index(tokens.EOS) == min_length
