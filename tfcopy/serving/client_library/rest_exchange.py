"""An HTTP request and its answer, in time and of a size that fits."""

import contextlib
import http.client
import queue
import socket
import threading

from tfcopy.serving.client_library import transport

_CHUNK = 1 << 20


class Exchange:
    """A request and its answer, over a connection of their own.

    Args:
        connection: The `HTTPConnection`.
        path: What is asked for.
        body: What is sent, `bytes`; `None` for a GET.
    """

    def __init__(self, connection, path, body):
        self._connection = connection
        self._path = path
        self._body = body
        self._socket = None

    def within(self, seconds):
        """The `HTTPResponse` and its content.

        A thread of its own waits for them: the time-out of a socket begins
        anew with each byte of a header, and there is none for finding the
        address of a host.

        Raises:
            TimeoutError: After so many seconds.
        """
        results = queue.SimpleQueue()

        def work():
            try:
                results.put((self._run(), None))
            except Exception as error:
                results.put((None, error))

        threading.Thread(target=work, daemon=True).start()
        try:
            result, error = results.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        finally:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
        if error is not None:
            raise error
        return result

    def _run(self):
        method = "GET" if self._body is None else "POST"
        headers = {"Connection": "close", "Content-Type": "application/json"}
        try:
            self._connection.connect()
            # Once the answer begins, the connection forgets it.
            self._socket = self._connection.sock
            self._connection.request(method, self._path, self._body, headers)
            response = self._connection.getresponse()
            return response, _content(response)
        finally:
            self._connection.close()


def _content(response):
    chunks, size = [], 0
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > transport.LARGEST_ANSWER:
            raise transport.too_large()
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(chunks)
