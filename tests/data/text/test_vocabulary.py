import collections
import errno
import os
import tempfile

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy import atomic_files
from tfcopy import tokens as special
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary, count_words

SPACE = Tokenizer("space")


def vocabulary(*words):
    return Vocabulary([*special.SPECIAL_TOKENS, *words])


def test_most_frequent_words_first_then_by_spelling():
    counts = {"b": 2, "c": 3, "a": 2, "é": 2, "<unk>": 9, "d": 1}
    words = Vocabulary.build(counts, min_count=2).words
    assert words == (*special.SPECIAL_TOKENS, "c", "a", "b", "é")
    assert Vocabulary.build(counts, max_size=6).words == words[:6]


def test_spans_with_blanks_are_left_out():
    counts = {":ref:`a b`": 9, "``x``": 5, "a\u2003b": 3, "\u00a0": 2, "c": 1}
    assert Vocabulary.build(counts).words[4:] == ("``x``", "\u00a0", "c")


def test_counts_both_sides_in_one_pass():
    pairs = [("a b a", "x"), (b"b \xff", "y y"), ("", "x")] * 3000
    source, target = count_words(iter(pairs), [SPACE, SPACE])
    assert source == {"a": 6000, "b": 6000, "\ufffd": 3000}
    assert target == {"x": 6000, "y": 6000}


def test_counts_words_under_their_folded_form():
    lower = Tokenizer("space", lowercase=True)
    pairs = [("The the ÉTÉ", "The the ÉTÉ")]
    folded, typed = count_words(pairs, [lower, SPACE])
    assert folded == {"the": 2, "été": 1}
    assert typed == {"The": 1, "the": 1, "ÉTÉ": 1}


@given(st.lists(st.tuples(st.text("ab É'.,", max_size=9), st.text(max_size=9))))
@settings(max_examples=20)
def test_counts_equal_those_of_python(pairs):
    counted = count_words(pairs, [SPACE, SPACE], progress=False)
    for side, counts in enumerate(counted):
        text = [pair[side].encode("utf-8", "replace") for pair in pairs]
        words = SPACE.tokenize(tf.constant(text, tf.string)).flat_values
        words = [word.decode() for word in words.numpy()]
        assert counts == collections.Counter(words)


def test_unknown_words_and_spelt_specials_are_unk():
    words = vocabulary("la", "北京")
    ids = words.lookup(tf.constant([["la", "</s>"], ["xx", "北京"]]))
    assert ids.dtype == tf.int32
    assert ids.numpy().tolist() == [[4, 1], [1, 5]]
    assert [words.id(w) for w in ("la", "</s>", "xx")] == [4, 1, 1]
    assert words.word(5) == "北京" and "la" in words and "<s>" not in words
    ragged = words.lookup(tf.ragged.constant([["la"], [], ["xx", "la"]]))
    assert ragged.to_list() == [[4], [], [1, 4]]


@given(st.sets(st.text(min_size=1).filter(lambda w: w.split() == [w])))
@settings(max_examples=30)
def test_files_give_the_same_vocabulary(words):
    words = vocabulary(
        *(
            word
            for word in sorted(words - set(special.SPECIAL_TOKENS))
            if word.encode("utf-8", "replace").decode() == word
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new", "words.txt")
        words.save(path)
        loaded = Vocabulary.load(path)
        assert loaded.words == words.words and loaded.size == words.size
        text = tf.constant(words.words)
        expected = words.lookup(text).numpy().tolist()
        assert loaded.lookup(text).numpy().tolist() == expected
        assert expected[4:] == list(range(4, words.size))


def test_lookup_works_in_a_graph_built_before_the_table():
    words = vocabulary("a")
    graph = tf.function(lambda x: words.lookup(x), autograph=False)
    assert graph(tf.constant(["a", "b"])).numpy().tolist() == [4, 1]


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "line 1: not a vocabulary"),
        (b"the\nof\n", "line 1: not a vocabulary.*Received: 'the'"),
        (b"<pad>\n<unk>\n<s>\n", "line 4: .*'the end of the file'"),
        (b"<pad>\n<unk>\n<s>\n</s>\na\nb\na\n", "line 7: .*'a'.*line 5"),
        (b"<pad>\n<unk>\n<s>\n</s>\n\nb\n", "line 5: expected one word"),
        (b"<pad>\n<unk>\n<s>\n</s>\na b\n", "line 5: expected one word"),
        (b"<pad>\n<unk>\n<s>\n</s>\n\xff\n", "line 5: not valid UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "words.txt"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=f"words.txt, {message}"):
        Vocabulary.load(path)


def test_too_small_a_size_is_refused():
    with pytest.raises(ValueError, match="at least 4.*max_size=3"):
        Vocabulary.build({}, max_size=3)


def test_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "words.txt"
    vocabulary("old").save(path)

    def fail(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_files.os, "fsync", fail)
    with pytest.raises(OSError, match="words.txt.*No space left.*Free some"):
        vocabulary("new").save(path)
    assert Vocabulary.load(path).words[4:] == ("old",)
    assert os.listdir(tmp_path) == ["words.txt"]
