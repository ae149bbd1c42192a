"""What the page's server refuses: all that the page itself does not send."""

from collections.abc import Iterable

from tfcopy.serving.http_server.host_guard import HostGuard

# Bytes of a request; texts have fewer.
LARGEST_REQUEST = 1 << 20
_API = "/gradio_api/"
# All that the page sends; it has no field for files.
_POSTS = frozenset(f"{_API}{x}" for x in ("queue/join", "cancel", "reset"))
# What would give files of this machine, or pages of others.
_PRIVATE = tuple(f"{_API}{x}" for x in ("file", "proxy", "upload", "stream"))


class Guard(HostGuard):
    """An ASGI app that hands on to another what the page needs.

    Args:
        app: The ASGI app of the page.
        names: Host names of the page, besides numbers and localhost.
    """

    advice = "Call it by its number, or start it with --host NAME."

    def __init__(self, app, names: Iterable[str] = ()):
        super().__init__(app, names, LARGEST_REQUEST)

    def further_refusal(self, scope):
        """As of `HostGuard`."""
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
