"""Parallel work: chunks in threads, pipelines of Apache Beam.

Beam is an extra, and slow to import: only functions that run a pipeline import
it.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import logging
import os
import sys
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
    standard error shows the items done and the time left, if `items` know their
    `num_pairs` or a `total` is given.
    """
    if total is None:
        total = getattr(items, "num_pairs", None)
    iterator = iter(items)
    num_threads = max(1, min(8, os.cpu_count() or 1))
    bar = make_bar(description, total, " pairs", progress)
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


def make_bar(
    description: str, total: int | None, unit: str, progress=True, items=None
) -> tqdm.tqdm:
    """Makes a bar on standard error, if that is a terminal.

    Args:
        description: What is being done.
        total: Number of items, if it is known.
        unit: What is counted, after a blank.
        progress: Whether to show the bar.
        items: Iterable to count, if the caller does not count them itself.
    """
    return tqdm.tqdm(
        items,
        desc=description,
        total=total,
        unit=unit,
        unit_scale=True,
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )


def map_each(function: Callable, items: Iterable, **options) -> Iterator:
    """Yields what `function(chunk)` returns one by one, as `map_chunks`."""
    return itertools.chain.from_iterable(map_chunks(function, items, **options))


# Beam's own DirectRunner first fetches a program from the network, Prism.
_DIRECT = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"


def pipeline(runner: str, flags: Iterable[str] = ()):
    """Makes a `beam.Pipeline` that a runner runs.

    Args:
        runner: Name of a runner of Beam; "DirectRunner" runs in Python, on
            this machine.
        flags: Its options, such as `--direct_num_workers=2`.

    Raises:
        ValueError: If there is no such runner.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    name = _DIRECT if runner == "DirectRunner" else runner
    return beam.Pipeline(options=PipelineOptions([f"--runner={name}", *flags]))


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Suppresses Beam's log messages on import and in runs.

    Its errors are raised as well.
    """
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(level)


def split_flags(arguments=None) -> tuple[list[str], list[str]]:
    """Splits the arguments of a command at `--`.

    Args:
        arguments: The command line; by default the process's own.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]
