"""Batches of examples of similar length, answered at once, in threads.

A batch of a search is many small operations, of which several threads make
little: two batches on one core each take less time than one after the other on
both.
"""

import collections
import contextlib
import math
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tqdm

from tfcopy.serving.client_library import transport
from tfcopy.serving.client_library.signatures import AskError, text_arrays

# Each batch takes its memory.
_MOST_AT_ONCE = 16


def num_at_once() -> int:
    """Returns the best number of concurrent batches for a local model.

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


def count_words(text) -> tuple[int, int]:
    """Returns a text's words between blanks and its characters."""
    return len(text.split()), len(text)


def in_batches(
    function: Callable,
    texts: list,
    batch_size: int,
    progress: bool = True,
    at_once: int = 1,
    words: Callable = count_words,
) -> list:
    """Answers texts, those of similar length together.

    Args:
        function: Function of a list of texts to as many answers.
        texts: Strings, UTF-8 bytes, or whatever `words` takes.
        batch_size: Most texts of a batch.
        progress: Whether to show a bar (on a terminal only).
        at_once: Positive integer, how many batches are answered at a time.
        words: Function of a text to its length, by which texts are sorted.

    Returns:
        The answers, in the order of the texts.
    """

    def answer(rows):
        return list(function([texts[row] for row in rows]))

    answers = [None] * len(texts)
    with progress_bar(len(texts), progress) as bar:
        for rows, found in in_batches_by_length(
            answer, list(map(words, texts)), batch_size, at_once
        ):
            for row, x in zip(rows, found):
                answers[row] = x
            bar.update(len(found))
    return answers


def progress_bar(total: int, progress: bool = True):
    """A bar of texts, to be used in a `with` statement."""
    return tqdm.tqdm(
        total=total,
        desc="Translating",
        unit=" texts",
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )


# Batches for each of those at once, so that none waits long for another.
_ROUNDS = 4


class BatchedModel:
    """A model that is asked in batches of similar length, some at once.

    Threads may share it. A subclass has `_ask_batch`, and sets these.

    Attributes:
        name: Its name, for messages.
        config: What the export remembered, a dict.
        signatures: Dict of `Signature`.
        batch_size: Positive integer, the most examples of a batch.
        at_once: Positive integer, the most batches at a time.
        again: Function that opens the same model.
    """

    batch_size = 32
    at_once = 1

    @property
    def chunk_size(self) -> int:
        """Returns the best number of examples for one call of `ask`."""
        rounds = _ROUNDS if self.at_once > 1 else 1
        return self.batch_size * self.at_once * rounds

    def ask(self, signature: str, inputs: Mapping) -> dict[str, np.ndarray]:
        """Calls a signature, batch by batch.

        Args:
            signature: Its name.
            inputs: Dict of its inputs: lists of texts, `bytes` or `str`, or
                of rows of as many texts each.

        Returns:
            Dict of arrays; texts are `bytes`. Where batches differ in size,
            words end with `b""`, places with -1 and numbers with 0.

        Raises:
            AskError: If the model has no such signature or other inputs, or
                fails; a `RequestError` if a server does not answer.
        """
        arrays = text_arrays(self, signature, inputs)
        size = len(next(iter(arrays.values())))
        if size <= self.batch_size:
            return self._ask_batch(signature, arrays)

        def ask(rows):
            batch = {name: x[rows] for name, x in arrays.items()}
            return self._ask_batch(signature, batch)

        rows, answers = zip(
            *in_batches_by_length(
                ask, _lengths(arrays), self.batch_size, self.at_once
            )
        )
        places = np.argsort(np.concatenate(rows))
        return {
            name: joined([x[name] for x in answers])[places]
            for name in answers[0]
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what is under way, where that is on a server."""

    def __reduce__(self):
        # A copy, such as that of another process, has a graph of its own.
        return self.again, ()

    def _ask_batch(self, signature, arrays):
        """Calls a signature with at most `batch_size` examples."""
        raise NotImplementedError


def _lengths(arrays):
    """The number of bytes of each example."""
    return [
        sum(len(text) for x in row for text in np.ravel(x))
        for row in zip(*arrays.values())
    ]


def joined(arrays) -> np.ndarray:
    """Concatenated arrays, padded to the size of the largest."""
    shape = np.max([x.shape for x in arrays], axis=0)[1:]
    fill = {"O": b"", "i": -1}.get(arrays[0].dtype.kind, 0)
    size = sum(map(len, arrays))
    # One that pads all others to its own size may be meant to fill the memory.
    bytes_in_all = size * math.prod(shape.tolist()) * arrays[0].itemsize
    if bytes_in_all > transport.LARGEST_ANSWER * len(arrays):
        raise AskError(
            "The answers are too different in size to be one array. Ask for "
            "less at once (--batch_size)."
        )
    result = np.full((size, *shape), fill, arrays[0].dtype)
    start = 0
    for x in arrays:
        rows = slice(start, start + len(x))
        result[(rows, *map(slice, x.shape[1:]))] = x
        start += len(x)
    return result
