"""Runs a recipe as one of several workers.

Start all of them with the same command except for --index. They need the same
data and the same --log_dir, which the first worker writes.
"""
# It sets TensorFlow's list of machines (TF_CONFIG) and runs the recipe. An
# orchestrator starts and restarts the workers (see `cluster/`). If one is lost,
# the others end with an error; once all are started again, training continues
# from the last checkpoint.

import dataclasses
import errno
import json
import os
import re
import runpy
import socket
import sys

from tfcopy.__main__ import recipes
from tfcopy.flags import Parser, PositiveInt

_EXAMPLES = """\
examples:
  %(prog)s --hosts w0:2222 w1:2222 --index 0 europarl_ps --log_dir /shared/logs
  %(prog)s --workers 2 --host 'tfcopy-{}.tfcopy:2222' europarl_ps ...

The default of --index is JOB_COMPLETION_INDEX, which Kubernetes sets in the
pods of an indexed Job."""


def cluster(hosts, index) -> str:
    """Returns the value of TF_CONFIG.

    Args:
        hosts: `host:port` of each worker.
        index: Index of this worker, from 0.

    Raises:
        ValueError: If the index is too large, or a host has no port.
    """
    for host in hosts:
        port = re.fullmatch(r"\S+:(\d{1,5})", host)
        if not port or int(port[1]) > 65535:
            raise ValueError(
                f"expected host:port of each worker. Received: {host!r}."
            )
    if not 0 <= index < len(hosts):
        raise ValueError(
            f"--index must be from 0 to {len(hosts) - 1}. Received: {index}."
        )
    _check_free(hosts[index])
    task = {"type": "worker", "index": index}
    return json.dumps({"cluster": {"worker": list(hosts)}, "task": task})


@dataclasses.dataclass(kw_only=True)
class Options:
    """Addresses of all workers, and the index of this one.

    Attributes:
        hosts: host:port of all workers
        workers: number of workers, instead of --hosts
        host: with --workers: host and port of each; {} is its index
        index: index of this worker, from 0
    """

    hosts: list[str] | None = None
    workers: PositiveInt | None = None
    host: str = "localhost:{}"
    index: int | None = None

    def __post_init__(self):
        if (self.hosts is None) == (self.workers is None):
            raise ValueError("--hosts or --workers must be given, not both")


def main(arguments=None):
    """Returns the exit status; the recipe ends the process with its own."""
    parser = Parser(Options, __doc__, _EXAMPLES)
    arguments = sys.argv[1:] if arguments is None else arguments
    own, recipe = _split(arguments)
    options = parser.parse(own)
    if not recipe:
        parser.error("name a recipe, such as europarl_ps")
    index = options.index
    if index is None:
        try:
            index = int(os.environ["JOB_COMPLETION_INDEX"])
        except (KeyError, ValueError):
            parser.error("--index must be given, or JOB_COMPLETION_INDEX set")
    hosts = options.hosts or [
        options.host.replace("{}", str(i)) for i in range(options.workers)
    ]
    name, *rest = recipe
    if name not in recipes():
        parser.error(f"there is no recipe {name}")
    try:
        os.environ["TF_CONFIG"] = cluster(hosts, index)
    except ValueError as error:
        parser.error(str(error))
    sys.argv[1:] = rest
    module = f"tfcopy.recipes.{name}"
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _check_free(host):
    """Raises a ValueError that names a port in use; TensorFlow names none."""
    try:
        socket.create_server(("", int(host.rpartition(":")[2]))).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"the port of {host} is in use on this machine. End the "
                "program that uses it, or give all workers another port."
            ) from None


def _split(arguments):
    """Splits a command line into the command's arguments and the recipe's.

    The recipe is the first argument that is neither a flag nor its value.
    """
    place, values = 0, 0
    for argument in arguments:
        flag, equals, _ = argument.partition("=")
        if flag.startswith("-"):
            values = 0 if equals or flag in ("-h", "--help") else 1
        elif values == 1 or (values and ":" in argument):
            values = 2  # Hosts may be many, and each has a colon.
        else:
            break
        place += 1
    return arguments[:place], arguments[place:]


if __name__ == "__main__":
    sys.exit(main())
