"""Batches of pairs, as a system is trained with them."""

import dataclasses
import re
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.data.pairs.test_pipeline import corpus
from tests.training import standin
from tests.training.test_resume import assert_same_bits, interrupt
from tfcopy import training
from tfcopy.experiments import training_choices
from tfcopy.experiments.pairs import pair_training
from tfcopy.experiments.training_choices import Batching
from tfcopy.recipes.europarl_ps import Config


@pytest.mark.parametrize(
    "xla, compiles", [("auto", None), ("on", True), ("off", False)]
)
def test_the_flag_says_whether_xla_compiles(xla, compiles, monkeypatch):
    monkeypatch.setattr(training, "Trainer", lambda *_, **options: options)
    # What is to be removed, `Run` has removed.
    system = types.SimpleNamespace(
        config=Config(xla=xla, fresh=True),
        trained=None,
        identity={},
        folder=None,
    )
    options = training_choices.make_trainer(
        system, None, None, None, optimizer="adam"
    )
    assert options["jit_compile"] is compiles and options["fresh"] is False


@pytest.mark.parametrize("batch_tokens", [None, 50])
def test_compiled_batches_have_few_shapes(capsys, batch_tokens):
    batching = Batching(4, batch_tokens=batch_tokens, seed=2)
    train, validation = corpus(400), corpus(61, seed=1)
    data = types.SimpleNamespace(train=train, validation=validation)
    shapes = pair_training.choose_compiled_shapes(batching, data)
    printed = capsys.readouterr().out
    assert len(shapes) <= pair_training.MAX_SHAPES
    assert printed.startswith(f"XLA compiles {len(shapes)} shapes")
    context = types.SimpleNamespace(num_replicas_in_sync=1)
    read = pair_training.train_batches(batching, train, shapes=shapes)
    words, cells, seen = 0, 0, set()
    for epoch in range(3):
        for batch in read(epoch, 0, context):
            sides = batch["source_ids"], batch["target_ids"]
            assert tuple(x.shape[1] for x in sides) in shapes
            seen.add(tuple(x.shape for x in sides))
            assert not batch_tokens or max(x.numpy().size for x in sides) <= 50
            if epoch == 0:
                words += sum((x.numpy() != 0).sum() for x in sides)
                cells += sum(x.numpy().size for x in sides)
    assert len(seen) <= len(shapes)
    share = re.search(r"(\d+)% of their cells are words", printed)[1]
    assert int(share) == round(100 * words / cells)
    if batch_tokens:
        shapes = [*shapes, (11, 11)]
    for batch in pair_training.dev_batches(batching, data, shapes):
        sides = batch["source_ids"], batch["target_ids"]
        assert tuple(x.shape[1] for x in sides) in shapes


# === Batches of tokens ===


def small_corpus():
    """Pairs of words that the stand-in knows."""
    encoded = corpus(40)
    ids = {
        x: getattr(encoded, x) % 16 + 4 for x in ("source_ids", "target_ids")
    }
    return dataclasses.replace(encoded, **ids)


def make_trainer(**options):
    batching = Batching(64, batch_tokens=40, seed=2)
    read = pair_training.train_batches(batching, small_corpus())
    options = {"accumulate": 2, "steps": 8, "eval_every": 4} | options
    options.setdefault("batches", batching.depend_on(False))
    return standin.make_trainer(train_data=read, **options)


def test_each_token_of_an_update_counts_the_same():
    """Its batches have other numbers of pairs and of words."""
    model = standin.build_model(dropout=0.0)
    trainer = make_trainer(
        model=model,
        optimizer=keras.optimizers.SGD(1.0),
        steps=1,
        accumulate=4,
        clip_norm=None,
        dev_data=None,
    )
    context = types.SimpleNamespace(num_replicas_in_sync=1)
    batches = list(trainer.train_data(0, 0, context).take(4))
    before = [w.numpy() for w in model.weights]
    with tf.GradientTape() as tape:
        total, count = 0.0, 0
        for batch in batches:
            nll = standin.loss(batch, model({x: batch[x] for x in model.input}))
            mask = batch["target_ids"] != 0
            total += tf.reduce_sum(tf.where(mask, nll, 0.0))
            count += int(tf.reduce_sum(tf.cast(mask, tf.int32)))
        mean = total / count
    gradients = tape.gradient(mean, model.trainable_variables)
    assert len({len(batch["target_ids"]) for batch in batches}) > 1
    trainer.fit()
    for weight, old, gradient in zip(model.weights, before, gradients):
        expected = old - tf.convert_to_tensor(gradient)
        np.testing.assert_allclose(weight.numpy(), expected, atol=1e-6)


@pytest.mark.long
def test_training_on_tokens_resumes_at_any_batch(tmp_path):
    undisturbed = make_trainer()
    assert undisturbed.fit().epochs == 1
    for update in (3, 6):
        trainer = make_trainer(log_dir=tmp_path)
        interrupt(trainer, update)
    # XLA would put other pairs into them.
    compiled = Batching(64, batch_tokens=40).depend_on(True)
    compiled = make_trainer(log_dir=tmp_path, batches=compiled)
    with pytest.raises(
        training.CheckpointError,
        match="--xla with --batch_tokens is 'off' there and 'on' here",
    ):
        compiled.fit()
    trainer = make_trainer(log_dir=tmp_path)
    assert trainer.fit() == compiled.fit()  # which has ended, and is loaded
    assert_same_bits(
        [w.numpy() for w in trainer.model.weights],
        [w.numpy() for w in undisturbed.model.weights],
    )


def test_batches_are_of_their_epoch():
    """Of pairs that are encoded anew for each."""
    first, second = corpus(40), corpus(24)
    encoded = dataclasses.replace(first, sampled=[first, second].__getitem__)
    read = pair_training.train_batches(Batching(8), encoded)
    context = types.SimpleNamespace(num_replicas_in_sync=1)
    assert [len(list(read(epoch, 0, context))) for epoch in range(2)] == [5, 3]


def test_larger_pools_pad_less():
    context = types.SimpleNamespace(num_replicas_in_sync=1)
    cells = []
    for pool_batches in (1, 3, 60):
        batching = Batching(8, pool_batches=pool_batches)
        batches = list(
            pair_training.train_batches(batching, corpus(480))(0, 0, context)
        )
        cells.append(sum(batch["target_ids"].numpy().size for batch in batches))
        assert len(batches) == 60
    assert cells == sorted(cells, reverse=True) and cells[0] > 1.2 * cells[2]


def test_devices_that_a_batch_is_too_small_for_name_the_flag():
    batching = Batching(64, batch_tokens=20)
    read = pair_training.train_batches(batching, corpus(60))
    context = types.SimpleNamespace(num_replicas_in_sync=2)
    with pytest.raises(ValueError, match="^--batch_tokens must be at least 22"):
        read(0, 0, context)
