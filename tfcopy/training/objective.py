"""What a model is trained for, and how it is measured.

Shapes: B batch, T target steps.
"""

import tensorflow as tf

from tfcopy.batch_fields import Batch
from tfcopy.training.training_results import Totals


class Objective:
    """Costs and metrics of a model on one batch, on one replica.

    Args:
        model: Keras model of a dict of inputs.
        loss: Callable `(batch, distribution)` that returns the negative log
            likelihood of each target, of shape `(B, T)`; `(B, 1)` where each
            example has one target.
        targets: `Targets` of the batches.
        penalty: Optional callable `(batch, distribution)` that returns what
            the objective adds to the loss of each target, `(B, T)`.
        metrics: Optional callable `(batch, distribution)` that returns a dict
            of scalars, means over the targets.
        by_example: Whether all sentences count equally, whatever their length:
            the costs of tokens are divided by their number.
    """

    def __init__(
        self, model, loss, targets, penalty=None, metrics=None, by_example=False
    ):
        self.model = model
        self.targets = targets
        self._loss = loss
        self._penalty = penalty
        self.metrics = metrics
        self._by_example = by_example

    def sums(self, batch):
        """Returns the sums over a batch of the loss and of the objective.

        The model is called as in training. The losses of its layers are not
        in the sums.
        """
        nll, penalty = self._costs(batch, self._call(batch, training=True))
        objective = nll if penalty is None else nll + penalty
        if self._by_example:
            counted = tf.cast(self.targets.mask(batch), tf.float32)
            lengths = tf.reduce_sum(counted, 1, keepdims=True)
            objective /= tf.maximum(lengths, 1.0)
        return tf.reduce_sum(nll), tf.reduce_sum(objective)

    def totals(self, batch):
        """Returns the `Totals` of a batch, float32, without dropout."""
        distribution = self.predict(batch)
        nll, penalty = self._costs(batch, distribution)
        counted = tf.cast(self.targets.mask(batch), tf.float32)
        num_targets = tf.reduce_sum(counted)
        metrics = self.metrics(batch, distribution) if self.metrics else {}
        return Totals(
            nll=tf.reduce_sum(nll),
            penalty=tf.reduce_sum(0.0 if penalty is None else penalty),
            targets=num_targets,
            examples=tf.cast(tf.shape(nll)[0], tf.float32),
            metrics={
                name: tf.cast(mean, tf.float32) * num_targets
                for name, mean in metrics.items()
            },
        )

    def predict(self, batch):
        """Returns the model's output for a batch, without dropout."""
        return self._call(batch, training=False)

    def _call(self, batch, training):
        inputs = {name: Batch(batch)[name] for name in self.model.input}
        return self.model(inputs, training=training)

    def _costs(self, batch, distribution):
        """Loss and penalty (or `None`) of each target, zero on padding."""
        mask = self.targets.mask(batch)
        costs = []
        for function in (self._loss, self._penalty):
            cost = function and function(Batch(batch), distribution)
            if cost is not None:  # (B, T)
                self.targets.check_costs(cost)
                cost = tf.where(mask, cost, tf.zeros_like(cost))
            costs.append(cost)
        return costs
