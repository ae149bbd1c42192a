"""The pure functions that make the page's HTML."""

import html.parser
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfcopy.runtime.signatures import AskError
from tfcopy.serving.demo_page import (
    demo_answers,
    demo_html,
    demo_texts,
)

NASTY = "<script>alert('x')</script> & \"quotes\" ${value} {{value}} `a`"
WORDS = ["Łukasz", "北京", "👩‍👩‍👧", "שלום", "مرحبا", "<b>", '"', "&amp;", "a"]


class Page(html.parser.HTMLParser):
    """The content of some HTML.

    Attributes:
        elements: Dicts of the attributes of each element, with its `tag`, its
            `text` and the title of the `section` it is in.
    """

    def __init__(self, source):
        super().__init__()
        self.elements, self._open, self._section = [], [], None
        self.text = ""
        self.feed(source)
        self.close()
        assert not self._open, f"Not closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        new = {**dict(attributes), "tag": tag, "text": ""}
        new["section"] = self._section
        self.elements.append(new)
        self._open.append(new)

    def handle_endtag(self, tag):
        closed = self._open.pop()
        assert closed["tag"] == tag
        if tag == "h3":
            self._section = closed["own"]
        elif tag == "section":
            self._section = None

    def handle_data(self, data):
        self.text += data
        for element in self._open:
            element["text"] += data
        if self._open:
            self._open[-1].setdefault("own", data)

    def of(self, kind, section=None):
        """The elements of a tag or a class, of one section or of all."""
        return [
            x
            for x in self.elements
            if (kind == x["tag"] or kind in (x.get("class") or "").split())
            and section in (None, x["section"])
        ]


def outputs_of(source, answers, **others):
    """Arrays like those of `analyse`.

    Args:
        source: Words.
        answers: Lists of pairs of a word and where it was copied from, -1 for
            a word that was generated.
        **others: Arrays that take the place of these.
    """
    longest = max(map(len, answers))
    words = [[w.encode() for w, _ in x] for x in answers]
    copied = [[j for _, j in x] for x in answers]
    words = [x + [b""] * (longest - len(x)) for x in words]
    copied = [x + [-1] * (longest - len(x)) for x in copied]
    copied = np.array(copied, "int32").reshape(len(answers), longest)
    return {
        "source_tokens": [*(w.encode() for w in source), b"</s>", b""],
        "texts": [" ".join(w for w, _ in x).encode() for x in answers],
        "scores": -np.arange(len(answers), dtype="float32"),
        "tokens": words,
        "copied_from": copied,
        "generate_probability": np.where(copied < 0, 0.9, 0.1),
        "attention": np.zeros((*copied.shape, len(source) + 1)),
        **others,
    }


def shown(source, answers, chosen=0, **others):
    outputs = outputs_of(source, answers, **others)
    found = demo_answers.read(" ".join(source), outputs)
    return Page(demo_answers.show(found, chosen))


def test_pieces_of_a_word_are_shown_as_one():
    source = ["▁So", "▁Łuk", "asz", "."]
    answer = [("▁Łuk", 1), ("asz", 2), ("▁e", 0), ("st", -1)]
    outputs = outputs_of(source, [answer], texts=["Łukasz est".encode()])
    both = {"source": True, "target": True}
    found = demo_answers.read("So Łukasz.", outputs, both)
    assert found.source == ["So", "Łukasz.", "</s>"]
    assert found.hypotheses[0].words == ["Łukasz", "est"]
    page = Page(demo_answers.show(found))
    assert [x["data-from"] for x in page.of("tfc-copied", "Answer")] == ["2"]
    assert "▁" not in page.text and "1 of 2 words copied" in page.text


@given(st.text(st.characters()))
@example(NASTY)
@example("half \ud800 of a \udfff character")
def test_texts_are_escaped(text):
    escaped = demo_html.escape(text)
    assert not set(escaped) & set("<>\"'${}`")
    page = Page(f'<p title="{escaped}">{escaped}</p>')
    expected = re.sub("[\x00\ud800-\udfff]", "\ufffd", text)
    assert page.text == expected
    assert page.of("p")[0]["title"] == expected
    assert demo_html.error(text).count("\n") == 0


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    st.lists(st.integers(-1, 8), min_size=1, max_size=9),
)
@example(source=NASTY.split(), pointers=[0, 1, 2, 3, 4])
def test_a_copied_word_has_the_colour_of_its_source(source, pointers):
    pointers = [j if j < len(source) else -1 for j in pointers]
    answer = [(source[j] if j >= 0 else "est", j) for j in pointers]
    page = shown(source, [answer])
    colours = {}
    for mark in page.of("tfc-copied", "Source"):
        position = int(mark["data-from"]) - 1
        assert mark["text"] == source[position]
        colours[position] = mark["style"]
    assert colours.keys() == {j for j in pointers if j >= 0}
    assert len(set(colours.values())) == len(colours)
    copied = [j for j in pointers if j >= 0]
    for section in ("Answer", "Generate or copy?"):
        marks = page.of("tfc-copied", section)
        assert [x["text"] for x in marks] == [source[j] for j in copied]
        assert [x["style"] for x in marks] == [colours[j] for j in copied]
    cells = page.of("i", "Attention")
    framed = [x["style"].split(";")[1] for x in cells if "--h" in x["style"]]
    assert framed == [colours[j] for j in copied]


def test_a_model_that_never_copies_has_no_switches():
    page = shown(["a"], [[("b", -1)]], generate_probability=np.ones((1, 1)))
    assert not page.of("tfc-switch")
    assert "No word of this answer was copied" in page.text


def test_tooltips_say_where_a_word_is_from():
    page = shown(["Mr", "Łukasz"], [[("M.", -1), ("Łukasz", 1)]])
    (mark,) = page.of("tfc-copied", "Answer")
    assert mark["title"] == "copied from word 2, Łukasz, with probability 0.90"
    _, switch = page.of("tfc-switch")
    assert switch["title"] == "copy 90 %, generate 10 %"


@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_words_are_found_in_their_text(words):
    text = "  ".join(words)
    spans = demo_html.find_words(text, words)
    assert [text[a:b] for a, b in spans] == words
    marked = demo_html.running_text(text, words, lambda i, x: f"<b>{x}</b>")
    page = Page(marked)
    assert page.text == text
    assert [x["text"] for x in page.of("b")] == words


def test_pieces_characters_and_lower_case_are_found_too():
    text = "Ein Łukasz, 北京"
    for words in (
        ["▁Ein", "▁Łuk", "asz", ",", "▁", "北京"],
        ["E", "i", "n", "▁", *"Łukasz,", "▁", "北", "京"],
        ["ein", "łukasz", ",", "北京"],
    ):
        spans = demo_html.find_words(text, words)
        assert "".join(text[a:b] for a, b in spans) == "EinŁukasz,北京"
    assert demo_html.find_words("a b c", ["a", "c"]) is None
    # Then the words are shown, and what was not read is faint.
    page = Page(demo_html.running_text("x", ["a", "b"], lambda i, x: x))
    assert page.text == "a b"
    page = Page(demo_html.running_text("a b c", ["a"], lambda i, x: x))
    assert page.text == "a b c"
    assert page.of("tfc-faint")[0]["text"] == " b c"


def test_axes_have_all_words_complete():
    source, answer = WORDS[:6], ["▁ein", "אבג", "x" * 30]
    weights = np.linspace(0, 1, 21).reshape(3, 7)
    page = shown(
        source, [[(word, -1) for word in answer]], attention=weights[None]
    )
    names = [x["text"] for x in page.of("th", "Attention")]
    assert names == ["", *source, "end", *answer]
    labels = page.of("bdi", "Attention")
    assert all(x["dir"] == "auto" for x in labels if x["text"] != "end")
    cells = page.of("td", "Attention")
    assert len(cells) == 21
    assert "title" not in cells[0]  # a weight of zero
    assert cells[8]["title"] == "אבג → 北京: 0.400"
    assert [float(x["style"][4:9]) for x in page.of("i", "Attention")] == (
        pytest.approx(weights.flatten()[1:], abs=1e-3)
    )


def test_long_texts_draw_a_part_and_say_so():
    source = [f"s{i}" for i in range(400)]
    answer = [(f"t{i}", -1) for i in range(100)] + [("s399", 399)]
    answer[3] = ("s200", 200)
    attention = np.zeros((1, 101, 401))
    attention[0, :, 10] = 1
    page = shown(source, [answer], attention=attention)
    names = [x["text"] for x in page.of("th", "Attention")]
    assert "t99" in names
    assert {"s10", "s200", "s399", "t0"} <= set(names) and "s300" not in names
    assert len(page.of("td", "Attention")) <= 100 * 80
    assert "the first 100 of 101 words of the answer" in page.text
    assert "80 of 401 words of the source" in page.text
    # The running texts are complete.
    texts = [x["text"] for x in page.of("tfc-text")]
    assert texts == [" ".join(source), " ".join(word for word, _ in answer)]
    assert len(page.text) < 10_000


def test_another_answer_has_its_own_colours():
    answers = [[("un", -1), ("a", 0)], [("b", 1), ("b", 1)], [("c", -1)]]
    page = shown(["a", "b"], answers, chosen=1)
    marks = page.of("tfc-copied", "Answer")
    assert [x["text"] for x in marks] == ["b", "b"]
    buttons = page.of("tfc-choice")
    pressed = [x["aria-pressed"] for x in buttons]
    assert pressed == ["false", "true", "false"]
    assert [x["data-index"] for x in buttons] == ["0", "1", "2"]
    scores = [x["text"] for x in page.of("tfc-score")]
    assert scores == ["0.00", "-1.00", "-2.00"]
    # Its list shows each in the colours that it would have.
    styles = {x["text"]: x["style"] for x in page.of("tfc-copied")}
    assert styles["a"] != styles["b"]


def test_answers_that_were_not_found_are_not_listed():
    page = shown(["a"], [[("a", 0)], []], scores=np.array([0.0, -1e9]))
    assert not page.of("tfc-choice")


def test_an_empty_text_has_an_empty_answer():
    page = shown([], [[], []], scores=np.zeros(2))
    assert [x["text"] for x in page.of("tfc-text")] == ["(empty)"] * 2
    assert not page.of("tfc-map") and not page.of("tfc-choice")


def _encoded(words):
    return [word.encode() for word in words]


def test_a_question_is_answered_in_its_context():
    context = ["Łukasz", "<b>", "wug", "fly"]
    outputs = {
        "text": b"<b> wug",
        "score": np.float32(np.log(0.25)),
        "start": 7,
        "end": 14,
        "context_tokens": _encoded([*context, "</s>", ""]),
        "context_headwords": [[b""], [b""], [b"wug"], [b"go"], [b""], [b""]],
        "question_tokens": _encoded(["who", "</s>"]),
        "question_headwords": [[b""], [b""]],
        "start_probability": np.array([0.1, 0.8, 0.0, 0.1, 0.0, 0.0]),
        "end_probability": np.array([0.0, 0.0, 0.0, 0.9, 0.1, 0.0]),
        "attention": np.full((6, 2), 0.5),
    }
    texts = {"context": "Łukasz <b>  wug fly", "question": "who"}
    page = Page(demo_texts.show(texts, outputs, {}, {"Wug"}))
    assert page.of("tfc-text", "Answer")[0]["text"] == "<b> wug"
    assert "probability 25 %" in page.text
    outputs["end"] = 15  # There are two blanks.
    page = Page(demo_texts.show(texts, outputs, {}, {"Wug"}))
    assert page.of("tfc-text", "Context")[0]["text"] == texts["context"]
    assert page.of("tfc-answer", "Context")[0]["text"] == "<b>  wug"
    titles = [x["title"] for x in page.of("tfc-edge", "Context")]
    assert titles == [
        "begins here: 10 %, ends here: 0 %",
        "begins here: 80 %, ends here: 0 %",
        "begins here: 0 %, ends here: 90 %",
        "begins here: 10 %, ends here: 10 %",
    ]
    own, given = page.of("tfc-defined", "Context")
    assert own["title"] == "defined by your dictionary: wug"
    assert given["title"] == "defined by the model's dictionary: go"
    assert page.of("th", "Begins with")[0]["text"] == "<b> word 2"
    assert page.of("th", "Ends with")[0]["text"] == "wug word 3"
    names = [x["text"] for x in page.of("th", "Attention")]
    assert names == ["", *context, "end", "who", "end"]


def test_labels_have_bars():
    outputs = {
        "label": b"neutral",
        "probabilities": np.array([0.2, 0.7, 0.1]),
        "premise_tokens": _encoded(["a"]),
        "hypothesis_tokens": _encoded(["b", ""]),
    }
    texts = {"premise": "a", "hypothesis": "b"}
    labels = ["contradiction", "neutral", "entailment"]
    page = Page(demo_texts.show(texts, outputs, {"labels": labels}))
    rows = [x["text"] for x in page.of("tr", "Probabilities")]
    assert rows == ["contradiction 20 %", "neutral 70 %", "entailment 10 %"]
    bars = [x["style"] for x in page.of("i", "Probabilities")]
    assert bars == ["--p:0.200", "--p:0.700", "--p:0.100"]
    assert page.of("tfc-marked")[0]["text"] == "neutral 70 %"
    assert page.of("tfc-text", "Label")[0]["text"] == "neutral"


def test_words_are_darker_the_less_probable_they_are():
    outputs = {
        "next_words": _encoded(["dog", "<i>"]),
        "next_probabilities": np.array([0.5, 0.25]),
        "log_probability": np.float32(-4.6),
        "perplexity": np.float32(4.6),
        "tokens": _encoded(["the", "wug", "xyz"]),
        "token_log_probabilities": np.log([1.0, 0.1, 0.001]),
        "is_known": np.array([True, True, False]),
    }
    page = Page(demo_texts.show({"text": "the wug xyz"}, outputs, {}))
    words = page.of("tfc-heat", "Text")
    assert [x["style"] for x in words] == [
        "--p:0.000",
        "--p:0.250",
        "--p:0.750",
    ]
    assert words[1]["title"] == "probability 10 %"
    assert words[2]["title"] == "probability 0.1 %, as an unknown word"
    rows = [x["text"] for x in page.of("tr", "Next word")]
    assert rows == ["dog 50 %", "<i> 25 %"]


def test_outputs_of_other_models_are_refused():
    with pytest.raises(AskError, match="cannot show .*: other"):
        demo_texts.show({}, {"other": 1}, {})
