"""Addresses of servers of TensorFlow Serving, and the size of responses."""

import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from tfcopy import filesystem
from tfcopy.runtime.signatures import AskError

# Maximum bytes of a response; the attention of 32 texts of 200 words is a
# fifth.
LARGEST_ANSWER = 256 << 20
_SERVERS = ("grpc", "http", "https")  # gRPC is refused with a reason.
_HOST_AND_PORT = re.compile(r"[^/\\]+:\d+")


class Address(NamedTuple):
    """Address of a server.

    Attributes:
        host: Host name or IP address.
        port: Port; `None` if not given.
        path: Path before `/v1` in URLs.
        tls: Whether to use TLS.
    """

    host: str
    port: int | None
    path: str
    tls: bool


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


def parse_address(text: str) -> Address:
    """Parses `host:port` or a URL; the protocol is REST.

    Raises:
        AskError: If the text is not an address.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        address = Address(
            parts.hostname,
            parts.port,
            quote(parts.path.rstrip("/"), safe="/%"),
            parts.scheme == "https",
        )
    except ValueError:
        address = None
    is_bare = "://" not in text
    if address is None or not _is_complete(address, parts, is_bare):
        raise AskError(
            f"{text}: not the address of a server. Expected host:port, "
            "http://host:port or https://host:port, of TensorFlow Serving's "
            "REST port."
        )
    return address


def _is_complete(address, parts, is_bare):
    if not address.host or parts.query or parts.fragment or parts.username:
        return False
    if is_bare and address.port is None:
        return False
    return parts.scheme in ("http", "https")
