import itertools
import pickle
import random
import re
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest

from tests.python_process import run_python
from tests.runtime.serving_server import ServingServer
from tests.serving.servables.echo_model import inputs_of
from tfcopy.runtime import remote_model
from tfcopy.runtime.batches import join_padded
from tfcopy.runtime.remote_model import Connection, RemoteModel
from tfcopy.runtime.signatures import ModelError


def test_a_server_that_is_not_ready_is_asked_again(server, model):
    server.fail(2, "UNAVAILABLE")
    assert model.ask("single", {"text": ["a"]})["text"].tolist() == [b"a"]
    assert len(server.calls) == 3
    server.reset()
    server.fail(9, "UNAVAILABLE")
    with pytest.raises(ModelError, match="not ready .*asked 6 times") as error:
        model.ask("single", {"text": ["a"]})
    assert error.value.code == "UNAVAILABLE"
    assert len(server.calls) == 6


@pytest.mark.parametrize(
    "code",
    ["INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL"],
)
def test_no_other_failure_is_tried_again(server, model, code):
    server.fail(1, code, "because\nof this")
    with pytest.raises(ModelError) as error:
        model.ask("single", {"text": ["a"]})
    assert error.value.code == code
    assert len(server.calls) == 1
    message = str(error.value)
    assert message.startswith("echo at ") and "\n" not in message
    assert "'single'" in message
    assert "because of this)" in message


def test_the_deadline_holds(server):
    address = server.address
    model = RemoteModel(address, "echo", deadline=0.3)
    server.calls.clear()
    server.delay = lambda call: 2
    begin = time.monotonic()
    with pytest.raises(ModelError, match="no answer .* within 0.3 s") as error:
        model.ask("single", {"text": ["a"]})
    assert 0.25 < time.monotonic() - begin < 1.5
    assert error.value.code == "DEADLINE_EXCEEDED"
    assert len(server.calls) == 1
    # Tries count as well.
    server.reset()
    server.fail(1000, "UNAVAILABLE")
    model = Connection(address, "echo", deadline=0.3, retries=1000)
    begin = time.monotonic()
    with pytest.raises(ModelError, match="not ready"):
        model.signatures()
    assert time.monotonic() - begin < 1.5
    assert 1 < len(server.calls) < 1000


@pytest.mark.parametrize(
    "head, drop",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["content", "header", "headers", "interim"],
)
def test_the_deadline_holds_for_an_answer_that_drips(listening, head, drop):

    def drip(client):
        client.sendall(head)
        for _ in range(60):
            time.sleep(0.05)
            try:
                client.sendall(drop)
            except OSError:
                return

    address, begin = listening(drip), time.monotonic()
    with pytest.raises(ModelError, match="within 0.3 s"):
        Connection(address, "echo", deadline=0.3).signatures()
    assert time.monotonic() - begin < 1.5


def test_a_server_that_comes_back_is_found(local, monkeypatch):
    monkeypatch.setattr(remote_model, "_FIRST_WAIT", 0.1)
    server = ServingServer({"echo": {3: local}})
    address = server.address
    model = RemoteModel(address, "echo", retries=8)
    server.stop()
    with pytest.raises(ModelError) as error:
        Connection(address, "echo", retries=1).signatures()
    assert str(error.value).startswith(f"{address}: no server answers (")
    assert "asked 2 times" in str(error.value)
    assert "port for REST" in str(error.value)
    timer = threading.Timer(0.5, server.start)
    timer.start()
    try:
        assert model.ask("single", {"text": ["a"]})["text"].tolist() == [b"a"]
    finally:
        timer.join()
        server.stop()


@pytest.mark.parametrize(
    "address",
    [
        *("localhost", "localhost:a", "localhost:99999", "ftp://localhost:1"),
        *("grpc://localhost:1", "http://", "http://[::1", "", ":8500"),
    ],
)
def test_addresses_are_checked(address):
    with pytest.raises(ModelError, match="Expected host:port"):
        Connection(address, "echo")


@pytest.mark.parametrize(
    "head, body, message",
    [
        (b"oops", b"", "does not speak HTTP"),
        (
            b"HTTP/1.1 418 Teapot\r\nContent-Length: 5",
            b"short",
            "HTTP 418 Teapot: short",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", b"cut", "no server answers"),
    ],
)
def test_what_is_no_http_is_told(answering, head, body, message):
    with pytest.raises(ModelError, match=message):
        answering(body, head).signatures()


def test_waits_double_and_differ():
    waits = [
        [remote_model._draw_wait(n) for _ in range(20)] for n in range(1, 9)
    ]
    for n, some in enumerate(waits):
        longest = min(10, 0.2 * 2**n)
        assert all(longest / 2 <= x <= longest for x in some)
    assert all(len({*some}) > 10 for some in waits)
    assert all(min(y) >= min(x) for x, y in itertools.pairwise(waits[:5]))


@pytest.fixture(scope="module")
def secure(local, tmp_path_factory):
    """A server with TLS, and the certificate that vouches for it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
        f"-days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost "
        f"-keyout {key} -out {certificate}",
        shell=True,
        check=True,
        capture_output=True,
    )
    server = ServingServer({"echo": {1: local}}, tls=(key, certificate))
    yield server, certificate
    server.stop()


def test_tls_is_for_those_who_know_the_certificate(secure, monkeypatch):
    server, certificate = secure
    address = server.address
    with monkeypatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(certificate))
        model = RemoteModel(address, "echo")
    assert model.ask("single", {"text": ["a"]})["text"].tolist() == [b"a"]
    stranger = Connection(address, "echo", retries=0)
    with pytest.raises(ModelError, match="no server answers"):
        stranger.signatures()


TEXTS = ["a bb ccc", "", "x", "北京 Łukasz 😀", b"\xff\xfe \xc3", "\0 \x01"]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        assert found[name].dtype == x.dtype, name
        np.testing.assert_array_equal(found[name], x, name)


@pytest.mark.parametrize(
    ("signature", "width"),
    [("serving_default", 0), ("single", 0), ("analyse", 0), ("analyse", 2)],
)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], ["", ""], []])
def test_answers_are_those_of_the_model(model, local, signature, width, texts):
    inputs = inputs_of(signature, texts, width)
    assert_same(model.ask(signature, inputs), local.ask(signature, inputs))


def test_a_pickled_model_asks_the_same_server(model):
    with pickle.loads(pickle.dumps(model)) as again:
        assert again.name == model.name
        assert again.ask("single", {"text": ["a"]})["text"].tolist() == [b"a"]


def test_half_a_character_is_asked_as_a_question_mark(model):
    answer = model.ask("single", {"text": ["a\ud800b"]})
    assert answer["text"].tolist() == [b"a?b"]


def test_batches_are_answered_in_order_a_few_at_once(server, local):
    lock, now, most = threading.Lock(), [0], [0]

    def delay(call):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(random.uniform(0, 0.03))
        with lock:
            now[0] -= 1
        return 0

    model = RemoteModel(server.address, "echo", batch_size=2, at_once=3)
    server.calls.clear()
    server.delay = delay
    texts = [" ".join("ab"[: i % 3] * (i % 5)) for i in range(25)]
    inputs = inputs_of("analyse", texts)
    assert_same(model.ask("analyse", inputs), local.ask("analyse", inputs))
    assert sorted(call.rows for call in server.calls) == [1] + [2] * 12
    assert 2 <= most[0] <= 3


def test_what_ends_early_is_filled_up():
    arrays = [np.ones((1, 2, 1), "int32"), np.ones((2, 1, 3), "int32")]
    found = join_padded(arrays)
    assert found.dtype == "int32" and found.shape == (3, 2, 3)
    assert found[0].tolist() == [[1, -1, -1], [1, -1, -1]]
    assert found[1].tolist() == [[1, 1, 1], [-1, -1, -1]]
    assert join_padded([x.astype("f") for x in arrays])[0, 0].tolist() == [
        1,
        0,
        0,
    ]
    texts = [np.array([[b"a"]], object), np.array([[b"a", b"b"]], object)]
    assert join_padded(texts).tolist() == [[b"a", b""], [b"a", b"b"]]


def test_large_answers_arrive(model, local):
    inputs = inputs_of("analyse", ["x " * 600] * 3)
    found = model.ask("analyse", inputs)
    assert found["attention"].nbytes > 4 * 2**20
    assert_same(found, local.ask("analyse", inputs))


def test_the_first_failure_of_a_batch_ends_the_question(server, model):
    before = {*threading.enumerate()}
    server.fail(1, "INTERNAL")
    server.delay = lambda call: 0.02
    with pytest.raises(ModelError, match="INTERNAL"):
        model.ask("single", {"text": ["a"] * 300})
    for thread in {*threading.enumerate()} - before:
        if thread.name.endswith("(work)") and thread.is_alive():
            thread.join(5)
    assert len(server.calls) < 90


def test_errors_say_what_is_missing(server, model):
    address = server.address

    def error(model="echo", **options):
        with pytest.raises(ModelError) as error:
            RemoteModel(address, model, **options)
        assert "\n" not in str(error.value)
        return str(error.value)

    message = error("wrong")
    assert message.startswith(f"{address}: the server has no model 'wrong'")
    assert "--model_name" in message
    message = error(version=2)
    assert "no version 2. Versions: 1 AVAILABLE, 3 AVAILABLE." in message
    server.loading = "NOT_FOUND"
    assert "still loading it (versions: 1 LOADING, 3 LOADING)" in error()
    server.loading = "UNAVAILABLE"
    assert "It may still be loading its models" in error(retries=0)
    server.loading = None
    for signature, inputs, expected in (
        ("other", {"text": ["a"]}, "Available: analyse, serving_default"),
        ("single", {"texts": ["a"]}, "takes as many rows of text. Received"),
        ("analyse", {"text": ["a"]}, "of dictionary and text. Received: text"),
        ("analyse", {"text": ["a"], "dictionary": []}, "dictionary (0 rows)"),
        ("analyse", {"text": ["a"] * 2, "dictionary": [[], ["a"]]}, "as many"),
        ("single", {"text": "a"}, "text: expected a list of texts"),
    ):
        with pytest.raises(ModelError, match=re.escape(expected)):
            model.ask(signature, inputs)


def test_a_server_is_asked_without_tensorflow(server):
    program = """if True:
        import sys
        for name in ("tensorflow", "grpc", "tensorflow_serving"):
            sys.modules[name] = None
        from tfcopy.runtime.remote_model import RemoteModel
        model = RemoteModel(sys.argv[1], "echo")
        print(model.ask("single", {"text": ["a"]})["text"])
        loaded = {name.split(".")[0] for name in sys.modules}
        assert not {"keras", "google", "h5py"} & loaded, loaded
    """
    done = run_python("-c", program, server.address, check=True)
    assert done.stdout == "[b'a']\n"
