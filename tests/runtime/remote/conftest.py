"""A server of one model, for the tests of who asks it."""

import socket
import threading

import pytest

from tests.serving.servables.echo_model import load, serve
from tfcopy.runtime import remote_model
from tfcopy.runtime.remote_model import Connection, RemoteModel


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return load(tmp_path_factory.mktemp("echo"))


@pytest.fixture(scope="module")
def running(local):
    server = serve(local)
    yield server
    server.stop()


@pytest.fixture
def server(running, monkeypatch):
    """No request waits long for its next try."""
    monkeypatch.setattr(remote_model, "_FIRST_WAIT", 0.02)
    running.reset()
    yield running
    running.reset()


@pytest.fixture(scope="module")
def model(running):
    return RemoteModel(running.address, "echo", batch_size=3)


@pytest.fixture
def listening():
    """Returns the function that hands a server's next client to a function.

    It returns the address of the server.
    """
    with socket.create_server(("localhost", 0)) as listener:

        def listening(answer):
            def work():
                with listener.accept()[0] as client:
                    answer(client)

            threading.Thread(target=work, daemon=True).start()
            return f"http://localhost:{listener.getsockname()[1]}"

        yield listening


@pytest.fixture
def answering(listening):
    """Returns the function of an HTTP answer to a `Connection`."""

    def answering(body, head=b"HTTP/1.1 200 OK"):
        def answer(client):
            client.recv(10_000)
            client.sendall(head + b"\r\n\r\n" + body)
            client.shutdown(socket.SHUT_WR)
            # What is closed unread resets the connection.
            while client.recv(10_000):
                pass

        return Connection(listening(answer), "echo", retries=0)

    return answering
