import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import helpers
from tfcopy.layers.heads.restricted_vocabulary import restrict
from tfcopy.tokens import NO_COPY, UNK

V = 10
SPECIAL = [0, 1, 2, 3]


def naive_restrict(ids, source_copy_ids, candidates):
    """One word after the other."""
    rows = []
    for row, source in zip(ids.tolist(), source_copy_ids.tolist()):
        words = []
        for word in row:
            if word < 0:
                words.append(word)
            elif word in candidates:
                words.append(candidates.index(word))
            elif word in source:
                words.append(len(candidates) + source.index(word))
            else:
                words.append(UNK)
        rows.append(words)
    return np.array(rows)


def test_a_word_among_the_candidates_becomes_its_place():
    ids = np.array([[9, 4, 3, 0]], "int32")
    sources = np.array([[9, 5]], "int32")
    candidates = np.array([*SPECIAL, 4, 9], "int32")
    helpers.assert_close(restrict(ids, sources, candidates, V), [[5, 4, 3, 0]])


def test_a_word_outside_is_copied_or_unknown():
    # 5 and 12 stand in the source, 12 = V + 2 outside the vocabulary; 7 does
    # not stand there.
    ids = np.array([[5, 12, 7]], "int32")
    sources = np.array([[9, 5, 12, 5, 12, NO_COPY]], "int32")
    candidates = np.array([*SPECIAL, 4, 9], "int32")
    helpers.assert_close(
        restrict(ids, sources, candidates, V), [[6 + 1, 6 + 2, UNK]]
    )
    helpers.assert_close(
        restrict(sources, sources, candidates, V),
        [[5, 7, 8, 7, 8, NO_COPY]],
    )


def test_all_words_change_nothing():
    ids = np.array([[5, 12, 7, -1]], "int32")
    sources = np.array([[9, 5, 12, 5, 12, NO_COPY]], "int32")
    everything = np.arange(V, dtype="int32")
    helpers.assert_close(restrict(ids, sources, everything, V), ids)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, V - len(SPECIAL)))
def test_is_what_one_word_after_the_other_gives(seed, extra):
    rng = np.random.default_rng(seed)
    others = rng.choice(np.arange(4, V), extra, replace=False)
    candidates = np.array([*SPECIAL, *sorted(others)], "int32")
    sources = rng.integers(-1, V, size=(2, 4)).astype("int32")
    for row in sources:  # some are outside: V and their first position
        row[rng.random(4) < 0.3] = V + rng.integers(0, 4)
    ids = rng.integers(-1, V, size=(2, 5)).astype("int32")
    for row, source in zip(ids, sources):
        row[:2] = rng.choice(source, 2)
    expected = naive_restrict(ids, sources, candidates.tolist())
    helpers.assert_close(restrict(ids, sources, candidates, V), expected)
