"""Spans that Python finds are those that TensorFlow finds."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.text.protected_tokenizer import cut_out
from tfcopy.data.text.span_patterns import PATTERNS, lost_spans, spans_of

PARTS = ["``a b``", ":func:`é`", "`x`", "](u(v))", "<b>", "&amp;", "%(n)s"]
PARTS += ["%5.2f", "{0!r}", "{{", "http://a.b/c,", "é@b.org", "<a", "`", " "]
PARTS += ["|x|", "[1]_", "%dé", "100% of", "\u2003", "Ł", "}", "__"]


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=60)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=8))
def test_python_finds_what_tensorflow_finds(name, parts):
    text = "".join(parts)
    _, spans = cut_out(tf.constant([text]), (name,))
    assert spans_of(text, (name,)) == [x.decode() for x in spans.numpy()]


def test_spans_are_lost_one_by_one():
    source = "``a`` and ``a`` or :mod:`b`, %s"
    assert lost_spans(source, source, ("rst",)) == []
    assert lost_spans(source, ":mod:`b` y ``a``", ("rst",)) == ["``a``"]
    assert lost_spans(source, ":mod: `b`", ("rst", "printf")) == [
        *("``a``", "``a``", ":mod:`b`", "%s")
    ]
    assert lost_spans("ab1", "b", (r"[a-z]\d",)) == ["b1"]
