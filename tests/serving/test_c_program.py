"""TensorFlow's C runtime, with no Python in the process."""

import os
import resource
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import c_program
from tests.serving.servables.text_models import (
    OTHERS,
    TEXTS,
    ask,
    eager,
    make,
    plain,
    texts_of,
)
from tests.serving.servables.translators import (
    NAMES,
    random_translator,
    sentences,
)
from tfcopy.serving.client_library.local_model import LocalModel
from tfcopy.serving.saved_model import export

pytestmark = pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("cc")),
    reason="needs make and a C compiler",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return c_program.build(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def both(program, copier_export, copier_model):
    """The program, and Python."""
    with c_program.CProgram(program, copier_export, "--threads=1") as asking:
        yield asking, copier_model


def run(program, *arguments, lines=b""):
    """Status, output and errors of a command."""
    done = subprocess.run(
        [program, *arguments], input=lines, capture_output=True
    )
    return done.returncode, done.stdout, done.stderr.decode()


class Picky(tf.Module):
    """Gives back what it is asked, but for "bad"; made at once."""

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    def answer(self, text):
        tf.debugging.assert_none_equal(text, "bad", message="no such text")
        return {"text": text}


@pytest.fixture(scope="module")
def picky(tmp_path_factory):
    """The folder of such a model."""
    model = Picky()
    folder = str(tmp_path_factory.mktemp("picky"))
    tf.saved_model.save(model, folder, model.answer)
    return folder


def test_a_line_in_is_a_line_out(program, copier_export):
    lines = f"of {' '.join(NAMES)} .\n\n北京\r\n \t\n\xff".encode()
    status, output, error = run(
        program, "--batch_size=3", copier_export, lines=lines
    )
    assert (status, error) == (0, "")
    answers = output.decode().split("\n")
    assert answers == [
        f"of {' '.join(NAMES)} .",
        "",
        "北京",
        "",
        "\xff",
        "",
    ]


@pytest.mark.slow
def test_answers_are_those_of_python(program, tmp_path):
    folder = export(random_translator(), tmp_path / "random")
    texts = [text.encode() for text in sentences(60, seed=3)]
    expected = LocalModel(folder).ask("serving_default", {"text": texts})
    lines = b"\n".join(texts) + b"\n"
    _, output, _ = run(program, folder, lines=lines)
    assert output.split(b"\n")[:-1] == expected["text"].tolist()
    _, output, _ = run(program, "--output=score", folder, lines=lines)
    scores = np.array(output.split(), np.float32)
    np.testing.assert_allclose(scores, expected["score"], 1e-5, 1e-6)
    _, output, _ = run(
        program, "--signature=analyse", "--output=texts", folder, lines=b"x\n"
    )
    found = LocalModel(folder).ask("analyse", {"text": ["x"]})["texts"]
    assert output == b" ".join(found[0]) + b"\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "served, output",
    [
        (lambda: plain("entailment"), "label"),
        pytest.param(
            lambda: make("entailment", "mean")[0],
            "label",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda: make("answers")[0], "text", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda: plain("language"), "next_words", marks=pytest.mark.slow
        ),
    ],
    ids=["entailment", "definitions", "answers", "language"],
)
def test_models_of_several_texts_are_asked(program, tmp_path, served, output):
    served = served()
    texts = texts_of(served, TEXTS, OTHERS)
    folder = export(served, tmp_path / "model")
    expected = ask(eager(served), texts)[output]
    expected = [
        x if isinstance(x, bytes) else b" ".join(x) for x in expected.tolist()
    ]
    columns = [texts[name].numpy().tolist() for name in sorted(texts)]
    with c_program.CProgram(program, folder) as asking:
        assert asking.ask(list(zip(*columns))) == expected
        assert asking.ask([]) == []
    if len(texts) > 1:
        lines = [b"\t".join(row) for row in zip(*columns) if b"\n" not in row]
        status, _, error = run(program, folder, lines=lines[0] + b"\nzebra\n")
        assert status == 2
        assert error == (
            "ask: standard input, line 2: expected a tabulator between the "
            "texts\n"
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=200), st.text(max_size=50), st.just("")),
        max_size=12,
    )
)
def test_any_bytes_are_answered_as_in_python(both, texts):
    texts = [
        text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        for text in texts
    ]
    program, python = both
    expected = python.ask("serving_default", {"text": texts})["text"]
    assert program.ask([(text,) for text in texts]) == expected.tolist()


def test_a_timing_is_written_for_each_request(program, picky):
    with c_program.CProgram(program, picky) as asking:
        for size in (2, 1, 0):
            asking.ask([(b"the session",)] * size)
        timings = asking.end()
    assert [timing.examples for timing in timings] == [2, 1, 0]
    assert all(0 < timing.milliseconds < 1e5 for timing in timings)
    assert all(timing.kib > 10_000 for timing in timings)


def test_a_request_that_fails_is_told_and_the_next_is_answered(program, picky):
    with c_program.CProgram(program, picky) as asking:
        assert asking.ask([(b"good",)]) == [b"good"]
        with pytest.raises(c_program.RequestFailed, match="no such text"):
            asking.ask([(b"bad",)])
        assert asking.ask([(b"good",)]) == [b"good"]
    status, output, error = run(program, picky, lines=b"bad\n")
    assert (status, output) == (2, b"")
    assert "no such text" in error and error.count("\n") == 1


@pytest.mark.long
def test_errors_say_what_is_wrong(program, picky, tmp_path):
    for arguments, message in [
        ([str(tmp_path)], f"{tmp_path}: Could not find SavedModel"),
        ([], "expected one folder of a model"),
        (["--signature=x", picky], "has no such signature"),
        (["--output=x", picky], "has no such output"),
        (["--library=x.so", picky], "x.so: "),
        (["--batch_size=0", picky], "--batch_size: must be a positive"),
        (["--threads=many", picky], "--threads: must be a positive"),
        (["--timing=/none/x", picky], "/none/x: No such file"),
        (["--nonsense", picky], "--nonsense: no such option"),
    ]:
        status, output, error = run(program, *arguments)
        assert (status, output) == (2, b"")
        assert error.startswith("ask: ") and message in error
        assert error.count("\n") == 1
    status, output, _ = run(program, "--help")
    assert status == 0 and b"--frames" in output


# A model that gives back what it is asked, so that no runtime is loaded.
ECHO = """
#include <stdlib.h>
#include <string.h>
#include "model.h"

const char* LoadModel(Model* model, const char* folder, const char** libraries,
                      int num_libraries, int threads, const char* signature,
                      const char* output) {
  memset(model, 0, sizeof *model);
  model->signature.num_inputs = 1;
  return NULL;
}

const char* Ask(Model* model, const Text* texts, int batch, Text* answers) {
  for (int i = 0; i < batch; i++) {
    answers[i] = (Text){malloc(texts[i].size + 1), texts[i].size};
    memcpy(answers[i].bytes, texts[i].bytes, texts[i].size);
  }
  return NULL;
}

void CloseModel(Model* model) {}
"""


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """The program with such a model."""
    folder = tmp_path_factory.mktemp("echo")
    (folder / "echo.c").write_text(ECHO)
    include = os.path.join(os.path.dirname(tf.__file__), "include")
    subprocess.run(
        [
            *("cc", "-std=gnu11", f"-I{c_program.SOURCE}", "-isystem", include),
            *(os.path.join(c_program.SOURCE, "ask.c"), folder / "echo.c"),
            *("-o", folder / "ask"),
        ],
        check=True,
    )
    return str(folder / "ask")


def frame(*texts):
    """A request."""
    sizes = [len(texts), *map(len, texts)]
    first, *others = (x.to_bytes(4, "little") for x in sizes)
    return first + b"".join(map(b"".join, zip(others, texts)))


@pytest.mark.parametrize("size", [1, 3, 32])
def test_lines_are_answered_in_batches_of_any_size(echo, size):
    lines = b"of \xff .\n\n\xe5\x8c\x97\n \t\nx".split(b"\n")
    status, output, error = run(
        echo, f"--batch_size={size}", "x", lines=b"\n".join(lines)
    )
    assert (status, error) == (0, "")
    assert output.split(b"\n") == [*lines, b""]


def test_frames_are_answered(echo):
    texts = b"", b"a", b"x" * 3_000_000, b"\n"
    status, output, error = run(
        echo, "--frames", "x", lines=frame(*texts) + frame() + frame(b"b")
    )
    assert (status, error) == (0, "")
    answers = [bytes(4) + frame(*x) for x in (texts, (), (b"b",))]
    assert output == b"".join(answers)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "lines, message",
    [
        (b"\2\0", "ends within a frame"),
        (frame(b"abc")[:-1], "ends within a frame"),
        (frame(b"a", b"b")[:-1], "ends within a frame"),
        (b"\1\0\0\0" + b"\xff" * 4 + b"a", "ends within a frame"),
        (b"\0\0\x10\0" + bytes(40), "ends within a frame"),
        (b"\1\0\x10\0", "a frame of more than 1048576 examples"),
        (b"\xff" * 4, "a frame of more than 1048576 examples"),
    ],
)
def test_frames_that_announce_too_much_are_refused(echo, lines, message):
    """At once, and in no more memory than what was sent."""
    limits = (64 << 20,) * 2
    done = subprocess.run(
        [echo, "--frames", "x"],
        input=lines,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"ask: standard input: {message}\n"


@pytest.mark.parametrize("flags", [["x"], ["--frames", "x"], ["--help"]])
def test_answers_that_cannot_be_written_are_told(echo, flags):
    """On a full device, and where nothing is open."""
    text = frame(b"a") if "--frames" in flags else b"a\n"
    for output, reason in (
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
    ):
        done = subprocess.run(
            ["sh", "-c", f'"$0" "$@" {output}', echo, *flags],
            input=text,
            stderr=subprocess.PIPE,
        )
        message = f"ask: standard output: {reason}\n"
        assert (done.returncode, done.stderr.decode()) == (2, message)


def test_timings_that_cannot_be_written_are_told(echo):
    status, output, error = run(echo, "--timing=/dev/full", "x", lines=b"a\n")
    assert (status, output) == (2, b"a\n")
    assert error == "ask: --timing: No space left on device\n"


def test_no_file_takes_the_place_of_what_is_closed(echo, tmp_path):
    path = tmp_path / "timings"
    command = f"{echo} --timing={path} x <&- >&- 2>&-"
    assert subprocess.run(command, shell=True).returncode == 2
    assert path.read_bytes() == b""


@pytest.mark.parametrize("flags", [[], ["--frames"]])
def test_input_that_cannot_be_read_is_told(echo, flags):
    folder = os.open("/", os.O_RDONLY)
    done = subprocess.run(
        [echo, *flags, "x"], stdin=folder, capture_output=True
    )
    os.close(folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"ask: standard input: Is a directory\n"


@pytest.mark.long
def test_a_damaged_model_is_refused(program, copier_export, tmp_path):
    for size in (0, 100, 5_000):
        folder = tmp_path / str(size)
        shutil.copytree(copier_export, folder)
        with open(folder / "saved_model.pb", "r+b") as file:
            file.truncate(size)
        status, output, error = run(program, str(folder))
        assert (status, output) == (2, b"")
        assert error.startswith(f"ask: {folder}") and error.count("\n") == 1
