"""A command in a process that can be attacked.

Not a benchmark itself: `attacks` uses it. TensorFlow and the commands are
imported once, in a server that each process is forked from.
"""

import ctypes
import dataclasses
import multiprocessing
import os
import re
import signal
import sys
import time
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "benchmarks.run_attacks",
        "sacrebleu",
        "tfcopy.data.preparation.corpus_preparation",
        "tfcopy.figures",
        "tfcopy.recipes.europarl_ps",
        "tfcopy.serving.batch_answers.answering",
        "tfcopy.serving.client_library.exported_model",
        "tfcopy.serving.saved_model",
    ]
)
# What Python tells an audit hook before it changes or opens a file.
_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
_ERROR = re.compile(r"^(Error|batch|evaluate|export|translate_po): ", re.M)


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: Its exit status; that of a signal is negative, `None` is that
            of a process that hung.
        text: What it printed.
        seconds: How long it took.
        events: How many files it opened or changed.
    """

    status: int | None
    text: str
    seconds: float
    events: int

    @property
    def problem(self):
        """What a command may never do, in words, or `None`."""
        if self.status is None:
            return "hang"
        if self.status < 0 and self.status != -signal.SIGKILL:
            return f"ended by {signal.Signals(-self.status).name}"
        for sign in ("Traceback", "Exception ignored", "Fatal Python error"):
            if sign in self.text:
                return sign
        if self.status > 0 and len(_ERROR.findall(self.text)) != 1:
            return "no line that says what is wrong"
        return None


def run(
    main,
    arguments,
    log,
    *,
    streams=None,
    seconds=None,
    event=None,
    obeys=False,
    limit=300,
) -> Ended:
    """Runs a command to its end, or kills it.

    Args:
        main: The command: a function of its arguments that returns the exit
            status, which can be pickled.
        arguments: List of strings.
        log: The file that gets what is printed.
        streams: Other files that get standard output and standard error;
            `"closed pipe"` for a pipe that nobody reads.
        seconds: When to kill it.
        event: At which use of a file it kills itself.
        obeys: Whether it obeys the permissions of files, as root does not.
        limit: Seconds after which it hangs.
    """
    log = Path(log)
    log.write_text("")
    counter = _CONTEXT.RawValue("q", 0)
    streams = streams or (log, log)
    process = _CONTEXT.Process(
        target=_run,
        args=(main, arguments, [*map(str, streams)], counter, event, obeys),
        daemon=True,
    )
    start = time.monotonic()
    process.start()
    process.join(limit if seconds is None else seconds)
    status = process.exitcode
    if process.is_alive():
        process.kill()
        process.join()
        status = None if seconds is None else process.exitcode
    return Ended(
        status=status,
        text=log.read_text(errors="replace"),
        seconds=time.monotonic() - start,
        events=counter.value,
    )


def warm_up():
    """Starts the server, so that the first command takes as long as others."""
    process = _CONTEXT.Process(target=os.getpid)
    process.start()
    process.join()


def _run(main, arguments, streams, counter, event, obeys):
    """The command, in its own process."""
    for stream, path in enumerate(streams, 1):
        if path == "closed pipe":
            reader, descriptor = os.pipe()
            os.close(reader)
        else:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptor = os.open(path, flags, 0o644)
        os.dup2(descriptor, stream)

    def audit(name, values):
        # Devices and libraries are no part of a command.
        if name in _EVENTS and "/attacked/" in str(values[0]):
            counter.value += 1
            if counter.value == event:
                os.kill(os.getpid(), signal.SIGKILL)

    if obeys:
        _give_up_capabilities()
    sys.addaudithook(audit)
    sys.exit(main(arguments))


def _give_up_capabilities():
    """From now on root obeys the permissions of files, as all others do."""
    libc = ctypes.CDLL(None, use_errno=True)
    version_and_process = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if libc.capset(version_and_process, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")
