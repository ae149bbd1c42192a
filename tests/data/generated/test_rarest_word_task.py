import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfcopy.data.generated.rarest_word_task import RarestWord, TrainingSequences
from tfcopy.tokens import GENERATE, SPECIAL_TOKENS

# Of seven draws, and of 1,000 updates of 250 sequences.
TABLE = {
    0.0: (0.1000, 0.5217, 2902),
    0.0005: (0.0870, 0.4714, 2491),
    0.001: (0.0752, 0.4215, 2122),
    0.002: (0.0549, 0.3266, 1505),
    0.003: (0.0390, 0.2430, 1038),
    0.005: (0.0182, 0.1209, 457),
    0.01: (0.0020, 0.0139, 43),
    0.02: (0.0000, 0.0001, 0.2),
}
SMALL = RarestWord(num_words=6, num_pointed=2, length=4, q=0.3)


# === Frequencies ===


@pytest.mark.parametrize("q", list(TABLE))
def test_table_of_the_paper_notes(q):
    """Check 12."""
    expected = RarestWord(q=q).expect()
    words, targets, rarest = TABLE[q]
    assert expected["pointed_words"] == pytest.approx(words, abs=5e-5)
    assert expected["pointed_targets"] == pytest.approx(targets, abs=5e-5)
    assert round(expected["rarest_targets"], 1 if q == 0.02 else 0) == rarest


@pytest.mark.parametrize("q", [0.0, 0.002, 0.3, 0.999])
def test_frequencies_are_geometric_cut_and_normalised(q):
    frequencies = RarestWord(num_words=50, num_pointed=5, q=q).probabilities()
    assert frequencies.shape == (50,)
    assert frequencies.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(
        frequencies[1:], frequencies[:-1] * (1 - q), rtol=1e-9
    )


def test_words_are_drawn_as_often_as_they_should():
    task = RarestWord(num_words=20, num_pointed=2, q=0.1)
    words = task.draw(30_000, "test", 0)
    assert words.shape == (30_000, 7) and words.dtype == np.int32
    found = np.bincount(words.ravel(), minlength=20) / words.size
    # The last word has no more than its share: nothing is clipped into it.
    np.testing.assert_allclose(found, task.probabilities(), rtol=0.05)
    share = task.is_pointed(words).mean()
    assert share == pytest.approx(task.expect()["pointed_targets"], abs=0.01)
    # Neighbours know nothing of each other.
    assert abs(np.corrcoef(words[:, 0], words[:, 1])[0, 1]) < 0.02


# === Labels ===


@given(
    hnp.arrays(
        np.int32,
        st.tuples(st.integers(1, 3), st.just(4)),
        elements=st.integers(0, 5),
    ),
    st.integers(0, 5),
)
def test_labels_follow_from_the_words(words, num_pointed):
    """Check 12, too: a rarest word that stands at several places."""
    task = RarestWord(num_words=6, num_pointed=num_pointed, length=4)
    batch = task.encode(words)
    assert {ids.dtype for ids in batch.values()} == {np.dtype("int32")}
    batch = {k: x.tolist() for k, x in batch.items()}
    v = 4 + 6 - num_pointed
    assert task.vocabulary_size == v
    for i, row in enumerate(words.tolist()):
        names = [
            4 + word if 4 + word < v else v + row.index(word) for word in row
        ]
        rarest = max(row)
        pointed = rarest >= 6 - num_pointed
        assert batch["source_ids"][i] == [4 + word for word in row]
        assert batch["source_copy_ids"][i] == names
        assert batch["target_ids"][i] == [names[row.index(rarest)]]
        place = row.index(rarest) if pointed else GENERATE
        assert batch["pointers"][i] == [place]
        assert task.is_pointed(words)[i] == pointed


def test_vocabulary_begins_with_the_specials_and_the_frequent():
    words = SMALL.vocabulary
    assert words == (*SPECIAL_TOKENS, "w0", "w1", "w2", "w3", "w4", "w5")
    assert words[: SMALL.vocabulary_size][-1] == "w3"


# === Sequences to train on ===


def test_streams_and_seeds_differ_and_repeat():
    task = RarestWord()
    seeds = [("train", 0, 0, 0), ("train", 0, 0, 1), ("train", 0, 1, 0)]
    seeds += [("train", 1, 0, 0), ("validation", 0), ("test", 0), ("test", 1)]
    seeds += [("limited", 0)]
    drawn = {seed: task.draw(4, *seed).tobytes() for seed in seeds}
    assert len(set(drawn.values())) == len(seeds)
    for seed in reversed(seeds):
        assert task.draw(4, *seed).tobytes() == drawn[seed]


def test_endless_batches_depend_on_their_position_alone():
    read = TrainingSequences(RarestWord(), 8, seed=3)
    assert read.batches_per_epoch == 1_000
    batches = [read.batch(1, index) for index in range(3)]
    again = TrainingSequences(RarestWord(), 8, seed=3)
    np.testing.assert_array_equal(again.batch(1, 2), batches[2])
    assert (batches[0] != batches[1]).any()
    assert (again.batch(2, 2) != batches[2]).any()


def test_limited_set_is_read_again_in_another_order():
    read = TrainingSequences(RarestWord(), 5, seed=1, size=23, set_seed=7)
    rows = RarestWord().draw(23, "limited", 7).tolist()
    assert read.batches_per_epoch == 4  # Three sequences are left out.
    epochs = []
    for epoch in range(2):
        batches = [read.batch(epoch, index).tolist() for index in range(4)]
        epochs.append(sum(batches, []))
        assert len({rows.index(row) for row in epochs[-1]}) == 20
    assert epochs[0] != epochs[1]
    # The set is that of its seed, the order that of the other.
    other = TrainingSequences(RarestWord(), 5, seed=2, size=23, set_seed=7)
    first = other.batch(0, 0).tolist()
    assert first != epochs[0][:5] and all(row in rows for row in first)


def test_limited_set_without_a_batch_raises():
    with pytest.raises(ValueError, match=r"`size` must.*\(5\).*Received: 4"):
        TrainingSequences(RarestWord(), 5, size=4)
    assert TrainingSequences(RarestWord(), 5, size=5).batches_per_epoch == 1
