"""One of several machines that train together: the command `tfcopy worker`.

It tells TensorFlow which machines there are (TF_CONFIG) and runs a recipe. It
starts and restarts nothing: an orchestrator does that (see `cluster/`). If a
worker is lost, the others end with an error, so that all are started again and
go on from the last checkpoint.
"""

import argparse
import importlib.util
import json
import os
import runpy
import sys

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
        ValueError: If there is no such worker.
    """
    if not 0 <= index < len(hosts):
        raise ValueError(
            f"--index must be from 0 to {len(hosts) - 1}. Received: {index}."
        )
    return json.dumps(
        {
            "cluster": {"worker": list(hosts)},
            "task": {"type": "worker", "index": index},
        }
    )


def main(arguments=None):
    """Returns the exit status; the recipe ends the process with its own."""
    parser = argparse.ArgumentParser(
        "python -m tfcopy.worker",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--hosts", nargs="+", metavar="HOST:PORT", help="all workers"
    )
    which.add_argument(
        "--workers", type=int, metavar="N", help="how many there are"
    )
    parser.add_argument(
        "--host",
        default="localhost:{}",
        metavar="TEMPLATE",
        help="with --workers: host and port of each; {} is its index",
    )
    parser.add_argument("--index", type=int, metavar="I", help="which it is")
    arguments = sys.argv[1:] if arguments is None else arguments
    own, recipe = _split(arguments)
    options = parser.parse_args(own)
    if not recipe:
        parser.error("name a recipe, such as europarl_ps")
    index = options.index
    if index is None:
        try:
            index = int(os.environ["JOB_COMPLETION_INDEX"])
        except (KeyError, ValueError):
            parser.error("--index is needed where JOB_COMPLETION_INDEX is not")
    hosts = options.hosts
    if hosts is None:
        hosts = [options.host.format(i) for i in range(options.workers)]
    try:
        os.environ["TF_CONFIG"] = cluster(hosts, index)
    except ValueError as error:
        parser.error(str(error))
    name, *sys.argv[1:] = recipe
    module = f"tfcopy.recipes.{name}"
    if importlib.util.find_spec(module) is None:
        parser.error(f"there is no recipe {name}")
    runpy.run_module(module, run_name="__main__")
    return 0


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
