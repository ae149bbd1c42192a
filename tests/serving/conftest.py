"""Exported models that several files of tests ask; each is made once."""

import pytest

from tests.serving.servables.translators import copier, random_translator
from tfcopy.serving.client_library.local_model import LocalModel
from tfcopy.serving.saved_model import export


@pytest.fixture(scope="session")
def copier_export(tmp_path_factory):
    """The folder of a version of the copier."""
    return export(copier(), tmp_path_factory.mktemp("savedmodels") / "copier")


@pytest.fixture(scope="session")
def copier_model(copier_export):
    return LocalModel(copier_export)


@pytest.fixture(scope="session")
def random_served():
    """A translator with random weights, which no test may change."""
    return random_translator()


@pytest.fixture(scope="session")
def random_export(random_served, tmp_path_factory):
    """The folder of a version of it."""
    folder = tmp_path_factory.mktemp("savedmodels") / "demo"
    return export(random_served, folder, warmup_texts=["the session", "x"])
