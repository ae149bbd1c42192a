"""Pipelines of Apache Beam, on the runner that a flag names.

Beam is an extra, and slow to import: nothing but what runs a pipeline does.
"""

import contextlib
import importlib.util
import logging
import re
import sys
from collections.abc import Iterable, Iterator

# Beam's own DirectRunner first fetches a program from the network, Prism.
_DIRECT = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
MISSING = "Apache Beam is missing: pip install 'tfcopy[beam]'."


def is_installed() -> bool:
    """Whether there is Beam."""
    return importlib.util.find_spec("apache_beam") is not None


def pipeline(runner: str, flags: Iterable[str] = ()):
    """A `beam.Pipeline` that a runner runs.

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
    options = PipelineOptions([f"--runner={name}", *flags])
    return beam.Pipeline(options=options)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without what Beam logs as it is imported and run.

    Its errors are raised as well.
    """
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(level)


def split_flags(arguments=None) -> tuple[list[str], list[str]]:
    """A command's arguments, and after `--` those of the runner.

    Args:
        arguments: The command line; by default the process's own.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def reason(message: str) -> str:
    """An error's message without its type and step, which Beam adds to it."""
    message = message.partition(" [while running '")[0]
    return re.sub(r"^tfcopy\.[\w.]+: ", "", message)
