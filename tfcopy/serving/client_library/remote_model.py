"""An exported model on a server, asked like one in this process."""

import collections
import contextlib
import math
import queue
import threading
from collections.abc import Mapping

import numpy as np

from tfcopy.serving.client_library import transport
from tfcopy.serving.client_library.connection import Connection
from tfcopy.serving.client_library.signatures import (
    AskError,
    Signature,
    text_arrays,
)


class RemoteModel:
    """A model of TensorFlow Serving; stands for a `LocalModel`.

    More examples than `batch_size` are sent in several requests, some of them
    at once. Threads may share a model.

    Args:
        address: The server's address; see `Connection`. gRPC is faster, and
            REST needs neither gRPC nor TensorFlow.
        model: Its name.
        batch_size: Positive integer, the most examples of a request.
        at_once: Positive integer, the most requests under way for a question.
        **options: As in `Connection`: `version` or `label`, `deadline`,
            `retries`, `tls`, `root_certificate`.

    Raises:
        RequestError: If the server does not answer.
        AskError: If the server cannot be asked that way.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        batch_size: int = 32,
        at_once: int = 4,
        **options,
    ):
        self.batch_size = batch_size
        self.at_once = at_once
        self._connection = Connection(address, model, **options)
        self.name = self._connection.name
        self.config = {}  # A server keeps what the export remembered.
        self._infos = self._connection.signatures()
        self.signatures = {
            name: Signature(
                {k: _text_rank(x) for k, x in info.inputs.items()},
                tuple(info.outputs),
            )
            for name, info in self._infos.items()
        }

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
            RequestError: If the server does not answer.
            AskError: If the model has no such signature or other inputs.
        """
        arrays = text_arrays(self, signature, inputs)
        size = len(next(iter(arrays.values())))
        batches = [
            {k: x[i : i + self.batch_size] for k, x in arrays.items()}
            for i in range(0, max(1, size), self.batch_size)
        ]
        outputs = self._infos[signature].outputs

        def ask(batch):
            return self._connection.predict(signature, batch, outputs)

        answers = _in_parallel(ask, batches, self.at_once)
        return {name: joined([x[name] for x in answers]) for name in answers[0]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what is under way, too."""
        self._connection.close()


def joined(arrays) -> np.ndarray:
    """Concatenated arrays, padded to the size of the largest."""
    shape = np.max([x.shape for x in arrays], axis=0)[1:]
    fill = {"O": b"", "i": -1}.get(arrays[0].dtype.kind, 0)
    size = sum(map(len, arrays))
    # One that pads all others to its own size may be meant to fill the memory.
    bytes_in_all = size * math.prod(shape.tolist()) * arrays[0].itemsize
    if bytes_in_all > transport.LARGEST_ANSWER * len(arrays):
        raise AskError(
            "The answers of the server are too different in size to be one "
            "array. Ask for less at once (--batch_size)."
        )
    result = np.full((size, *shape), fill, arrays[0].dtype)
    start = 0
    for x in arrays:
        rows = slice(start, start + len(x))
        result[(rows, *map(slice, x.shape[1:]))] = x
        start += len(x)
    return result


def _text_rank(info):
    return info.rank if info.dtype == "DT_STRING" else 0


def _in_parallel(function, items, at_once):
    """Results in order of the items; the first error ends it."""
    if len(items) == 1:
        return [function(items[0])]
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
    answers = [None] * len(items)
    try:
        for _ in items:
            number, answer, error = results.get()
            if error is not None:
                raise error
            answers[number] = answer
    finally:
        tasks.clear()
    return answers
