"""Maps a function over the chunks of a long stream, several at a time."""

import collections
import concurrent.futures
import itertools
import os
from collections.abc import Callable, Iterable, Iterator

import tqdm

CHUNK_SIZE = 4096


def map_chunks(
    function: Callable,
    items: Iterable,
    *,
    chunk_size: int = CHUNK_SIZE,
    total: int | None = None,
    description: str = "",
    progress: bool = True,
) -> Iterator:
    """Yields `function(chunk)` for each list of `chunk_size` items, in order.

    The chunks run in threads, which pays where `function` is a TensorFlow
    graph; no more of them are read ahead than there are threads. A bar on
    standard error shows the items done and the time left.
    """
    iterator = iter(items)
    num_threads = max(1, min(8, os.cpu_count() or 1))
    bar = tqdm.tqdm(
        total=total,
        desc=description,
        unit=" pairs",
        unit_scale=True,
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )
    pending = collections.deque()
    with bar, concurrent.futures.ThreadPoolExecutor(num_threads) as pool:
        try:
            while True:
                chunk = list(itertools.islice(iterator, chunk_size))
                if chunk:
                    job = pool.submit(function, chunk)
                    pending.append((job, len(chunk)))
                if not pending:
                    return
                if not chunk or len(pending) > num_threads:
                    job, size = pending.popleft()
                    yield job.result()
                    bar.update(size)
        finally:
            for job, _ in pending:
                job.cancel()
