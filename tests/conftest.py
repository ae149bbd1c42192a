import os

# JAX compiles the tests' tiny functions for longer than it runs them.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import keras  # noqa: E402
import pytest  # noqa: E402


@pytest.fixture(autouse=True)
def fixed_seed():
    keras.utils.set_random_seed(0)
