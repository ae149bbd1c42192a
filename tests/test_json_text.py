import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy import checked_files
from tfcopy.data.corpora.squad import Node
from tfcopy.data.corpora.tables import Table
from tfcopy.json_text import JsonError, parse_json, shortened
from tfcopy.serving.client_library import ask_texts, local_model
from tfcopy.serving.client_library.rest_transport import _error
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.training import distribution

DEEP = "[" * 100_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_values_are_those_of_json(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii)
    expected = repr(json.loads(text))  # NaN is not itself
    assert repr(parse_json(text)) == expected
    assert repr(parse_json(b"\xef\xbb\xbf" + text.encode())) == expected


@given(st.binary() | st.text(alphabet='[]{}:,"\\u0dE-9 \n\ufeff') | st.text())
def test_whatever_is_no_json_is_one_error(text):
    try:
        parse_json(text)
    except JsonError as error:
        assert str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    "text, message, line",
    [
        (DEEP, "nested too deep", None),
        ('{"a":' * 100_000, "nested too deep", None),
        (b'\n["\xff"]', "not valid UTF-8", 2),
        ('[\n"a"', "delimiter at character 4", 2),
        ("", "Expecting value at character 1", 1),
    ],
)
def test_an_error_tells_where(text, message, line):
    with pytest.raises(JsonError, match=message) as caught:
        parse_json(text)
    assert caught.value.line == line


def test_a_number_without_end_is_infinity():
    assert parse_json("9" * 5000) == math.inf == parse_json("1e400")
    assert parse_json("-" + "9" * 5000) == -math.inf
    assert parse_json("9" * 4300) == int("9" * 4300)


def test_what_is_read_can_be_shown():
    """Writing a value needs more of the stack than reading it."""
    for depth in range(800, 1000):
        try:
            value = parse_json("[" * depth + "]" * depth)
        except JsonError:
            break
        assert len(shortened(value, 40)) <= 44
    assert shortened([1, 2], 40) == "[1, 2]"


@pytest.mark.parametrize(
    "read, message",
    [
        (checked_files.read_json, "a.jsonl is damaged .it is nested too deep"),
        (Node.read, "a.jsonl: not valid JSON .it is nested too deep"),
        (lambda path: list(Table.of(path, ("x",)).read()), "a.jsonl, line 1:"),
        (
            lambda path: ask_texts._parse(path.read_bytes(), 3, ["a", "b"]),
            "standard input, line 3: expected a JSON object",
        ),
        (lambda path: distribution._has_cluster(), "TF_CONFIG must be"),
    ],
    ids="checked tree table ask cluster".split(),
)
def test_all_that_read_it_name_the_place(tmp_path, monkeypatch, read, message):
    path = tmp_path / "a.jsonl"
    path.write_text(DEEP)
    monkeypatch.setenv("TF_CONFIG", DEEP)
    with pytest.raises(Exception, match=message) as caught:
        read(path)
    assert not isinstance(caught.value, RecursionError)


def test_what_is_read_in_part_may_be_damaged(tmp_path):
    folder = tmp_path / "assets.extra"
    folder.mkdir()
    for content in (DEEP, "[]", "\xff", ""):
        (folder / local_model.CONFIG_NAME).write_text(content)
        with pytest.raises(AskError, match="tfcopy.json is damaged"):
            local_model.read_config(tmp_path)
    response = type("Response", (), {"status": 400, "reason": "Bad"})
    assert _error(response, DEEP).startswith("HTTP 400 Bad: [[[")
