"""Phrases become marks, and marks their translations."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growth import check_linear
from tfcopy.data.text import glossary
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.span_patterns import PATTERNS

TERMS = [
    ("hash table", "tabla hash"),
    ("table", "mesa"),
    ("C++ (11)", "C++11"),
    ("naïve", "ingenuo"),
    ("[a|b].*", "x"),
]


def written(text, terms=TERMS):
    """The text, its phrases marked, then written in brackets."""
    phrases = tf.constant([x for x, _ in terms], tf.string)
    translations = tf.constant([f"[{x}]" for _, x in terms], tf.string)
    text = glossary.remove_marks(tf.constant([text]))
    marked = glossary.mark(text, phrases, PATTERNS["rst"])
    return glossary.unmark(marked, translations).numpy()[0].decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A hash table.", "A [tabla hash]."),
        ("hash tables, tables, table_x, Table", None),
        ("(table) table-top 'table'", "([mesa]) [mesa]-top '[mesa]'"),
        ("hash  table table", "[tabla hash] [mesa]"),
        ("hash \u00a0table table", "[tabla hash] [mesa]"),
        ("hash\u00a0table\u202f: x", "[tabla hash]\u202f: x"),
        (
            "``a\u00a0table`` https://x.y\u00a0table",
            "``a\u00a0table`` https://x.y\u00a0[mesa]",
        ),
        ("``hash table`` and :func:`table`", None),
        ("``x``table``y``", "``x``[mesa]``y``"),
        ("naïve naïvely nai", "[ingenuo] naïvely nai"),
        ("C++ (11) C++ (1)", "[C++11] C++ (1)"),
        ("[a|b].* a b", "[x] a b"),
        ("", None),
        ("\ue0010\ue002", "\ufffd0\ufffd"),
    ],
)
def test_phrases_are_found_as_whole_words(text, expected):
    assert written(text) == (text if expected is None else expected)


def test_each_text_may_have_its_own():
    text = tf.constant(["a b a", "a b", "c"])
    lines = [["a\tx", "b\t"], ["a b\ty\tmore", "no tab"], ["", ""]]
    lines = tf.constant(lines)
    marked = glossary.mark_each(text, lines, "$^")
    translations = tf.reshape(glossary.fields_of(lines)[1], [-1])
    back = glossary.unmark(marked, translations)
    assert back.numpy().tolist() == [b"x b x", b"y", b"c"]
    # Any shape, and marks that mean nothing.
    words = tf.constant([["\ue0010\ue002", "\ue0019\ue002"]])
    back = glossary.unmark(words, tf.constant(["x"]))
    assert back.numpy().tolist() == [[b"x", "\ue0019\ue002".encode()]]
    assert glossary.unmark(words[:0], tf.constant([""])).shape == (0, 2)


PARTS = ["ab", "é", " ", "-", ".", "(", "\\", "c1", "_", "``", "/", "ß", "字"]


@settings(max_examples=60)
@given(
    phrase=st.lists(st.sampled_from(PARTS), min_size=1, max_size=4),
    before=st.sampled_from(["", "ab ", "é", "x-", "字"]),
    after=st.sampled_from(["", " ab", "é", ".", "_"]),
)
def test_any_phrase_is_found_where_it_stands_alone(phrase, before, after):
    phrase = " ".join("".join(phrase).split())
    if not phrase or "``" in phrase:
        return
    text = f"{before}{phrase}{after}"

    def is_joined(place):
        """Returns whether a place has a word on both sides."""
        sides = text[place - 1 : place + 1] if place else ""
        return len(sides) == 2 and all(x.isalnum() or x == "_" for x in sides)

    # It may stand elsewhere, too, even across an end of itself.
    alone = [
        not (is_joined(i) or is_joined(i + len(phrase)))
        for i in range(len(text))
        if text.startswith(phrase, i)
    ]
    assert ("[!]" in written(text, [(phrase, "!")])) == any(alone)


def test_thousands_of_phrases():
    terms = [(f"phrase number {i}", f"frase {i}") for i in range(5000)]
    assert written("see phrase number 4321 and phrase number", terms) == (
        "see [frase 4321] and phrase number"
    )


def test_files(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"\xef\xbb\xbf# x\na b\tc d\r\n\n \x20e\tf\n")
    made = Glossary.load(path)
    assert made.terms == (("a b", "c d"), ("e", "f")) and len(made) == 2
    path.write_bytes(made.to_bytes())
    assert Glossary.load(path).terms == made.terms
    for content, message in {
        b"a\tb\nc\n": "line 2: expected phrase<TAB>translation",
        b"a\tb\tc\n": "line 1: expected",
        b"a\tb\na \tc\n": "line 2: 'a' is listed twice",
        b"\xff\tb\n": "line 1: not valid UTF-8",
    }.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Glossary.load(path)
    with pytest.raises(ValueError, match="different"):
        Glossary([("a", "b"), ("a", "c")])


def test_many_terms_take_no_longer_than_they_are():
    check_linear(
        Glossary,
        lambda size: [(f"a {i}", "b") for i in range(size)],
        (1 << 8, 1 << 12, 1 << 16),
    )
    with pytest.raises(ValueError, match="different, .*Received: 'a b'"):
        Glossary([("c", "x"), ("a b", "x"), ("a  b", "y")])
