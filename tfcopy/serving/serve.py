"""Serves exported translation models by LibreTranslate's API.

Weblate, OmegaT and other platforms, libretranslatepy and curl can use it.
Concurrent requests are batched. Texts, lists of texts and HTML are translated;
a request may name formats whose placeholders stay unchanged, and translations
of terms. /docs describes the API.

PLACE is a folder of exported models, one model, or one version; or
ADDRESS/MODEL, a model of TensorFlow Serving. Each model serves the languages
that it was trained for. SOURCE:TARGET=PLACE names them, if the export does
not.
"""

import contextlib
import dataclasses
import ipaddress
import signal
import socket
import sys
from typing import Annotated

from tfcopy import flags, terminal
from tfcopy.data.text.span_patterns import check_flag
from tfcopy.runtime.loading import LoadingOptions
from tfcopy.terminal import how_to_install, printable

_EXAMPLES = f"""\
examples:
  %(prog)s savedmodels
  %(prog)s savedmodels/europarl_ps en:es=savedmodels/pydocs_ps/3
  %(prog)s en:fr=localhost:8501/europarl_ps de:en=http://gpu:8501/wmt15
  %(prog)s savedmodels --host 0.0.0.0 --api_keys keys.txt --req_limit 600

  curl -d '{{"q": "The session is closed.", "source": "en", "target": "fr"}}'
    http://127.0.0.1:5000/translate

Needs {how_to_install("serve")}.
Ctrl-C or SIGTERM stops it after the open requests."""

# Bytes of a request besides its texts; a character may take 12 bytes in JSON.
_LEAST_BYTES = 1 << 18


def _is_network(text):
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_network(text, strict=False))


_Proxy = Annotated[str, flags.Check("an address or a network", _is_network)]


@dataclasses.dataclass(kw_only=True)
class Options(LoadingOptions):
    """Flags of `serve`: models, address, and limits.

    Attributes:
        places: folder of exported models, or server
        port: port to listen on; 0 for any free one
        host: address to listen on; by default this machine only
        names: host names of the server, besides IP addresses and localhost
            (default: the machine's, or any with --host)
        proxies: addresses, or networks, of proxies whose X-Forwarded-For names
            the client (default: none)
        api_keys: file of API keys, one per line, each with an optional limit of
            requests per minute after a tab; a request must have one of them
        req_limit: requests per minute for a key, or for an address if there are
            no keys (default: any number)
        char_limit: maximum characters of a request
        batch_limit: maximum texts of a request
        max_words: tokens of a sentence that a model reads, if the export does
            not say (default: found by a test)
        most_loaded: models of folders that are in memory at once; others are
            loaded again for their next request (default: all)
        weblate: pass Weblate's check of an address, a translation from English
            to German, whatever is served
        batch_size: segments (lines or sentences) in a batch
        batch_timeout: milliseconds that the first segment of a batch waits
        queue_size: segments that may wait; further requests are refused
        at_once: concurrent batches (default: one for each core, or 4 for a
            server)
        deadline: seconds until a request fails
        grace: seconds for open requests when the server is stopped
    """

    positional = {"places": "PLACE"}

    places: list[str]
    port: Annotated[int, flags.Check("a port", lambda x: 0 <= x < 65536)] = 5000
    host: str = "127.0.0.1"
    names: list[str] = dataclasses.field(default_factory=list)
    proxies: list[_Proxy] = dataclasses.field(default_factory=list)
    api_keys: flags.File | None = None
    req_limit: flags.NonNegativeInt | None = None
    char_limit: flags.PositiveInt = 100_000
    batch_limit: flags.PositiveInt = 256
    max_words: flags.PositiveInt | None = None
    most_loaded: flags.PositiveInt | None = None
    protect: list[str] = flags.flag(
        [],
        "formats, or regular expressions of RE2, that all answers keep "
        "(besides addresses, and [X1X], Weblate's placeholder)",
    )
    weblate: bool = False
    batch_size: flags.PositiveInt = 32
    batch_timeout: flags.NonNegativeFloat = 2.0
    queue_size: flags.PositiveInt = 1000
    at_once: flags.PositiveInt | None = None
    deadline: flags.PositiveFloat = 60.0
    grace: flags.PositiveInt = 30


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    parser = flags.Parser(Options, __doc__, _EXAMPLES)
    options = parser.parse(arguments, intermixed=True)
    return terminal.run("serve", lambda: _serve(options))


def _serve(options):
    check_flag(options.protect)
    from tfcopy.serving.http_server.listening import is_private, listen
    from tfcopy.serving.http_server.served_models import locate
    from tfcopy.serving.http_server.translation_api import Access, read_keys

    places = [place for text in options.places for place in locate(text)]
    keys = None
    if options.api_keys is not None:  # A variable of a shell may be empty.
        keys = read_keys(options.api_keys)
    with listen(options.host, options.port) as opened:
        if not (is_private(opened) or keys):
            _tell(
                f"any client that reaches {options.host} may send requests; "
                "--api_keys FILE requires a key."
            )
        failures = []
        access = Access(keys, options.req_limit)
        server = _server(options, places, access, opened, failures)
        print(f"Loading {_count(places)} ...", flush=True)
        # uvicorn raises the signal again when all requests are answered.
        signal.signal(signal.SIGTERM, server.handle_exit)
        with contextlib.suppress(KeyboardInterrupt):
            server.run([opened])
    for error in failures:
        raise error


def _server(options, places, access, opened, failures):
    """Returns the `Server`, which adds errors of loading to a list."""
    from tfcopy.serving.http_server import (
        listening,
        served_models,
        translation_api,
        translation_service,
    )

    def load():
        models = served_models.load_all(places, _tell, options)

        def make_service(metrics):
            service = translation_service.TranslationService(
                models, metrics, options, _tell
            )
            pairs = " ".join(map(":".join, models))
            address = listening.format_address(opened)
            print(
                f"Serving {pairs} at {address} (see {address}/docs; Ctrl-C "
                "stops it)",
                flush=True,
            )
            return service

        return make_service

    def on_failure(error):
        failures.append(error)
        server.should_exit = True

    names = options.names or None
    if listening.is_private(opened):
        names = [options.host, socket.gethostname(), *options.names]
    api = translation_api.TranslationApi(load, access, on_failure)
    size = _LEAST_BYTES + 12 * options.char_limit
    app = translation_api.ApiGuard(api, names, size)
    server = listening.Server(app, options.grace, "serve", options.proxies)
    return server


def _count(places):
    return "a model" if len(places) == 1 else f"{len(places)} models"


def _tell(line):
    print(f"serve: {printable(line)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    terminal.start(main)
