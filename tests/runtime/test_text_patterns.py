"""Regular expressions, cases and characters without TensorFlow and with it."""

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from tfcopy.data.text import tokenization
from tfcopy.runtime.text_rules import Pattern, Rules
from tfcopy.runtime.text_tokenizers import decode, lower

PATTERNS = [
    *("a*", "b|", "x?y*", r"\S*$", r"^\s*", "é?", ".", r"(a)|(b)"),
    r"[^\x00-\x7f]*",
]
REWRITES = ["", "-", r"<\0>", r"\2\1", r"\\\0"]
TEXTS = strategies.one_of(
    strategies.text("abxy é\n北", max_size=9).map(str.encode),
    strategies.binary(max_size=9),
)


@hypothesis.given(TEXTS, strategies.booleans())
@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_replaced_as_in_tensorflow(pattern, text, everywhere):
    compiled = Pattern(pattern)
    assert compiled.matches(text) == bool(
        tf.strings.regex_full_match(text, pattern)
    )
    found = compiled.replace(text, b"-", everywhere)
    assert found == tf.strings.regex_replace(text, pattern, "-", everywhere)
    for rewrite in REWRITES:
        if r"\2" in rewrite and "(a)" not in pattern:
            continue
        found = Rules([[pattern, rewrite]])(text)
        assert found == tf.strings.regex_replace(text, pattern, rewrite)


@hypothesis.given(strategies.lists(strategies.binary(max_size=9), min_size=1))
def test_bytes_are_decoded_as_in_tensorflow(texts):
    expected = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    assert [*map(decode, texts)] == expected.numpy().tolist()


@pytest.mark.long
def test_every_character_is_lowered_as_in_tensorflow():
    codes = [*range(0xD800), *range(0xE000, 0x110000)]
    words = [f"{chr(x)}Σ{chr(x)}".encode() for x in codes]
    expected = tokenization.lower(tf.constant(words)).numpy()
    found = np.array([lower(x) for x in words], object)
    assert not np.flatnonzero(found != expected).size
