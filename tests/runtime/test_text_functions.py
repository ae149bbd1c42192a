"""Functions of texts without TensorFlow beside those with it."""

import random
import time

import hypothesis
import pytest
from hypothesis import strategies

from tests.runtime.text_sides import (
    HUB,
    ODD,
    OPTIONS,
    SIDES,
    TOKENIZERS,
    Sides,
    copying_bytes,
    protected,
    translator_of,
)
from tfcopy.data import Tokenizer

PIECES = (
    "the session of is open . , ` `` <b> </b> %s {x} ' $ @ ￨ ( ) é Σ É".split()
)
PIECES += " |  |\n|\t|\x00|\u00a0|▁|\ue000|北|😀|0|-".split("|")
TEXTS = strategies.one_of(
    strategies.lists(strategies.sampled_from(PIECES), max_size=12).map(
        lambda x: "".join(x).encode()
    ),
    strategies.text(max_size=20).map(lambda x: x.encode("utf-8", "replace")),
    strategies.binary(max_size=12),
    strategies.sampled_from(ODD),
)

# Other cases contain their operations, `protected fr` three of the patterns.
CONTAINED = {
    *("glossary", "must copy", "append_eos, must copy", "lowercase entities"),
    *("moses de", "space zh", "characters en", "protected"),
    *("t5gemma in pieces", "t5gemma protected"),
    *("bart", "t5", "t5gemma", "t5gemma2", "gemma"),
    *("protect rst", "protect placeholders", "protect html", "protect brace"),
    *("protect printf", "protect flags", "protect links", "protect markdown"),
}


def cases():
    for case in (*OPTIONS, *HUB, *TOKENIZERS):
        is_slow = case.endswith("-format") and case != "protect c-format"
        is_slow |= case in CONTAINED
        mark = pytest.mark.slow if is_slow else pytest.mark.long
        few = ("moses en", "must copy and glossary")
        yield pytest.param(case, marks=[] if case in few else [mark])


def draw_texts(count):
    """Draws texts; those of all 84 cases are 151,200."""
    draw = random.Random(0)
    pieces = [*PIECES, " ", "é", "É", "-", "s"]
    return [
        "".join(draw.choices(pieces, k=draw.randrange(30)))
        for _ in range(count)
    ]


@pytest.fixture(scope="module", params=cases())
def sides(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return Sides(translator_of(request.param, folder), folder)


def test_odd_texts(sides):
    for batch in [*([x] for x in ODD), [], ODD, ODD * 4]:
        assert sides.difference(batch) is None


@hypothesis.settings(max_examples=30)
@hypothesis.given(texts=strategies.lists(TEXTS, max_size=5))
def test_open_texts(sides, texts):
    assert sides.difference(texts) is None


@pytest.mark.parametrize("side", SIDES)
def test_one_side_with_spans(side, tmp_path, monkeypatch):
    options = {side: protected(Tokenizer("space"))}
    monkeypatch.setitem(OPTIONS, "one side", options)
    sides = Sides(translator_of("one side", tmp_path), tmp_path)
    assert sides.difference([b"the %s of ``is`` %d", b"a%sb", b""]) is None


def test_a_long_text_with_terms(tmp_path):
    sides = Sides(translator_of("glossary", tmp_path), tmp_path)
    texts = [b"the session is of x , " * (1 << 16), b"is"]
    assert sides.difference(texts) is None
    begin = time.process_time()
    sides.functions.read(texts, [[b"session is\tx"]] * 2)
    assert time.process_time() - begin < 2


@pytest.mark.long
def test_bytes_form_the_character_of_a_span(tmp_path):
    sides = Sides(translator_of("bart in pieces", tmp_path), tmp_path)
    assert sides.difference([copying_bytes(sides).encode()] * 2) is None


@pytest.mark.slow
def test_many_texts(sides):
    texts = draw_texts(1800)
    for start in range(0, len(texts), 450):
        batch = [*map(str.encode, texts[start : start + 450])]
        assert sides.difference(batch) is None
