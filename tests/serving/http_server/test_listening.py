"""The socket that the servers listen on."""

import socket

import pytest

from tfcopy.serving.http_server import listening


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_what_is_answered_is_sent_at_once(host):
    """Nagle's algorithm would hold back the second part of an answer."""
    try:
        server = listening.listen(host, 0)
    except listening.ModelError:
        pytest.skip(f"{host} is not on this machine")
    with server, socket.create_connection((host, server.getsockname()[1])):
        connection, _ = server.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
