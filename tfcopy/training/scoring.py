"""Scoring of a model on whole data sets."""

import dataclasses
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError

import numpy as np
import tensorflow as tf

from tfcopy.training.distribution import Replicas
from tfcopy.training.training_results import Evaluation
from tfcopy.training.updates import groups_of, read_ahead


@dataclasses.dataclass(frozen=True)
class Scorer:
    """Scorer of a model without dropout; it also returns predictions.

    Attributes:
        step_for: Callable from the spec of a batch to the `TrainStep`.
        replicas: `Replicas`.
        dev_data: Dataset of batches, a callable that returns one, or `None`.
        score_predictions: As in `Trainer`.
        score: Name of the dev score that selects the best weights, or `None`.
    """

    step_for: Callable
    replicas: Replicas
    dev_data: Iterable | Callable | None = None
    score_predictions: Callable | None = None
    score: str | None = None

    def evaluate(self, data, cancelled=lambda: False):
        """Scores the model on a dataset of batches.

        Args:
            data: Dataset of batches, or a callable that returns one.
            cancelled: Optional callable; scoring ends once it returns `True`.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        dataset = data() if callable(data) else data
        step = self.step_for(dataset.element_spec)
        totals = None
        for group in groups_of(read_ahead(dataset), self.replicas.count):
            if cancelled():
                return None
            more = step.score(group)
            totals = more if totals is None else _add(totals, more)
        if totals is None:
            raise ValueError(
                "The data to score must have batches. Received none."
            )
        sums = np.array(tf.nest.flatten(totals))
        sums = self.replicas.sum_over_workers(sums).tolist()
        totals = tf.nest.pack_sequence_as(totals, sums)
        return Evaluation.from_totals(totals, step.targets.per_example)

    def predict(self, data):
        """Runs the model over a dataset of batches, on one device.

        Yields:
            `(batch, distribution)`, the model's input and output.
        """
        dataset = data() if callable(data) else data
        step = self.step_for(dataset.element_spec)
        for batch in read_ahead(dataset):
            yield batch, step.predict(batch)

    def dev_scores(self, cancelled=lambda: False):
        """Scores the dev data, including the scores of its predictions.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        scores = self.evaluate(self.dev_data, cancelled)
        if scores is None:
            return None
        if self.score_predictions:
            values = self._scores_of_predictions(cancelled)
            if values is None:
                return None
            metrics = scores.metrics | values
            scores = dataclasses.replace(scores, metrics=metrics)
        if self.score is not None and self.score not in scores.metrics:
            raise ValueError(
                "`score` must be one of the dev scores, "
                f"{sorted(scores.metrics)}. Received: score={self.score!r}."
            )
        return scores

    def _scores_of_predictions(self, cancelled):
        def predictions():
            for pair in self.predict(self.dev_data):
                if cancelled():
                    raise CancelledError
                yield pair

        try:
            values = dict(self.score_predictions(predictions()))
        except CancelledError:
            return None
        # The scores of the first worker count, since all workers must select
        # the same weights.
        array = np.array(list(values.values()), np.float64)
        if not self.replicas.is_chief:
            array = np.zeros_like(array)
        array = self.replicas.sum_over_workers(array)
        return dict(zip(values, array.tolist()))


def _add(totals, more):
    return tf.nest.map_structure(np.add, totals, more)
