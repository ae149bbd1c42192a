import pytest

from tests.serving.catalogs.catalogs import MangledWords, ShoutingModel
from tfcopy.runtime import local_model
from tfcopy.serving import translate_po


@pytest.fixture
def model(monkeypatch):
    """The model that the command asks, instead of an export."""
    model = ShoutingModel()

    def load(folder, *, batch_size, **options):
        model.batch_size = batch_size
        return model

    monkeypatch.setattr(local_model, "LocalModel", load)
    return model


@pytest.fixture
def mangled(monkeypatch):
    """Function of a model's arguments, after which the command asks it."""

    def use(**arguments):
        model = MangledWords(**arguments)
        monkeypatch.setattr(local_model, "LocalModel", lambda *_, **__: model)
        return model

    return use


@pytest.fixture
def fill(capfd, model):
    """Function of arguments to status, output and error."""

    def fill(*arguments, model="savedmodels/x"):
        status = translate_po.main([model, *map(str, arguments)])
        return status, *capfd.readouterr()

    return fill
