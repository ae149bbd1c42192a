"""Training whose objective changes half-way."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Phase:
    """What changes after a number of updates.

    It begins at the best weights found so far. From there on the best ones
    are sought anew, for another objective gives other scores.

    Attributes:
        start: Updates before it. If nothing has got better for `patience`
            dev scores, it begins at once.
        begin: Called without arguments, once; what it changes must be kept in
            weights of the model, since it is not called again on resumption.
        reset_optimizer: Whether the optimizer forgets what it knows of past
            gradients, as in See et al.: with Adagrad's sums kept, the steps
            of a short phase would be too small.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 5.
    """

    start: int
    begin: Callable[[], None]
    reset_optimizer: bool = True
