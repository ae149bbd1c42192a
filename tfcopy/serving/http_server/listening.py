"""The socket that a server of ours listens on, and the connections to it.

uvicorn waits without end for headers, and takes connections until the process
has no file left, for which asyncio then writes a line per connection and try.
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

from tfcopy.serving.client_library.signatures import AskError

# Seconds until a connection has sent a request's headers, from its beginning or
# from its last answer; and until it has taken an answer.
_PATIENCE, _PATIENCE_OF_READERS = 10, 60
# The most connections, and files that are left for other purposes.
_MOST, _OTHER_FILES = 4096, 160
# Connections that are accepted at once, before these are looked at.
_AT_ONCE = 16
# Seconds for which a connection may be silent as the server is stopped.
_NEWEST = 1
# Seconds in which a process ends that has answered everything.
_FAREWELL = 3
# Bytes of a request's line and headers: its query string may have texts.
_LONGEST_HEAD = 1 << 16
# Seconds between two lines about connections that were closed.
_BETWEEN_LINES = 60


class _Socket(socket.socket):
    """A listening socket that tells of connections above a limit."""

    def __init__(self, listening):
        super().__init__(fileno=listening.detach())
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # A process gives the lowest number that is free to a file.
        self.limit = min(_MOST, max(files // 2, files - _OTHER_FILES))
        self.crowded = lambda: None
        self._accepted = 0

    def accept(self):
        """As of `socket.socket`; `BlockingIOError` after so many at once."""
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
    return _Socket(server)


def address_of(listening: socket.socket) -> str:
    """What to type into a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_private(listening: socket.socket) -> bool:
    """Whether only this machine can reach a socket."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


class _Connection(H11Protocol):
    """A connection that tells since when it has been waited for."""

    def connection_made(self, transport):
        self.since = time.monotonic()
        super().connection_made(transport)

    def on_response_complete(self):
        self.since = time.monotonic()
        super().on_response_complete()

    @property
    def is_idle(self):
        """Whether no request of it is read or answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_silent(self):
        """Whether no request of it has come as a whole."""
        return self.is_idle or self.cycle.more_body

    def is_overdue(self, now):
        """Whether it is given up."""
        takes_answer = self.transport.get_write_buffer_size()
        patience = _PATIENCE_OF_READERS if takes_answer else _PATIENCE
        return self.is_idle and now - self.since > patience


class Server(uvicorn.Server):
    """A server of an app, whose connections and end are bounded.

    Connections that send no headers are closed after ten seconds. At the limit
    of files, those that have been silent the longest make room for others.
    After SIGTERM or Ctrl-C the process ends within `grace` seconds, whatever
    its threads do.

    Args:
        app: The ASGI app.
        grace: Seconds for requests under way when the server is stopped.
        program: Name of the command, for a line a minute on standard error
            about connections that were closed.
        proxies: Addresses and networks of proxies whose `X-Forwarded-For` names
            the client.
    """

    def __init__(self, app, grace, program, proxies=()):
        super().__init__(
            uvicorn.Config(
                app,
                http=_Connection,
                ws="none",
                loop="asyncio",  # uvloop would accept connections itself.
                log_level="critical",
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                # What is left of the time is for refusals.
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
        _end_after(0 if self.force_exit else self._grace)

    async def shutdown(self, sockets=None):
        latest = time.monotonic() - _NEWEST
        silent = (x for x in self._connections if x.is_silent)
        self._close([x for x in silent if x.since < latest])
        await super().shutdown(sockets)
        # All is answered; threads may still compute what nobody waits for.
        if self._is_stopped:
            _end_after(_FAREWELL)

    @property
    def _connections(self):
        return self.server_state.connections

    def _make_room(self):
        if self._makes_room:
            return
        silent = [x for x in self._connections if x.is_silent]
        silent.sort(key=lambda x: x.since)
        self._close(silent[: 1 + len(silent) // 16])
        # Their files are closed before this is called.
        asyncio.get_running_loop().call_soon(self._has_room)
        self._makes_room = True

    def _has_room(self):
        self._makes_room = False

    def _close(self, connections):
        for connection in connections:
            connection.transport.abort()
            self._connections.discard(connection)
        self._num_closed += len(connections)


def _end_after(seconds):
    """Ends the process even if threads go on."""
    timer = threading.Timer(seconds, os._exit, [0])
    timer.daemon = True
    timer.start()
