import pytest

from tests.layers.random_inputs import decoder_inputs


@pytest.fixture
def inputs():
    return decoder_inputs()
