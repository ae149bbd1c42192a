"""What is blank, whoever reads it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.corpora.held_out import is_blank
from tfcopy.data.text.tokenization import MODES, Tokenizer, string_tensor

UNSEEN = "\0\t \x1b\x85\xa0\u200b\u200d\u2028\u2060\u3000\ufeff\U000e0001"


@pytest.mark.parametrize("text", ["", *UNSEEN, UNSEEN])
def test_what_nobody_sees_is_blank(text):
    assert is_blank((text,)) and is_blank(("a", text)) and is_blank((text, "a"))
    assert not is_blank((f"{text}é{text}", "a"))


@settings(deadline=None)
@given(st.text(st.sampled_from(UNSEEN + "a.é\u0301\ue000\u2581")))
def test_what_has_no_token_is_blank(text):
    for mode in MODES:
        tokens = Tokenizer(mode).tokenize(string_tensor([text])).to_list()[0]
        assert tokens or is_blank((text,))
