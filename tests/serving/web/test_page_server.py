"""Requests that the page's server refuses, without the page."""

import asyncio

import pytest

from tests.serving.http_server.test_host_guard import answered, echo, part
from tfcopy.serving import demo
from tfcopy.serving.demo import Guard

OWN = {"host": "localhost:7860"}
ANSWER = "/api/answer"


def asked(method, path, headers=OWN, chunks=(b"",), names=()):
    """Status and content of an answer to a request."""
    parts = [part(x, i < len(chunks) - 1) for i, x in enumerate(chunks)]
    (start, body), _ = answered(
        Guard(echo, names), parts, headers, method, path
    )
    return start["status"], body["body"].decode()


def test_the_page_itself_is_answered():
    assert asked("GET", "/") == (200, "")
    assert asked("GET", "/page.js") == (200, "")
    for origin in ("http://localhost:7860", "https://LOCALHOST:7860"):
        headers = {**OWN, "origin": origin}
        assert asked("POST", ANSWER, headers, [b"a", b"b"]) == (200, "ab")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:7860", "[::1]:80", "localhost", "Box:1"]
)
def test_the_page_answers_to_its_own_names(host):
    assert asked("GET", "/", {"host": host}, names=["box"])[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:7860", "", "[::1", "a@b"]
)
def test_the_page_answers_to_no_other_name(host):
    status, reason = asked("GET", "/", {"host": host})
    assert status == 403 and "--host NAME" in reason
    assert asked("GET", "/", {})[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://["]
)
def test_no_other_page_may_ask(origin):
    headers = {**OWN, "origin": origin}
    for method in ("GET", "POST"):
        assert asked(method, ANSWER, headers)[0] == 403


@pytest.mark.parametrize("path", ["/", "/page.js", "/upload", "/api", "/api/"])
def test_no_file_may_be_sent(path):
    assert asked("POST", path, chunks=[b"x"])[0] == 403
    assert asked("PUT", path, chunks=[b"x"])[0] == 405


def test_a_deep_request_is_refused():
    server = demo.PageServer(models=None)
    status, _, content = server._answer("POST", ANSWER[1:], b"[" * 200_000)
    assert (status, content) == (400, b"not a request of the page (FormError)")


def test_requests_have_a_largest_size(monkeypatch):
    monkeypatch.setattr(demo, "LARGEST_REQUEST", 10)
    assert asked("POST", ANSWER, chunks=[b"x" * 5] * 2) == (200, "x" * 10)
    assert asked("POST", ANSWER, chunks=[b"x" * 5] * 3)[0] == 413


def test_no_socket_stays_open():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(echo)({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
