"""Listening sockets and connections of the servers.

uvicorn waits for headers without a limit, and accepts connections until the
process has no file descriptors left; asyncio then logs a line for each attempt.
"""

import asyncio
import contextlib
import errno
import ipaddress
import os
import resource
import socket
import sys
import threading
import time

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tfcopy.runtime.signatures import ModelError

# Time limits in seconds: for the headers of a request, from the start of the
# connection or its last response, and for reading a response.
_PATIENCE, _PATIENCE_OF_READERS = 10, 60
# Maximum number of connections, and file descriptors for other purposes.
_MOST, _OTHER_FILES = 4096, 160
# Connections that are accepted before they are handled.
_AT_ONCE = 16
# Seconds of silence of a connection during shutdown.
_NEWEST = 1
# Seconds for the process to end after all responses.
_FAREWELL = 3
# Maximum bytes of the request line and headers: query strings may have texts.
_LONGEST_HEAD = 1 << 16
# Seconds between two log lines about closed connections.
_BETWEEN_LINES = 60


class _Socket(socket.socket):
    """A listening socket that reports connections above a limit."""

    def __init__(self, listening):
        super().__init__(fileno=listening.detach())
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # A new file descriptor has the lowest free number.
        self.limit = min(_MOST, max(files // 2, files - _OTHER_FILES))
        self.crowded = lambda: None
        self._accepted = 0

    def accept(self):
        """Accepts a connection; `BlockingIOError` after several at once."""
        self._accepted = (self._accepted + 1) % (_AT_ONCE + 1)
        if not self._accepted:
            raise BlockingIOError
        try:
            accepted = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self.crowded()
            raise BlockingIOError from None
        if accepted[0].fileno() >= self.limit:
            self.crowded()
        return accepted


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens for connections.

    Args:
        host: Address to listen on.
        port: Port; 0 for any free one.

    Raises:
        ModelError: If it cannot listen there; the message names the flag.
    """
    if not host:  # the empty string would be every address
        raise ModelError("--host: expected an address. Received none.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ModelError(
                f"--port: {port} is taken on {host}. Choose another one."
            ) from None
        reason = str(error.strerror or error).split(" (")[0]
        raise ModelError(
            f"cannot listen on {host}, port {port} ({reason})."
        ) from None
    # Inherited by connections; asyncio sets it only for sockets created with
    # IPPROTO_TCP. Without it the second packet of a response waits 40 ms.
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Socket(server)


def format_address(listening: socket.socket) -> str:
    """Returns the URL of a server for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_private(listening: socket.socket) -> bool:
    """Returns whether only this machine can reach a socket."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


class _Connection(H11Protocol):
    """A connection that keeps the time since its last activity."""

    def connection_made(self, transport):
        self.since = time.monotonic()
        super().connection_made(transport)

    def on_response_complete(self):
        self.since = time.monotonic()
        super().on_response_complete()

    @property
    def is_idle(self):
        """Returns whether the connection has no request in progress."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_silent(self):
        """Returns whether no complete request has arrived."""
        return self.is_idle or self.cycle.more_body

    def is_overdue(self, now):
        """Returns whether the connection has exceeded its time limit."""
        takes_answer = self.transport.get_write_buffer_size()
        patience = _PATIENCE_OF_READERS if takes_answer else _PATIENCE
        return self.is_idle and now - self.since > patience


class Server(uvicorn.Server):
    """A uvicorn server with limits on connections, and a bounded shutdown.

    Connections without headers are closed after ten seconds. At the limit of
    connections, the longest silent ones are closed. After SIGTERM or Ctrl-C the
    process ends within `grace` seconds, even if threads are running.

    Args:
        app: The ASGI app.
        grace: Seconds for open requests when the server is stopped.
        program: Name of the command, for log lines about closed connections, at
            most one per minute.
        proxies: Addresses and networks of proxies whose `X-Forwarded-For` is
            trusted.
    """

    def __init__(self, app, grace, program, proxies=()):
        super().__init__(
            uvicorn.Config(
                app,
                http=_Connection,
                ws="none",
                loop="asyncio",  # uvloop accepts connections by itself.
                log_level="critical",
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                # The rest of the time is for refusals.
                timeout_graceful_shutdown=grace - min(1, grace / 4),
            )
        )
        self._grace = grace
        self._program = program
        self._num_closed = 0
        self._next_line = 0.0
        self._makes_room = False
        self._is_stopped = False

    async def startup(self, sockets=None):
        for listening in sockets or []:
            listening.crowded = self._make_room
        await super().startup(sockets)

    async def on_tick(self, counter):
        if counter % 10 == 0:
            now = time.monotonic()
            self._close([x for x in self._connections if x.is_overdue(now)])
            if self._num_closed and now > self._next_line:
                what = f"{self._num_closed} connections that sent no request."
                with contextlib.suppress(OSError):
                    print(f"{self._program}: closed {what}", file=sys.stderr)
                self._num_closed, self._next_line = 0, now + _BETWEEN_LINES
        return await super().on_tick(counter)

    def handle_exit(self, sig, frame):
        super().handle_exit(sig, frame)
        self._is_stopped = True
        _schedule_exit(0 if self.force_exit else self._grace)

    async def shutdown(self, sockets=None):
        latest = time.monotonic() - _NEWEST
        silent = (x for x in self._connections if x.is_silent)
        self._close([x for x in silent if x.since < latest])
        await super().shutdown(sockets)
        # All requests are answered; threads may still be computing.
        if self._is_stopped:
            _schedule_exit(_FAREWELL)

    @property
    def _connections(self):
        return self.server_state.connections

    def _make_room(self):
        if self._makes_room:
            return
        silent = [x for x in self._connections if x.is_silent]
        silent.sort(key=lambda x: x.since)
        self._close(silent[: 1 + len(silent) // 16])
        # Their file descriptors are already closed.
        asyncio.get_running_loop().call_soon(self._stop_making_room)
        self._makes_room = True

    def _stop_making_room(self):
        self._makes_room = False

    def _close(self, connections):
        for connection in connections:
            connection.transport.abort()
            self._connections.discard(connection)
        self._num_closed += len(connections)


def _schedule_exit(seconds):
    """Ends the process after a time, even if threads are running."""
    timer = threading.Timer(seconds, os._exit, [0])
    timer.daemon = True
    timer.start()
