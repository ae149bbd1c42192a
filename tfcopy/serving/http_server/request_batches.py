"""Questions of concurrent requests, asked together.

As TensorFlow Serving joins requests: those that wait while the model is busy
become the next batch, at most so many, after so long at most; and where too
many wait already, a request is refused at once.
"""

import asyncio
import collections
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from tfcopy.serving.client_library.remote_model import RequestError
from tfcopy.serving.client_library.signatures import AskError


class TooManyWait(Exception):
    """So many questions wait that no more are taken."""


class _Waiting(NamedTuple):
    question: Any
    answer: asyncio.Future


class Batching(NamedTuple):
    """How requests are joined.

    Attributes:
        batch_size: Positive integer, the most questions of a batch.
        timeout: Seconds that the first of a batch waits for others.
        queue_size: Positive integer, the most questions that wait; a single
            request may have more, if no other waits.
    """

    batch_size: int
    timeout: float
    queue_size: int


class RequestBatches:
    """The questions that wait for one function of a model.

    Each request has its turn: one of many questions does not keep others
    waiting. It lives in one event loop.

    Args:
        ask: Function of a list of questions to as many answers, which is
            called in a thread of the executor.
        batching: `Batching`.
        slots: `asyncio.Semaphore`, how many batches are asked at a time; that
            of all functions that share the processor.
        executor: Where batches are asked.
        done: Function of the number of questions and the seconds of a batch.
    """

    def __init__(
        self,
        ask: Callable[[list], Sequence],
        batching: Batching,
        slots: asyncio.Semaphore,
        executor: Executor,
        done: Callable[[int, float], None] = lambda size, seconds: None,
    ):
        self._ask = ask
        self._batching = batching
        self._slots = slots
        self._executor = executor
        self._done = done
        self._requests = collections.deque()  # of deques of `_Waiting`
        self._came = asyncio.Event()
        self._tasks = set()
        self._task(self._form_batches())

    @property
    def num_waiting(self) -> int:
        """How many questions wait."""
        return sum(map(len, self._requests))

    async def ask(self, questions: Sequence) -> list:
        """The answers to the questions of a request.

        Raises:
            TooManyWait: If it is refused.
            AskError: If the model cannot answer.
        """
        if not questions:
            return []
        waiting = self.num_waiting
        if waiting and waiting + len(questions) > self._batching.queue_size:
            raise TooManyWait
        create = asyncio.get_running_loop().create_future
        request = collections.deque(_Waiting(x, create()) for x in questions)
        answers = [x.answer for x in request]
        self._requests.append(request)
        self._came.set()
        try:
            return await asyncio.gather(*answers)
        finally:  # of an error, or since nobody wants the answers any more
            request.clear()
            for answer in answers:
                answer.cancel()

    async def close(self):
        """Ends what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task(self, work):
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _form_batches(self):
        while True:
            await self._came.wait()
            await self._wait_for_others()
            await self._slots.acquire()
            batch = self._take()
            self._task(self._answer(batch))

    async def _wait_for_others(self):
        size, timeout, _ = self._batching
        end = time.monotonic() + timeout
        while self.num_waiting < size:
            self._came.clear()
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    await self._came.wait()
            except TimeoutError:
                break

    def _take(self):
        """A batch, one question of each request after the other."""
        batch = []
        while self._requests and len(batch) < self._batching.batch_size:
            request = self._requests.popleft()
            if request:
                batch.append(request.popleft())
                self._requests.append(request)
        if not self.num_waiting:
            self._came.clear()
        else:
            self._came.set()
        return batch

    async def _answer(self, batch):
        begin = time.monotonic()
        try:
            await self._try(batch)
        finally:
            self._slots.release()
            if batch:
                self._done(len(batch), time.monotonic() - begin)

    async def _try(self, batch):
        if not batch:
            return
        loop = asyncio.get_running_loop()
        questions = [x.question for x in batch]
        try:
            answers = await loop.run_in_executor(
                self._executor, self._ask, questions
            )
            pairs = list(zip(batch, answers, strict=True))
        except Exception as error:
            # One question must not be the end of all others.
            may_be_one = isinstance(error, AskError) and not isinstance(
                error, RequestError
            )
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
