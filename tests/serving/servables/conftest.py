"""Models of texts that several files of tests ask; each is traced once."""

import functools

import pytest

from tests.serving.servables import translators
from tests.serving.servables.text_models import make

# What a model may be like, one way of each kind.
CASES = {
    "answers": ("answers", {"spelling": True}),
    "entailment": ("entailment", {"reader": "mean_linear", "combine": "bands"}),
    # Its own LSTM reads its definitions: one layer in two places.
    "language": ("language", {"reader": "shared", "combine": "sum"}),
}


@pytest.fixture(scope="session")
def made():
    """Results of `make`, by the names of `CASES`; no test may change them."""
    return {name: make(kind, **x) for name, (kind, x) in CASES.items()}


@pytest.fixture(scope="session")
def function(made):
    """Returns the function of a name to that model's signature `analyse`."""
    return functools.cache(lambda name: made[name][0].signature("analyse"))


@pytest.fixture
def eagerly():
    """`test_translator` has the graph of a translator with all options."""
    with translators.eagerly():
        yield
