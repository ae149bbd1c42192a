"""Batches of examples of similar length, answered at once, in threads.

A batch of a search is many small operations, of which several threads make
little: two batches on one core each take less time than one after the other on
both.
"""

import collections
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

# Each batch takes its memory.
_MOST_AT_ONCE = 16


def num_at_once() -> int:
    """How many batches a model in this process answers best at once.

    One for each core, but a single one for a GPU, which uses all of itself.
    """
    # Late: it is slow to import.
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    return min(cores, _MOST_AT_ONCE)


def in_batches_by_length(
    function: Callable, lengths: Sequence, batch_size: int, at_once: int
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yields `(rows, function(rows))` for batches of examples of like length.

    They come as they are done, those of the longest examples first; none has
    two examples more than another. An error ends it.

    Args:
        function: Function of the numbers of some examples, an array.
        lengths: The length of each example, whatever can be compared.
        batch_size: Positive integer, the most examples of a batch.
        at_once: Positive integer, how many batches at a time.
    """
    size = len(lengths)
    order = sorted(range(size), key=lengths.__getitem__, reverse=True)
    batches = np.array_split(order, -(-size // batch_size)) if size else []
    return in_parallel(function, batches, at_once)


def in_parallel(
    function: Callable, items: Sequence, at_once: int
) -> Iterator[tuple[Any, Any]]:
    """Yields `(item, function(item))` as they are done; an error ends it.

    Args:
        function: Function of an item.
        items: What it is called with.
        at_once: Positive integer, how many threads call it.
    """
    if min(at_once, len(items)) < 2:
        for item in items:
            yield item, function(item)
        return
    tasks = collections.deque(items)
    results = queue.SimpleQueue()

    def work():
        with contextlib.suppress(IndexError):
            while True:
                item = tasks.popleft()
                try:
                    results.put((item, function(item), None))
                except Exception as error:
                    results.put((item, None, error))

    # Nobody waits for a daemon: an interrupt ends the program at once.
    for _ in range(min(at_once, len(items))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in items:
            item, result, error = results.get()
            if error is not None:
                raise error
            yield item, result
    finally:
        tasks.clear()
