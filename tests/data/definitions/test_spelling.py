import numpy as np
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfcopy.data.definitions.features import count_characters, spellings
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK

CHARACTERS = Vocabulary([*SPECIAL_TOKENS, *"abcé-"])
A, B, C, E_ACUTE, HYPHEN = range(4, 9)


def rows_of(spelt):
    """The rows without `PAD`, which is at their ends alone."""
    rows = spelt["ids"].numpy()
    lengths = (rows != PAD).sum(1)
    assert (rows[np.arange(rows.shape[1]) >= lengths[:, None]] == PAD).all()
    return [row[:n].tolist() for row, n in zip(rows, lengths)]


def test_each_word_is_spelt_once():
    words = tf.constant([["ab", "cé", "ab", ""], ["Ab", "a", "", ""]])
    spelt = spellings(words, CHARACTERS)
    assert spelt["slots"].numpy().tolist() == [[1, 2, 1, 0], [3, 4, 0, 0]]
    assert spelt["ids"].dtype == spelt["slots"].dtype == tf.int32
    assert spelt["ids"].numpy().tolist() == [
        [EOS, PAD, PAD, PAD],
        [BOS, A, B, EOS],
        [BOS, C, E_ACUTE, EOS],
        [BOS, UNK, B, EOS],
        [BOS, A, EOS, PAD],
    ]


def test_texts_share_their_words():
    texts = tf.constant([["ab", ""]]), tf.constant([["a"], ["ab"]])
    for words in (texts, list(texts), dict(zip("qp", texts))):
        spelt = spellings(words, CHARACTERS)
        assert len(spelt["ids"]) == 3
        assert type(spelt["slots"]) is type(words)
    assert spelt["slots"]["q"].numpy().tolist() == [[2, 0]]
    assert spelt["slots"]["p"].numpy().tolist() == [[1], [2]]


def test_no_word_and_no_utf8():
    spelt = spellings(tf.constant([["", ""]]), CHARACTERS)
    assert rows_of(spelt) == [[EOS]]
    assert spelt["slots"].numpy().tolist() == [[0, 0]]
    spelt = spellings(tf.constant([[b"a\xffb"]]), CHARACTERS)
    assert rows_of(spelt) == [[EOS], [BOS, A, UNK, B, EOS]]


def test_frequent_words_are_not_spelt():
    words, ids = tf.constant([["a", "b", "c"]]), tf.constant([[4, UNK, 5]])
    for top_k, slots in [(None, [1, 2, 3]), (1, [0, 1, 2]), (-1, [0, 1, 0])]:
        spelt = spellings(words, CHARACTERS, ids=ids, exclude_top_k=top_k)
        assert spelt["slots"].numpy().tolist() == [slots]
        assert len(spelt["ids"]) == max(slots) + 1


def spell(word):
    return [BOS, *(CHARACTERS.id(c) for c in word[:24]), EOS]


@settings(max_examples=60)
@example(["abcab" * 5, "ab", "", "", "", ""])
@given(st.lists(st.text("abcéz-中🙂", max_size=30), min_size=6, max_size=6))
def test_spells_as_python_does(words):
    spelt = spellings(tf.constant(np.reshape(words, [2, 3])), CHARACTERS)
    rows, slots = rows_of(spelt), spelt["slots"].numpy().reshape(-1)
    distinct = [word for word in dict.fromkeys(words) if word]
    assert rows == [[EOS], *map(spell, distinct)]
    assert slots.tolist() == [
        distinct.index(word) + 1 if word else 0 for word in words
    ]


def test_counts_characters_by_their_words():
    counts = count_characters({"abba": 3, "bé": 2, "a\u00a0b": 1})
    assert counts == {"a": 7, "b": 9, "é": 2}
    words = Vocabulary.build(counts, max_size=6).words
    assert words == (*SPECIAL_TOKENS, "b", "a")
