"""Requests that no app sees; `test_demo_guard` has names and origins."""

import asyncio

import pytest

from tfcopy.serving.http_server import host_guard
from tfcopy.serving.http_server.host_guard import HostGuard


async def echo(scope, receive, send):
    """An app that answers with what it was sent."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def asked(messages, host="any.example", names=None, largest=10):
    """Returns the response to a request in parts, and how many are read."""
    return answered(HostGuard(echo, names, largest), messages, {"host": host})


def answered(guard, messages, headers, method="POST", path="/"):
    """Returns the response of an app in a guard, and how many are read."""
    sent, parts = [], list(messages)

    async def receive():
        if not parts:
            await asyncio.sleep(60)
        return parts.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(k.encode(), x.encode()) for k, x in headers.items()],
    }
    asyncio.run(asyncio.wait_for(guard(scope, receive, send), 10))
    return sent, len(messages) - len(parts)


def part(body, more=True):
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_comes_in_parts():
    (start, body), _ = asked([part(b"ab"), part(b""), part(b"c", False)])
    assert (start["status"], body["body"]) == (200, b"abc")


def test_any_name_is_known_if_none_is_given():
    assert asked([part(b"", False)])[0][0]["status"] == 200
    refused, count = asked([part(b"", False)], names=["my.example"])
    assert refused[0]["status"] == 403 and count == 0


def test_a_body_that_is_too_large_is_read_to_its_end():
    (start, body), count = asked([part(b"x" * 6)] * 3 + [part(b"", False)])
    assert start["status"] == 413 and count == 4
    assert (b"connection", b"close") in start["headers"]
    assert body["body"] == b"More than 10 bytes.\n"


def test_but_not_one_without_end():
    (start, _), count = asked([part(b"x" * 100)] * 1000)
    assert start["status"] == 413 and count < 10


def test_bodies_of_many_requests_are_bounded():
    async def ask(guard, last):
        parts = [part(b"x" * 9), part(b"x", False)]
        sent = []

        async def receive():
            if not parts[1:]:
                await last.wait()
            return parts.pop(0)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "PUT", "path": "/"}
        scope["headers"] = [(b"host", b"a")]
        await guard(scope, receive, send)
        return sent[0]["status"]

    async def work():
        guard, last = HostGuard(echo, None, 10), asyncio.Event()
        asked = [asyncio.create_task(ask(guard, last)) for _ in range(150)]
        await asyncio.sleep(0.1)
        last.set()
        statuses = await asyncio.gather(*asked)
        assert statuses.count(503) == 8 and statuses.count(200) == 142
        assert await ask(guard, last) == 200

    asyncio.run(work())


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(host_guard, "_PATIENCE", 0.05)
    (start, body), _ = asked([part(b"x")])
    assert start["status"] == 408 and b"incomplete after 0.05 s" in body["body"]


@pytest.mark.parametrize("before", [[], [part(b"x")]])
def test_nobody_is_answered_who_has_gone(before):
    assert asked([*before, {"type": "http.disconnect"}])[0] == []
