import itertools
import shutil
import socket
import subprocess
import threading
import time

import pytest

from tests.serving.client_library.serving_server import ServingServer
from tests.serving.servables.echo_model import address_of
from tfcopy.serving.client_library import connection
from tfcopy.serving.client_library.connection import Connection, RequestError
from tfcopy.serving.client_library.remote_model import RemoteModel
from tfcopy.serving.client_library.signatures import AskError

BOTH = pytest.mark.parametrize("protocol", ["grpc", "rest"])


@BOTH
def test_a_server_that_is_not_ready_is_asked_again(server, models, protocol):
    server.fail(2, "UNAVAILABLE")
    answer = models[protocol].ask("single", {"text": ["a"]})
    assert answer["text"].tolist() == [b"a"]
    assert len(server.calls) == 3
    server.reset()
    server.fail(9, "UNAVAILABLE")
    with pytest.raises(
        RequestError, match="not ready .*asked 6 times"
    ) as error:
        models[protocol].ask("single", {"text": ["a"]})
    assert error.value.code == "UNAVAILABLE"
    assert len(server.calls) == 6


@BOTH
@pytest.mark.parametrize(
    "code",
    ["INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL"],
)
def test_no_other_failure_is_tried_again(server, models, protocol, code):
    server.fail(1, code, "because\nof this")
    with pytest.raises(RequestError) as error:
        models[protocol].ask("single", {"text": ["a"]})
    assert error.value.code == code
    assert len(server.calls) == 1
    message = str(error.value)
    assert message.startswith("echo at ") and "\n" not in message
    assert "'single'" in message
    assert "because of this)" in message


@BOTH
def test_the_deadline_holds(server, protocol):
    address = address_of(server, protocol)
    model = RemoteModel(address, "echo", deadline=0.3)
    server.calls.clear()
    server.delay = lambda call: 2
    begin = time.monotonic()
    with pytest.raises(
        RequestError, match="no answer .* within 0.3 s"
    ) as error:
        model.ask("single", {"text": ["a"]})
    assert 0.25 < time.monotonic() - begin < 1.5
    assert error.value.code == "DEADLINE_EXCEEDED"
    assert len(server.calls) == 1
    # Tries count as well.
    server.reset()
    server.fail(1000, "UNAVAILABLE")
    model = Connection(address, "echo", deadline=0.3, retries=1000)
    begin = time.monotonic()
    with pytest.raises(RequestError, match="not ready"):
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
def test_the_deadline_holds_for_an_answer_that_drips(head, drop):
    with socket.create_server(("localhost", 0)) as listener:

        def drip():
            client = listener.accept()[0]
            with client:
                client.sendall(head)
                for _ in range(60):
                    time.sleep(0.05)
                    try:
                        client.sendall(drop)
                    except OSError:
                        return

        threading.Thread(target=drip, daemon=True).start()
        address = f"http://localhost:{listener.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(RequestError, match="within 0.3 s"):
            Connection(address, "echo", deadline=0.3).signatures()
        assert time.monotonic() - begin < 1.5


@BOTH
def test_a_server_that_comes_back_is_found(local, monkeypatch, protocol):
    monkeypatch.setattr(connection, "_FIRST_WAIT", 0.1)
    server = ServingServer({"echo": {3: local}})
    address = address_of(server, protocol)
    model = RemoteModel(address, "echo", retries=8)
    server.stop()
    with pytest.raises(RequestError) as error:
        Connection(address, "echo", retries=1).signatures()
    assert str(error.value).startswith(f"{address}: no server answers (")
    assert "asked 2 times" in str(error.value)
    assert "port for REST" in str(error.value) or protocol == "grpc"
    timer = threading.Timer(0.5, server.start)
    timer.start()
    try:
        answer = model.ask("single", {"text": ["a"]})
        assert answer["text"].tolist() == [b"a"]
    finally:
        timer.join()
        server.stop()


@pytest.mark.parametrize(
    "address",
    [
        *("localhost", "localhost:a", "localhost:99999", "ftp://localhost:1"),
        *("grpc://localhost:1/path", "http://", "http://[::1", "", ":8500"),
    ],
)
def test_addresses_are_checked(address):
    with pytest.raises(AskError, match="Expected host:port"):
        Connection(address, "echo")


def test_options_are_checked(tmp_path):
    with pytest.raises(AskError, match="received both"):
        Connection("http://a:1", "echo", version=1, label="x")
    with pytest.raises(AskError, match="write https://"):
        Connection("http://a:1", "echo", tls=True)
    path = tmp_path / "none.pem"
    for address in ("https://a:1", "a:1"):
        with pytest.raises(AskError, match="none.pem.*No such file"):
            Connection(address, "echo", root_certificate=path)
    path.write_text("oops")
    with pytest.raises(AskError, match="cannot read .*none.pem"):
        Connection("https://a:1", "echo", root_certificate=path)


def test_the_wrong_port_is_told(server):
    port = server.rest_address.removeprefix("http://")
    with pytest.raises(RequestError, match="port for gRPC"):
        Connection(port, "echo", retries=0).signatures()
    address = f"http://{server.grpc_address}"
    with pytest.raises(RequestError, match="port for REST"):
        Connection(address, "echo", retries=0).signatures()


@pytest.mark.parametrize(
    "answer",
    ["", "x", "[]", "{}", '{"metadata": 1}', '{"metadata": {"a": 1}}', "\xff"],
)
def test_an_answer_of_another_server_is_no_answer(answer):
    body = answer.encode("latin-1")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    with pytest.raises(RequestError, match="its answer has not"):
        told(head + body)


def test_what_is_no_http_is_told():
    with pytest.raises(RequestError, match="does not speak HTTP"):
        told(b"oops\r\n\r\n")
    with pytest.raises(RequestError, match="HTTP 418 Teapot: short"):
        told(b"HTTP/1.1 418 Teapot\r\nContent-Length: 5\r\n\r\nshort")
    with pytest.raises(RequestError, match="no server answers"):
        told(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ncut")


def told(response):
    """What becomes of a server's one response."""
    with socket.create_server(("localhost", 0)) as listener:

        def answer():
            client = listener.accept()[0]
            with client:
                client.recv(1000)
                client.sendall(response)

        threading.Thread(target=answer, daemon=True).start()
        address = f"http://localhost:{listener.getsockname()[1]}"
        return Connection(address, "echo", retries=0).signatures()


def test_waits_double_and_differ():
    waits = [[connection._wait(n) for _ in range(20)] for n in range(1, 9)]
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


@BOTH
def test_tls_is_for_those_who_know_the_certificate(secure, protocol):
    server, certificate = secure
    address = address_of(server, protocol)
    model = RemoteModel(address, "echo", root_certificate=certificate)
    assert model.ask("single", {"text": ["a"]})["text"].tolist() == [b"a"]
    stranger = Connection(address, "echo", retries=0, tls=protocol == "grpc")
    with pytest.raises(RequestError, match="no server answers"):
        stranger.signatures()
