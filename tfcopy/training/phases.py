"""Training whose objective, or learning rate, changes half-way."""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Phase:
    """What changes after a number of updates.

    It begins at the best weights found so far. From there on the best ones
    are sought anew, for another objective gives other scores.

    Attributes:
        start: Updates, or epochs, before it. If nothing has got better for
            `patience` dev scores, it begins at once.
        begin: Called without arguments, once; what it changes must be kept in
            weights of the model or variables of the optimizer, since it is
            not called again on resumption.
        reset_optimizer: Whether the optimizer forgets what it knows of past
            gradients, as in See et al.: with Adagrad's sums kept, the steps
            of a short phase would be too small.
        unit: Of `start`, "updates" or "epochs".

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 5.
    """

    start: int
    begin: Callable[[], None]
    reset_optimizer: bool = True
    unit: str = "updates"

    def __post_init__(self):
        if self.unit not in ("updates", "epochs"):
            raise ValueError(
                '`unit` must be "updates" or "epochs". '
                f"Received: unit={self.unit!r}."
            )

    def is_due(self, update, epoch):
        """Whether so many updates, or whole epochs, are enough."""
        return (epoch if self.unit == "epochs" else update) >= self.start


def anneal(start, optimizer, factor=0.1, unit="updates"):
    """Returns a `Phase` of smaller steps, from the best weights on.

    The optimizer keeps what it knows of past gradients.

    Args:
        start, unit: As of `Phase`.
        optimizer: The trainer's, with a learning rate that is a number.
        factor: What the learning rate is multiplied by.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286); the authors'
        code trains models that answer questions so.
    """

    def begin():
        rate = float(np.array(optimizer.learning_rate))
        optimizer.learning_rate = rate * factor

    return Phase(start, begin, reset_optimizer=False, unit=unit)
