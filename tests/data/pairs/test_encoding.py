import errno
import os
import random

import numpy as np
import pytest

from tests.data.real_corpora import real
from tests.growth import check_linear
from tfcopy.data.pairs.encoding import encode
from tfcopy.data.parallel import CHUNK_SIZE
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary, count_words
from tfcopy.tokens import EOS, SPECIAL_TOKENS, UNK

PAIRS = [
    ("the house", "la maison"),
    ("", "vide"),
    ("Zoé sees Zoé", "Zoé voit"),
    ("word " * 10_000, "mot"),
    (b"bad \xff byte", b"octet \xff"),
]
ARRAYS = "source_ids source_copy_ids target_ids pointers indices".split()


@pytest.fixture(scope="module")
def vocabularies():
    english = Vocabulary([*SPECIAL_TOKENS, "the", "house", "sees"])
    return english, Vocabulary([*SPECIAL_TOKENS, "la", "maison", "voit"])


def assert_same(a, b):
    for name in [*ARRAYS, "source_splits", "target_splits"]:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.num_read, a.num_empty, a.num_too_long) == (
        b.num_read,
        b.num_empty,
        b.num_too_long,
    )


def test_flat_arrays_and_counts(vocabularies):
    encoded = encode(PAIRS, *vocabularies)
    assert encoded.indices.tolist() == [0, 2, 4]
    assert (encoded.num_read, encoded.num_empty) == (5, 1)
    assert encoded.num_too_long == 1 and len(encoded) == 3
    assert encoded.source_lengths.tolist() == [3, 4, 4]
    assert encoded.target_lengths.tolist() == [3, 3, 3]
    assert encoded.num_target_tokens == 9
    assert encoded.source_ids[:7].tolist() == [4, 5, EOS, 1, 6, 1, EOS]
    assert encoded.source_copy_ids[3:7].tolist() == [7, 8, 7, -1]
    assert encoded.target_ids[:6].tolist() == [4, 5, EOS, 7, 6, EOS]
    assert encoded.pointers[:6].tolist() == [-1, -1, -1, 0, -1, -1]
    for name in ("source_ids", "pointers"):
        assert getattr(encoded, name).dtype == np.int32


def test_blanks_outside_the_vocabularies_are_spaces(vocabularies):
    found = encode([("the\u00a0house", "la\u202f\u200bmaison")], *vocabularies)
    assert_same(found, encode([("the house", "la maison")], *vocabularies))
    blank = Vocabulary([*vocabularies[1].words, "\u202f"])
    found = encode([("the", "la\u202f\u200bmaison")], vocabularies[0], blank)
    assert found.target_ids.tolist() == [4, 7, 5, EOS]


def test_many_chunks_keep_their_order(vocabularies):
    lengths = 1 + np.arange(3 * CHUNK_SIZE + 5) % 7
    pairs = [("the " * length, "la") for length in lengths]
    encoded = encode(iter(pairs), *vocabularies)
    np.testing.assert_array_equal(encoded.indices, np.arange(len(pairs)))
    np.testing.assert_array_equal(encoded.source_lengths, lengths + 1)


def test_longest_length_allowed_is_kept(vocabularies):
    pairs = [("the " * 4, "la"), ("the", "la " * 5), ("the " * 5, "la")]
    assert encode(pairs, *vocabularies, max_length=4).indices.tolist() == [0]
    assert len(encode(pairs, *vocabularies, max_length=None)) == 3
    for limits, kept in (((4, 5), [0, 1]), ((5, 4), [0, 2]), ((5, 5), None)):
        found = encode(pairs, *vocabularies, max_length=limits).indices.tolist()
        assert found == (kept or [0, 1, 2])


# === Texts that are cut: section 5 of See et al., 2017 ===


LETTERS = Vocabulary([*SPECIAL_TOKENS, "a", "b", "6", "7", "8", "9"])
SPACE = Tokenizer("space")


def rows(pairs, truncate, **options):
    """Ids of each pair; V is 10: the special words, and a, b, 6, 7, 8, 9."""
    encoded = encode(
        pairs,
        LETTERS,
        LETTERS,
        source_tokenizer=SPACE,
        target_tokenizer=SPACE,
        truncate=truncate,
        **{"append_eos": False, **options},
    )
    sides = {
        "source_ids": encoded.source_splits,
        "source_copy_ids": encoded.source_splits,
        "target_ids": encoded.target_splits,
        "pointers": encoded.target_splits,
    }
    columns = [
        [ids.tolist() for ids in np.split(getattr(encoded, name), splits[1:-1])]
        for name, splits in sides.items()
    ]
    return [list(row) for row in zip(*columns)]


def cut(source, target, truncate, **options):
    """Ids of a single pair."""
    (row,) = rows([(source, target)], truncate, **options)
    return row


def test_example_of_the_pointer_generator():
    """An unknown word is V + its first position, not V + its number."""
    source, copies, target, pointers = cut("a X b Y X", "X Z b", (400, 100))
    assert source == [4, UNK, 5, UNK, UNK]
    assert copies == [4, 11, 5, 13, 11]
    assert target == [11, UNK, 5, EOS]
    assert pointers == [1, -2, -1, -1]
    # Words beyond the cut cannot be copied.
    assert cut("a X b Y X", "X Z b", (1, 100))[:3] == [
        [4],
        [4],
        [UNK, UNK, 5, EOS],
    ]


def test_lines_of_a_summary_are_one_text():
    assert cut("a", "7 .\n8 .\r\n", (9, 9))[2] == [7, UNK, 8, UNK, EOS]


@pytest.mark.parametrize("append_eos", [False, True])
@pytest.mark.parametrize("limits", [(1, 1), (2, 5), (5, 2), (10, 10)])
def test_cutting_is_encoding_what_is_left(limits, append_eos):
    rng = random.Random(str(limits))
    pairs = [
        [rng.choices("abXYZ", k=rng.randint(1, 9)) for _ in range(2)]
        for _ in range(200)
    ]
    source_limit, target_limit = limits

    def encoded(pairs, truncate):
        texts = [
            (" ".join(source), " ".join(target)) for source, target in pairs
        ]
        return rows(texts, truncate, append_eos=append_eos)

    found = encoded(pairs, limits)
    expected = encoded(
        [(s[:source_limit], t[:target_limit]) for s, t in pairs], None
    )
    for (_, target), row, whole in zip(pairs, found, expected, strict=True):
        if len(target) + 1 > target_limit:
            whole[2:] = [ids[:target_limit] for ids in whole[2:]]
        assert row == whole
        assert len(row[2]) == min(len(target) + 1, target_limit)


def test_only_sides_that_are_not_cut_can_be_too_long(vocabularies):
    pairs = [("the " * 9, "la"), ("the", "la " * 9), ("the", "la")]
    for truncate, kept in (
        (None, [2]),
        ((5, None), [0, 2]),
        ((None, 5), [1, 2]),
        ((5, 5), [0, 1, 2]),
        ((20, 20), [0, 1, 2]),
    ):
        encoded = encode(pairs, *vocabularies, max_length=4, truncate=truncate)
        assert encoded.indices.tolist() == kept
        assert encoded.num_too_long == 3 - len(kept)


@pytest.mark.parametrize("truncate", [(0, 5), (5, -1), (5,), (1, 2, 3)])
def test_limits_that_make_no_sense_are_refused(vocabularies, truncate):
    with pytest.raises(ValueError, match="`truncate` must be two limits"):
        encode(PAIRS, *vocabularies, truncate=truncate)


@pytest.mark.parametrize("pairs", [[], [("", "x"), ("the " * 9, "la")]])
def test_nothing_left_says_why(vocabularies, pairs):
    with pytest.raises(ValueError, match="no sentence pair.*max_length") as e:
        encode(pairs, *vocabularies, max_length=5, name="train")
    assert str(e.value).startswith("train: ")
    if pairs:
        assert "Of 2 pairs read, 1 have an empty side and 1" in str(e.value)
    with pytest.raises(ValueError, match=r"more than 6 \(max_target_length"):
        encode(pairs, *vocabularies, max_length=(5, 6))


def test_second_start_reads_the_cache(tmp_path, vocabularies):
    first = encode(PAIRS, *vocabularies, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    stamp = path.stat().st_mtime_ns
    assert_same(first, encode(PAIRS, *vocabularies, cache_dir=tmp_path))
    assert path.stat().st_mtime_ns == stamp


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "change",
    [
        {"max_length": 3},
        {"truncate": (3, None)},
        {"truncate": (None, 3)},
        {"source_tokenizer": Tokenizer(language="en", lowercase=True)},
        {"append_eos": False},
        {"unmatched": "unk"},
        {"label_pointers": False},
        {"source_tokenizer": Tokenizer("space")},
        {"entities": Entities()},
        {"pairs": PAIRS[:3]},
    ],
)
def test_whatever_matters_has_a_cache_of_its_own(
    tmp_path, vocabularies, change
):
    encode(PAIRS, *vocabularies, cache_dir=tmp_path)
    change = {"pairs": PAIRS, **change}
    cached = encode(
        change.pop("pairs"), *vocabularies, cache_dir=tmp_path, **change
    )
    assert len(list(tmp_path.iterdir())) == 2
    assert len(cached)


def test_entities_are_numbered_after_the_cut(vocabularies):
    vocabularies = [Vocabulary([*SPECIAL_TOKENS, "@1", "@2", "@3"])] * 2
    pairs = [("X of Zoé and Zoé", "Zoé Y of Z")]
    options = {"max_length": None, "entities": Entities(), "unmatched": "unk"}
    whole = encode(pairs, *vocabularies, **options)
    assert whole.source_ids.tolist() == [4, UNK, 5, UNK, 5, EOS]
    assert whole.target_ids.tolist() == [5, 6, 8, UNK, EOS]
    assert whole.pointers.tolist() == [2, -1, 1, -1, -1]
    cut = encode(pairs, *vocabularies, truncate=(2, 3), **options)
    assert cut.source_ids.tolist() == [4, UNK, EOS]
    assert cut.target_ids.tolist() == [5, 6, 8]
    assert cut.pointers.tolist() == [-1, -1, 1]


def test_damaged_cache_is_made_anew(tmp_path, vocabularies, caplog):
    first = encode(PAIRS, *vocabularies, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a zip"):
        path.write_bytes(damaged)
        caplog.clear()
        assert_same(first, encode(PAIRS, *vocabularies, cache_dir=tmp_path))
        assert f"{path} is damaged" in caplog.text
        assert len(path.read_bytes()) == len(whole)


def test_full_disk_is_named_and_costs_no_work(
    tmp_path, vocabularies, monkeypatch, caplog
):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert len(encode(PAIRS, *vocabularies, cache_dir=tmp_path)) == 3
    assert str(tmp_path) in caplog.text
    assert "No space left on device" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_generator_cannot_be_cached(tmp_path, vocabularies):
    with pytest.raises(ValueError, match="iterated over only once"):
        encode(iter(PAIRS), *vocabularies, cache_dir=tmp_path)


def test_a_fingerprint_saves_reading(tmp_path, vocabularies):
    class Pairs(list):
        fingerprint = "abc"

    first = encode(Pairs(PAIRS), *vocabularies, cache_dir=tmp_path)
    assert_same(first, encode(Pairs(), *vocabularies, cache_dir=tmp_path))


def test_a_long_sentence_costs_little(vocabularies):
    def encode_beside(sentence):
        encoded = encode([("the", "la"), (sentence, "la")], *vocabularies)
        assert len(encoded) == 1 and encoded.num_too_long == 1

    check_linear(encode_beside, lambda size: "Zoé " * (size // 4))


def test_europarl_as_published():
    paths = real(*(f"europarl/europarl-v7.fr-en.{x}" for x in ("en", "fr")))
    lines = [path.read_text(encoding="utf8").split("\n") for path in paths]
    pairs = list(zip(*lines, strict=True))
    counts = count_words(pairs, [Tokenizer(language=x) for x in ("en", "fr")])
    vocabularies = [Vocabulary.build(c, max_size=1000) for c in counts]
    encoded = encode(pairs, *vocabularies)
    assert encoded.num_read == 3000
    assert 2400 < len(encoded) < 2700
    pointed = encoded.pointers >= 0
    assert 0.01 < pointed.mean() < 0.1
    size = vocabularies[1].size
    np.testing.assert_array_equal(
        encoded.target_ids[pointed] - size, encoded.pointers[pointed]
    )
