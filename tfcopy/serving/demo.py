"""Shows exported models in the browser.

Type a text and see the answer, with each copied word in the colour of its
source word, the attention, the probability of generating or copying each word,
and the other hypotheses. Models that read definitions also take your own
dictionary; their answers, labels or next words are shown with their
probabilities.

FOLDER is a folder of exported models, one model, or one version. Models are
loaded when they are chosen. The page loads nothing from the network, accepts no
files, and refuses requests of other sites.
"""

import asyncio
import contextlib
import dataclasses
import functools
import json
import os
import socket
import sys
from collections.abc import Iterable
from typing import Annotated

from tfcopy import filesystem, terminal
from tfcopy.file_formats import parse_json
from tfcopy.flags import Check, Parser
from tfcopy.runtime import ask_texts, versions
from tfcopy.runtime.exported_model import ExportedModel, ModelCache
from tfcopy.runtime.loading import LoadingOptions, load
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server.host_guard import HostGuard, respond
from tfcopy.serving.web import site
from tfcopy.terminal import how_to_install

_EXAMPLES = f"""\
examples:
  %(prog)s
  %(prog)s savedmodels/europarl_ps
  %(prog)s savedmodels --port 8080
  %(prog)s savedmodels --host 0.0.0.0      # for other machines, too

Needs uvicorn: {how_to_install("demo")}.
Ctrl-C stops it. A page without a server: tfcopy web --help."""


@dataclasses.dataclass(kw_only=True)
class Options(LoadingOptions):
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
    options = Parser(Options, __doc__, _EXAMPLES).parse(arguments)

    def work():
        with contextlib.suppress(KeyboardInterrupt):
            _serve(options)

    return terminal.run("demo", work)


def _serve(options):
    models = Models(options.folder, **options.engine_options)
    from tfcopy.serving.http_server.listening import format_address, listen

    with listen(options.host, options.port) as listening:
        server = serve(models, [options.host, socket.gethostname()])
        print(f"Open {format_address(listening)} (Ctrl-C stops it)", flush=True)
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

    # Open pages keep connections, which must not delay the end.
    return Server(Guard(PageServer(models), names), grace=1, program="demo")


_KEPT = 3


class Models:
    """The models in a folder, loaded on demand.

    Args:
        folder: A folder of models, of the versions of a model, or of one
            version.
        kept: Number of models that stay loaded, the last ones used.
        **loading: As in `LocalModel`: `engine`, `trust`.

    Raises:
        ModelError: If there is no model.
    """

    def __init__(self, folder, kept: int = _KEPT, **loading):
        self.folder = os.fspath(folder)
        self._cache = ModelCache(kept, functools.partial(load, **loading))
        versions.find_exports(self.folder)  # Raises if there is none.

    def choices(self) -> dict[str, str]:
        """Returns the current models: names to show, and their folders.

        The highest version of a model comes first.
        """
        choices = {}
        own_name = os.path.basename(filesystem.abspath(self.folder))
        if versions.is_version(self.folder):
            return {own_name: self.folder}
        if not filesystem.isdir(self.folder):
            return {}
        models = {own_name: versions.find_versions(self.folder)}
        models |= versions.find_models(self.folder)
        for name, paths in models.items():
            for number, path in reversed(paths.items()):
                choices[f"{name}, version {number}"] = path
        return choices

    def load(self, choice: str) -> ExportedModel:
        """Returns the model of a choice.

        Raises:
            ModelError: If it does not exist any more, or cannot be loaded.
        """
        folder = self.choices().get(choice)
        if folder is None:
            raise ModelError(f"{choice!r}: no such model in {self.folder}.")
        return self._cache.get(folder)


def answer(model, texts, lines=()) -> dict:
    """Answers one example.

    Args:
        model: An `ExportedModel`.
        texts: Dict of the texts by name.
        lines: Lines of the dictionary, or of the glossary, that the model
            reads: two texts with a tab between them.

    Returns:
        Dict of the outputs, texts, numbers and lists: of `analyse`, or, with a
        glossary, the text and its score alone.

    Raises:
        ModelError: If the model fails.
    """
    inputs = {name: [texts[name]] for name in model.inputs}
    signature = "analyse"
    if "dictionary" in model.signatures[signature].inputs:
        inputs["dictionary"] = [list(lines)]
    elif lines:
        signature = "with_glossary"
        inputs["glossary"] = [list(lines)]
    (outputs,) = model.rows(signature, inputs)
    return ask_texts.to_python(outputs, digits=None)


# Maximum bytes of a request, more than the texts have.
LARGEST_REQUEST = 1 << 20
_KINDS = {".js": "text/javascript", ".css": "text/css"}
_HTML, _PLAIN = "text/html", "text/plain"


class PageServer:
    """ASGI app of the page: its files, and the answers of models.

    Args:
        models: `Models`.
    """

    def __init__(self, models):
        self._models = models
        self._files = site.page_files()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return  # It has no lifespan.
        body = (await receive()).get("body", b"")
        status, kind, content = await asyncio.to_thread(
            self._answer, scope["method"], scope["path"].removeprefix("/"), body
        )
        headers = [
            (b"content-type", f"{kind}; charset=utf-8".encode()),
            (b"cache-control", b"no-cache"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await respond(send, status, headers, content)

    def _answer(self, method, path, body):
        """Returns status, type and content of a response."""
        if method == "POST":
            return self._post(path, body)
        if not path:
            names = [{"name": name} for name in self._models.choices()]
            return 200, _HTML, site.index(names, self._files)
        if path not in self._files:
            return 404, _PLAIN, b"No such file."
        return 200, _KINDS[os.path.splitext(path)[1]], self._files[path]

    def _post(self, path, body):
        try:
            request = parse_json(body)
            model = self._models.load(str(request["model"]))
            if path == "api/load":
                found = site.facts_of(model)
            else:
                found = answer(model, request["texts"], request["lines"])
        except ModelError as error:
            return 400, _PLAIN, " ".join(str(error).split()).encode()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"not a request of the page ({type(error).__name__})"
            return 400, _PLAIN, reason.encode()
        return 200, "application/json", json.dumps(found).encode()


class Guard(HostGuard):
    """ASGI middleware that allows only the requests of the page.

    A page of another site, open in the same browser, must not use the models:
    neither from its own origin (`Origin`), nor by a host name that it lets
    resolve to this machine (`Host`).

    Args:
        app: The ASGI app of the page.
        names: Host names of the page, besides IP addresses and localhost.
    """

    advice = "Use the server's IP address, or start it with --host NAME."

    def __init__(self, app, names: Iterable[str] = ()):
        super().__init__(app, names, LARGEST_REQUEST)

    def refuse_further(self, scope):
        """Refuses requests that the page never sends."""
        if scope["method"] == "POST":
            is_own = scope["path"] in ("/api/load", "/api/answer")
            return None if is_own else (403, "Only GET is allowed here.")
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "No such method."
        return None


if __name__ == "__main__":
    sys.exit(main())
