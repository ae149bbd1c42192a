"""Batches that are answered at once, in threads.

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


def in_parallel(
    function: Callable, items: Sequence, at_once: int
) -> Iterator[tuple[int, Any]]:
    """Yields `(number, function(item))` as they are done; an error ends it.

    Args:
        function: Function of an item.
        items: What it is called with.
        at_once: Positive integer, how many threads call it.
    """
    if min(at_once, len(items)) < 2:
        for number, item in enumerate(items):
            yield number, function(item)
        return
    tasks = collections.deque(enumerate(items))
    results = queue.SimpleQueue()

    def work():
        with contextlib.suppress(IndexError):
            while True:
                number, item = tasks.popleft()
                try:
                    results.put((number, function(item), None))
                except Exception as error:
                    results.put((number, None, error))

    # Nobody waits for a daemon: an interrupt ends the program at once.
    for _ in range(min(at_once, len(items))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in items:
            number, result, error = results.get()
            if error is not None:
                raise error
            yield number, result
    finally:
        tasks.clear()
