import contextlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.runtime.serving_server import ServingServer
from tests.serving.servables.translators import sentences
from tfcopy.runtime import local_model, remote_model
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import Signature
from tfcopy.serving import ask

SENTENCES = [x.encode() for x in sentences(9)] + [b"", b"\xff\xfe is \x00"]


@pytest.fixture(scope="module")
def running(copier_model):
    server = ServingServer({"translator": {2: copier_model}})
    yield server
    server.stop()


@pytest.fixture
def server(running):
    running.reset()
    yield running
    running.reset()


def test_a_server_answers_lines_as_a_folder_does(
    told, server, copier_model, monkeypatch
):
    flags, text = ["--batch_size=3"], b"\n".join(SENTENCES)
    arguments = [f"{server.address}/translator", "--at_once=2", *flags]
    found = told(ask.main, arguments, text)
    monkeypatch.setattr(
        local_model, "LocalModel", lambda *_, **__: copier_model
    )
    assert told(ask.main, ["folder", *flags], text) == found
    assert found[0] == 0 and len(found[1]) == len(SENTENCES)


def test_flags_reach_the_server(told, server):
    address = f"{server.address}/translator"
    found = told(ask.main, [address, "--version=2"], b"\n\n")
    assert found == (0, ["", ""], "")
    _, _, error = told(ask.main, [address, "--version=1"])
    assert "no version 1. Versions: 2 AVAILABLE." in error
    server.reset()
    server.fail(9, "UNAVAILABLE")
    _, _, error = told(ask.main, [address, "--retries=0"])
    assert "asked once" in error and len(server.calls) == 1
    server.reset()
    server.delay = lambda call: 0.3
    _, _, error = told(ask.main, [address, "--deadline=0.1"])
    assert "within 0.1 s" in error


def test_errors_say_what_is_wrong(told, server, capfdbinary):
    def error(*arguments):
        status, output, error = told(ask.main, arguments)
        assert (status, output) == (2, [])
        assert error.startswith("ask: ") and error.count("\n") == 1
        return error

    address = server.address
    assert "has no model 'x'" in error(f"{address}/x")
    message = error(f"{address}/translator", "--dictionary=x")
    assert f"translator at {address}: the model reads no" in message
    for flags in (
        *(["--deadline=0"], ["--deadline=x"], ["--deadline=inf"]),
        *(["--retries=-1"], ["--at_once=0"]),
    ):
        with pytest.raises(SystemExit):
            ask.main([f"{address}/translator", *flags])
        error = capfdbinary.readouterr().err.decode()
        assert error.startswith(f"ask: {flags[-1].split('=')[0]}")


@contextlib.contextmanager
def process(*arguments):
    """The command, which has answered three lines."""
    # As users have it: nothing is kept silent from outside.
    environment = dict(os.environ)
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "tfcopy.serving.ask", *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        for number in range(3):
            process.stdin.write(b"the session\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"%d ||| " % number)
        yield process


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_process_answers_each_line_at_once(server, is_interrupted):
    with process(f"{server.address}/translator", "--n_best=1") as client:
        if is_interrupted:
            client.send_signal(signal.SIGINT)
        else:
            client.stdin.close()
        assert client.wait() == (130 if is_interrupted else 0)
        assert client.stderr.read() == b""


@pytest.mark.slow
def test_a_process_says_once_that_the_server_has_gone(copier_model):
    server = ServingServer({"translator": {1: copier_model}})
    address = server.address
    flags = ["--n_best=1", "--retries=1"]
    with process(f"{address}/translator", *flags) as client:
        server.stop()
        client.stdin.write(b"the session\n")
        client.stdin.close()
        assert client.wait() == 2
        (line,) = client.stderr.read().decode().splitlines()
        assert line.startswith(f"ask: {address}: no server answers (")


class _Hostile(ExportedModel):
    """A model that answers what it likes."""

    name = "m"

    def __init__(self, **outputs):
        self.outputs = outputs
        signature = Signature({"text": 1}, tuple(outputs))
        self.signatures = dict.fromkeys(
            ["serving_default", "analyse"], signature
        )

    def _ask_batch(self, signature, arrays):
        return {name: np.array(x) for name, x in self.outputs.items()}


WILD = "a\x1b[2J\x07\r\nb\u009b\u2028c\x7f".encode() + b"\x9b"
TRANSLATED = {
    "text": [WILD],
    "score": [-1.0],
    "texts": [[WILD]],
    "scores": [[-1.0]],
    "tokens": [[[WILD]]],
    "copied_from": [[[0]]],
    "source_tokens": [[WILD]],
}


@pytest.mark.parametrize("flags", [[], ["--n_best=1"], ["--json"]])
@pytest.mark.parametrize(
    "outputs", [TRANSLATED, {"label": [WILD]}, {"next_words": [[WILD, WILD]]}]
)
def test_answers_are_printed_without_control_characters(
    told, monkeypatch, flags, outputs
):
    monkeypatch.setattr(
        remote_model, "RemoteModel", lambda *_, **__: _Hostile(**outputs)
    )
    if "--n_best=1" in flags and outputs is not TRANSLATED:
        return
    status, (line,), error = told(ask.main, ["h:1/m", *flags], b"x\n")
    assert (status, error) == (0, "")
    assert not {*line} & {*map(chr, [*range(32), *range(127, 160)])}
    if flags == ["--json"] and "text" in outputs:
        # JSON says what they were.
        assert json.loads(line)["text"] == WILD.decode(errors="replace")


@pytest.mark.parametrize("flags", [[], ["--json"], ["--n_best=2"]])
@pytest.mark.parametrize(
    "outputs",
    [
        TRANSLATED | {"text": [1.0], "texts": [[1.0]]},
        {"copied_from": [[[0]]]},
        TRANSLATED | {"scores": [], "text": []},
        TRANSLATED | {"texts": [[]]},
        TRANSLATED | {"tokens": [[]], "text": [0]},
        TRANSLATED | {"copied_from": [0], "scores": [[b"x"]], "text": [None]},
    ],
)
def test_answers_of_another_form_end_with_a_line(
    told, monkeypatch, flags, outputs
):
    monkeypatch.setattr(
        remote_model, "RemoteModel", lambda *_, **__: _Hostile(**outputs)
    )
    status, output, error = told(ask.main, ["h:1/m", *flags], b"x\n")
    assert (status, output) == (2, [])
    assert error.startswith("ask: m: the outputs have another form than ")
    assert error.count("\n") == 1


def test_what_a_server_says_is_told_without_control_characters(told, server):
    server.fail(1, "INTERNAL", "\x1b]0;mine\x07")
    status, _, error = told(ask.main, [f"{server.address}/translator"])
    assert status == 2 and error.removesuffix("\n").isprintable()
