"""Base of copying models that Keras's `fit` trains.

Shapes: B batch, T target steps, S source steps.
"""

from collections.abc import Callable

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.keras_internals import get_compiled_metrics
from tfcopy.layers.copying import CopyDistribution
from tfcopy.layers.heads.softmax_head import SoftmaxHead
from tfcopy.tokens import Batch


@keras.saving.register_keras_serializable(package="tfcopy")
class CopyModel(keras.Model):
    """Functional model whose output is the `CopyDistribution` of a head.

    The loss is the mean cost of a target token in nats. By default it is the
    head's negative `log_likelihood`. A `loss` passed to `compile`, such as a
    function of `tfcopy.losses`, is a callable `(batch, distribution)` that
    returns the costs `(B, T)`, or a tuple of costs to add. Padding costs
    nothing. Losses of layers are added.

    A batch is a dict of the model's inputs and of the inputs of the loss, or
    two dicts, for instance the inputs of the model and all others:

        target_ids       (B, T)  extended ids, ending with EOS
        source_copy_ids  (B, S)  extended ids of the source; negative where a
                                 position cannot be copied
        pointers         (B, T)  for the objective of `PointerSoftmaxHead`

    Sample weights, `(B,)` or `(B, T)`, multiply the costs. The `update_state`
    of a metric, such as `Perplexity`, takes a batch and the distribution.

    ```python
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("source_ids", "previous_ids")
    }
    source, previous = map(keras.layers.Embedding(12, 4), inputs.values())
    states = keras.layers.GRU(4, return_sequences=True)(previous)
    _, attention = layers.BahdanauAttention(4)(states, source)
    head = layers.PointerGeneratorHead(9)
    model = models.CopyModel(
        inputs, head(states, attention=attention, annotations=source)
    )
    model.compile("adam")
    data = data.map(lambda x: {**x, "previous_ids": x["target_ids"]})
    model.fit(data, shuffle=False, verbose=0)
    ```
    """

    def call(self, inputs, training=None, mask=None, **kwargs):
        if isinstance(inputs, dict) and isinstance(self.input, dict):
            # Keras would treat all other entries as inputs, too.
            inputs = {name: inputs[name] for name in self.input}
        outputs = super().call(inputs, training=training, mask=mask, **kwargs)
        # The outputs of a loaded model are a tuple without names.
        is_named = hasattr(outputs, "_fields")
        return outputs if is_named else CopyDistribution(*outputs)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        """Computes the mean cost of a target token, a scalar.

        Raises:
            ValueError: If the batch lacks an input of the loss, or the loss is
                no function.
        """
        batch = _batch(x, y)
        loss = self.loss or self._negative_log_likelihood
        if not callable(loss):
            raise ValueError(
                "`loss` must be a function of a batch and a distribution, such "
                f"as those of tfcopy.losses. Received: {loss!r}."
            )
        costs = loss(batch, y_pred)
        costs = sum(costs) if isinstance(costs, tuple) else costs
        mask = ops.cast(batch["target_ids"] != tokens.PAD, "float32")
        costs = ops.where(mask > 0, costs, 0.0)
        if sample_weight is not None:
            weights = ops.cast(sample_weight, "float32")
            if len(weights.shape) == 1:
                weights = ops.expand_dims(weights, -1)
            costs = costs * weights
        mean = ops.sum(costs) / ops.maximum(ops.sum(mask), 1.0)
        return sum(self.losses, mean)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics of `compile`, and returns all results."""
        for metric in get_compiled_metrics(self)[0]:
            metric.update_state(_batch(x, y), y_pred)
        return self.get_metrics_result()

    @property
    def metrics(self):
        own, group = get_compiled_metrics(self)
        return [*(x for x in super().metrics if x is not group), *own]

    def _negative_log_likelihood(self, batch, distribution):
        heads = [x for x in self.layers if isinstance(x, SoftmaxHead)]
        if len(heads) != 1:
            raise ValueError(
                "A model without exactly one head needs a `loss` in `compile`. "
                f"Received: {len(heads)} heads."
            )
        return -heads[0].log_likelihood(batch, distribution)


@keras.saving.register_keras_serializable(package="tfcopy")
class Perplexity(keras.metrics.Metric):
    """Metric of a `CopyModel`: perplexity of the target tokens.

    ```python
    model = models.copynet(9, 9, **sizes)
    perplexity = models.Perplexity(losses.marginal_copy_loss)
    model.compile("adam", metrics=[perplexity])
    model.evaluate(data, return_dict=True, verbose=0)["perplexity"]
    ```

    Args:
        loss: Callable `(batch, distribution)` that returns their costs,
            `(B, T)`, such as `tfcopy.losses.marginal_copy_loss`.
    """

    def __init__(self, loss: Callable, name: str = "perplexity", **kwargs):
        super().__init__(name=name, **kwargs)
        self.loss = loss
        self.total = self.add_variable((), "zeros", name="total")
        self.count = self.add_variable((), "zeros", name="count")

    def update_state(self, batch, distribution, sample_weight=None):
        mask = ops.cast(batch["target_ids"] != tokens.PAD, "float32")
        costs = ops.where(mask > 0, self.loss(batch, distribution), 0.0)
        self.total.assign_add(ops.sum(costs))
        self.count.assign_add(ops.sum(mask))

    def result(self):
        return ops.exp(self.total / ops.maximum(self.count, 1.0))

    def get_config(self):
        loss = keras.saving.serialize_keras_object(self.loss)
        return {**super().get_config(), "loss": loss}

    @classmethod
    def from_config(cls, config):
        loss = keras.saving.deserialize_keras_object(config["loss"])
        return cls(**{**config, "loss": loss})


def _batch(x, y):
    """Merges the one or two dicts of a batch that `fit` received."""
    return Batch({**x, **y} if isinstance(y, dict) else x)
