"""Random HTML comes back with its markup, as another parser reads it."""

import html
import re

import html5lib
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfcopy.serving.http_server.html_parts import HtmlText
from tfcopy.serving.http_server.text_parts import make_name

PRIVATE = re.compile("[\ue000-\uf8ff]")
NAME = re.compile("\ue003[\U000f0000-\U0010ffff]\ue004")
SAID = "\xa7"


def _joined(bits):
    return st.lists(bits, max_size=12).map("".join)


# Without select: html5lib ignores the tags in it, such as <xmp>, as the HTML
# Standard did until 2025.
NAMES = st.sampled_from(
    "a b code DIV em h1 h2 i li noscript option p pre script span style "
    "table td template textarea title tr ul x-y xmp".split()
)
EMPTY = st.sampled_from("<br> <img/> <input> <wbr> <hr/>".split())
ATTRIBUTES = st.sampled_from(
    ["", "", " class='a b'", ' title="x>y"', " title='<b>'", " a='\">' b"]
    + [" translate=no", " href=a&amp;b&c", " ='x>'", ' "', "/", "\n id = x"]
    + [' a=b="c', " a='", ' b="']
)
REFERENCES = st.sampled_from(
    "&copy; &copy &amp; &lt; &gt; &nbsp; &ampabc; &notin; &not &eacute; &#60; "
    "&#60 &#x3C; &#xE003; &#0; &#129; &#1; &fjlig; &foo; & &# &; &Tab; "
    "&hellip; &#13; &lt;3&gt;. &lt;!--. &copy; &#999999999999;".split()
)
MARKUP = st.sampled_from(
    "< </ </> <! <!-- --> --!> <!--x--> <!----> <!--> <!---> <!--x--!> ]]> "
    "<![CDATA[x]]> <![CDATA[<b>]]> <?xml?> <!DOCTYPE> <plaintext>".split()
    + ["<?php '>' ?>", "<script><!--<script></script>x--></script>"]
)
TEXTS = st.sampled_from(
    ["A. ", "One two. ", "x", "x < y ", "5 < 6. ", "a & b ", "%s ", "5 % "]
    + [
        *("\n", " ", " \t", "\xa0", "\u2028", "\ue003", "\ue0030\ue004"),
        *("\ue010", "ﬁ"),
    ]
    + ["é", "'", '"', ">", "\0", "One sentence that is longer than others is. "]
)
BITS = st.one_of(TEXTS, TEXTS, REFERENCES, REFERENCES, MARKUP, EMPTY)
TAGS = st.builds("<{}{}{}>".format, st.sampled_from("/ "), NAMES, ATTRIBUTES)
PAGES = st.recursive(
    st.one_of(BITS, BITS, BITS, TAGS.map(lambda x: x.replace("< ", "<"))),
    lambda x: st.builds(
        "<{0}{1}>{2}</{0}>".format, NAMES, ATTRIBUTES, _joined(x)
    ),
)


def answered(page, protect, max_words, model):
    """The answer for a page, of which the lost spans are none."""
    document, answers = HtmlText(page, protect, max_words), {}
    while segments := document.open_segments(answers):
        answers |= {x: [model(x.text)] for x in segments}
    assert not document.find_lost(answers)
    answer = "".join(document.parts(answers))
    assert {*PRIVATE.findall(answer)} <= {*PRIVATE.findall(page)}
    return answer


def capitals(text):
    return "".join(x.upper() if x.isascii() else x for x in text)


def marks(text):
    """A mark in the place of each text, between the names of spans."""
    return SAID + "".join(name + SAID for name in NAME.findall(text))


def letters(page):
    """All that is no blank, with references read."""
    return "".join(html.unescape(page).split())


def tree(page):
    """Elements, attributes and comments, as html5lib reads them."""
    found = []

    def walk(node):
        is_comment = not isinstance(node.tag, str)
        attributes = sorted(map(str, node.items()))
        found.append((is_comment and node.text, node.tag, attributes))
        for child in node:
            walk(child)
        found.append("end")

    walk(html5lib.parse(page, namespaceHTMLElements=False))
    return found


def check_page(page):
    expected = tree(page)
    for protect in (None, ["placeholders", "html"]):
        for max_words in (8, 200):
            # What is no text comes back to the byte, and in its order.
            pieces = answered(page, protect, max_words, marks).split(SAID)
            assert page.startswith(pieces[0]) and page.endswith(pieces[-1])
            assert len(pieces) > 1 or pieces == [page]
            end = 0
            for piece in pieces:
                assert piece in page[end:], (piece, page)
                end = page.index(piece, end) + len(piece)
            for model in (str, capitals):
                answer = answered(page, protect, max_words, model)
                assert tree(answer) == expected, answer
                if model is str:
                    assert letters(answer) == letters(page)


@settings(max_examples=120, deadline=None)
@given(_joined(PAGES))
@example("<p>Aaaa bbbb cccc dddd. &copy; 2024. Eeee ffff gggg hhhh.</p>")
@example(
    "<p>Aaaa bbbb cccc dddd. &lt;!--. This is. A &lt;3&gt;. Eeee ffff.</p>"
)
@example("&ampabc;")
@example("5%&fjlig; <![CDATA[<b>x <i a='>]]> y</i> <b c='>z</b>")
@example("5%&fjlig;")
@example("&#xE003&m\ue004")
@example("a &copy; b <br a='>")
@example("a <i title=\"x'>y</i> <!-- --!> b <!-- c")
@example("<title>a <b> c</title> d <a b='>'>e</a>")
@example("Aaaa bbbb cccc dddd.\n  Eeee &nbsp; ffff. &#60;b&#62; &lt b.")
def test_markup_stays_as_it_is(page):
    check_page(page)


@pytest.mark.parametrize(
    "reference, said, answer",
    [
        # What follows must not make another reference of them.
        ("&not", "in;", "&not;in;"),
        ("&amp", "in;", "&ampin;"),
        ("&copy;", "in;", "&copy;in;"),
        # Nor behind names of nothing, nor a digit behind many.
        ("&not", make_name(99) * 7 + "in;", "&not;in;"),
        (f"&#{'0' * 40}60", "5", f"&#{'0' * 40}60;5"),
    ],
)
def test_references_end_where_they_did(reference, said, answer):
    def model(text):
        text = text.upper() if len(text) == 1 else text
        return "".join(x + said for x in NAME.findall(text)) or text

    text = said.lstrip("".join({*make_name(99)}))
    answer = f"{answer}<a>{text}</a>{text}"
    assert answered(f"{reference} <a>b</a>", [], 200, model) == answer
