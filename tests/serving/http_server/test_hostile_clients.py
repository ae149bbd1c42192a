"""Connections that send nothing, or not all, and the end of the server."""

import asyncio
import contextlib
import json
import signal
import socket
import threading
import time
import urllib.error

import pytest

from tests.serving.http_server.process import Process
from tfcopy.serving.http_server import host_guard, listening

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
SILENT = {
    "nothing": b"",
    "half a request line": b"POST /tra",
    "half the headers": HEAD,
    "half the body": HEAD + b"Content-Length: 9\r\n\r\n{",
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{",
    "a request and a half": b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nG",
}


def capitals(*arguments, **options):
    module = "tests.serving.http_server.serve_capitals"
    return Process(*arguments, module=module, **options)


def address(server):
    return "127.0.0.1", int(server.url.rpartition(":")[2])


@contextlib.contextmanager
def connections(server, count, sent):
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = socket.create_connection(address(server), timeout=10)
            stack.enter_context(connection)
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
            opened.append(connection)
        yield opened


def test_silent_connections_make_room_for_others():
    with capitals("--grace", 60, files=256) as server:
        for sent in SILENT.values():
            with connections(server, 300, sent):
                begin = time.monotonic()
                assert server.translate("a") == {"translatedText": "A"}
                assert time.monotonic() - begin < 2
        with connections(server, 5, SILENT["half the body"]):
            time.sleep(1.5)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            _, error = server.process.communicate(timeout=30)
            assert time.monotonic() - begin < 10
        assert server.process.returncode == 0
        assert error.startswith("serve: closed ") and error.count("\n") == 1


def test_the_end_comes_within_grace_whatever_is_under_way():
    grace = 1
    with capitals("--grace", grace, "--at_once", 2) as server:
        found = []

        def ask():
            with pytest.raises(urllib.error.HTTPError) as error:
                server.translate("sleep")
            found.append((error.value.code, json.load(error.value)))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        output = server.process.communicate(timeout=20)
        assert time.monotonic() - begin < grace + 0.5
        assert server.process.returncode == 0 and output == ("", "")
        for thread in threads:
            thread.join()
        error = {"error": "The server is being stopped"}
        assert found == [(503, error)] * 3


def test_a_second_interrupt_ends_at_once():
    with capitals("--grace", 60) as server:
        thread = threading.Thread(target=lambda: _sleep(server))
        thread.start()
        time.sleep(0.5)
        for _ in range(2):
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert server.process.wait(5) == 0
        thread.join()


def _sleep(server):
    with contextlib.suppress(OSError):
        server.translate("sleep")


@contextlib.contextmanager
def serving(app, proxies=()):
    """The address of a `Server` in a thread."""
    with listening.listen("127.0.0.1", 0) as listener:
        place = listener.getsockname()
        server = listening.Server(app, 1, "test", proxies)
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()
        try:
            yield place
        finally:
            server.should_exit = True
            thread.join()


async def _answers(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    size = 100_000_000 if scope["path"] == "/large" else 1
    await send({"type": "http.response.body", "body": b"x" * size})


@contextlib.contextmanager
def connected(app, sent=b"", proxies=(), timeout=10):
    """A connection to a server of its own, to which something was sent."""
    with serving(app, proxies) as place:
        with socket.create_connection(place, timeout=timeout) as connection:
            connection.sendall(sent)
            yield connection


def _received(connection, seconds):
    """Counts bytes until the connection is closed, which it must be."""
    connection.settimeout(seconds)
    count = 0
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 20):
            count += len(part)
    return count


@pytest.mark.parametrize("sent", SILENT.values(), ids=SILENT)
def test_a_request_must_come_in_time(sent, monkeypatch):
    monkeypatch.setattr(listening, "_PATIENCE", 0.5)
    monkeypatch.setattr(host_guard, "_PATIENCE", 0.5)
    app = host_guard.HostGuard(_answers, None, 100)
    with connected(app, sent) as connection:
        assert _received(connection, 4) < 1000


def test_an_answer_must_be_taken_in_time(monkeypatch, capsys):
    monkeypatch.setattr(listening, "_PATIENCE_OF_READERS", 0.5)
    get = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(_answers, get) as connection:
        time.sleep(3)
        assert _received(connection, 4) < 100_000_000
    assert capsys.readouterr().err.startswith("test: closed 1 connections")


def test_requests_that_are_read_or_answered_are_not_closed(monkeypatch):
    monkeypatch.setattr(listening, "_PATIENCE", 0.3)

    async def slow(scope, receive, send):
        await asyncio.sleep(2)
        await _answers(scope, receive, send)

    with connected(slow, GET + b"\r\n") as connection:
        assert connection.makefile("rb").read().endswith(b"x\r\n0\r\n\r\n")


@pytest.mark.parametrize("size, status", [(50_000, b"200"), (99_000, b"400")])
def test_a_query_string_may_be_long(size, status):
    with connected(_answers, b"GET /?q=" + b"a" * size) as connection:
        time.sleep(0.2)
        with contextlib.suppress(ConnectionError):
            connection.sendall(b" HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 " + status


def test_files_that_run_out_are_told_once(capfd, monkeypatch):
    """Without it, asyncio writes a line per connection and try."""
    with serving(_answers) as place:
        listener = listening._Socket

        def full(self):
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(listener.__base__, "accept", full, raising=False)
        with socket.create_connection(place, timeout=0.3) as connection:
            with pytest.raises(TimeoutError):
                connection.recv(1)
        monkeypatch.undo()
        with socket.create_connection(place, timeout=5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(9) == b"HTTP/1.1 "
    assert not capfd.readouterr().err


@pytest.mark.parametrize(
    "proxies, seen",
    [
        ([], "127.0.0.1"),
        (["192.0.2.1"], "127.0.0.1"),
        (["127.0.0.1"], "198.51.100.7"),
        (["127.0.0.0/8"], "198.51.100.7"),
    ],
)
def test_only_a_named_proxy_names_the_client(proxies, seen, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    clients = []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            clients.append(scope["client"][0])
            await _answers(scope, receive, send)

    forwarded = b"X-Forwarded-For: 203.0.113.1, 198.51.100.7\r\n\r\n"
    with connected(app, GET + forwarded, proxies) as connection:
        _received(connection, 5)
    assert clients == [seen]


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
    ],
)
def test_a_body_of_two_lengths_is_refused(headers):
    app = host_guard.HostGuard(_answers, None, 100)
    smuggled = b"\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"
    with connected(app, HEAD + headers + smuggled) as connection:
        answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
