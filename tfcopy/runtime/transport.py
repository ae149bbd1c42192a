"""Addresses of servers of TensorFlow Serving, and the size of responses."""

import re
from urllib.parse import SplitResult, urlsplit

from tfcopy import filesystem
from tfcopy.runtime.signatures import AskError

# Maximum bytes of a response; the attention of 32 texts of 200 words is a
# fifth.
LARGEST_ANSWER = 256 << 20
_SERVERS = ("grpc", "http", "https")  # gRPC is refused with a reason.
_HOST_AND_PORT = re.compile(r"[^/\\]+:\d+")


def is_server(where: str) -> bool:
    """Returns whether a text is the address of a server, not a folder."""
    if filesystem.is_url(where):
        return where.split("://")[0].lower() in _SERVERS
    return bool(_HOST_AND_PORT.fullmatch(where)) and not filesystem.exists(
        where
    )


def server_of(where: str) -> tuple[str | None, str]:
    """Splits `ADDRESS/MODEL` into the address and the name of the model.

    Returns:
        The address and the name; `None` and the text for a folder.

    Raises:
        AskError: If the name of the model is missing.
    """
    address, _, model = where.rpartition("/")
    if not is_server(address):
        address, model = None, where
    if not model or is_server(model):
        raise AskError(
            f"{where}: which model of the server? Give its name behind the "
            f"address, as in {where.rstrip('/')}/europarl_ps."
        )
    return address, model


def parse_address(text: str) -> SplitResult:
    """Returns the parts of the address of a server.

    Raises:
        AskError: If it has another form.
    """
    is_bare = "://" not in text
    try:
        parts = urlsplit(f"http://{text}" if is_bare else text)
        others = parts.query or parts.fragment or parts.username
        has_port = parts.port is not None or not is_bare
        is_whole = parts.hostname and has_port and not others
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https"):
        raise AskError(
            f"{text}: not the address of a server. Expected host:port, "
            "http://host:port or https://host:port, of TensorFlow Serving's "
            "REST port."
        )
    return parts
