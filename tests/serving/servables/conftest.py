"""Models of texts that several files of tests ask; each is traced once."""

import keras
import pytest

from tests.serving.servables.text_models import make

# What a model may be like, one way of each kind.
CASES = {
    "answers": ("answers", {"spelling": True, "phrases": True}),
    "entailment": ("entailment", {"reader": "mean_linear", "combine": "bands"}),
    # Its own LSTM reads its definitions: one layer in two places.
    "language": ("language", {"reader": "shared", "combine": "sum"}),
}


@pytest.fixture(scope="session")
def made():
    """What `make` gives, by the names of `CASES`; no test may change it."""
    keras.utils.set_random_seed(0)
    return {name: make(kind, **x) for name, (kind, x) in CASES.items()}


@pytest.fixture(scope="session")
def functions(made):
    """The signatures `analyse` of these models."""
    return {n: served.signature("analyse") for n, (served, *_) in made.items()}
