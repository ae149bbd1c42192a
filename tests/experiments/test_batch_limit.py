"""Batches that the training data do not fill."""

import types

import pytest

from tfcopy.experiments import batch_limit
from tfcopy.experiments.config import TrainingConfig


@pytest.mark.parametrize(
    ("flags", "examples", "devices", "expected"),
    [
        ({}, 31, 1, 31),
        ({}, 31, 2, 30),
        ({}, 32, 2, 32),
        ({"batch_size": 999}, 200, 1, 200),
        ({"batch_tokens": 9}, 5, 1, 32),
    ],
)
def test_a_batch_is_no_more_than_the_data(
    flags, examples, devices, expected, monkeypatch, capsys
):
    strategy = types.SimpleNamespace(num_replicas_in_sync=devices)
    monkeypatch.setattr(batch_limit, "strategy_of", lambda _: strategy)
    config = TrainingConfig(**flags)
    made = batch_limit.capped(config, None, examples)
    assert made.batch_size == expected
    said = f"--batch_size {config.batch_size} is more than the {examples} "
    out = capsys.readouterr().out
    assert out.startswith(said) == (made is not config) == bool(out)
    assert batch_limit.capped(made, None, examples) is made


def test_each_device_has_an_example(monkeypatch):
    strategy = types.SimpleNamespace(num_replicas_in_sync=4)
    monkeypatch.setattr(batch_limit, "strategy_of", lambda _: strategy)
    with pytest.raises(ValueError, match="^--devices must be at most 3"):
        batch_limit.capped(TrainingConfig(), None, 3)
