"""Scoring ends when it is cancelled, and the first worker's scores count."""

import types

import numpy as np
import pytest
import tensorflow as tf

from tfcopy.training.scoring import Scorer
from tfcopy.training.training_results import Totals

BATCHES = tf.data.Dataset.range(3)


class Step:
    """Each target of a batch, its number, costs 2."""

    targets = types.SimpleNamespace(per_example=False)

    def score(self, group):
        return Totals(2.0 * len(group), 0.0, len(group), 1.0, {})

    def predict(self, batch):
        return 10 * int(batch)


def scorer(is_chief=True, **options):
    replicas = types.SimpleNamespace(count=1, is_chief=is_chief, summed=[])

    def sum_over_workers(array):
        replicas.summed.append(np.array(array).tolist())
        return array

    replicas.sum_over_workers = sum_over_workers
    made = Scorer(lambda spec: Step(), replicas, lambda: BATCHES, **options)
    return made, replicas


def test_all_batches_are_scored_unless_cancelled():
    made, _ = scorer()
    found = made.evaluate(BATCHES)
    assert (found.nll, found.targets, found.nll_per_sentence) == (2.0, 3, 2.0)
    assert made.dev_scores() == found
    answers = iter([False, True])
    assert made.evaluate(BATCHES, lambda: next(answers)) is None
    with pytest.raises(ValueError, match="must have batches"):
        made.evaluate(BATCHES.take(0))


@pytest.mark.parametrize("is_chief", [True, False])
def test_the_first_worker_scores_predictions(is_chief):
    made, replicas = scorer(
        is_chief,
        score_predictions=lambda pairs: {"sum": sum(x for _, x in pairs)},
        score="sum",
    )
    found = made.dev_scores()
    # The others add nothing to the sum over all workers.
    assert replicas.summed[-1] == [30.0 if is_chief else 0.0]
    assert found.metrics["sum"] == replicas.summed[-1][0]
