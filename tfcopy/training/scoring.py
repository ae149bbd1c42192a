"""Scoring of a model on whole data sets."""

import dataclasses
from concurrent.futures import CancelledError

import numpy as np
import tensorflow as tf

from tfcopy.training.training_results import Evaluation
from tfcopy.training.updates import groups_of, read_ahead


class Scorer:
    """Scorer of a model without dropout; it also returns predictions.

    Args:
        step_for: Callable from the spec of a batch to the `TrainStep`.
        replicas: `Replicas`.
        dev_data: Dataset of batches, a callable that returns one, or `None`.
        score_predictions: As in `Trainer`.
        score: Name of the dev score that selects the best weights, or `None`.
    """

    def __init__(
        self,
        step_for,
        replicas,
        dev_data=None,
        score_predictions=None,
        score=None,
    ):
        self._step_for = step_for
        self._replicas = replicas
        self._dev_data = dev_data
        self._score_predictions = score_predictions
        self._score = score

    def evaluate(self, data, cancelled=lambda: False):
        """Scores the model on a dataset of batches.

        Args:
            data: Dataset of batches, or a callable that returns one.
            cancelled: Optional callable; scoring ends once it returns `True`.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        dataset = data() if callable(data) else data
        step = self._step_for(dataset.element_spec)
        totals = None
        for group in groups_of(read_ahead(dataset), self._replicas.count):
            if cancelled():
                return None
            more = step.score(group)
            totals = more if totals is None else _add(totals, more)
        if totals is None:
            raise ValueError(
                "The data to score must have batches. Received none."
            )
        sums = np.array(tf.nest.flatten(totals))
        sums = self._replicas.sum_over_workers(sums).tolist()
        totals = tf.nest.pack_sequence_as(totals, sums)
        return Evaluation.from_totals(totals, step.targets.per_example)

    def predict(self, data):
        """Runs the model over a dataset of batches, on one device.

        Yields:
            `(batch, distribution)`, the model's input and output.
        """
        dataset = data() if callable(data) else data
        step = self._step_for(dataset.element_spec)
        for batch in read_ahead(dataset):
            yield batch, step.predict(batch)

    def dev_scores(self, cancelled=lambda: False):
        """Scores the dev data, including the scores of its predictions.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        scores = self.evaluate(self._dev_data, cancelled)
        if scores is None:
            return None
        if self._score_predictions:
            values = self._scores_of_predictions(cancelled)
            if values is None:
                return None
            metrics = scores.metrics | values
            scores = dataclasses.replace(scores, metrics=metrics)
        if self._score is not None and self._score not in scores.metrics:
            raise ValueError(
                "`score` must be one of the dev scores, "
                f"{sorted(scores.metrics)}. Received: score={self._score!r}."
            )
        return scores

    def _scores_of_predictions(self, cancelled):
        def predictions():
            for pair in self.predict(self._dev_data):
                if cancelled():
                    raise CancelledError
                yield pair

        try:
            values = dict(self._score_predictions(predictions()))
        except CancelledError:
            return None
        # The scores of the first worker count, since all workers must select
        # the same weights.
        array = np.array(list(values.values()), np.float64)
        if not self._replicas.is_chief:
            array = np.zeros_like(array)
        array = self._replicas.sum_over_workers(array)
        return dict(zip(values, array.tolist()))


def _add(totals, more):
    return tf.nest.map_structure(np.add, totals, more)
