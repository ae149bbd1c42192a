import pytest

from tests.layers.random_inputs import sequences


@pytest.fixture
def inputs():
    return sequences()
