import numpy as np
import pytest

from tfcopy.data.epoch_order import epoch_order

LENGTHS = np.random.default_rng(0).integers(1, 30, (2, 103))


def order(**options):
    options = {"batch_size": 10, "seed": 1} | options
    return epoch_order(LENGTHS, **options)


def test_without_a_seed_nothing_moves():
    assert order(seed=None).tolist() == list(range(100))
    assert order(seed=None, drop_remainder=False).tolist() == list(range(103))


@pytest.mark.parametrize("drop_remainder", [True, False])
@pytest.mark.parametrize("pool_batches", [1, 4, 20])
def test_each_example_comes_once(drop_remainder, pool_batches):
    found = order(drop_remainder=drop_remainder, pool_batches=pool_batches)
    assert len(set(found)) == len(found) == (100 if drop_remainder else 103)


def test_epochs_and_seeds_differ_and_repeat():
    assert order().tolist() == order().tolist()
    assert order().tolist() != order(epoch=1).tolist()
    assert order().tolist() != order(seed=2).tolist()


def test_batches_hold_examples_of_like_length():
    spread = [
        np.ptp(LENGTHS[0][order(pool_batches=pools).reshape(10, 10)], 1).mean()
        for pools in (1, 10)
    ]
    assert spread[1] < 5 < 20 < spread[0]
