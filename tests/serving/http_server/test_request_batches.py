"""Questions of concurrent requests become batches."""

import asyncio
import concurrent.futures
import threading
import time

import pytest

from tests.serving.http_server.capitals import options_of
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server.request_batches import RequestBatches


class Model:
    """Answers in capitals, when it may; notes its batches."""

    def __init__(self):
        self.asked = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def ask(self, questions):
        self.asked.append(questions)
        self.may_answer.wait(10)
        for question in questions:
            if isinstance(question, Exception):
                raise question
        return [question.upper() for question in questions]


def run(test, size=4, timeout=0.0, queue_size=100, slots=1):
    """Runs a coroutine function of batches and their model."""

    async def work():
        model = Model()
        with concurrent.futures.ThreadPoolExecutor(slots) as threads:
            batches = RequestBatches(
                model.ask,
                options_of(
                    batch_size=size,
                    batch_timeout=1000 * timeout,
                    queue_size=queue_size,
                ),
                asyncio.Semaphore(slots),
                threads,
            )
            try:
                return await test(batches, model)
            finally:
                model.may_answer.set()
                await batches.close()

    return asyncio.run(work())


async def until(condition):
    """Waits until a function of nothing is true."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.001)


def test_answers_come_in_the_order_of_the_questions():
    async def test(batches, model):
        texts = [chr(97 + i) for i in range(10)]
        assert await batches.ask(texts) == [x.upper() for x in texts]
        assert await batches.ask([]) == []
        assert max(map(len, model.asked)) <= 4
        assert batches.num_waiting == 0

    run(test)


def test_what_waits_meanwhile_is_the_next_batch():
    async def test(batches, model):
        model.may_answer.clear()
        first = asyncio.create_task(batches.ask(["x"]))
        await until(lambda: model.asked)
        others = [asyncio.create_task(batches.ask([x])) for x in "abc"]
        await until(lambda: batches.num_waiting == 3)
        model.may_answer.set()
        assert await asyncio.gather(first, *others) == [["X"], ["A"], ["B"]] + [
            ["C"]
        ]
        assert model.asked == [["x"], ["a", "b", "c"]]

    run(test)


def test_the_first_waits_for_others_but_not_long():
    async def test(batches, model):
        first = asyncio.create_task(batches.ask(["a"]))
        await asyncio.sleep(0.02)
        begin = time.monotonic()
        await asyncio.gather(first, batches.ask(["b"]))
        assert model.asked == [["a", "b"]]
        assert time.monotonic() - begin < 5

    run(test, timeout=0.2)


def test_a_whole_batch_does_not_wait():
    async def test(batches, model):
        async with asyncio.timeout(5):
            assert await batches.ask(list("abcd")) == list("ABCD")

    run(test, timeout=60.0)


def test_a_long_request_does_not_keep_a_short_one_waiting():
    async def test(batches, model):
        model.may_answer.clear()
        long = asyncio.create_task(batches.ask(["l"] * 40))
        await until(lambda: model.asked)
        short = asyncio.create_task(batches.ask(["s"]))
        await until(lambda: batches.num_waiting == 37)
        model.may_answer.set()
        assert await short == ["S"]
        assert "s" in model.asked[1]
        assert await long == ["L"] * 40

    run(test)


def test_too_many_are_refused_at_once():
    async def test(batches, model):
        model.may_answer.clear()
        first = asyncio.create_task(batches.ask(["x"]))
        await until(lambda: model.asked)
        # More than may wait, but nobody else does.
        second = asyncio.create_task(batches.ask(["y"] * 6))
        await until(lambda: batches.num_waiting == 6)
        with pytest.raises(asyncio.QueueFull):
            await batches.ask(["z"])
        model.may_answer.set()
        assert (await first, await second) == (["X"], ["Y"] * 6)
        assert await batches.ask(["z"]) == ["Z"]

    run(test, queue_size=5)


def test_a_question_that_fails_is_the_end_of_no_other():
    async def test(batches, model):
        model.may_answer.clear()
        first = asyncio.create_task(batches.ask(["x"]))
        await until(lambda: model.asked)
        bad = asyncio.create_task(batches.ask([ModelError("too large")]))
        good = asyncio.create_task(batches.ask(["a", "b"]))
        await until(lambda: batches.num_waiting == 3)
        model.may_answer.set()
        with pytest.raises(ModelError, match="too large"):
            await bad
        assert (await first, await good) == (["X"], ["A", "B"])
        assert await batches.ask(["c"]) == ["C"]

    run(test)


def test_a_server_that_is_gone_is_asked_once():
    async def test(batches, model):
        error = ModelError("no server answers", "UNAVAILABLE")
        with pytest.raises(ModelError):
            await batches.ask([error, "a", "b"])
        assert len(model.asked) == 1
        with pytest.raises(TypeError):  # whatever it is
            await batches.ask([TypeError()])

    run(test)


def test_who_has_gone_is_not_answered():
    async def test(batches, model):
        model.may_answer.clear()
        first = asyncio.create_task(batches.ask(["x"]))
        await until(lambda: model.asked)
        gone = asyncio.create_task(batches.ask(["g"] * 50))
        await until(lambda: batches.num_waiting == 50)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert batches.num_waiting == 0
        first.cancel()
        model.may_answer.set()
        assert await batches.ask(["a"]) == ["A"]
        assert model.asked == [["x"], ["a"]]

    run(test)
