"""Samples: they follow the model's distribution, and nothing else."""

import collections

import numpy as np
import pytest

from tests.decoding import searching
from tfcopy import tokens
from tfcopy.decoding import SearchOptions

pytestmark = pytest.mark.few(2)

SAMPLES = 3_000
# The chi-square statistic of 9 degrees of freedom is above this once in 10,000.
UNLIKELY = 33.7


@pytest.fixture(
    scope="module", params=["softmax", "pointer_softmax", "copynet"]
)
def model(request):
    return searching.MODELS[request.param]()


@pytest.fixture(scope="module")
def first_words(model):
    """For each source the probability of each first word that is allowed."""
    found = []
    for row in range(2):
        copies = {int(i) for i in searching.COPY_IDS[row] if i >= 0}
        words = sorted(
            {tokens.UNK, tokens.EOS, *range(4, searching.V)} | copies
        )
        scores = searching.teacher_forced(
            model, [row] * len(words), [[w] for w in words]
        )
        mass = np.exp(scores[:, 0])
        found.append(dict(zip(words, mass / mass.sum())))
    return found


def samples(model, number=SAMPLES, **options):
    return searching.search(
        model, sample=True, num_beams=number, num_hypotheses=number, **options
    )


def assert_drawn_from(ids, probabilities):
    counts = collections.Counter(ids[:, 0].tolist())
    assert counts.keys() <= probabilities.keys()
    expected = {w: p * len(ids) for w, p in probabilities.items()}
    statistic = sum((counts[w] - n) ** 2 / n for w, n in expected.items() if n)
    assert statistic < UNLIKELY


@pytest.mark.parametrize("merge", ["sum", "max"])
def test_words_are_as_frequent_as_they_are_probable(model, first_words, merge):
    result = samples(model, max_length=1, merge=merge)
    for ids, probabilities in zip(result.ids, first_words):
        assert_drawn_from(ids, probabilities)


def test_temperature_sharpens(model, first_words):
    result = samples(model, max_length=1, temperature=0.5)
    for ids, probabilities in zip(result.ids, first_words):
        mass = {word: p**2 for word, p in probabilities.items()}
        total = sum(mass.values())
        assert_drawn_from(ids, {w: x / total for w, x in mass.items()})


@pytest.mark.parametrize("option", [{"top_k": 3}, {"top_p": 0.7}])
def test_only_the_likely_words_are_drawn(model, first_words, option):
    result = samples(model, max_length=1, **option)
    for ids, probabilities in zip(result.ids, first_words):
        order = sorted(probabilities, key=probabilities.get, reverse=True)
        before = np.cumsum([probabilities[word] for word in order])
        kept = 3
        if "top_p" in option:
            kept = int(np.argmax(before >= 0.7)) + 1
        likely = {word: probabilities[word] for word in order[:kept]}
        total = sum(likely.values())
        assert_drawn_from(ids, {w: p / total for w, p in likely.items()})


@pytest.mark.few(1, 2)
def test_scores_are_those_of_the_model(model):
    result = samples(model, 6, max_length=8)
    assert (np.diff(result.scores, axis=1) <= 0).all()
    for row in range(2):
        for ids, score in zip(result.ids[row], result.scores[row]):
            expected = searching.teacher_forced(
                model, row, searching.unpadded(ids)
            ).sum()
            np.testing.assert_allclose(score, expected, atol=1e-4)


@pytest.mark.few(1, 2)
def test_near_zero_temperature_is_greedy(model):
    greedy = searching.search(model, num_beams=1, max_length=8)
    result = samples(model, 3, max_length=8, temperature=1e-4)
    for row in range(2):
        assert (result.ids[row] == greedy.ids[row]).all()


@pytest.mark.few(1, 2)
def test_a_text_has_the_same_samples_in_every_batch(model):
    both = samples(model, 20, max_length=6)
    again = samples(model, 20, max_length=6, static_shapes=True)
    np.testing.assert_array_equal(both.ids, again.ids)
    for row in range(2):
        alone = samples(model, 20, max_length=6, rows=[row])
        np.testing.assert_array_equal(alone.ids[0], both.ids[row])
    other = samples(model, 20, max_length=6, sample_seed=1)
    assert (other.ids != both.ids).any()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"temperature": 0.0}, "`temperature` must be a positive number"),
        ({"top_k": -1}, "`top_k` must not be negative"),
        ({"top_p": 0.0}, "`top_p` must be above 0"),
        ({"top_p": 1.5}, "`top_p` must be above 0"),
        ({"sample_seed": -1}, "`sample_seed` must be at least 0"),
    ],
)
@pytest.mark.few(5)
def test_what_makes_no_sense_is_refused(option, message):
    with pytest.raises(ValueError, match=message):
        SearchOptions(sample=True, **option)
