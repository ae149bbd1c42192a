"""The targets of a batch: the words of a text, or one answer per example.

Shapes: B batch, T target steps.
"""

import numpy as np
import tensorflow as tf

from tfcopy import tokens


class Targets:
    """The tensor of a batch that holds the targets.

    Where it is `(B, T)`, it holds the ids of words. Each of them has a cost,
    and counts, but for padding. Where it is `(B,)`, as classes or positions
    are, each example has one cost, `(B, 1)`, and counts once, whatever the
    value. Losses, metrics and speeds are per word, or per example.

    Args:
        name: Name of the tensor.
        element_spec: Dict of `tf.TensorSpec`, the spec of a batch.
    """

    def __init__(self, name, element_spec):
        spec = element_spec.get(name)
        if spec is None or spec.shape.rank not in (1, 2):
            raise ValueError(
                "`targets` must name a tensor of the batches, of shape (B, T) "
                f"or (B,). Received: targets={name!r} for batches of "
                f"{element_spec}."
            )
        self.name = name
        self.per_example = spec.shape.rank == 1

    @property
    def unit(self):
        """What is counted, as in the names of scores."""
        return "examples" if self.per_example else "target_tokens"

    def mask(self, batch):
        """Returns what counts, boolean, `(B, T)` or `(B, 1)`."""
        targets = batch[self.name]
        if self.per_example:
            return tf.ones_like(targets, tf.bool)[:, tf.newaxis]
        return targets != tokens.PAD

    def count(self, batch):
        """Returns `(targets, examples)` of a batch, on the host."""
        targets = np.asarray(batch[self.name])
        if self.per_example:
            return len(targets), len(targets)
        return int(np.count_nonzero(targets != tokens.PAD)), len(targets)

    def check_costs(self, costs):
        """Raises `ValueError` unless costs of examples are `(B, 1)`."""
        if self.per_example and not costs.shape.is_compatible_with([None, 1]):
            raise ValueError(
                "Costs must have the shape (B, 1), one for each example of "
                f"`targets`. Received: shape={costs.shape} for "
                f"targets={self.name!r}."
            )
