"""The command `demo`: a page that shows exported models in the browser."""

import contextlib
import dataclasses
import socket
import sys
from typing import Annotated

from tfcopy.flags import Check, Parser
from tfcopy.runtime import commands
from tfcopy.serving.web.page_server import Guard, Models, PageServer

_DESCRIPTION = """\
Shows exported models in the browser: type a text and see the answer, with each
copied word in the colour of its source word, the attention, the probability of
generating or copying each word, and the other hypotheses. Models that read
definitions also take your own dictionary; their answers, labels or next words
are shown with their probabilities.

FOLDER is a folder of exported models, one model, or one version. Models are
loaded when they are chosen. The page loads nothing from the network, accepts no
files, and refuses requests of other sites."""

_EXAMPLES = """\
examples:
  %(prog)s
  %(prog)s savedmodels/europarl_ps
  %(prog)s savedmodels --port 8080
  %(prog)s savedmodels --host 0.0.0.0      # for other machines, too

Needs uvicorn: pip install "tfcopy[demo]". Ctrl-C stops it. A page without a
server: tfcopy web --help."""


@dataclasses.dataclass(kw_only=True)
class Options(commands.LoadingOptions):
    """Flags of the demo page: models and address.

    Attributes:
        folder: folder of exported models
        port: port of the page; 0 for any free one
        host: address to listen on; by default this machine only
    """

    positional = {"folder": "FOLDER"}

    folder: str = "savedmodels"
    port: Annotated[int, Check("a port", lambda x: 0 <= x < 65536)] = 7860
    host: str = "127.0.0.1"


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    options = Parser(Options, _DESCRIPTION, _EXAMPLES).parse(arguments)

    def work():
        with contextlib.suppress(KeyboardInterrupt):
            _serve(options)

    return commands.run("demo", work)


def _serve(options):
    models = Models(options.folder, **options.loading)
    from tfcopy.serving.http_server.listening import address_of, listen

    with listen(options.host, options.port) as listening:
        server = serve(models, [options.host, socket.gethostname()])
        address = address_of(listening)
        print(f"Open {address} (Ctrl-C stops it)", flush=True)
        server.run([listening])


def serve(models, names=()):
    """Returns the server of the page, not yet running.

    Args:
        models: `Models`.
        names: Host names of the page, besides IP addresses and localhost.

    Returns:
        A `Server`; its `run` takes a list of listening sockets.
    """
    from tfcopy.serving.http_server.listening import Server

    app = Guard(PageServer(models), names)
    # Open pages keep connections, which must not delay the end.
    return Server(app, grace=1, program="demo")


if __name__ == "__main__":
    sys.exit(main())
