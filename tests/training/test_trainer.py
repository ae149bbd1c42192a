import math
import os
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import helpers
from tests.training import standin
from tests.training.running import assert_close, assert_same_bits, weights_of
from tfcopy import tokens, training
from tfcopy.training.checkpoints import Checkpoints
from tfcopy.training.training_loop import Interruption
from tfcopy.training.updates import draw_seeds


def test_learns_and_keeps_the_best_weights(tmp_path):
    trainer = standin.make_trainer(
        log_dir=tmp_path, steps=60, eval_every=10, metrics=standin.metrics
    )
    before = trainer.evaluate(standin.dev_data)
    result = trainer.fit()
    after = trainer.evaluate(standin.dev_data)
    assert result.updates == 60 and result.epochs == 60 // standin.BATCHES
    assert after.nll < before.nll
    assert after.nll == pytest.approx(result.best_dev_nll, abs=1e-6)
    assert after.perplexity == pytest.approx(math.exp(after.nll))
    assert 0 < after.metrics["copied"] < 1
    fresh = standin.make_trainer()
    Checkpoints(tmp_path / "checkpoints").load_weights(fresh.model)
    assert_same_bits(weights_of(fresh), weights_of(trainer))


def test_evaluation_is_a_mean_over_target_tokens():
    trainer = standin.make_trainer()
    scores = trainer.evaluate(standin.dev_data)
    nll = count = sentences = 0
    for batch in standin.dev_data():
        inputs = {name: batch[name] for name in trainer.model.input}
        values = standin.loss(batch, trainer.model(inputs)).numpy()
        mask = batch["target_ids"].numpy() != tokens.PAD
        nll += values[mask].sum()
        count += mask.sum()
        sentences += len(mask)
    assert scores.targets == count
    assert scores.nll == pytest.approx(nll / count, rel=1e-5)
    assert scores.nll_per_sentence == pytest.approx(nll / sentences, rel=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("normalize", ["tokens", "sentences", "examples"])
def test_gradient_is_that_of_the_normalised_loss(normalize):
    trainer = standin.make_trainer(
        optimizer=keras.optimizers.SGD(1.0),
        model=standin.build_model(dropout=0.0),
        normalize=normalize,
        clip_norm=None,
        dev_data=None,
        steps=1,
    )
    batch = next(iter(standin.train_data(0, 0, None)))
    mask = batch["target_ids"] != tokens.PAD
    with tf.GradientTape() as tape:
        inputs = {name: batch[name] for name in trainer.model.input}
        nll = standin.loss(batch, trainer.model(inputs))
        nll = tf.reduce_sum(tf.where(mask, nll, 0.0), axis=1)
        counts = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1)
        nll = {
            "tokens": tf.reduce_sum(nll) / tf.reduce_sum(counts),
            "sentences": tf.reduce_mean(nll),
            "examples": tf.reduce_mean(nll / counts),
        }[normalize]
    gradients = tape.gradient(nll, trainer.model.trainable_variables)
    expected = [
        variable.numpy() - tf.convert_to_tensor(gradient).numpy()
        for variable, gradient in zip(trainer.model.weights, gradients)
    ]
    trainer.fit()
    assert_close(weights_of(trainer), expected, atol=1e-6)


def test_stops_early_and_stays_stopped(tmp_path):
    options = {"log_dir": tmp_path, "steps": None, "epochs": 50, "patience": 2}
    optimizer = keras.optimizers.SGD(0.0)
    result = standin.make_trainer(optimizer=optimizer, **options).fit()
    assert result.stopped_early and result.epochs == 3
    assert result.best_update == standin.BATCHES
    again = standin.make_trainer(optimizer=keras.optimizers.SGD(0.0), **options)
    assert again.fit() == result


@pytest.mark.long
def test_epochs_end_training_and_leftovers_are_dropped():
    result = standin.make_trainer(steps=None, epochs=1, accumulate=2).fit()
    assert result.updates == standin.BATCHES // 2
    assert result.epochs == 1 and result.best_update == result.updates


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, standin.CLASSIFIER])
def test_one_graph_for_all_sizes(options):
    trainer = standin.make_trainer(steps=10, accumulate=2, **options)
    trainer.fit()
    data = standin.labelled_dev_data if options else standin.dev_data
    step = trainer.step_for(None)
    evaluate = step.evaluate_with(tuple(data().element_spec))
    for function in (step.update, step.accumulate, evaluate):
        assert function.experimental_get_tracing_count() == 1


def make_classifier():
    return {"model": standin.build_classifier(0.0), **standin.CLASSIFIER}


def make_standin():
    return {
        "model": standin.build_model(dropout=0.0, gru=True),
        "train_data": lambda *position: standin.dataset([0]),
        "dev_data": None,
    }


@pytest.mark.long
@pytest.mark.parametrize("make", [make_standin, make_classifier])
def test_compiled_step_equals_the_plain_one(make):
    weights = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(3)
        trainer = standin.make_trainer(
            jit_compile=jit_compile, steps=3, **make()
        )
        trainer.fit()
        weights.append(weights_of(trainer))
    assert all(np.isfinite(weight).all() for weight in weights[0])
    assert_close(*weights, atol=1e-4)


@pytest.mark.long
def test_mixed_precision_keeps_weights_in_float32():
    with helpers.dtype_policy("mixed_bfloat16"):
        trainer = standin.make_trainer(steps=5, ema=0.9)
    assert math.isfinite(trainer.fit().best_dev_nll)
    assert {v.dtype for v in trainer.model.weights} == {"float32"}
    averages = trainer.saver.moving_average.variables()
    assert {v.dtype for v in averages} == {"float32"}


def test_infinite_loss_names_the_update_and_saves_nothing(tmp_path):
    def loss(batch, distribution):
        nll = standin.loss(batch, distribution)
        bad = tf.reduce_all(batch["source_ids"][0, :3] == marked[0, :3])
        return tf.where(bad, math.nan, nll)

    marked = standin.make_batch(1003)["source_ids"]
    trainer = standin.make_trainer(
        loss=loss, log_dir=tmp_path, save_every=2, dev_data=None
    )
    message = r"Update 11 \(epoch 1, batch 3\) has loss nan.*000000010"
    with pytest.raises(training.TrainingDiverged, match=message):
        trainer.fit()
    names = sorted(os.listdir(tmp_path / "checkpoints"))
    assert names == ["checkpoint-000000008.npz", "checkpoint-000000010.npz"]


def test_seeds_depend_on_the_position_alone():
    seeds = draw_seeds(2, seed=1, update=7, batch=0)
    np.testing.assert_array_equal(seeds, draw_seeds(2, 1, 7, 0))
    for other in ((2, 7, 0), (1, 8, 0), (1, 7, 1)):
        assert not np.any(seeds == draw_seeds(2, *other))


def test_second_signal_is_not_held_back():
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.signal_number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_that_is_to_outlive_its_terminal_does():
    """`nohup` starts it with the signal ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
        assert interruption.signal_number is None
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"steps": None}, "`steps` or `epochs` must be given"),
        ({"normalize": "words"}, "Received: normalize='words'"),
        ({"accumulate": 0}, "Received: accumulate=0"),
        ({"optimizer": training.Adam(global_clipnorm=1.0)}, "must not clip"),
    ],
)
def test_wrong_options_raise(options, message):
    with pytest.raises(ValueError, match=message):
        standin.make_trainer(**options)


def test_empty_data_raise():
    trainer = standin.make_trainer(
        train_data=lambda *position: standin.dataset([0]).take(0)
    )
    with pytest.raises(ValueError, match="at least one batch"):
        trainer.fit()


@pytest.mark.long
def test_a_dataset_and_the_name_of_an_optimizer_do():
    weights = []
    for given in (
        {"train_data": standin.dataset([0, 1]), "optimizer": "sgd"},
        {
            "train_data": lambda e, start, c: standin.dataset([0, 1][start:]),
            "optimizer": keras.optimizers.SGD(),
        },
    ):
        keras.utils.set_random_seed(3)
        trainer = standin.make_trainer(dev_data=None, steps=3, **given)
        trainer.fit()
        weights.append(weights_of(trainer))
    assert_same_bits(*weights)


def test_what_a_batch_lacks_is_named():
    batches = standin.dataset([0]).map(
        lambda batch: {k: x for k, x in batch.items() if k != "source_ids"}
    )
    trainer = standin.make_trainer(train_data=batches, dev_data=None, steps=1)
    with pytest.raises(ValueError, match="A batch lacks 'source_ids'"):
        trainer.fit()
