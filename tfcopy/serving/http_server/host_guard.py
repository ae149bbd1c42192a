"""Checks of requests before the app of a server handles them.

A page of another site, open in a browser on this machine, must not send
requests to the server: neither from its own origin (`Origin`), nor by a host
name that it lets resolve to this machine (`Host`). The size of requests, and
the time to send one, are limited.
"""

import asyncio
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

# Seconds until the body of a request must have arrived.
_PATIENCE = 60
# An oversized body is still read up to this multiple of the limit: a client
# that is sending might miss the response.
_DRAINED = 64
# Bodies in memory, as a multiple of the largest size.
_HELD = 128


class HostGuard:
    """ASGI middleware that refuses foreign and oversized requests.

    Subclasses may refuse more, and define the form of refusals.

    Args:
        app: The ASGI app.
        names: Host names of the server, besides IP addresses and localhost; any
            if `None`.
        largest: Maximum bytes of the body of a request.
    """

    advice = "Use the server's IP address."

    def __init__(self, app, names: Iterable[str] | None, largest: int):
        self._app = app
        self._names = None
        if names is not None:
            self._names = {"localhost", *(name.lower() for name in names)}
        self._largest = largest
        self._held = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        body = bytearray()
        try:
            refusal = self._refusal(scope) or self.refuse_further(scope)
            if refusal is None:
                refusal = await self._read(receive, body)
            if refusal is not None:
                return await self._refuse(send, *refusal)
            return await self._app(
                scope, _replay_body(bytes(body), receive), send
            )
        except asyncio.IncompleteReadError:
            return None  # No client is left.
        finally:
            self._held -= len(body)

    def refuse_further(self, scope) -> tuple[int, str] | None:
        """Returns the status and reason of a refusal, or `None`."""

    def format_refusal(self, reason: str) -> tuple[bytes, str]:
        """Returns content type and content of a refusal."""
        return b"text/plain; charset=utf-8", f"{reason}\n"

    def _refusal(self, scope):
        headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 403, f"Unknown host name. {self.advice}"
        if headers.keys() >= {b"content-length", b"transfer-encoding"}:
            return 400, "Both Content-Length and Transfer-Encoding are set."
        origins = {f"{x}://{hosts[0].lower()}" for x in ("http", "https")}
        if not origins >= {x.lower() for x in headers.get(b"origin", [])}:
            return 403, "Cross-origin requests are refused."
        return None

    def _is_own(self, host):
        if self._names is None:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    async def _read(self, receive, body):
        """Reads the body of a request; returns a refusal, if any."""
        try:
            async with asyncio.timeout(_PATIENCE):
                size, is_unfinished = 0, True
                while is_unfinished:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise asyncio.IncompleteReadError(b"", None)
                    part = message.get("body", b"")
                    is_unfinished = message.get("more_body")
                    size += len(part)
                    if size <= self._largest:
                        body += part
                        self._held += len(part)
                    elif size > _DRAINED * self._largest:
                        break
                    if self._held > _HELD * self._largest:
                        return 503, "Too many large requests at once."
        except TimeoutError:
            return 408, f"Request incomplete after {_PATIENCE} s."
        if size > self._largest:
            return 413, f"More than {self._largest:,} bytes."
        return None

    async def _refuse(self, send, status, reason):
        kind, content = self.format_refusal(reason)
        headers = [(b"content-type", kind), (b"connection", b"close")]
        await respond(send, status, headers, content.encode())


async def respond(send, status: int, headers: list, content: bytes):
    """Sends a whole response."""
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _replay_body(body, receive):
    """Returns a `receive` that replays a body."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again():
        return messages.pop() if messages else await receive()

    return receive_again
