"""The flags of how a server is asked, which commands share."""

import argparse

from tfcopy.serving.client_library import commands


def add(parser: argparse.ArgumentParser):
    """Adds the flags to a parser."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--version",
        type=commands.positive,
        metavar="V",
        help="version to ask (default: the highest)",
    )
    which.add_argument(
        "--label", metavar="L", help="label of the version to ask"
    )
    parser.add_argument(
        "--at_once",
        type=commands.positive,
        default=4,
        metavar="N",
        help="concurrent requests, of B lines each (default: %(default)s)",
    )
    parser.add_argument(
        "--deadline",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="seconds until a request fails, retries included "
        "(default: %(default)g)",
    )
    parser.add_argument(
        "--retries",
        type=_number,
        default=5,
        metavar="N",
        help="retries of a request if the server is not ready "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="use TLS for gRPC (for REST: https://)",
    )
    parser.add_argument(
        "--root_certificate",
        metavar="FILE",
        help="PEM file of certificates to verify the server; implies --tls",
    )


def connection_options(options) -> dict:
    """What the flags say of a `Connection`, by the names of its arguments."""
    names = (
        "version",
        "label",
        "deadline",
        "retries",
        "tls",
        "root_certificate",
    )
    return {name: getattr(options, name) for name in names}


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a positive number of seconds"
        )
    return seconds


def _number(text):
    return 0 if text == "0" else commands.positive(text)
