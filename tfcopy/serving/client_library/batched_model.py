"""What a model in this process and one on a server share: batches."""

import math
from collections.abc import Mapping

import numpy as np

from tfcopy.serving.client_library import transport
from tfcopy.serving.client_library.parallel_batches import in_batches_by_length
from tfcopy.serving.client_library.signatures import AskError, text_arrays

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
        """How many examples are best asked in one call of `ask`."""
        rounds = _ROUNDS if self.at_once > 1 else 1
        return self.batch_size * self.at_once * rounds

    def ask(self, signature: str, inputs: Mapping) -> dict[str, np.ndarray]:
        """What a signature answers.

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

    def __reduce__(self):
        # A copy, such as that of another process, has a graph of its own.
        return self.again, ()

    def _ask_batch(self, signature, arrays):
        """What the signature answers to at most `batch_size` examples."""
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
