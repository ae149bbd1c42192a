"""Which examples show best what one system knows and another does not."""

from collections.abc import Mapping, Sequence

import numpy as np


def choose_examples(
    log_p: Mapping[str, Sequence[float]],
    correct: Mapping[str, Sequence[bool]],
    better: str,
    worse: str,
) -> np.ndarray:
    """The examples that `better` has right and `worse` wrong.

    Args:
        log_p: For each system, by name, the log probability that it gives the
            reference of each example, `(N,)`.
        correct: For each system, whether its answers are right, `(N,)`.
        better: Name of a system.
        worse: Name of another.

    Returns:
        int64 array of the numbers of the examples, sorted by how much the log
        probability of `better` exceeds that of `worse`, the most first.

    Raises:
        ValueError: If a system is missing, or their examples differ in number.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 4.1.
    """
    arrays = []
    for name, values, kind in (
        ("log_p", log_p, np.float64),
        ("correct", correct, bool),
    ):
        for system in (better, worse):
            if system not in values:
                raise ValueError(
                    f"`{name}` must have an array of {system!r}. Received: "
                    f"those of {', '.join(map(repr, values)) or 'none'}."
                )
            arrays.append(np.asarray(values[system], kind))
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or len(arrays[0].shape) != 1:
        raise ValueError(
            "`log_p` and `correct` must have one value for each example. "
            f"Received: shapes {sorted(shapes)}."
        )
    better_log_p, worse_log_p, better_right, worse_right = arrays
    chosen = np.flatnonzero(better_right & ~worse_right)
    with np.errstate(invalid="ignore"):  # both may be minus infinity
        gain = better_log_p[chosen] - worse_log_p[chosen]
    return chosen[np.argsort(-gain, kind="stable")]
