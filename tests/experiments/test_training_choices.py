import types

import keras
import numpy as np
import pytest

from tests.decoding import searching
from tests.models import test_planner, test_rarest_word_model
from tests.models.backbones import QUIET, make_backbone
from tests.models.defined_texts import SPELLING, make_embedding
from tfcopy import models
from tfcopy.experiments import training_choices
from tfcopy.experiments.config import TrainingConfig
from tfcopy.experiments.training_choices import Batching
from tfcopy.flags import Parser


@pytest.fixture(scope="module")
def model():
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])


@pytest.mark.parametrize(
    "gradient, step", [(0.01, 0.004741), (0.1, 0.045227), (1.0, 0.143019)]
)
def test_first_step_of_the_papers_adagrad(model, gradient, step):
    """Check 10 of the pointer-generator's numeric checks."""
    weight = keras.Variable(1.0)
    config = TrainingConfig(
        optimizer="adagrad", learning_rate=0.15, schedule="constant"
    )
    optimizer = training_choices.make_optimizer(config, model)
    optimizer.build([weight])
    optimizer.apply([keras.ops.convert_to_tensor(gradient)], [weight])
    assert 1 - float(weight) == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize(
    "schedule, expected",
    [
        ("constant", [0.05, 0.1, 0.1, 0.1, 0.1, 0.1]),
        ("linear", [0.05, 0.1, 0.075, 0.05, 0.025, 0.0]),
        ("cosine", [0.05, 0.1, 0.085355, 0.05, 0.014645, 0.0]),
        (
            "inverse_sqrt",
            [0.05, 0.1, *(0.1 * np.sqrt([2 / 3, 2 / 4, 2 / 5, 1 / 3]))],
        ),
    ],
)
def test_warm_up_comes_before_each_schedule(schedule, expected):
    """Update 2 has the highest rate, and 5 is the last."""
    rate = training_choices.make_learning_rate(schedule, 0.1, 2, steps=5)
    found = [float(rate(step)) for step in range(6)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_fewer_updates_than_warm_up_are_trained_all_the_same(schedule):
    """A second phase may be that short."""
    rate = training_choices.make_learning_rate(schedule, 0.1, 9, steps=3)
    assert float(rate(2)) == pytest.approx(0.1 / 3)


@pytest.mark.parametrize("name", ["adam", "adagrad", "adadelta"])
def test_each_optimizer_averages_weights_if_asked(model, name):
    for momentum in (None, 0.99):
        config = TrainingConfig(optimizer=name, ema=momentum)
        optimizer = training_choices.make_optimizer(config, model, steps=4)
        assert optimizer.use_ema == (momentum is not None)
        assert momentum in (None, optimizer.ema_momentum)


@pytest.mark.parametrize("name", ["adam", "adagrad", "adadelta"])
def test_a_linear_schedule_is_zero_after_the_last_update(model, name):
    config = TrainingConfig(optimizer=name, learning_rate=0.15)
    optimizer = training_choices.make_optimizer(config, model, steps=4)
    weight = keras.Variable(1.0)
    optimizer.build([weight])
    rates = []
    for _ in range(5):
        rates.append(float(np.array(optimizer.learning_rate)))
        optimizer.apply([keras.ops.convert_to_tensor(0.1)], [weight])
    np.testing.assert_allclose(rates, [0.15, 0.1125, 0.075, 0.0375, 0.0])
    help = Parser(TrainingConfig, "").helps["schedule"]
    assert "zero right after the last update" in help


@pytest.mark.parametrize("name", ["adam", "adagrad", "adadelta"])
def test_weights_decay_but_not_biases(name):
    """By Loshchilov and Hutter's rule: of rate times decay each update."""
    layer = keras.layers.Dense(2, bias_initializer="ones")
    layer.build((None, 3))
    config = TrainingConfig(
        optimizer=name, learning_rate=0.5, schedule="constant", weight_decay=0.1
    )
    optimizer = training_choices.make_optimizer(config, layer)
    optimizer.build(layer.trainable_variables)
    before = layer.kernel.numpy()
    zeros = [keras.ops.zeros(x.shape) for x in layer.trainable_variables]
    optimizer.apply(zeros, layer.trainable_variables)
    np.testing.assert_allclose(layer.kernel.numpy(), 0.95 * before, rtol=1e-6)
    np.testing.assert_array_equal(layer.bias.numpy(), [1, 1])


PAG = {"system": "pag", "query": "second", "head": "pointer_generator"}
RPAG = {"system": "rpag", "query": "first", "head": "copynet"}
PLANNERS = [
    {**PAG, "decoder": "gru", "layer_norm": True},
    {**RPAG, "layer_norm": True, "planner_layer_norm": True},
    {"system": "baseline"},
]


def zoo():
    """Every model, each with as many kinds of weights as it may have."""
    for name in ("pointer_softmax", "copynet", "transformer"):
        yield searching.MODELS[name]()
    for options in PLANNERS:
        yield test_planner.make_model(**options)
    for kind in ("bart", "t5"):
        yield models.from_backbone(make_backbone(kind), coverage=True)
    embedding = make_embedding(combine="transform", spelling=SPELLING)
    yield models.esim(embedding, units=4)
    yield models.coattention(embedding)
    yield models.lstm_language_model(embedding, 20, units=4)
    yield test_rarest_word_model.make_model()


@pytest.mark.long
@QUIET
def test_matrices_and_tables_decay_in_every_model():
    found = {True: set(), False: set()}
    config = TrainingConfig(weight_decay=0.1, schedule="constant")
    for model in zoo():
        optimizer = training_choices.make_optimizer(config, model)
        for weight in model.trainable_variables:
            *_, role = weight.name.split("_")
            role = {"coverage_kernel": weight.name}.get(weight.name, role)
            found[optimizer._use_weight_decay(weight)].add(role)
    assert found[True] == {"kernel", "embeddings"}
    assert found[False] == {
        *("bias", "coverage_kernel", "p"),
        *("gain", "gamma", "beta", "weight"),  # of normalisation
    }


def test_a_plateau_begins_at_the_highest_rate():
    assert training_choices.make_learning_rate("plateau", 0.1, 0) == 0.1
    with pytest.raises(ValueError, match="--warmup needs another --schedule"):
        training_choices.make_learning_rate("plateau", 0.1, 9)


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
    monkeypatch.setattr(training_choices, "strategy_of", lambda _: strategy)
    asked = Batching(**{"batch_size": 32} | flags)
    made = asked.cap(None, examples)
    assert made.batch_size == expected
    said = f"--batch_size {asked.batch_size} is more than the {examples} "
    out = capsys.readouterr().out
    assert out.startswith(said) == (made is not asked) == bool(out)
    assert made.cap(None, examples) is made


def test_each_device_has_an_example(monkeypatch):
    strategy = types.SimpleNamespace(num_replicas_in_sync=4)
    monkeypatch.setattr(training_choices, "strategy_of", lambda _: strategy)
    with pytest.raises(ValueError, match="^--devices must be at most 3"):
        Batching(32).cap(None, 3)
