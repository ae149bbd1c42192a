"""Sentences of plain text and HTML are asked; all else stays as it is."""

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import check_linear
from tfcopy.runtime.translation_records import may_exceed_limit
from tfcopy.serving.http_server.html_parts import HtmlText
from tfcopy.serving.http_server.text_parts import (
    PlainText,
    Source,
    make_name,
    make_segment,
)

A, B, C = map(make_name, range(3))


def asked(document, model=str):
    """The answer of a document, the texts that were asked, and lost spans."""
    answers = {}
    while segments := document.open_segments(answers):
        answers |= {x: [model(x.text)] for x in segments}
    texts = [x.text for x in answers]
    return "".join(document.parts(answers)), texts, document.find_lost(answers)


def plain(text, protect=(), max_words=200, model=str):
    return asked(PlainText(text, protect, max_words), model)


def page(text, protect=(), max_words=200, model=str):
    return asked(HtmlText(text, protect, max_words), model)


def test_lines_are_asked_one_by_one():
    text = "  One line.\n\n\tTwo  words\r\n12 + 3\nOne line. "
    answer, texts, _ = plain(text, model=str.upper)
    assert texts == ["One line.", "Two  words"]
    assert answer == "  ONE LINE.\n\n\tTWO  WORDS\r\n12 + 3\nONE LINE. "


@pytest.mark.parametrize("text", ["", " ", "\n", "😀", "12 %", "– … \t"])
def test_what_has_no_letters_is_not_asked(text):
    assert plain(text, model=None) == (text, [], [])
    assert page(text, model=None) == (text, [], [])


TIMES = ["1:02.5 --> 1:04.25 align:start line:0", "0:01,5-->0:02,0 X1:40"]


@pytest.mark.parametrize(
    "text", [*TIMES, "@user@host.org", "@a, b@c", "a@b.c http://d.e/f"]
)
@pytest.mark.parametrize("protect", [None, ()])
def test_times_and_addresses_are_not_asked(text, protect):
    assert plain(text, protect, model=None) == (text, [], [])
    text = f"<p>1</p><b>{html.escape(text)}</b>"
    assert page(text, protect, model=None) == (text, [], [])
    assert plain("12 --> twelve")[1] == ["12 --> twelve"]


def test_a_line_is_cut_into_sentences_only_if_it_is_too_long():
    text = 'One two. "Three four!" 5.6 seven (eight?) nine. '
    assert plain(text)[1] == [text.strip()]
    answer, texts, _ = plain(text, max_words=12)
    assert answer == text
    assert texts == ["One two.", '"Three four!"', "5.6 seven (eight?)", "nine."]
    assert may_exceed_limit("a b c", 5) and not may_exceed_limit("a b c", 6)
    assert may_exceed_limit("a" * 13, 6)  # It may have many pieces.


def test_spans_are_named():
    text = "Put %d and %s%s there"
    segment = make_segment(Source(text), ["printf"], (), 0, len(text))
    assert segment.text == f"Put {A} and {B} there"
    assert segment.spans == ("%d", "%s%s")
    assert segment.terms == [f"{A}\t{A}", f"{B}\t{B}"]
    assert segment.restore_spans(f"{B} y {A} y {B}") == "%s%s y %d y %s%s"
    assert segment.find_lost(f"only {B}") == ["%d"]
    assert plain(text, ["printf"], model=lambda x: x.replace(A, ""))[2] == [
        "%d"
    ]


def test_a_span_comes_back_to_the_byte():
    text = 'See <a  href="x\u00a0y">it</a>.'
    assert plain(text, ["html"])[:2] == (text, [f"See {A}it{B}."])
    # As from a model, which puts blanks beside words.
    answer = plain(text, ["html"], model=lambda x: f"{A} lo {B} veo .")[0]
    assert answer == 'See <a  href="x\u00a0y">it</a>.'.replace(
        "See ", ""
    ).replace("it</a>.", "lo</a> veo .")


def test_private_characters_are_spans_themselves():
    text = f"One {A} two \ue000 {C}"
    answer, (segment,), _ = plain(text, [])
    assert answer == text
    assert re.findall("[\ue000-\ue004]", segment.replace(A, "")) != []
    assert page(text)[0] == text


PAGE = """<!DOCTYPE html><h1>One &amp; <b>two</b></h1>
<p>See <a href="x>y">the <i>page</i></a>, 10&nbsp;km.<br>Next <!-- x --> line
<pre>keep <b>x</b></pre><p translate="no">keep</p>
<div class="a notranslate">keep</div><script>if (a<b) "<p>x</p>"</script>
<code>code</code> here 5 &lt; 6"""


def test_html_is_asked_by_paragraphs():
    answer, texts, lost = page(PAGE)
    assert (answer, lost) == (PAGE, [])
    assert texts == [
        f"One {A} {B}two{C}",
        f"See {A}the {B}page{C}, 10{make_name(3)}km.",
        f"Next {A} line",
        f"{A} here 5 {B} 6",
    ]


def test_html_of_a_model_without_terms_is_asked_text_by_text():
    answer, texts, _ = page(PAGE, None, model=str.upper)
    assert texts[:5] == ["One &", "two", "See", "the", "page"]
    kept = re.findall(r"(?s)<(?:[^>\"]|\"[^\"]*\")*>|keep|code", PAGE)
    assert re.findall(r"(?s)<(?:[^>\"]|\"[^\"]*\")*>|keep|code", answer) == kept
    assert "<h1>ONE &amp; <b>TWO</b></h1>\n<p>SEE <a" in answer


@pytest.mark.parametrize(
    "answer",
    [
        f"uno {B}dos{A} tres",  # not nested
        f"uno {A}dos tres",
        f"uno {A}dos{B}{B} tres",
        "",
    ],
)
def test_tags_that_come_back_wrong_are_not_taken(answer):
    text = "<p>one <b>two</b> three</p>"
    given = {f"one {A}two{B} three": answer}
    found, texts, lost = page(text, model=lambda x: given.get(x, x.upper()))
    assert found == "<p>ONE <b>TWO</b> THREE</p>"
    assert texts == [*given, "one", "two", "three"] and not lost


def test_tags_may_move_together():
    text = "<p>one <b>two</b> <i>three</i></p>"
    model = {
        f"one {A}two{B} {C}three{make_name(3)}": f"{C}3{make_name(3)} {A} 2 {B}"
    }
    assert page(text, model=model.get)[0] == "<p><i>3</i> <b>2</b></p>"


def test_entities_that_are_letters_are_read():
    answer, texts, _ = page("<p>caf&eacute; &copy; &#233;t&#xE9;</p>")
    assert texts == [f"café {A} été"]
    assert answer == "<p>café &copy; été</p>"


def test_what_is_said_is_no_markup():
    answer = page("<p>a word</p>", model=lambda x: "<script>&</script>")[0]
    assert answer == "<p>&lt;script&gt;&amp;&lt;/script&gt;</p>"


def test_tags_around_a_paragraph_are_not_asked():
    text = "<p> <a href='x'><b>All of it</b></a> </p>"
    assert page(text)[:2] == (text, ["All of it"])


@pytest.mark.parametrize(
    "tag, is_kept",
    [
        ("a translate=no href=x/", True),  # whose value ends in a slash
        ("a href='x/' translate=\"NO\"", True),
        ("a href='x'translate='no'", True),
        ("a/translate\n=\tno", True),
        ("a translate=no translate=yes", True),
        ("a class='b=c notranslate'", True),
        ("a translate=no/", False),
        ("a translate=no-one", False),
        ("a translate=yes translate=no", False),
        ("a title='translate=no'", False),
        ("a title='x translate=no class=notranslate'", False),
        ("a class='not-notranslate'", False),
        ("title", False),
    ],
)
def test_attributes_are_read_as_browsers_do(tag, is_kept):
    name = tag[: 1 if tag[1:2] in " /" else None]
    text = f"<{tag}>c < d</{name}>"
    said = text if is_kept else f"<{tag}>C &lt; D</{name}>"
    assert page(text, model=str.upper)[0] == said


TEXTS = st.text(st.sampled_from("aé <>/&;!-\"'=p b\n\ue003\ue004" + "0"))


@given(st.one_of(st.text(), TEXTS))
@example("<p>a<b>b</p></b>&")
@example("A\ue0030\ue004")
@example("A\ue0030" + "0" * 5000 + "\ue004")
def test_what_stays_stays(text):
    assert plain(text)[0] == text
    assert plain(text, None)[0] == text
    assert plain(text, ["html", "printf"], 3)[0] == text
    for protect in (None, []):
        said = page(text, protect)[0]
        letters = [x for x in html.unescape(said) if x.isalpha()]
        assert letters == [x for x in html.unescape(text) if x.isalpha()]


@pytest.mark.parametrize(
    "part",
    ["<a ", "<!", "<!--", "</", "<a b='", "<a '&amp;", "<code>", "a &lt; ", "&"]
    + ["<script>", "<p>a", "<b>a ", "<x<", "a ", "a. ", "%d", "\ue003"]
    + ["<!-- >", "<![CDATA[>", "<?php >", "<title><", "<script><!--<script>"]
    + ["<b>", "<a b=c '", "&#1", "&ampa", "&copy ", "a\n", "a &nbsp; "],
)
@pytest.mark.long
def test_no_text_takes_long(part):
    def make(size):
        return part * (size // len(part))

    for protect in (None, ["html", "printf"]):
        for document in (plain, page):
            check_linear(
                lambda text: document(text, protect),  # noqa: B023
                make,
                (6_400, 102_400),
            )
