import errno
import functools
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from tfcopy.runtime import local_model
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.versions import find_version
from tfcopy.serving import ask

LINES = "the session of Łukasz .\n\n北京 😀\r\n \t\nO'Brien-Şahin".encode()
ANSWERS = ["the session of Łukasz .", "", "北京 😀", "", "O'Brien-Şahin"]
# Messages of its C++ part, which depend on TF_CPP_MIN_LOG_LEVEL.
TENSORFLOW_LINE = re.compile(
    r"^(?!ask: ).*([.]cc:\d+\] |absl::InitializeLog[(][)] is called).*"
    r"(\n\t.*)*\n",
    re.M,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, random_export, copier_export):
    folder = tmp_path_factory.mktemp("savedmodels") / "copier"
    shutil.copytree(random_export, folder / "2")
    shutil.copytree(copier_export, folder / "10")
    return str(folder)


@pytest.fixture(scope="module")
def load(folder, copier_model):
    """Loading takes seconds: each model is loaded once."""

    @functools.cache
    def load(path, version):
        is_copier = find_version(path, version) == f"{folder}/10"
        return copier_model if is_copier else LocalModel(path, version)

    def with_batches(path, version=None, *, batch_size=32, **loading):
        model = object.__new__(LocalModel)
        vars(model).update(vars(load(path, version)))
        model.batch_size = batch_size
        return model

    return with_batches


@pytest.fixture
def asked(monkeypatch, told, load):
    """Returns the function of arguments and input to status, output, error."""

    def asked(*arguments, lines=LINES):
        monkeypatch.setattr(local_model, "LocalModel", load)
        return told(ask.main, arguments, lines)

    return asked


@pytest.mark.parametrize("batch_size", ["1", "2", "32"])
def test_a_line_in_is_a_line_out(asked, folder, batch_size):
    status, output, error = asked(folder, "--batch_size", batch_size)
    assert (status, output, error) == (0, ANSWERS, "")
    assert asked(folder, lines=b"")[:2] == (0, [])


def test_n_best_lines_carry_number_and_score(asked, folder):
    status, output, _ = asked(folder, "--version=2", "--n_best=2")
    assert status == 0
    rows = [line.split(" ||| ") for line in output]
    assert [row[0] for row in rows] == list("00122344")
    scores = [float(row[2]) for row in rows]
    assert scores[0] >= scores[1] and scores[2] == 0
    # More than the model has beams.
    _, output, _ = asked(folder, "--version=2", "--n_best=9")
    assert [line[0] for line in output].count("0") == 3


def test_a_line_of_fields_can_be_split_whatever_its_text(asked, folder):
    lines = b"a ||| b\n|||||| ||| c ||\n"
    _, output, _ = asked(folder, "--n_best=2", lines=lines)
    rows = [line.split(" ||| ") for line in output]
    assert {len(row) for row in rows} == {3}
    texts = [row[1].replace("&#124;", "|") for row in rows]
    assert texts == lines.decode().splitlines()


def test_json_tells_what_was_copied(asked, folder):
    _, output, _ = asked(folder, "--json")
    answers = [json.loads(line) for line in output]
    assert [answer["text"] for answer in answers] == ANSWERS
    assert answers[2] == {
        "text": "北京 😀",
        "score": pytest.approx(0, abs=1e-5),
        "tokens": ["北京", "😀"],
        "copied_from": [0, 1],
        "aligned_to": [0, 1],
        "source_tokens": ["北京", "😀", "</s>"],
    }
    _, output, _ = asked(folder, "--json", "--version=2", "--n_best=3")
    assert len(json.loads(output[0])["n_best"]) == 3


def test_any_bytes_get_an_answer(asked, folder):
    lines = b"\xfd\xfe\n\x00\x01\n" + "\u2028\u0085x\u0085y".encode() + b"\n"
    status, output, _ = asked(folder, lines=lines)
    assert (status, output) == (0, ["\ufffd\ufffd", "", "x y"])


def test_input_of_another_form(asked, folder):
    text = "the session of Łukasz .\n\n北京 😀\n"
    for data in (
        text.encode("utf-16"),
        gzip.compress(text.encode("utf-8-sig")),
    ):
        status, output, error = asked(folder, lines=data)
        assert (status, output, error) == (0, ANSWERS[:3], "")
    status, output, error = asked(folder, lines=b"\x28\xb5\x2f\xfd\x04\0")
    assert (status, output) == (2, [])
    assert error == (
        "ask: standard input: compressed by zstd. Decompress it first.\n"
    )


def test_errors_say_what_is_wrong(asked, folder, tmp_path):
    def error(*arguments):
        status, output, error = asked(*arguments)
        assert (status, output) == (2, [])
        assert error.startswith("ask: ") and error.count("\n") == 1
        return error

    assert "no such folder" in error(str(tmp_path / "none"))
    assert "no exported model in it" in error(str(tmp_path))
    assert "Available: 2, 10." in error(folder, "--version=3")
    assert "leave --version out" in error(folder + "/2", "--version=2")


class _Unreadable(io.RawIOBase):
    """A file like a terminal that was taken away."""

    def readable(self):
        return True

    def readinto(self, buffer):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_input_that_cannot_be_read_ends_with_a_line(
    monkeypatch, capfd, folder, load
):
    monkeypatch.setattr(local_model, "LocalModel", load)
    unreadable = io.TextIOWrapper(io.BufferedReader(_Unreadable()))
    for stdin, reason in (
        (unreadable, "standard input: Input/output error."),
        (None, "standard input is closed."),
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert ask.main([folder]) == 2
        assert capfd.readouterr() == ("", f"ask: {reason}\n")


def test_output_that_cannot_be_written_ends_with_a_line(
    monkeypatch, capfd, folder, load
):
    monkeypatch.setattr(local_model, "LocalModel", load)
    for path, status, reason in (
        ("/dev/full", 1, "standard output: No space left on device."),
        (os.devnull, 2, "standard output is closed."),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
        with open(path, "w") as full:
            stdout = full if path == "/dev/full" else None
            monkeypatch.setattr(sys, "stdout", stdout)
            assert ask.main([folder]) == status
        assert capfd.readouterr() == ("", f"ask: {reason}\n")


def test_a_closed_pipe_is_no_error(monkeypatch, capfd, folder, load):
    monkeypatch.setattr(local_model, "LocalModel", load)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert ask.main([folder]) == 0
    assert capfd.readouterr() == ("", "")


def test_a_model_that_fails_is_one_line(asked, monkeypatch, tmp_path):
    """Whatever TensorFlow says around the reason."""
    module = tf.Module()

    def answer(text):
        tf.debugging.assert_none_equal(text, "a", message="no such text")
        return {"text": text, "copied_from": tf.strings.length(text)}

    text = [tf.TensorSpec([None], tf.string, "text")]
    signature = tf.function(answer, text).get_concrete_function()
    names = dict.fromkeys(["serving_default", "analyse"], signature)
    monkeypatch.setattr(LocalModel, "_warm_up", lambda model: None)
    tf.saved_model.save(module, str(tmp_path / "1"), names)
    status, output, error = asked(str(tmp_path), lines=b"a\n")
    error = TENSORFLOW_LINE.sub("", error)
    assert (status, output) == (2, []) and error.count("\n") == 1
    begin = f"ask: {tmp_path}/1: cannot answer (assertion failed: [no such text"
    assert error.startswith(begin)


def test_the_end_looks_for_no_garbage():
    """To collect TensorFlow's objects would take seconds."""
    code = """
from tfcopy import terminal

class Garbage:
    def __del__(self):
        print("found")

def main():
    one = Garbage()
    one.itself = one
    print("answered")
    return 3

terminal.start(main)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (3, "answered\n")
