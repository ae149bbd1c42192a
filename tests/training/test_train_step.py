import io
import logging

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training import standin
from tests.training.running import weights_of
from tfcopy import losses, training
from tfcopy.training import Targets
from tfcopy.training.reports import Progress
from tfcopy.training.train_step import announce, clip, densify


def make_trainer(**options):
    return standin.make_trainer(**standin.CLASSIFIER | options)


def costs_of(ids, labels, embeddings, kernel, bias):
    """`-log softmax(W mean(e) + b)` of the label, in NumPy."""
    logits = embeddings[ids].mean(axis=1) @ kernel + bias
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exps / exps.sum(axis=1, keepdims=True)
    return -np.log(probabilities[np.arange(len(ids)), labels])


def examples_of(dataset):
    batches = list(dataset.as_numpy_iterator())
    return [np.concatenate([b[k] for b in batches]) for k in sorted(batches[0])]


def test_words_count_but_for_padding_and_labels_whatever_they_are():
    batch = {
        "target_ids": tf.constant([[4, 5, 0], [6, 0, 0]]),
        "label": tf.constant([0, 2]),
    }
    spec = {name: tf.TensorSpec(x.shape, x.dtype) for name, x in batch.items()}
    words, labels = Targets("target_ids", spec), Targets("label", spec)
    assert words.count(batch) == (3, 2) and words.unit == "target_tokens"
    assert labels.count(batch) == (2, 2) and labels.unit == "examples"
    assert words.mask(batch).numpy().tolist() == [
        [True, True, False],
        [True, False, False],
    ]
    assert labels.mask(batch).numpy().tolist() == [[True], [True]]


@pytest.mark.parametrize("name", ["target_ids", "image"])
def test_targets_must_be_in_the_batches(name):
    spec = {"image": tf.TensorSpec((None, 2, 2))}
    with pytest.raises(ValueError, match=f"Received: targets='{name}'"):
        Targets(name, spec)


@pytest.mark.parametrize("shape", [(4,), (4, 5)])
def test_other_costs_raise(shape):
    trainer = make_trainer(loss=lambda batch, logits: tf.zeros(shape))
    with pytest.raises(ValueError, match=r"must have the shape \(B, 1\)"):
        trainer.evaluate(standin.labelled_dev_data)


def test_evaluation_is_a_mean_over_examples_of_batches_of_all_sizes():
    trainer = make_trainer()
    scores = trainer.evaluate(standin.labelled_dev_data)
    labels, ids = examples_of(standin.labelled_dev_data())
    embeddings, kernel, bias = weights_of(trainer)
    costs = costs_of(ids, labels, embeddings, kernel, bias)
    assert scores.targets == len(costs) == 10
    assert scores.nll == pytest.approx(costs.mean(), rel=1e-5)
    assert scores.nll_per_sentence == scores.nll
    logits = embeddings[ids].mean(axis=1) @ kernel + bias
    right = np.mean(logits.argmax(axis=1) == labels)
    assert scores.metrics["accuracy"] == pytest.approx(right)


def test_a_loss_may_come_with_a_penalty_of_its_own():
    def loss(batch, logits):
        cost = losses.label(batch, logits)
        return cost, 2.0 * tf.ones_like(cost)

    def penalty(batch, logits):
        return tf.ones_like(logits[:, :1])

    scores, plain = (
        make_trainer(**options).evaluate(standin.labelled_dev_data)
        for options in ({"loss": loss, "penalty": penalty}, {})
    )
    assert scores.penalty == 3.0 and plain.penalty == 0.0
    assert scores.nll == plain.nll


@pytest.mark.few(1)
@pytest.mark.parametrize("normalize", ["tokens", "sentences", "examples"])
def test_an_update_is_that_of_the_mean_over_all_its_examples(normalize):
    """Two batches an update, of which the second is smaller."""

    def data(epoch=0, start_batch=0, context=None):
        examples = standin.labelled(range(2)).unbatch().take(6)
        return examples.batch(4).skip(start_batch)

    trainer = make_trainer(
        model=standin.build_classifier(dropout=0.0),
        optimizer=keras.optimizers.SGD(1.0),
        train_data=data,
        dev_data=None,
        normalize=normalize,
        accumulate=2,
        clip_norm=None,
        steps=1,
    )
    labels, ids = examples_of(data())
    embeddings, kernel, bias = weights_of(trainer)
    means = embeddings[ids].mean(axis=1)
    logits = means @ kernel + bias
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradients = (probabilities - np.eye(3)[labels]) / 6
    result = trainer.fit()
    _, new_kernel, new_bias = weights_of(trainer)
    np.testing.assert_allclose(
        new_bias, bias - gradients.sum(axis=0), atol=1e-6
    )
    np.testing.assert_allclose(
        new_kernel, kernel - means.T @ gradients, atol=1e-6
    )
    assert result.targets == 6


def test_learns_and_says_it_in_terms_of_examples():
    trainer = make_trainer(steps=40, eval_every=20)
    stream = io.StringIO()
    trainer.progress = Progress(total=40, stream=stream, interval=0)
    before = trainer.evaluate(standin.labelled_dev_data)
    result = trainer.fit()
    assert result.best_dev_nll < before.nll
    assert result.targets == 40 * 4
    text = stream.getvalue()
    assert "examples/s" in text and "dev loss" in text
    assert "ppl" not in text and "tok/s" not in text
    assert "perplexity" not in repr(result) and "tokens" not in repr(result)


def test_what_is_for_training_alone_may_be_missing_elsewhere():
    trainer = make_trainer()
    expected = trainer.evaluate(standin.labelled_dev_data)
    spec = standin.labelled_dev_data().element_spec
    other = make_trainer(model=trainer.model)
    other.step_for({**spec, "alignment": tf.TensorSpec((None, 3), tf.float32)})
    assert other.evaluate(standin.labelled_dev_data) == expected
    assert len(list(other.predict(standin.labelled_dev_data))) == 3


@pytest.mark.long
def test_other_tensors_may_have_any_leading_axis():
    """Definitions come before texts, and are not as many."""

    def data(epoch=0, start_batch=0, context=None):
        with_more = standin.labelled(range(3)).map(
            lambda batch: {"definition_ids": tf.range(9), **batch}
        )
        return with_more.skip(start_batch)

    result = make_trainer(train_data=data, dev_data=data, steps=3).fit()
    assert result.targets == 12


def test_words_are_the_default():
    assert training.Options(steps=1).targets == "target_ids"


def batch(source, target):
    ids = {"source_ids": source, "target_ids": target}
    ids["source_copy_ids"] = source
    return {name: tf.ones(shape, tf.int32) for name, shape in ids.items()}


def test_each_shape_is_told_once(caplog):
    lines = []
    traced = []

    @tf.function(autograph=False)
    def add(batches, more):
        traced.append(1)
        return tf.reduce_sum(batches[0]["source_ids"]) + more

    function = announce(add, "train on", lines.append)
    with caplog.at_level(logging.WARNING):
        for length in [*range(3, 10), 3, 4]:
            found = function((batch((2, length), (2, 5)),), tf.constant(1))
            assert found == 2 * length + 1
    # TensorFlow would warn of so many.
    assert not caplog.records
    assert len(traced) == 7 and len(lines) == 14
    assert lines[0] == (
        "XLA compiles program 1 to train on batches of source 2 x 3, "
        "target 2 x 5 ..."
    )
    assert lines[1].startswith("... which took ")
    assert tf.get_logger().isEnabledFor(logging.ERROR)
    assert tf.get_logger().level <= logging.WARNING


def test_densify_adds_up_rows():
    slices = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]),
        tf.constant([2, 0, 2]),
        tf.constant([4, 1]),
    )
    np.testing.assert_array_equal(densify(slices), [[2.0], [0.0], [5.0], [0.0]])


@pytest.mark.parametrize("clip_norm, factor", [(2.5, 0.5), (6.0, 1.0)])
def test_clip_scales_to_the_norm(clip_norm, factor):
    gradients = [tf.constant([3.0]), tf.constant([[4.0]])]
    clipped = clip(gradients, tf.linalg.global_norm(gradients), clip_norm)
    np.testing.assert_allclose(clipped[0], [3 * factor])
    np.testing.assert_allclose(clipped[1], [[4 * factor]])
