import itertools

import numpy as np
import pytest

from tests.decoding.searching import (
    COPY_IDS,
    MODELS,
    SOURCE_IDS,
    V,
    assert_finds,
    best_first,
    search,
    teacher_forced,
    unpadded,
    words_of,
)
from tfcopy import tokens
from tfcopy.decoding import SearchOptions

pytestmark = pytest.mark.few(2)


@pytest.fixture(
    scope="module", params=["softmax", "pointer_softmax", "copynet", "defined"]
)
def model(request):
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def sentences(model):
    """For each source all finished sentences of at most 3 tokens."""

    def score(rows, targets):
        return teacher_forced(model, rows, targets).sum(axis=1)

    return best_first(score, [words_of(row) for row in range(2)], 3)


@pytest.mark.few(4)
def test_a_wide_beam_finds_what_brute_force_finds(model, sentences):
    result = search(model, num_beams=300, num_hypotheses=5, max_length=3)
    assert_finds(result, sentences)


@pytest.mark.parametrize("offset", [0, 2])
def test_length_penalty_ranks_by_the_divided_score(model, sentences, offset):
    """The length may count what stands before."""
    result = search(
        model,
        num_beams=300,
        num_hypotheses=4,
        max_length=3,
        length_penalty=1.0,
        length_offset=offset,
    )
    divided = [
        sorted(
            ((s / (len(ids) + offset), ids) for s, ids in some), reverse=True
        )
        for some in sentences
    ]
    assert_finds(result, divided)


@pytest.mark.parametrize("compete", [False, True])
def test_what_is_cut_off_competes_or_comes_last(model, sentences, compete):
    """Of all sentences there are, with a beam for each of them."""
    result = search(
        model,
        num_beams=100,
        num_hypotheses=20,
        max_length=2,
        length_penalty=0.5,
        unfinished_compete=compete,
    )
    found = []
    for row in range(2):
        finished = [
            (s / len(x) ** 0.5, x) for s, x in sentences[row] if len(x) < 3
        ]
        targets = [[*x] for x in itertools.product(words_of(row), repeat=2)]
        rows = [row] * len(targets)
        scores = teacher_forced(model, rows, targets).sum(axis=1) / 2**0.5
        # A softmax cannot say all words of the source.
        finished, cut_off = (
            sorted((x for x in some if x[0] > -1e6), reverse=True)
            for some in (finished, zip(scores.tolist(), targets))
        )
        expected = finished + cut_off
        found.append(sorted(expected, reverse=True) if compete else expected)
    assert_finds(result, found)


def test_words_that_are_forbidden_agree_with_brute_force(model, sentences):
    result = search(
        model,
        num_beams=300,
        num_hypotheses=2,
        max_length=3,
        min_length=2,
        forbid_unk=True,
        no_repeat_ngram=1,
        source_only=(4,),
    )
    # The second source holds 4.
    for row, missing in enumerate(({4}, set())):
        allowed = [
            ids
            for _, ids in sentences[row]
            if len(ids) > 2
            and tokens.UNK not in ids
            and len(set(ids)) == len(ids)
            and missing.isdisjoint(ids)
        ]
        assert [unpadded(ids) for ids in result.ids[row]] == allowed[:2]


def test_one_beam_is_greedy(model):
    """Of all words that could go on, each of its words is the likeliest."""
    result = search(model, num_beams=1, max_length=6)
    found = [(row, unpadded(result.ids[row, 0])) for row in range(2)]
    steps = [
        (row, ids[:t], [*words_of(row), tokens.EOS])
        for row, ids in found
        for t in range(len(ids))
    ]
    scores = teacher_forced(
        model,
        [row for row, _, words in steps for _ in words],
        [[*ids, w] for _, ids, words in steps for w in words],
    )
    likeliest = []
    for _, ids, words in steps:
        some, scores = scores[: len(words)], scores[len(words) :]
        likeliest.append(words[int(np.argmax(some[:, len(ids)]))])
    assert likeliest == [w for _, ids in found for w in ids]
    for _, ids in found:
        assert tokens.EOS not in ids[:-1]
        assert len(ids) == 6 or ids[-1] == tokens.EOS


def test_unmerged_search_points_or_generates(model):
    result = search(model, num_beams=4, max_length=5, merge="max")
    for row in range(2):
        ids = unpadded(result.ids[row, 0])
        pointers = result.copied_from[row, 0, : len(ids)]
        scores = teacher_forced(model, row, ids, "max", pointers)
        np.testing.assert_allclose(
            result.scores[row, 0], scores.sum(), atol=1e-4
        )


def test_copied_from_names_a_position_that_holds_the_word(model):
    for merge in ("sum", "max"):
        result = search(
            model, num_beams=5, num_hypotheses=5, max_length=5, merge=merge
        )
        for row, n, t in zip(*np.nonzero(result.copied_from >= 0)):
            position = result.copied_from[row, n, t]
            assert result.ids[row, n, t] == COPY_IDS[row, position]
        assert np.all(result.copied_from[result.ids >= V] >= 0)


def test_every_hypothesis_begins_with_the_prefix(model):
    prefix = np.array([[V + 1, 5], [6, tokens.PAD]], "int32")
    result = search(
        model, prefix=prefix, num_beams=3, num_hypotheses=2, max_length=4
    )
    assert np.all(result.ids[0, :, :2] == prefix[0])
    assert np.all(result.ids[1, :, 0] == 6)
    ids = unpadded(result.ids[0, 0])
    if ids[-1] == tokens.EOS:
        scores = teacher_forced(model, 0, ids)
        np.testing.assert_allclose(result.scores[0, 0], scores.sum(), atol=1e-4)


def test_attention_is_returned_if_asked_for(model):
    result = search(model, max_length=5, return_attention=True)
    assert result.attention.shape == (2, 1, 5, 6)
    for row, length in enumerate((result.ids[:, 0] != tokens.PAD).sum(axis=1)):
        attention = result.attention[row, 0]
        np.testing.assert_allclose(attention[:length].sum(1), 1, atol=1e-5)
        assert np.all(attention[:, SOURCE_IDS[row] == tokens.PAD] == 0)
    assert search(model, max_length=2).attention.shape[2] == 0


def test_coverage_penalty_lowers_the_score(model):
    plain = search(model, num_beams=1, max_length=4)
    covered = search(
        model,
        num_beams=1,
        max_length=4,
        coverage_penalty=0.5,
        return_attention=True,
    )
    np.testing.assert_array_equal(plain.ids, covered.ids)
    for row in range(2):
        length = len(unpadded(covered.ids[row, 0]))
        real = SOURCE_IDS[row] != tokens.PAD
        coverage = covered.attention[row, 0, :length, real].sum(axis=1)
        penalty = 0.5 * np.log(np.minimum(coverage, 1)).sum()
        np.testing.assert_allclose(
            covered.scores[row], plain.scores[row] + penalty, atol=1e-4
        )


@pytest.mark.parametrize(
    "options",
    [
        *({"num_beams": 0}, {"num_beams": 1_000_000}, {"num_hypotheses": 6}),
        *({"max_length": 0}, {"min_length": 60}, {"merge": "mean"}),
        *({"no_repeat_ngram": -1}, {"length_offset": -1}),
        *({"coverage_penalty": -0.1}, {"length_penalty": -1.0}),
        {"length_penalty": float("inf")},
    ],
)
@pytest.mark.few(11)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        SearchOptions(**options)
