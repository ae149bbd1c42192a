"""One of several machines that train together: the command `tfcopy worker`.

It tells TensorFlow which machines there are (TF_CONFIG) and runs a recipe. It
starts and restarts nothing: an orchestrator does that (see `cluster/`). If a
worker is lost, the others end with an error, so that all are started again and
go on from the last checkpoint.
"""

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

_DESCRIPTION = """\
Runs a recipe as one of several workers, each of which is started with the same
command but for --index. They need the same data and the same --log_dir, which
the first of them writes."""
_EXAMPLES = """\
examples:
  %(prog)s --hosts w0:2222 w1:2222 --index 0 europarl_ps --log_dir /shared/logs
  %(prog)s --workers 2 --host 'tfcopy-{}.tfcopy:2222' europarl_ps ...

Without --index it is JOB_COMPLETION_INDEX, which Kubernetes gives to the pods
of an indexed Job."""


def cluster(hosts, index) -> str:
    """The value of TF_CONFIG.

    Args:
        hosts: `host:port` of each worker, the first one first.
        index: Which of them this is, from 0.

    Raises:
        ValueError: If there is no such worker, or a host has no port.
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
    return json.dumps(
        {
            "cluster": {"worker": list(hosts)},
            "task": {"type": "worker", "index": index},
        }
    )


@dataclasses.dataclass(kw_only=True)
class Options:
    """Addresses of all workers, and the index of this one.

    Attributes:
        hosts: host:port of all workers
        workers: how many there are, else
        host: with --workers: host and port of each; {} is its index
        index: which it is
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
    parser = Parser(Options, _DESCRIPTION, _EXAMPLES)
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
            parser.error("--index is needed where JOB_COMPLETION_INDEX is not")
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
    """TensorFlow would tell of a port that is taken, but not which."""
    try:
        socket.create_server(("", int(host.rpartition(":")[2]))).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"the port of {host} is taken on this machine. End what "
                "listens there, or tell all workers another one."
            ) from None


def _split(arguments):
    """The command's own arguments, and the recipe with its own.

    The recipe is the first argument that is no flag, and no flag's value.
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
