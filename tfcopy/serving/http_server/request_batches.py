"""Dynamic batching of segments from concurrent requests.

Works like batching in TensorFlow Serving: segments that arrive while the model
is busy form the next batch, with a maximum size and a time-out. If the queue is
full, requests are refused immediately.
"""

import asyncio
import collections
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from tfcopy.runtime.signatures import ModelError


class _Waiting(NamedTuple):
    segment: Any
    answer: asyncio.Future


class RequestBatches:
    """The queue of segments for one function of a model.

    Requests take turns, so that a large request does not delay others. It
    belongs to one event loop.

    Args:
        ask: Function from a list of segments to as many results, called in a
            thread of the executor.
        options: Options of the command: `batch_size`, the maximum number of
            segments in a batch; `batch_timeout`, the milliseconds that the
            first segment of a batch waits for others; and `queue_size`, the
            maximum number of waiting segments. A single request may have more
            if the queue is empty.
        slots: `asyncio.Semaphore` of concurrent batches, shared by all
            functions on the same processor.
        executor: Executor of the batches.
        on_batch: Function of the number of segments and the seconds of a batch.
    """

    def __init__(
        self,
        ask: Callable[[list], Sequence],
        options,
        slots: asyncio.Semaphore,
        executor: Executor,
        on_batch: Callable[[int, float], None] = lambda size, seconds: None,
    ):
        self._ask = ask
        self._options = options
        self._slots = slots
        self._executor = executor
        self._on_batch = on_batch
        self._requests = collections.deque()  # deques of `_Waiting`
        self._arrived = asyncio.Event()
        self._tasks = set()
        self._start_task(self._form_batches())

    @property
    def num_waiting(self) -> int:
        """Returns the number of waiting segments."""
        return sum(map(len, self._requests))

    async def ask(self, segments: Sequence) -> list:
        """Returns the results for the segments of a request.

        Raises:
            asyncio.QueueFull: If the queue is full.
            ModelError: If the model cannot answer.
        """
        if not segments:
            return []
        waiting = self.num_waiting
        if waiting and waiting + len(segments) > self._options.queue_size:
            raise asyncio.QueueFull
        create = asyncio.get_running_loop().create_future
        request = collections.deque(_Waiting(x, create()) for x in segments)
        answers = [x.answer for x in request]
        self._requests.append(request)
        self._arrived.set()
        try:
            return await asyncio.gather(*answers)
        finally:  # after an error, or if the request is cancelled
            request.clear()
            for answer in answers:
                answer.cancel()

    async def close(self):
        """Cancels pending batches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_task(self, work):
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _form_batches(self):
        while True:
            await self._arrived.wait()
            await self._wait_for_others()
            await self._slots.acquire()
            self._start_task(self._answer(self._take()))

    async def _wait_for_others(self):
        end = time.monotonic() + self._options.batch_timeout / 1000
        while self.num_waiting < self._options.batch_size:
            self._arrived.clear()
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    await self._arrived.wait()
            except TimeoutError:
                break

    def _take(self):
        """Returns a batch: segments of each request by turns."""
        batch = []
        while self._requests and len(batch) < self._options.batch_size:
            request = self._requests.popleft()
            if request:
                batch.append(request.popleft())
                self._requests.append(request)
        if not self.num_waiting:
            self._arrived.clear()
        else:
            self._arrived.set()
        return batch

    async def _answer(self, batch):
        begin = time.monotonic()
        try:
            await self._try(batch)
        finally:
            self._slots.release()
            if batch:
                self._on_batch(len(batch), time.monotonic() - begin)

    async def _try(self, batch):
        if not batch:
            return
        loop = asyncio.get_running_loop()
        segments = [x.segment for x in batch]
        try:
            answers = await loop.run_in_executor(
                self._executor, self._ask, segments
            )
            pairs = list(zip(batch, answers, strict=True))
        except Exception as error:
            # One bad segment must not fail all others.
            may_be_one = isinstance(error, ModelError) and error.code is None
            if may_be_one and len(batch) > 1:
                for waiting in batch:
                    await self._try([waiting])
                return
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            return
        for waiting, answer in pairs:
            if not waiting.answer.done():
                waiting.answer.set_result(answer)
