"""The best weights may be those of the best score, not of the least loss."""

import math

import numpy as np
import pytest

from tests.training import standin
from tests.training.running import assert_same_bits, check_resuming, weights_of
from tfcopy.training.checkpoints import CheckpointError


def make_trainer(values=None, **options):
    """Dev scores every 2 updates; `values` are what they are, if given."""
    defaults = {"steps": 8, "eval_every": 2, "score": "exact"}
    if values is not None:
        remaining = iter(values)
        defaults["score_predictions"] = lambda _: {"exact": next(remaining)}
    return standin.make_trainer(**standin.CLASSIFIER | defaults | options)


def weights_after(steps):
    trainer = make_trainer(steps=steps, dev_data=None, score=None)
    trainer.fit()
    return weights_of(trainer)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "values, lower_is_better, best_update",
    [
        ([10.0, 30.0, 20.0, 30.0], False, 4),
        ([10.0, 30.0, 5.0, 30.0], True, 6),
        ([math.nan, 0.0, math.nan, 0.0], False, 4),
    ],
)
def test_the_best_weights_have_the_best_score(
    values, lower_is_better, best_update
):
    trainer = make_trainer(values, lower_is_better=lower_is_better)
    result = trainer.fit()
    assert result.best_update == best_update
    assert result.best_dev_score == values[best_update // 2 - 1]
    assert_same_bits(weights_of(trainer), weights_after(best_update))
    scores = trainer.evaluate(standin.labelled_dev_data)
    assert scores.nll == pytest.approx(result.best_dev_nll, rel=1e-6)


@pytest.mark.long
def test_a_metric_may_be_the_score():
    trainer = make_trainer(score="accuracy", steps=40)
    result = trainer.fit()
    scores = trainer.evaluate(standin.labelled_dev_data)
    assert scores.metrics["accuracy"] == result.best_dev_score > 0


def test_without_a_score_the_loss_decides():
    plain = make_trainer(score=None).fit()
    scored = make_trainer([4.0, 3.0, 2.0, 1.0], score=None).fit()
    assert plain.best_update == scored.best_update
    assert plain.best_dev_nll == scored.best_dev_nll
    assert scored.best_dev_score is None


def test_training_stops_when_the_score_gets_no_better():
    values = [10.0, 20.0, 20.0, 15.0, 99.0]
    result = make_trainer(values, steps=99, patience=2).fit()
    assert result.stopped_early
    assert (result.updates, result.best_update) == (8, 4)


@pytest.mark.long
def test_a_plateau_halves_the_learning_rate(tmp_path):
    """Interrupted training halves it as often as other training."""
    values = [10.0, 20.0, 20.0, 15.0, 15.0, 99.0, 1.0, 1.0]
    options = {"steps": 16, "plateau": 2}
    trainer = make_trainer(values, **options)
    first = float(np.array(trainer.optimizer.learning_rate))
    trainer.fit()
    # After the 4th score, two behind the best; and after the last.
    rate = float(np.array(trainer.optimizer.learning_rate))
    assert rate == pytest.approx(first / 4)
    options["log_dir"] = tmp_path
    make_trainer(values[:5], **options | {"steps": 10}).fit()
    resumed = make_trainer(values[5:], **options)
    resumed.fit()
    rate = float(np.array(resumed.optimizer.learning_rate))
    assert rate == pytest.approx(first / 4)


def test_unknown_scores_raise():
    trainer = make_trainer([1.0], score="f1")
    message = r"\['accuracy', 'exact'\]. Received: score='f1'"
    with pytest.raises(ValueError, match=message):
        trainer.fit()


def test_predictions_are_those_for_all_dev_data_in_order():
    trainer = make_trainer()
    scores = trainer.scorer.dev_scores()
    assert scores.metrics["exact"] == pytest.approx(scores.metrics["accuracy"])
    pairs = list(trainer.predict(standin.labelled_dev_data))
    batches = list(standin.labelled_dev_data())
    for (batch, logits), expected in zip(pairs, batches, strict=True):
        ids = expected["source_ids"]
        np.testing.assert_array_equal(batch["source_ids"], ids)
        outputs = trainer.model({"source_ids": ids}, training=False)
        np.testing.assert_allclose(logits, outputs, atol=1e-6)


def scored_by_weights(predictions):
    """A score that goes up and down, by the weights alone."""
    total = sum(float(np.abs(logits).sum()) for _, logits in predictions)
    return {"exact": math.sin(20 * total)}


@pytest.mark.long
def test_resuming_at_any_place_changes_nothing(tmp_path):
    def make(**options):
        return make_trainer(
            score_predictions=scored_by_weights,
            steps=24,
            save_every=3,
            **options,
        )

    check_resuming(make, tmp_path, (1, 8, 9, 17, 23))


def test_predictions_end_when_training_is_to_stop():
    seen = []

    def score_predictions(predictions):
        for batch, _ in predictions:
            seen.append(batch)
        return {"exact": 1.0}

    trainer = make_trainer(score_predictions=score_predictions)
    calls = iter([False] * 4 + [True])  # three batches, then one prediction
    assert trainer.scorer.dev_scores(cancelled=lambda: next(calls)) is None
    assert not list(calls) and len(seen) == 1


def test_scores_of_another_name_are_not_compared(tmp_path):
    make_trainer([1.0], log_dir=tmp_path, steps=2).fit()
    other = make_trainer(score="accuracy", log_dir=tmp_path, steps=4)
    message = "score is 'exact' there and 'accuracy' here"
    with pytest.raises(CheckpointError, match=message):
        other.fit()
