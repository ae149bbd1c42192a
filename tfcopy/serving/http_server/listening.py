"""The socket that a server of ours listens on, and its address."""

import errno
import ipaddress
import socket

from tfcopy.serving.client_library.signatures import AskError


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for connections.

    Args:
        host: The address to listen on.
        port: Its port; 0 for any free one.

    Raises:
        AskError: naming the flag, if it cannot listen there.
    """
    if not host:  # which would be every address
        raise AskError("--host: expected an address. Received none.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AskError(
                f"--port: {port} is taken on {host}. Choose another one."
            ) from None
        reason = str(error.strerror or error).split(" (")[0]
        raise AskError(
            f"cannot listen on {host}, port {port} ({reason})."
        ) from None
    # Connections inherit it; asyncio sets it for sockets that name TCP alone.
    # Without it an answer's second part waits 40 ms for the client.
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server


def address_of(listening: socket.socket) -> str:
    """What to type into a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_private(listening: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback
