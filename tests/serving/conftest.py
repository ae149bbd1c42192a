"""Exported models that several files of tests ask; each is made once."""

import io
import random
import sys

import numpy as np
import pytest

from tests.serving.servables.translators import copier, random_translator
from tfcopy.data import Dictionary, Tokenizer
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.runtime.local_model import LocalModel
from tfcopy.serving.saved_model import export

# Which the demo page shows.
COPIER_EXAMPLES = ["the session of Łukasz .", "北京 is <b>open</b> ."]


@pytest.fixture(autouse=True, scope="module")
def seeded_libraries():
    """But TensorFlow, which a seed would rid of all that it has compiled."""
    random.seed(0)
    np.random.seed(0)


@pytest.fixture
def told(monkeypatch, capfdbinary):
    """Function of a command, arguments and input to status, output, error."""

    def told(command, arguments, text=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        status = command(list(map(str, arguments)))
        sys.stdout.flush()
        output, error = capfdbinary.readouterr()
        return status, output.decode().splitlines(), error.decode()

    return told


def with_files(translator, tmp_path_factory):
    """Returns the translator with files, so that it exports its own graphs."""
    return translator.with_files(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="session")
def copier_served(tmp_path_factory):
    """The copier, which translates "open"."""
    dictionary = Dictionary([("open", "ouverte", 1.0)])
    translator = copier(dictionary=dictionary, replace_unk=True)
    return with_files(translator, tmp_path_factory)


@pytest.fixture(scope="session")
def copier_export(copier_served, tmp_path_factory):
    """The folder of a version of it."""
    folder = tmp_path_factory.mktemp("savedmodels") / "copier"
    return export(copier_served, folder, warmup_texts=COPIER_EXAMPLES)


@pytest.fixture(scope="session")
def copier_model(copier_export):
    return LocalModel(copier_export)


@pytest.fixture(scope="session")
def random_served(tmp_path_factory):
    """A translator with random weights, which no test may change."""
    return with_files(random_translator(), tmp_path_factory)


@pytest.fixture(scope="session")
def random_export(random_served, tmp_path_factory):
    """The folder of a version of it."""
    folder = tmp_path_factory.mktemp("savedmodels") / "demo"
    return export(random_served, folder, warmup_texts=["the session", "x"])


@pytest.fixture(scope="session")
def int8_export(tmp_path_factory):
    """A copier that LiteRT answers, without TensorFlow."""
    tokenizer = ProtectedTokenizer(Tokenizer("space"), ("placeholders",))
    model = copier(
        litert="int8",
        max_source_length=15,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
    )
    languages = {"source_language": "en", "target_language": "fr"}
    folder = tmp_path_factory.mktemp("savedmodels") / "int8"
    return export(model, folder, warmup_texts=["a %s"], details=languages)
