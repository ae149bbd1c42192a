"""Search that must copy says each run of words as often as the source."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.decoding.searching import search_sources, unpadded
from tests.decoding.table_model import probabilities, random_model
from tfcopy import tokens
from tfcopy.decoding import SearchOptions, required_tokens

V = 7
EOS = tokens.EOS
# Runs of the words 4 5, 4 6 4, and 4 5 again, 6 on its own; an unknown word, of
# which the second row's run is made; a run that is the beginning of another.
IDS = np.array(
    [
        [4, 5, 6, 4, 6, 4, 4, 5, 3, 0],
        [1, 1, 5, 4, 1, 1, 3, 0, 0, 0],
        [4, 5, 6, 4, 5, 6, 6, 3, 0, 0],
    ],
    "int32",
)
COPY_IDS = np.array(
    [
        [4, 5, 6, 4, 6, 4, 4, 5, -1, -1],
        [V, V + 1, 5, 4, V, V + 1, -1, -1, -1, -1],
        [4, 5, 6, 4, 5, 6, 6, -1, -1, -1],
    ],
    "int32",
)
PROTECTED = np.array(
    [
        [1, 3, 0, 1, 3, 3, 1, 3, 0, 0],
        [1, 3, 0, 0, 1, 3, 0, 0, 0, 0],
        [1, 3, 0, 1, 3, 3, 0, 0, 0, 0],
    ],
    "int32",
)


# A run that begins with a word that also stands outside, one that ends with an
# unknown word, runs that begin others, and single words.
READINGS = [
    ([4, 6, 4], [1, 3, 0]),
    ([4, V, 5], [1, 3, 0]),
    ([4, 4, 4], [1, 1, 3]),
    ([4, 4, 5, 4], [1, 1, 3, 3]),
    ([4, 5, 4, 5, 4], [1, 3, 1, 3, 3]),
    ([4, 4, 6, 4, 5, 4], [0, 1, 3, 1, 3, 3]),
    ([6, V + 1, 6, V + 1], [0, 1, 0, 1]),
    ([V, 4], [1, 1]),
]


def cases():
    """Those of most words, all of which are read, are slow."""
    for case in itertools.product(
        (2, 1), (True, False), READINGS, (1, required_tokens.IN_TURN)
    ):
        spare, has_prefix, (words, _), _ = case
        is_slow = len(words) + spare - has_prefix > 7
        yield pytest.param(*case, marks=[pytest.mark.slow] * is_slow)


def search(
    model, protected=PROTECTED, ids=IDS, copy_ids=COPY_IDS, prefix=(), **options
):
    return search_sources(
        model,
        ids,
        copy_ids,
        SearchOptions(must_copy=True, **options),
        ops.convert_to_tensor([prefix], "int32") if prefix else None,
        protected=ops.convert_to_tensor(protected),
    )


def runs_of(copy_ids, marks):
    """The runs of a source in their order, as tuples; whether that counts."""
    found = []
    for word, mark in zip(copy_ids.tolist(), marks.tolist()):
        if mark in (1, 2):
            found.append(([word], mark == 2))
        elif mark == 3:
            found[-1][0].append(word)
    return [(tuple(run), in_turn) for run, in_turn in found]


def is_allowed(ids, copy_ids, marks, only=(), chances=()):
    """Returns whether words and EOS can be read as the required runs.

    Where EOS would be the best of the words that may be next, by a dict from
    places to their `chances`, runs that are left must come at once.

    Other words are none of `only`, and no unknown ones, that the source holds
    in runs alone.

    Of two ways to read what follows a run that begins a longer one, it is the
    longer one.
    """
    runs = runs_of(copy_ids, marks)
    free = {int(x) for x, y in zip(copy_ids, marks) if x >= 0 and y == 0}
    unknown = {int(x) for x in copy_ids if x >= V}
    firsts = {*only, *unknown, *(run[0] for run, _ in runs)} - free

    def candidates(left):
        ordered = [run for run in left if run[1]]
        return {x for x in left if not x[1] or x == ordered[0]}

    def would_end(place, never):
        if place not in chances:
            return False
        best = max(p for w, p in enumerate(chances[place]) if w not in never)
        return chances[place][EOS] == best

    def read(place, left, longer, others):
        """`longer` and `others` must not be words outside of runs next.

        Those of `longer` could have been the next words of a longer run.
        """
        rest = ids[place:]
        if rest in ([], [EOS]):  # without room for EOS
            return not left
        there = candidates(left)
        never = (firsts | others) - longer - {run[0][0] for run in there}
        forbidden = longer | others
        for run in there:
            size = len(run[0])
            if tuple(rest[:size]) != run[0]:
                continue
            further = {
                x[0][size]
                for x in there
                if x[0][:size] == run[0] and len(x[0]) > size
            }
            without = list(left)
            without.remove(run)
            if read(place + size, without, further, set()):
                return True
        word = rest[0]
        if word == EOS or word in forbidden or word in firsts:
            return False
        if left and would_end(place, never):
            return False
        seconds = {run[1] for run, _ in runs if run[0] == word and run[1:]}
        return read(place + 1, left, set(), seconds)

    return read(0, runs, set(), set())


@functools.cache
def allowed(max_length, copy_ids, marks, only, prefix):
    """All words that are allowed; tests of several models share them."""
    words = [tokens.UNK, 4, 5, 6, *sorted({x for x in copy_ids if x >= V})]
    copy_ids, marks = np.array(copy_ids), np.array(marks)
    return [
        ids
        for length in range(len(prefix), max_length)
        for body in itertools.product(words, repeat=length - len(prefix))
        if is_allowed(ids := [*prefix, *body, EOS], copy_ids, marks, only)
    ]


def enumerated(model, max_length, merge, copy_ids, marks, only=(), prefix=()):
    """`(log p, words)` of all that is allowed, the best first."""
    found = []
    places = tuple(copy_ids.tolist()), tuple(marks.tolist())
    for ids in allowed(max_length, *places, only, prefix):
        log_p, previous, chances = 0.0, tokens.BOS, {}
        for step, word in enumerate(ids):
            p = probabilities(model, 0, step, previous, copy_ids, merge)
            log_p += np.log(p[word])
            previous = word if word < V else tokens.UNK
            if step >= len(prefix):
                chances[step] = p
        if is_allowed(ids, copy_ids, marks, only, chances):
            found.append((log_p, ids))
    return sorted(found, reverse=True)


def assert_finds_all(expected, *arguments, **options):
    """All that is allowed is found, and nothing else ends with EOS.

    The beam has room for all of them, for ten others, and for any word that
    follows one of these.
    """
    number = V * (len(expected) + 10)
    result = search(
        *arguments, num_beams=number, num_hypotheses=number, **options
    )
    found = [unpadded(x) for x in result.ids[0]]
    assert [x for x in found if EOS in x] == [x for _, x in expected]
    np.testing.assert_allclose(
        result.scores[0][: len(expected)], [x for x, _ in expected], atol=1e-4
    )


@pytest.mark.long
@pytest.mark.parametrize("merge", ["sum", "max"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("has_turns", "only"), [(False, ()), (True, ()), (True, (5,))]
)
def test_a_wide_beam_finds_the_best_of_all_that_are_allowed(
    seed, merge, has_turns, only
):
    protected = np.where(PROTECTED == 1, 2, PROTECTED)
    protected = protected if has_turns else PROTECTED
    for row, length in enumerate((9, 7, 7)):
        chosen = slice(row, row + 1)
        ids, copy_ids, marks = IDS[chosen], COPY_IDS[chosen], protected[chosen]
        model = random_model(seed, ids, length, V)
        expected = enumerated(model, length, merge, copy_ids[0], marks[0], only)
        assert_finds_all(
            expected,
            model,
            marks,
            ids,
            copy_ids,
            max_length=length,
            merge=merge,
            source_only=only,
        )


@pytest.mark.few(3)
@pytest.mark.parametrize(("spare", "has_prefix", "reading", "first"), cases())
def test_words_that_can_be_read_in_several_ways(
    spare, has_prefix, reading, first
):
    """All that is allowed is found, and nothing twice."""
    words, marks = reading
    copy_ids, marks = (np.array([x], "int32") for x in ([*words, -1], marks))
    marks = np.where(marks == 1, first, marks)
    marks = np.pad(marks, [[0, 0], [0, 1]])
    ids = np.where(copy_ids < V, copy_ids, tokens.UNK)
    ids = np.where(copy_ids < 0, EOS, ids)
    prefix = tuple(words[:1]) if has_prefix else ()
    length = len(words) + spare
    model = random_model(0, ids, length, V)
    expected = enumerated(
        model, length, "sum", copy_ids[0], marks[0], prefix=prefix
    )
    assert_finds_all(
        expected, model, marks, ids, copy_ids, prefix, max_length=length
    )


@pytest.mark.long
@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**20),
    num_beams=st.integers(1, 5),
    max_length=st.integers(9, 12),
    eos_logit=st.sampled_from([-4.0, 4.0]),
    options=st.sampled_from(
        [
            {},
            {"merge": "max", "refill": True},
            {"no_repeat_ngram": 1},
            {"sample": True},
            {"static_shapes": True, "forbid_unk": True},
        ]
    ),
    has_turns=st.booleans(),
    pointing=st.sampled_from([-1e3, 0.0, 5.0]),
)
def test_every_hypothesis_says_all_runs(
    seed, num_beams, max_length, eos_logit, options, has_turns, pointing
):
    protected = np.where(PROTECTED == 1, 2, PROTECTED)
    protected = protected if has_turns else PROTECTED
    model = random_model(seed, IDS, 12, V, eos_logit)
    model.memory["point"] += pointing  # it would never copy, or mostly
    result = search(
        model,
        protected,
        num_beams=num_beams,
        num_hypotheses=num_beams,
        max_length=max_length,
        **options,
    )
    for row in range(3):
        assert result.scores[row][0] > -1e8
        is_known = (COPY_IDS[row] < V) & (protected[row] > 0)
        found = zip(
            result.ids[row], result.copied_from[row], result.scores[row]
        )
        for ids, places, score in found:
            if score > -1e8:
                assert is_allowed(unpadded(ids), COPY_IDS[row], protected[row])
                # And no other known word is copied from where runs stand.
                in_run = is_known[places[places >= 0]]
                assert np.count_nonzero(in_run) == np.count_nonzero(is_known)


def test_a_run_that_also_stands_outside_can_always_be_copied():
    """The model would never copy, and its words cannot be generated."""
    copy_ids = np.array([[V, V + 1, V, V + 1, -1]], "int32")
    ids = np.array([[1, 1, 1, 1, EOS]], "int32")
    marks = np.array([[0, 0, 1, 3, 0]], "int32")
    model = random_model(0, ids, 6, V)
    model.memory["point"] -= 1e3
    result = search(model, marks, ids, copy_ids, num_beams=2, max_length=6)
    assert is_allowed(unpadded(result.ids[0, 0]), copy_ids[0], marks[0])


@pytest.mark.parametrize("refill", [False, True])
def test_a_greedy_search_begins_a_run_rather_than_repeat_its_word(refill):
    """The word is exactly as probable outside of the run, further left."""
    ids = np.array([[6, 5, 6, 4, EOS]], "int32")
    copy_ids = np.array([[6, 5, 6, 4, -1]], "int32")
    model = random_model(0, ids, 6, V)
    model.memory["logits"][:, 0, :, 6] = 9.0
    model.memory["logits"][:, 1:, :, EOS] = 9.0
    marks = np.array([[0, 0, 1, 3, 0]], "int32")
    options = {"num_beams": 1, "max_length": 6, "refill": refill}
    result = search(model, marks, ids, copy_ids, **options)
    assert unpadded(result.ids[0, 0]) == [6, 4, EOS]


def test_words_of_runs_are_copied_from_runs():
    model = random_model(3, IDS, 12, V)
    result = search(model, num_beams=8, num_hypotheses=1, max_length=10)
    for row in range(3):
        words = unpadded(result.ids[row, 0])
        places = result.copied_from[row, 0][: len(words)].tolist()
        assert all(
            p < 0 or COPY_IDS[row][p] == x for x, p in zip(words, places)
        )
        begun = [p for p in places if p >= 0 and PROTECTED[row][p] == 1]
        assert len(begun) == (PROTECTED[row] == 1).sum()
        for place, following in itertools.pairwise(places):
            if place >= 0 and PROTECTED[row][place] == 1:
                assert PROTECTED[row][following] == 3


def test_what_does_not_fit_ranks_last_and_is_not_lost():
    model = random_model(1, IDS, 9, V, eos_logit=9.0)
    result = search(model, num_beams=3, num_hypotheses=3, max_length=5)
    assert unpadded(result.ids[1, 0])[-1] == EOS
    short = search(model, num_beams=3, num_hypotheses=3, max_length=4)
    assert unpadded(short.ids[1, 0]) == [V, V + 1, V, V + 1]


def equal_runs(words, starts, lengths):
    size = len(words)
    found = np.zeros((size, size))
    for p, q in itertools.product(range(size), repeat=2):
        both = starts[p] and starts[q] and lengths[p] == lengths[q]
        ends = p + lengths[p], q + lengths[q]
        if both and words[p : ends[0]] == words[q : ends[1]]:
            found[p, q] = 1
    return found


@settings(max_examples=50)
@given(st.data())
def test_runs_are_described(data):
    """Words of an alphabet of two, and any marks."""
    size = data.draw(st.integers(1, 9))
    words = data.draw(st.lists(st.integers(4, 5), min_size=size, max_size=size))
    marks = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    for p in range(size):  # a run goes on where there is one
        marks[p] *= marks[p] < 3 or (p > 0 and marks[p - 1] > 0)
    same = np.equal.outer(words, words)[None].astype("float32")
    runs = required_tokens.describe(
        ops.convert_to_tensor(np.array([marks], "int32")),
        ops.convert_to_tensor(same),
        ops.ones((1, size), "bool"),
    )
    starts, inner = [x in (1, 2) for x in marks], [False] * size
    for p in range(1, size):
        inner[p] = marks[p] == 3 and (starts[p - 1] or inner[p - 1])
    lengths = [0] * size

    def measure():
        for p in range(size):
            n = p + 1
            while n < size and inner[n]:
                n += 1
            lengths[p] = (n - p) * starts[p]

    measure()
    alone = {x for x, n in zip(words, lengths) if n == 1}
    for p in range(size):
        starts[p] |= words[p] in alone and not inner[p]
    measure()
    to_numpy = ops.convert_to_numpy
    assert to_numpy(runs.starts)[0].tolist() == starts
    assert to_numpy(runs.inner)[0].tolist() == inner
    assert to_numpy(runs.length)[0].tolist() == lengths
    expected = equal_runs(words, starts, lengths)
    np.testing.assert_array_equal(to_numpy(runs.same)[0], expected)
    ends = [
        (starts[p] or inner[p]) and not (p + 1 < size and inner[p + 1])
        for p in range(size)
    ]
    assert to_numpy(runs.ends)[0].tolist() == ends
