"""Training whose objective or learning rate changes on the way."""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Phase:
    """What changes after a number of updates.

    It begins with the best weights found so far. From then on the best weights
    are determined anew, since another objective gives other scores.

    Attributes:
        start: Updates, or epochs, before it. If the dev score has not improved
            for `patience` evaluations, it begins at once.
        begin: Called without arguments, once; what it changes must be kept in
            weights of the model or variables of the optimizer, since it is
            not called again on resumption.
        reset_optimizer: Whether to reset the optimizer's state, as in See et
            al.: with Adagrad's sums kept, the steps of a short phase would be
            too small.
        unit: The unit of `start`, "updates" or "epochs".

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
        """Whether the phase begins after as many updates, or whole epochs."""
        return (epoch if self.unit == "epochs" else update) >= self.start


def anneal(start, optimizer, factor=0.1, unit="updates"):
    """Returns a `Phase` with a smaller learning rate, from the best weights on.

    The optimizer keeps its state.

    Args:
        start, unit: As in `Phase`.
        optimizer: The trainer's optimizer, whose learning rate must be a
            number.
        factor: What the learning rate is multiplied by.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286); the authors'
        code trains question answering this way.
    """

    return Phase(
        start,
        lambda: multiply_rate(optimizer, factor),
        reset_optimizer=False,
        unit=unit,
    )


def multiply_rate(optimizer, factor):
    """Multiplies the learning rate of an optimizer, which is a number."""
    rate = float(np.array(optimizer.learning_rate))
    optimizer.learning_rate = rate * factor
