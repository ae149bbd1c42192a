"""Spans of markup stay whole, come back to the letter, and cost no blank."""

import collections
import gzip

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.real_corpora import documentation_pairs
from tests.data.text.hub_tokenizers import bart_tokenizer, t5_tokenizer
from tests.data.text.test_answer_check import SIGNS
from tfcopy.data import (
    SentencepieceTokenizer,
    Tokenizer,
    hub_pieces,
    train_sentencepiece,
)
from tfcopy.data.text.answer_check import find_touched
from tfcopy.data.text.blanks import KEPT
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.rst_markup import markup_of
from tfcopy.data.text.span_patterns import spans_of
from tfcopy.tokens import SPAN

SPANS = {
    "rst": [":func:`ast.parse`", "``%s``", ":py:class:`~a.B <x>`", "|today|"],
    "markdown": ["`a b`", "](https://x.org/a_(b))", "<https://x.org>"],
    "html": ["<b>", "</b>", '<a href="x y">', "&nbsp;", "&#8217;", "<br/>"],
    "printf": ["%s", "%(name)s", "%-5.2f", "%1$s", "%%", "%ld"],
    "brace": ["{}", "{0!r}", "{name}", "{{", "{a:{b}}"],
    r"@@\w+": ["@@mark"],
}
WORDS = ["See", "the", "house", ",", ".", "(", ")", "l'eau", "don't", "Łukasz"]
SENTENCES = ["See the house .", "the house ( l'eau ) , Łukasz", "don't"] * 30


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "a.model"
    lines = [f"{x} {SPANS['rst'][0]}" for x in SENTENCES]
    train_sentencepiece.train(
        lines, 50, path, protect=("rst",), hard_vocab_limit=False
    )
    return SentencepieceTokenizer(str(path))


def words_of(tokenizer, text):
    row = tokenizer.tokenize(tf.constant([text])).to_list()[0]
    return [word.decode() for word in row]


def there_and_back(tokenizer, texts):
    tokens = tokenizer.tokenize(tf.constant(texts))
    return [x.decode() for x in tokenizer.detokenize(tokens).numpy()]


@pytest.mark.parametrize("name", SPANS)
def test_each_span_is_a_token(name):
    tokenizer = ProtectedTokenizer(Tokenizer(), (name,))
    for span in SPANS[name]:
        assert words_of(tokenizer, f"See ({span}) , {span}.") == [
            *("See", "(", span, ")", ",", span, ".")
        ]
        assert words_of(tokenizer, span) == [span]
        two = span + span if name != "brace" else f"{span} {span}"
        assert words_of(tokenizer, two).count(span) >= 1
    plain = "A plain text: 100% of it, 5 < 6, f(x)."
    assert words_of(tokenizer, plain) == words_of(Tokenizer(), plain)


def test_blanks_that_carry_meaning_end_spans_and_stay(pieces):
    names = ("rst", "placeholders", "html")
    text = "https://x.org\u00a0: «\u202f%s\u202f» {a}\u200bb <a\u00a0href='c'>"
    spans = ["https://x.org", "%s", "{a}", "<a\u00a0href='c'>"]
    assert spans_of(text, names) == spans
    for inner in (Tokenizer(language="fr"), Tokenizer("characters")):
        tokenizer = ProtectedTokenizer(inner, names)
        assert [x for x in words_of(tokenizer, text) if x in spans] == spans
        assert there_and_back(tokenizer, [text]) == [text]
    # The model of the pieces has none of these.
    tokenizer = ProtectedTokenizer(pieces, names)
    plain = text.translate(dict.fromkeys(map(ord, KEPT), " "))
    assert words_of(tokenizer, text) == words_of(tokenizer, plain)


def test_markup_is_apart_from_a_blank_that_docutils_does_not_know():
    tokenizer = ProtectedTokenizer(Tokenizer("characters"), ("rst",))
    text = "a\u200b``b``\u200bc\u00a0``d``\u202fe"
    expected = "a\u200b ``b`` \u200bc\u00a0``d``\u202fe"
    assert there_and_back(tokenizer, [text]) == [expected]


def test_several_kinds_and_none():
    both = ProtectedTokenizer(Tokenizer(), ("rst", "printf"))
    text = "%d of ``%s`` and :mod:`a b`"
    assert words_of(both, text) == ["%d", "of", "``%s``", "and", ":mod:`a b`"]
    assert both.tokenize(tf.constant(["", " "])).to_list() == [[], []]
    assert there_and_back(both, ["", text]) == ["", text]
    # A character of the text that stands for spans loses itself alone.
    assert words_of(both, f"a {SPAN} ``b``") == ["a", "\ufffd", "``b``"]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*SPANS["rst"], *WORDS]), min_size=1, max_size=9)
)
def test_spans_come_back_in_order(parts):
    text = " ".join(parts)
    tokenizer = ProtectedTokenizer(Tokenizer(language="fr"), ("rst",))
    spans = [x for x in parts if x in SPANS["rst"]]
    assert [x for x in words_of(tokenizer, text) if x in spans] == spans
    back = there_and_back(tokenizer, [text])[0]
    assert back.replace(" ", "") == text.replace(" ", "")


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([*SPANS["rst"], *WORDS, "(``x``)", "``y``s"]),
        min_size=1,
        max_size=9,
    )
)
def test_with_pieces_no_blank_is_lost(pieces, parts):
    tokenizer = ProtectedTokenizer(pieces, ("rst",))
    text = " ".join(parts)
    assert [x for x in words_of(tokenizer, text) if x in SPANS["rst"]] == [
        x for x in parts if x in SPANS["rst"]
    ]
    # docutils reads no markup right before a letter, not even a plural's.
    expected = text.replace("``y``s", "``y``\\ s")
    assert there_and_back(tokenizer, [text]) == [expected]


NAMES = ("rst", "printf", "brace")


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            "▁ a 9 ▁See . % %s %(name)s %-5.2f {} {name} ``%s`` :func:`x` "
            "https://x.org/a w@b.de".split()
        )
    )
)
def test_what_a_model_says_beside_a_span_leaves_it_whole(pieces, said):
    tokenizer = ProtectedTokenizer(pieces, NAMES)
    tokens = tf.ragged.constant([said], tf.string, ragged_rank=1)
    (text,) = tokenizer.detokenize(tokens).numpy()
    wanted = collections.Counter(x for x in said if spans_of(x, NAMES) == [x])
    assert wanted <= collections.Counter(spans_of(text.decode(), NAMES))


_KINDS = ("html", "placeholders")
_SAID = ["▁", "a", "9", "▁See", ".", "的", "을", "ب", "हि", "e\u0301", "ª"]
_SAID += ["%s", "%d", "{name}", "<b>", "\ue0017\ue002"]
_WRITTEN = [*"a9. 的을", "بو", "%s", "%d", "{name}", "<b>"]


@pytest.fixture(scope="module")
def apart(pieces):
    """Graph of sources and pieces: the texts, and as without a source."""
    tokenizer = ProtectedTokenizer(pieces, _KINDS)

    def graph(sources, said):
        beside = tokenizer.find_adjacent(tokenizer.tokenize(sources))
        tokens = tf.RaggedTensor.from_tensor(said, padding="")
        plain = tokenizer.detokenize(tokens)
        return tokenizer.detokenize(tokens, beside), plain

    specs = [tf.TensorSpec([None] * rank, tf.string) for rank in (1, 2)]
    return tf.function(graph, specs, autograph=False)


@settings(max_examples=300)
@given(
    st.lists(st.lists(st.sampled_from(_WRITTEN)).map("".join), max_size=3),
    st.lists(st.lists(st.sampled_from(_SAID)), min_size=3, max_size=3),
)
def test_placeholders_do_not_become_parts_of_words(apart, sources, said):
    said = [[*x, *[""] * 99][:99] for x in said[: len(sources)]]
    said = np.array(said, object).reshape(len(sources), 99)
    found = apart(tf.constant(sources, tf.string), said)
    for source, *both in zip(sources, *(x.numpy() for x in found)):
        text, before = (x.decode() for x in both)
        assert text.replace(" ", "") == before.replace(" ", "")
        had, now, plain = (
            {*find_touched(x, _KINDS)} for x in (source, text, before)
        )
        assert had >= now, (source, text)
        # Elsewhere all is as it was.
        assert text == before or not had >= plain


def test_a_graph_of_any_batch_does_the_same(pieces):
    for inner in (Tokenizer(), pieces):
        tokenizer = ProtectedTokenizer(inner, ("rst",))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def graph(text):
            tokens = tokenizer.tokenize(text)
            return tokens, tokenizer.detokenize(tokens)

        texts = tf.constant(["See :func:`a`.", "", "``b`` ``c``", "the house"])
        tokens, back = graph(texts)
        assert tokens.to_list() == tokenizer.tokenize(texts).to_list()
        np.testing.assert_array_equal(back, texts)
        assert graph(texts[:0])[1].shape == (0,)


@pytest.mark.parametrize(
    "said, text",
    [
        (["``-h``", "``--help``", "s"], "``-h`` ``--help``\\ s"),
        (["Usa", "``a b``", "Usar"], "Usa ``a b`` Usar"),
        (["``a``", "se", "|xy|", "[1]_"], "``a`` se |xy| [1]_"),
        (["(", ":func:`a`", ")", "-", "``b``", "."], "(:func:`a`)-``b``."),
        (["«", "``a``", "»", "\ue0017\ue002"], "«``a``»\ue0017\ue002"),
        (["\ue0017\ue002", "``a``", "\ue0018\ue002"], "{} ``a`` {}"),
        (["%s", "%d", "{x}", "MB"], "%s%d{x}MB"),
        # No letters are beside a given translation.
        (["a", "\ue0017\ue002", "é", "\ue0017\ue002", "."], "a {0} é {0}."),
        (["%s", "\ue0017\ue002", "\ue0017\ue002"], "%s {0} {0}"),
        (["(", "\ue0017\ue002", ")"], "({0})"),
        (["`", "a", "<b>`_", "c"], "`a<b>`_ c"),
    ],
)
def test_inline_markup_stands_apart(pieces, said, text):
    """Blanks are where docutils requires them, and nowhere else."""
    tokenizer = ProtectedTokenizer(pieces, NAMES)
    tokens = tf.ragged.constant([said], tf.string, ragged_rank=1)
    (found,) = tokenizer.detokenize(tokens).numpy()
    text = text.format("\ue0017\ue002", "\ue0018\ue002", x="{x}")
    assert found.decode() == text


def test_docutils_reads_inline_markup_beside_all_signs():
    tokenizer = ProtectedTokenizer(Tokenizer("characters"), ("rst",))
    for place in (1, 2):
        said = [["a", "``x``", "b"] for _ in SIGNS]
        for row, sign in zip(said, SIGNS):
            row.insert(place, sign)
        tokens = tf.ragged.constant(said, tf.string, ragged_rank=1)
        for sign, text in zip(SIGNS, tokenizer.detokenize(tokens).numpy()):
            assert "``x``" in markup_of(text.decode()), text


MARKS = {"\x05": 1, "\x06": 2, "\x07": 3}


@pytest.fixture(
    scope="module",
    params=[
        "own",
        *(pytest.param(x, marks=pytest.mark.long) for x in ("bart", "t5")),
    ],
)
def cutting(request, pieces, tmp_path_factory):
    """A tokenizer that cuts spans into pieces."""
    inner = pieces
    if request.param != "own":
        make = {"bart": bart_tokenizer, "t5": t5_tokenizer}[request.param]
        folder = tmp_path_factory.mktemp(request.param)
        inner = hub_pieces(make(), folder).tokenizer
    return ProtectedTokenizer(inner, ("rst", "printf"), in_pieces=True)


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from([*SPANS["rst"], *SPANS["printf"], *WORDS]),
        min_size=1,
        max_size=9,
    )
)
def test_spans_are_runs_of_pieces(cutting, parts):
    text = " ".join(parts)
    words = cutting.tokenize(tf.constant([text, "", "a"]))
    row = [x.decode() for x in words.to_list()[0]]
    # Each run is a span of the text, and the other pieces have no marks.
    runs = "".join(row).split("\x05")
    runs = [x for run in runs for x in run.split("\x06")]
    found = []
    for i, word in enumerate(row):
        if MARKS.get(word[:1], 0) in (1, 2):
            found.append([word[1:]])
        elif word[:1] in MARKS:
            assert row[i - 1][:1] in MARKS
            found[-1].append(word[1:])
    pieces = tf.ragged.constant(found, tf.string, ragged_rank=1)
    spans = [x.decode() for x in cutting.inner.detokenize(pieces).numpy()]
    assert spans == [x for x in parts if x not in WORDS]
    needed = cutting.mark_needed(words).to_list()
    assert needed[0] == [MARKS.get(x[:1], 0) for x in row]
    assert needed[1] == [] and not any(needed[2])
    # The form that is looked up, and what comes back, are the inner one's.
    folded = [x.decode() for x in cutting.fold(words).to_list()[0]]
    assert folded == [x.lstrip("".join(MARKS)) for x in row]
    for tokens in (words, cutting.fold(words)):
        back = cutting.detokenize(tokens).numpy()
        assert [x.decode() for x in back] == [text, "", "a"]


def test_a_span_has_the_same_pieces_everywhere(cutting):
    texts = ["``a b``", "(``a b``)", "x ``a b``s", "``a b`` ``a b``"]
    found = set()
    for row in cutting.tokenize(tf.constant(texts)).to_list():
        for run in b"".join(row).decode().replace("\x07", "").split("\x05")[1:]:
            found.add(run.rstrip("▁)s"))
    assert found == {"``a▁b``"}


def test_an_unmarked_or_broken_run_is_what_it_says(cutting):
    rows = [["\x07a", "b"], ["\x05``a``", ".", "\x07c"], ["\x05a"], []]
    tokens = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    back = [x.decode() for x in cutting.detokenize(tokens).numpy()]
    assert back == ["ab", "``a``.c", "a", ""]


def test_pieces_that_hold_a_span_or_its_edge_are_told(cutting):
    words = ["%s", "▁%s", "a%s.", "▁``", "a`", "%", "s", "▁", "*"]
    found = cutting.is_span(tf.constant(words)).numpy().tolist()
    assert found == [True] * 5 + [False] * 4
    assert (
        cutting.fingerprint
        != ProtectedTokenizer(cutting.inner, cutting.protect).fingerprint
    )


def test_spans_side_by_side_are_found_again(pieces):
    formats = ["rst", "html", "placeholders", "options", "numbers"]
    spans = [*SPANS["rst"], *SPANS["html"], *SPANS["printf"], *SPANS["brace"]]
    spans += [":attr", "@user", "$HOME", "%1", "%name%", "__x__", "{{ a.b }}"]
    spans += ["--file=NAME", "-v", "$50", "12:30", "http://a.b", "|xy|", "[1]_"]
    tokenizer = ProtectedTokenizer(pieces, formats)
    pairs = [[x, y] for x in spans for y in spans]
    texts = tokenizer.detokenize(tf.ragged.constant(pairs))
    found = [spans_of(x.decode(), formats) for x in texts.numpy()]
    lost = [x for x in zip(pairs, found) if x[0] != x[1]]
    assert len(pairs) > 900 and not lost
    # Where both are found, there is no blank between them.
    assert {b"%s{name}", b"<b>%1$s", b"{}{0!r}"} <= {*texts.numpy()}


def test_spans_keep_their_case():
    inner = Tokenizer(lowercase=True)
    tokenizer = ProtectedTokenizer(inner, ("rst",))
    words = tf.constant(["House", "``None``"])
    assert tokenizer.fold(words).numpy().tolist() == [b"house", b"``None``"]
    assert tokenizer.fingerprint != inner.fingerprint


def test_real_catalogues_come_back(pieces):
    for language in ("en", "es"):
        path = documentation_pairs() / f"test.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
        back = there_and_back(ProtectedTokenizer(pieces, ("rst",)), lines)
        same = [x.split() == y.split() for x, y in zip(lines, back)]
        assert np.mean(same) > 0.99
