import numpy as np
import pytest


@pytest.fixture
def inputs():
    """Queries of two sentences, and the values that they attend to."""
    rng = np.random.default_rng(0)
    return {
        "query": rng.normal(size=(2, 3, 5)).astype("float32"),
        "value": rng.normal(size=(2, 4, 6)).astype("float32"),
    }
