"""A server of one model, for the tests of who asks it."""

import pytest

from tests.serving.servables.echo_model import load, serve
from tfcopy.runtime import remote_model
from tfcopy.runtime.remote_model import RemoteModel


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
