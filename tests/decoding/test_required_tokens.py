"""Search that must copy says each protected word as often as the source."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.decoding.searching import (
    COPY_IDS,
    MODELS,
    SOURCE_IDS,
    V,
    assert_finds,
    best_first,
    search_sources,
    source_inputs,
    teacher_forced,
    unpadded,
)
from tests.decoding.table_model import probabilities, random_model
from tfcopy import tokens
from tfcopy.decoding import Candidates, SearchOptions, beam_search, search_among
from tfcopy.layers.copying import generation_ids

# Of the first source the unknown word, which stands there twice, and in the
# second one both words; one of them can be generated, too.
PROTECTED = np.array([[0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]], bool)
REQUIRED = [{V + 1: 2}, {V: 1, 4: 1}]


def search(model, protected=PROTECTED, searched=beam_search, **options):
    prefix = options.pop("prefix", None)
    return search_sources(
        model,
        SOURCE_IDS,
        COPY_IDS,
        SearchOptions(must_copy=True, **options),
        prefix,
        source_inputs(model) if hasattr(model, "source_inputs") else {},
        ops.convert_to_tensor(protected),
        searched=searched,
    )


def is_complete(ids, required):
    counts = collections.Counter(ids)
    return all(counts[word] == n for word, n in required.items())


def would_end(model, row, words):
    """Beginnings, of up to two words, that EOS would follow first of all."""
    beginnings = [
        ids for n in range(3) for ids in itertools.product(words, repeat=n)
    ]
    nexts = [tokens.EOS, *words]
    targets = [[*ids, word] for ids in beginnings for word in nexts]
    scores = teacher_forced(model, [row] * len(targets), targets)
    scores = scores[np.arange(len(targets)), [len(x) - 1 for x in targets]]
    enough = [
        [ids.count(x) == REQUIRED[row].get(x, -1) for x in nexts]
        for ids in beginnings
    ]
    scores = np.where(enough, -np.inf, scores.reshape(-1, len(nexts)))
    return {ids for ids, i in zip(beginnings, scores.argmax(axis=1)) if i == 0}


@pytest.mark.parametrize("name", [x for x in MODELS if x != "softmax"])
@pytest.mark.few(2, 5)
def test_a_wide_beam_finds_the_best_of_all_that_are_complete(name):
    model = MODELS[name]()

    def score(rows, targets):
        return teacher_forced(model, rows, targets).sum(axis=1)

    words = [[tokens.UNK, *range(4, V), V + 1], [tokens.UNK, *range(4, V), V]]
    sentences = best_first(score, words, 4)
    result = search(model, num_beams=125, num_hypotheses=6, max_length=4)
    complete = []
    for row, (some, required) in enumerate(zip(sentences, REQUIRED)):
        ended = would_end(model, row, words[row])
        complete.append(
            [
                (x, ids)
                for x, ids in some
                if is_complete(ids, required)
                and all(
                    ids[i] in required or is_complete(ids[:i], required)
                    for i in range(len(ids))
                    if tuple(ids[:i]) in ended
                )
            ]
        )
    assert_finds(result, complete)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_follows_where_a_text_would_end(seed):
    model = random_model(seed, SOURCE_IDS, 9, V, eos_logit=9.0)
    # The model would never copy.
    model.memory["point"] -= 1e3
    result = search(model, num_beams=5, num_hypotheses=5, max_length=9)
    for row, required in zip(result.ids, REQUIRED):
        expected = [*collections.Counter(required).elements()]
        assert all(sorted(ids[:2].tolist()) == sorted(expected) for ids in row)


def test_what_must_not_come_again_hides_no_end():
    """The best word, of which there are enough, is better than the end."""
    model = random_model(0, SOURCE_IDS, 9, V, eos_logit=9.0)
    model.memory["point"] -= 1e3
    model.memory["logits"][..., 4] += 18.0
    result = search(model, num_beams=1, max_length=9)
    assert unpadded(result.ids[1, 0]) == [4, V, tokens.EOS]


def narrow_beam(model, row, num_beams, max_length):
    """The best that ends of a beam that reserves a place for what lacks least.

    Each entry is `(log p, words, number of words that are left)`.
    """
    required = collections.Counter(REQUIRED[row])
    words = {tokens.EOS, tokens.UNK, *range(4, V), *REQUIRED[row]}
    alive, finished = [(0.0, [], required.total())], []
    for step in range(max_length):
        grown = []
        for before, ids, left in alive:
            previous = ids[-1] if ids else tokens.BOS
            previous = previous if previous < V else tokens.UNK
            p = probabilities(model, row, step, previous, COPY_IDS[row], "sum")
            missing = required - collections.Counter(ids)
            may_follow = [x for x in words if x in missing or x not in required]
            would_end = max(may_follow, key=p.__getitem__) == tokens.EOS
            if left and (would_end or left >= max_length - step - 1):
                may_follow = missing
            elif left:
                may_follow.remove(tokens.EOS)
            grown += [
                (before + np.log(p[x]), [*ids, x], left - (x in missing))
                for x in may_follow
            ]
        grown.sort(reverse=True)
        fewest = min(x[2] for x in grown)
        best = grown[:num_beams]
        if all(x[2] > fewest for x in best):
            best[-1] = next(x for x in grown if x[2] == fewest)
        best = best[: num_beams - len(finished)]
        finished += [x for x in best if x[1][-1] == tokens.EOS]
        alive = [x for x in best if x[1][-1] != tokens.EOS]
        if not alive:
            break
    return max(finished or [x for x in alive if not x[2]])[:2]


@pytest.mark.few(2, 6)
@pytest.mark.parametrize(
    ("seed", "pointing", "eos_logit"),
    [
        (i, *x)
        for i, x in enumerate(itertools.product((-20, -5, 0), (-4, 0, 4)))
    ],
)
def test_a_narrow_beam_has_a_place_for_what_lacks_least(
    seed, pointing, eos_logit
):
    num_beams = 2 + seed % 4
    model = random_model(seed, SOURCE_IDS, 8, V, eos_logit)
    model.memory["point"] += pointing
    result = search(model, num_beams=num_beams, max_length=8)
    for row in range(2):
        score, ids = narrow_beam(model, row, num_beams, 8)
        assert unpadded(result.ids[row, 0]) == ids
        np.testing.assert_allclose(result.scores[row, 0], score, atol=1e-3)


def test_refilled_beams_do_not_end_with_what_is_reserved():
    """The word that is required comes late, and early ones are improbable."""
    model = random_model(0, SOURCE_IDS, 8, V)
    for name, table in model.memory.items():
        model.memory[name] = np.full_like(table[:1], -9.0 * (name != "logits"))
    model.memory["logits"][..., tokens.EOS] = -9.0
    natural = [4, 5, 6, 4, 5, V, tokens.EOS]
    for step, word in enumerate(natural):
        model.memory["generate"][0, step] = 0.0
        model.memory["point"][0, step] = -6 - step
        if word < V:
            model.memory["logits"][0, step, :, word] = 3.0
    model.memory["point"][0, 5] = 0.0
    model.memory["attention"][..., 0] = 0.0
    model.memory["logits"][0, :, tokens.UNK, tokens.EOS] = 6.0
    result = search_sources(
        model,
        SOURCE_IDS[1:],
        COPY_IDS[1:],
        SearchOptions(must_copy=True, num_beams=2, refill=True, max_length=8),
        None,
        {},
        ops.convert_to_tensor([[True, *[False] * 5]]),
    )
    assert unpadded(result.ids[0, 0]) == natural


# Of the first source the unknown word counts, which stands there twice, and a
# word between: as 2 they must be said in their order.
IN_TURN = np.where(COPY_IDS >= 0, 2, 0).astype("int32")


def in_turn(row):
    return [x for x in COPY_IDS[row].tolist() if x >= 0]


OPTIONS = [
    {},
    {"merge": "max"},
    {"refill": True},
    {"merge": "max", "no_repeat_ngram": 1},
    {"no_repeat_ngram": 1, "coverage_penalty": 0.5, "length_penalty": 1.0},
    {"forbid_unk": True, "rescale": True, "unfinished_compete": True},
    {"source_only": (4, 5), "min_length": 4, "static_shapes": True},
]


@pytest.mark.long
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**20),
    num_beams=st.integers(1, 5),
    max_length=st.integers(5, 9),
    eos_logit=st.sampled_from([-4.0, 4.0]),
    options=st.sampled_from(OPTIONS),
    has_turns=st.booleans(),
)
def test_every_hypothesis_is_complete(
    seed, num_beams, max_length, eos_logit, options, has_turns
):
    model = random_model(seed, SOURCE_IDS, 9, V, eos_logit)
    # The model would never copy.
    model.memory["point"] -= 1e3
    result = search(
        model,
        IN_TURN if has_turns else PROTECTED,
        num_beams=num_beams,
        num_hypotheses=num_beams,
        max_length=max_length,
        **options,
    )
    for row in range(2):
        assert result.scores[row][0] > -1e8
        found = [tuple(x) for x in result.ids[row][result.scores[row] > -1e8]]
        assert all(is_complete(ids, REQUIRED[row]) for ids in found)
        assert len(set(found)) == len(found)
        if has_turns:
            words = in_turn(row)
            said = [[x for x in ids if x in words] for ids in found]
            assert all(x == words for x in said)


@pytest.mark.parametrize("compete", [False, True])
def test_what_does_not_fit_ranks_last_and_is_not_lost(compete):
    """Two words and EOS do not fit into two tokens; one word does."""
    protected = np.array([[0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], bool)
    model = random_model(1, SOURCE_IDS, 9, V, eos_logit=9.0)
    result = search(
        model,
        protected,
        num_beams=3,
        num_hypotheses=3,
        max_length=2,
        unfinished_compete=compete,
    )
    assert unpadded(result.ids[0, 0]) == [V + 1, V + 1]
    assert unpadded(result.ids[1, 0]) == [V, tokens.EOS]
    first = search(model, num_beams=3, num_hypotheses=3, max_length=1)
    assert unpadded(first.ids[0, 0]) == [V + 1]
    assert unpadded(first.ids[1, 0]) in ([V], [4])


def test_what_is_incomplete_ranks_below_what_is_cut_off():
    model = random_model(1, SOURCE_IDS, 9, V, eos_logit=9.0)
    # The prefix leaves no room for the second word in some hypotheses.
    prefix = ops.convert_to_tensor(np.array([[V + 1, 4], [V, 4]], "int32"))
    result = search(
        model, num_beams=2, num_hypotheses=2, max_length=3, prefix=prefix
    )
    assert unpadded(result.ids[0, 0]) == [V + 1, 4, V + 1]
    assert unpadded(result.ids[1, 0]) == [V, 4, tokens.EOS]


@pytest.mark.parametrize("seed, compete", [(0, False), (1, True)])
def test_what_is_incomplete_is_ranked_by_its_score(seed, compete):
    """Of four words three fit; their scores are too close for rough sums."""
    model = random_model(seed, SOURCE_IDS, 3, V)
    model.memory["logits"] *= 0.01
    result = search(
        model,
        COPY_IDS >= 0,
        num_beams=9,
        num_hypotheses=6,
        max_length=3,
        length_penalty=4.0,
        coverage_penalty=0.01,
        unfinished_compete=compete,
    )
    expected = []
    for ids in set(itertools.permutations([6, 6, V + 1, V + 1], 3)):
        score, coverage = 0.0, 0.0
        for step, word in enumerate(ids):
            previous = [tokens.BOS, *generation_ids(np.array(ids), V)][step]
            p = probabilities(model, 0, step, previous, COPY_IDS[0])
            score += np.log(p[word])
            coverage += np.exp(model.memory["attention"][0, step, previous])
        coverage = np.minimum(coverage, 1)[SOURCE_IDS[0] != tokens.PAD]
        score = score / 3**4 + 0.01 * np.log(coverage).sum()
        expected.append((score, [*ids]))
    expected.sort(reverse=True)
    np.testing.assert_allclose(
        result.scores[0], [score for score, _ in expected], rtol=1e-4
    )
    assert result.ids[0].tolist() == [ids for _, ids in expected]


def test_nothing_protected_changes_nothing():
    model = random_model(2, SOURCE_IDS, 6, V)
    options = {"num_beams": 4, "num_hypotheses": 4, "max_length": 6}
    for merge in ("sum", "max"):
        expected = search_sources(
            model, SOURCE_IDS, COPY_IDS, SearchOptions(**options, merge=merge)
        )
        found = search(model, np.zeros_like(PROTECTED), **options, merge=merge)
        for x, y in zip(expected, found):
            np.testing.assert_allclose(x, y, atol=1e-5)


def test_a_restricted_search_must_copy_too():
    model = MODELS["pointer_softmax"]()

    def among(model, *arguments, **more):
        candidates = Candidates(np.array([0, 1, 2, 3, 5], "int32"))
        return search_among(candidates, model, *arguments, **more)

    result = search(model, searched=among, num_beams=3, max_length=6)
    for row in range(2):
        assert is_complete(result.ids[row, 0], REQUIRED[row])


def test_positions_must_be_named():
    with pytest.raises(ValueError, match="protected"):
        beam_search(
            random_model(0, SOURCE_IDS, 3, V),
            ops.convert_to_tensor(SOURCE_IDS),
            ops.convert_to_tensor(COPY_IDS),
            SearchOptions(must_copy=True),
        )
