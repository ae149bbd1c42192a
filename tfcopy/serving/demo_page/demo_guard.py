"""What the page's server refuses before the page sees it.

A page of another site, open in the same browser, must not ask models or send
files: neither by its own requests, which tell where they come from (`Origin`),
nor by a name of its own that it lets resolve to this machine (`Host`).
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

# Bytes of a request; texts have fewer.
LARGEST_REQUEST = 1 << 20
_API = "/gradio_api/"
# All that the page sends; it has no field for files.
_POSTS = frozenset(f"{_API}{x}" for x in ("queue/join", "cancel", "reset"))
# What would give files of this machine, or pages of others.
_PRIVATE = tuple(f"{_API}{x}" for x in ("file", "proxy", "upload", "stream"))


class Guard:
    """An ASGI app that hands on to another what the page needs.

    Args:
        app: The ASGI app of the page.
        names: Host names of the page, besides numbers and localhost.
    """

    def __init__(self, app, names: Iterable[str] = ()):
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        refusal = self._refusal(scope)
        if refusal is None and scope["method"] == "POST":
            body = await _body(receive)
            if body is None:
                refusal = 413, f"More than {LARGEST_REQUEST:,} bytes."
            else:
                receive = _again(body, receive)
        if refusal is not None:
            return await _refuse(send, *refusal)
        return await self._app(scope, receive, send)

    def _refusal(self, scope):
        """A status and its reason; `None` if there is none to refuse it."""
        headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 403, (
                "The page is not known by this name. Call it by its number, or "
                "start it with --host NAME."
            )
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if not own.issuperset(x.lower() for x in headers.get(b"origin", [])):
            return 403, "Only the page itself may ask."
        path = scope["path"].rstrip("/")
        if scope["method"] == "POST":
            return (
                None if path in _POSTS else (403, "Nothing may be sent here.")
            )
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "No such method."
        if path.startswith(_PRIVATE):
            return 403, "Nothing may be read here."
        return None

    def _is_own(self, host):
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


async def _body(receive):
    """The body of a request; `None` if it is too large."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_REQUEST:
            return None
        if not message.get("more_body"):
            return body


def _again(body, receive):
    """Gives a body that was read, then what else is received."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def again():
        return messages.pop() if messages else await receive()

    return again


async def _refuse(send, status, reason):
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"connection", b"close"),
    ]
    await send(
        {"type": "http.response.start", "status": status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": f"{reason}\n".encode()})
