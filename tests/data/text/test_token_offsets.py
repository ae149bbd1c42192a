import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.text.token_offsets import (
    covering_span,
    cut_out,
    tokenize_with_offsets,
)
from tfcopy.data.text.tokenization import LANGUAGES, MODES, Tokenizer

DATA = Path(os.environ.get("TFCOPY_DATA", "../shared/data"))

TOKENIZERS = [
    Tokenizer(mode, language)
    for mode in MODES
    for language in LANGUAGES
    if (mode, language) != ("moses", "zh")
]
BLANKS = " \t\u00a0\u200b\ufeff\u3000\x01\x02"
ODD_TEXTS = [
    "",
    BLANKS,
    "I don't, Mr. Smith; approx. five: No. 5… (1,000.50)",
    "\u00a0 l'eau\u200b d'Estaing \ufeff",
    "北京。great😀 👩‍👩‍👧 🇫🇷",
    "a ▁ b▁▁",
    "e\u0301 <unk> https://x.org/a?b.",
]
texts = st.lists(
    st.text(st.characters(codec="utf-8") | st.sampled_from(BLANKS + ".'’a▁"))
    | st.sampled_from(ODD_TEXTS),
    min_size=1,
    max_size=5,
)


def offsets_of(texts, tokenizer):
    """Rows of (token, start, end)."""
    parts = tokenize_with_offsets(
        tf.constant([text.encode() for text in texts]), tokenizer
    )
    return [
        [(token.decode(), start, end) for token, start, end in zip(*row)]
        for row in zip(*(part.to_list() for part in parts))
    ]


def check(text, tokenizer, row):
    """Tokens stand where they should, in order; between them are blanks."""
    place = 0
    for token, start, end in row:
        assert start >= place
        assert is_blank(text[place:start])
        if tokenizer.mode == "characters" and token in ("▁", "▁▁"):
            assert end == start + 1
            assert is_blank(text[start]) if token == "▁" else text[start] == "▁"
        else:
            assert text[start:end] == token
        place = end
    assert is_blank(text[place:])


def is_blank(text):
    return not text.translate({0x200B: " ", 0xFEFF: " "}).strip(
        " \xa0\u1680\u2028\u2029\u202f\u205f\u3000"
        + "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
        + "".join(map(chr, range(0x2000, 0x200B)))
    )


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda x: x.fingerprint)
def test_tokens_stand_where_the_offsets_say(tokenizer):
    for text, row in zip(ODD_TEXTS, offsets_of(ODD_TEXTS, tokenizer)):
        check(text, tokenizer, row)


@settings(max_examples=25)
@given(texts, st.sampled_from(TOKENIZERS))
def test_tokens_stand_where_the_offsets_say_in_any_text(texts, tokenizer):
    for text, row in zip(texts, offsets_of(texts, tokenizer)):
        check(text, tokenizer, row)


def test_offsets_by_hand():
    (row,) = offsets_of(["😀 I  don't."], Tokenizer())
    assert row == [
        ("😀", 0, 1),
        ("I", 2, 3),
        ("don", 5, 8),
        ("'t", 8, 10),
        (".", 10, 11),
    ]
    (row,) = offsets_of([" a  b▁ "], Tokenizer("characters"))
    assert row == [("a", 1, 2), ("▁", 2, 3), ("b", 4, 5), ("▁▁", 5, 6)]
    (row,) = offsets_of([" 北  京 "], Tokenizer("characters", "zh"))
    assert row == [("北", 1, 2), ("京", 4, 5)]


def test_covering_span():
    starts, ends = np.array([0, 4, 8, 11]), np.array([3, 8, 9, 14])
    for start, end, expected in (
        (0, 3, (0, 1)),
        (0, 4, (0, 1)),  # ends with a blank
        (3, 8, (1, 2)),  # begins with one
        (5, 6, (1, 2)),  # within a token
        (2, 12, (0, 4)),
        (8, 9, (2, 3)),
        (9, 11, (3, 3)),  # a blank alone
        (0, 14, (0, 4)),
    ):
        assert covering_span(starts, ends, start, end) == expected


def test_the_same_in_a_served_graph(tmp_path):
    signature = [
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ]

    @tf.function(input_signature=signature, autograph=False)
    def answer(text, first, last):
        _, starts, ends = tokenize_with_offsets(text, Tokenizer())
        return cut_out(text, starts, ends, first, last)

    module = tf.Module()
    module.answer = answer
    tf.saved_model.save(module, str(tmp_path))
    served = tf.saved_model.load(str(tmp_path)).answer
    texts = ["Łukasz  don't\u00a0sing", "", " ", "a b", "c d"]
    found = served(
        tf.constant([text.encode() for text in texts]),
        tf.constant([1, 0, 3, 1, 1]),
        tf.constant([4, 1, 3, 1, 9]),
    ).numpy()
    expected = ["don't\u00a0sing", "", "", "", "d"]
    assert [text.decode() for text in found] == expected


def test_only_our_own_tokens_have_a_place():
    with pytest.raises(ValueError, match="must be a `Tokenizer`"):
        tokenize_with_offsets(tf.constant(["a"]), str.split)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_offsets_are_right_on_europarl(language):
    path = DATA / "europarl" / f"europarl-v7.fr-en.{language}"
    if not path.exists():
        pytest.skip(f"{path} is not there (set TFCOPY_DATA)")
    lines = path.read_text(encoding="utf8").split("\n")[:1000]
    tokenizer = Tokenizer(language=language)
    for line, row in zip(lines, offsets_of(lines, tokenizer)):
        check(line, tokenizer, row)


def test_blanks_are_those_of_the_tokenizers():
    """Of all code points, each between two letters."""
    points = [x for x in range(0x110000) if not 0xD800 <= x < 0xE000]
    text = "a".join(map(chr, points))
    _, starts, ends = tokenize_with_offsets(
        tf.constant([text]), Tokenizer("space")
    )
    words = Tokenizer("space").tokenize(tf.constant([text])).to_list()[0]
    spans = zip(starts.to_list()[0], ends.to_list()[0])
    assert [text[a:b].encode() for a, b in spans] == words
