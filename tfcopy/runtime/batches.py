"""Batches of examples of similar length, answered concurrently in threads.

A search consists of many small operations, which gain little from several
threads: two batches in parallel, each on one core, take less time than one
after the other on both.
"""

import collections
import contextlib
import math
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from tfcopy.runtime import signatures
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import quiet

# Each batch needs memory of its own.
_MOST_AT_ONCE = 16


def choose_concurrency(gpu: bool = True) -> int:
    """Returns the best number of concurrent batches for a local model.

    One for each core; one for a GPU, which a single batch uses fully.

    Args:
        gpu: Whether TensorFlow answers, by a GPU if there is one.
    """
    if gpu and find_spec("tensorflow"):
        with quiet():
            import tensorflow as tf  # late: it is slow

        if tf.config.list_physical_devices("GPU"):
            return 1
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    return min(cores, _MOST_AT_ONCE)


def iter_batches_by_length(
    function: Callable, lengths: Sequence, batch_size: int, at_once: int
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yields `(rows, function(rows))` for batches of similar length.

    Batches start with the longest examples and are yielded as they finish.
    Their sizes differ by at most one. An error ends the iteration.

    Args:
        function: Function of an array of example numbers.
        lengths: Length of each example; any comparable values.
        batch_size: Positive integer, maximum number of examples in a batch.
        at_once: Positive integer, number of concurrent batches.
    """
    size = len(lengths)
    order = sorted(range(size), key=lengths.__getitem__, reverse=True)
    batches = np.array_split(order, -(-size // batch_size)) if size else []
    return iter_parallel(function, batches, at_once)


def iter_parallel(
    function: Callable, items: Sequence, at_once: int
) -> Iterator[tuple[Any, Any]]:
    """Yields `(item, function(item))` as calls finish, until an error.

    Args:
        function: Function of an item.
        items: Arguments of the function.
        at_once: Positive integer, number of threads.
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

    # Daemons do not delay the end of the program after an interrupt.
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


def count_words(text) -> tuple[int, int]:
    """Returns the number of words and of characters in a text."""
    return len(text.split()), len(text)


def map_batches(
    function: Callable,
    texts: Sequence,
    batch_size: int,
    progress: bool = True,
    at_once: int = 1,
    words: Callable = count_words,
) -> list:
    """Answers texts in batches of similar length.

    Args:
        function: Function from a list of texts to as many answers.
        texts: Strings, UTF-8 bytes, or other arguments of `words`.
        batch_size: Maximum number of texts in a batch.
        progress: Whether to show a progress bar (on a terminal only).
        at_once: Positive integer, number of concurrent batches.
        words: Function from a text to its length, by which texts are sorted.

    Returns:
        The answers, in the order of the texts.
    """

    def answer(rows):
        return list(function([texts[row] for row in rows]))

    answers = [None] * len(texts)
    with make_progress_bar(len(texts), progress) as bar:
        for rows, results in iter_batches_by_length(
            answer, list(map(words, texts)), batch_size, at_once
        ):
            for row, x in zip(rows, results):
                answers[row] = x
            bar.update(len(results))
    return answers


def make_progress_bar(total: int, progress: bool = True):
    """Returns a progress bar of texts, a context manager."""
    import tqdm  # late: a single batch has no bar

    return tqdm.tqdm(
        total=total,
        desc="Translating",
        unit=" texts",
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )


def join_padded(arrays) -> np.ndarray:
    """Concatenates arrays, padded to the largest."""
    shape = np.max([x.shape for x in arrays], axis=0)[1:]
    fill = {"O": b"", "i": -1}.get(arrays[0].dtype.kind, 0)
    size = sum(map(len, arrays))
    # A malicious server may send one huge array so that padding fills memory.
    bytes_in_all = size * math.prod(shape.tolist()) * arrays[0].itemsize
    if bytes_in_all > signatures.LARGEST_ANSWER * len(arrays):
        raise ModelError(
            "The answers are too different in size to be one array. Ask for "
            "less at once (--batch_size)."
        )
    result = np.full((size, *shape), fill, arrays[0].dtype)
    start = 0
    for x in arrays:
        result[(slice(start, start + len(x)), *map(slice, x.shape[1:]))] = x
        start += len(x)
    return result
