"""Work on long streams of text in chunks, two or more at a time."""

import collections
import concurrent.futures
import errno
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator

import tensorflow as tf
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


def to_tensor(lines: Iterable) -> tf.Tensor:
    """Strings or bytes to a string tensor; lone surrogates become `?`."""
    return tf.constant(
        [
            line if isinstance(line, bytes) else line.encode("utf-8", "replace")
            for line in lines
        ],
        tf.string,
    )


def write_atomically(path, write: Callable) -> None:
    """Calls `write(file)` on a new binary file that then replaces `path`.

    Raises:
        OSError: naming `path`; what was at `path` before is still there.
    """
    folder, name = os.path.split(os.fspath(path))
    temporary = None
    try:
        os.makedirs(folder or ".", exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=folder or ".", prefix=f".{name}.", delete=False
        ) as file:
            temporary = file.name
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None and os.path.exists(temporary):
            os.remove(temporary)
        if isinstance(error, OSError):
            raise _named(error, path) from error
        raise


def _named(error: OSError, path) -> OSError:
    """The same error, with a message that names the file and what to do."""
    reason = error.strerror or str(error)
    message = f"{path}: cannot be written ({reason})."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += " Free some space, then repeat the command."
    named = OSError(message)
    named.errno = error.errno
    return named


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
