"""Checks that the time of a function grows no faster than its input."""

import time

SIZES = (1 << 12, 1 << 16, 1 << 20)
SHORT = (1 << 13, 1 << 17)  # where each step takes long


def check_linear(work, make, sizes=SIZES):
    """Passes if it does.

    Each size is sixteen times the one before: a linear function takes sixteen
    times as long, a quadratic one 256 times.

    Args:
        work: Function of an input.
        make: Function of a size to an input.
        sizes: The sizes.
    """
    before = None
    for size in sizes:
        given = make(size)
        start = time.process_time()
        work(given)
        seconds = time.process_time() - start
        assert before is None or seconds < 64 * (before + 0.01), (size, seconds)
        before = seconds
