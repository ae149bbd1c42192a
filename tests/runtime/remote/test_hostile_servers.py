"""Answers that no honest server gives: each ends in one line."""

import json

import numpy as np
import pytest

from tfcopy.runtime import signatures
from tfcopy.runtime.batches import join_padded
from tfcopy.runtime.remote_model import RemoteModel
from tfcopy.runtime.rest_transport import Failure, TensorInfo, read_status
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import one_line

INPUTS = {"text": np.array([b"a", b"b"], object)}
TEXT = {"text": TensorInfo("DT_STRING", 1)}
SCORES = {"scores": TensorInfo("DT_FLOAT", 2)}
DEEP = "[" * 100_000 + "]" * 100_000


def line_of(question, *arguments):
    """The message of a question that fails."""
    with pytest.raises(ModelError) as error:
        question(*arguments)
    message = str(error.value)
    assert message == one_line(message) and len(message) < 1000
    return message


@pytest.mark.parametrize(
    "outputs, info, message",
    [
        (["a"], TEXT, "text has 1 rows, not 2"),
        ([], TEXT, "text has 0 rows, not 2"),
        ([["a"], ["b", "c"]], TEXT, "text has lists of different lengths"),
        ([["a"], ["b"]], TEXT, "text has 2 axes, not 1"),
        ([1, 2], TEXT, "no valid outputs"),
        ([None, {"b64": 1}], TEXT, "no valid outputs"),
        ({"b64": "?"}, TEXT, "no valid outputs"),
        ([[1.0], ["x"]], SCORES, "could not convert string to float"),
        ([[1.0], [1.0, 2.0]], SCORES, "no valid outputs"),
        ([[{}], [{}]], SCORES, "no valid outputs"),
        ([1, 1e30], {"x": TensorInfo("DT_INT32", 1)}, "no valid outputs"),
        ([1, 2], {"x": TensorInfo("DT_VARIANT", 1)}, "of the type DT_VARIANT"),
        ([1, 2], {"x": TensorInfo("DT_V999999999", 1)}, "of the type DT_V999"),
        ({"a": [1, 2]}, TEXT | SCORES, "no valid outputs"),
    ],
)
def test_json_of_other_outputs_is_refused(answering, outputs, info, message):
    connection = answering(json.dumps({"outputs": outputs}).encode())
    assert message in line_of(connection.predict, "single", INPUTS, info)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK", b"HTTP/1.1 500 Oops"])
@pytest.mark.parametrize("body", [DEEP, f'{{"outputs": {DEEP}}}', "1" * 9999])
def test_deep_json_is_refused(answering, head, body):
    line_of(answering(body.encode(), head).predict, "single", INPUTS, TEXT)


FORMS = [
    *(
        {"metadata": {"signature_def": {"signature_def": {"a": x}}}}
        for x in ({"inputs": 1}, {"inputs": {"x": {"dtype": []}}})
    ),
    *([], {}, {"metadata": 1}, {"metadata": {"a": 1}}),
]


@pytest.mark.parametrize("body", [*map(json.dumps, FORMS), "", "x", "\xff"])
def test_json_of_another_form_is_refused(answering, body):
    connection = answering(body.encode("latin-1"))
    assert "the response has no valid " in line_of(connection.signatures)


@pytest.mark.parametrize(
    "versions",
    [
        *([{"version": 1, "state": ["END"]}], 1),
        [{"version": 1e400, "state": "END"}],
    ],
)
def test_a_status_of_another_form_is_refused(versions):
    with pytest.raises(Failure, match="no valid status"):
        read_status({"model_version_status": versions})


def test_control_characters_are_not_told(answering):
    escape = b"\x1b]0;mine\x07\r\x9b"
    head = b"HTTP/1.1 500 Oops" + escape
    for body in (escape, b'{"error": "\\u001b[2J \\u009b"}'):
        assert line_of(answering(body, head).signatures).isprintable()


def test_answers_have_a_largest_size(server, monkeypatch):
    monkeypatch.setattr(signatures, "LARGEST_ANSWER", 20_000)
    model = RemoteModel(server.address, "echo")
    assert len(model.ask("single", {"text": ["a" * 9_000]})["text"][0]) == 9_000
    message = line_of(model.ask, "single", {"text": ["a" * 30_000]})
    assert "the response has more than 20,000 bytes" in message


def test_one_answer_cannot_pad_all_others(monkeypatch):
    monkeypatch.setattr(signatures, "LARGEST_ANSWER", 1_000)
    wide, narrow = np.ones((1, 200), "f"), np.ones((9, 1), "f")
    assert join_padded([wide, wide]).shape == (2, 200)
    with pytest.raises(ModelError, match="too different in size"):
        join_padded([wide, narrow])


def test_the_joined_answers_of_many_requests_may_be_large(monkeypatch):
    monkeypatch.setattr(signatures, "LARGEST_ANSWER", 1_000)
    assert join_padded([np.ones((2, 100), "f")] * 50).shape == (100, 100)
