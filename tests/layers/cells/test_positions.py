import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.cells import transformer_block


@pytest.mark.parametrize("units", [4, 5])
def test_sinusoids_of_the_paper(units):
    angles = np.arange(7)[:, None] / 10_000 ** (np.arange(3) / 3)
    if units == 4:
        angles = np.arange(7)[:, None] / 10_000 ** (np.arange(2) / 2)
    expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    places = np.arange(7, dtype="int32")
    found = transformer_block.sinusoids(places, units)
    helpers.assert_close(found, expected[:, :units].astype("f"))


def test_products_of_rotated_rows_know_their_distance_alone():
    rng = np.random.default_rng(0)
    query, key = rng.normal(size=(2, 1, 4)).astype("f")

    def product(at, other):
        rows = [
            transformer_block.rotate(
                x, transformer_block.rotation(np.array([place], "int32"), 4)
            )
            for x, place in ((query, at), (key, other))
        ]
        return np.sum(np.prod([helpers.to_numpy(x) for x in rows], axis=0))

    assert product(9, 4) == pytest.approx(product(6, 1), abs=1e-5)
    assert product(5, 5) == pytest.approx((query * key).sum(), abs=1e-5)
    assert abs(product(9, 4) - product(9, 5)) > 1e-3
