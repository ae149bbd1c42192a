"""The models of defined words, trained by the trainer."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.models.defined_texts import (
    V,
    batch_for,
    make_embedding,
    predict,
)
from tfcopy import losses
from tfcopy.models import coattention, lstm_language_model
from tfcopy.tokens import BOS

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the trainer's framework"
)


def answers(embedding, number):
    rng = np.random.default_rng(number)
    context = rng.integers(4, 12, (4, number + 4))
    question = rng.integers(4, 12, (4, 3))
    return {
        **batch_for(embedding, {"context": context, "question": question}),
        "start": rng.integers(0, 2, 4).astype("int32"),
        "end": rng.integers(2, 4, 4).astype("int32"),
    }


def texts(embedding, number):
    rng = np.random.default_rng(number)
    target_ids = rng.integers(4, 12, (4, number + 4)).astype("int32")
    target_ids[0, 2:] = 0
    text = np.roll(target_ids, 1, axis=1)
    text[:, 0] = BOS
    text[0, 3:] = 0
    batch = batch_for(embedding, {"text": text})
    return {**batch, "target_ids": target_ids}


def dataset(batches):
    import tensorflow as tf

    spec = {
        name: tf.TensorSpec([None] * x.ndim, x.dtype)
        for name, x in batches[0].items()
    }
    data = tf.data.Dataset.from_generator(
        lambda: iter(batches), output_signature=spec
    )
    return data.apply(tf.data.experimental.assert_cardinality(len(batches)))


@pytest.mark.long
@pytest.mark.parametrize(
    "task", ["answers", pytest.param("texts", marks=pytest.mark.slow)]
)
def test_the_trainer_lessens_the_loss(task):
    from tfcopy.training import Adam, Trainer

    if task == "answers":
        embedding = make_embedding(reader="mean", combine="transform")
        model = coattention(embedding, units=4, dropout=0.1)
        make, loss = answers, losses.span
        options = {"targets": "start"}
    else:
        embedding = make_embedding(reader="lstm")
        model = lstm_language_model(embedding, V, units=8)
        make, loss = texts, losses.next_word
        options = {"normalize": "sentences"}
    batches = [make(embedding, number) for number in range(3)]
    trainer = Trainer(
        model,
        loss,
        Adam(0.05),
        lambda epoch, start_batch, context: dataset(batches[start_batch:]),
        dev_data=lambda: dataset(batches),
        epochs=6,
        clip_norm=5.0,
        verbose=False,
        **options,
    )
    before = trainer.evaluate(trainer.dev_data)
    costs = [
        helpers.to_numpy(loss(batch, predict(model, batch)))
        for batch in batches
    ]
    if task == "texts":
        masks = [batch["target_ids"] != 0 for batch in batches]
        costs = [cost[mask] for cost, mask in zip(costs, masks)]
    expected = np.concatenate(costs)
    np.testing.assert_allclose(before.nll, expected.mean(), rtol=1e-5)
    result = trainer.fit()
    assert result.updates == 18
    assert result.best_dev_nll < 0.9 * before.nll
