"""Models of the page, and checks of its requests.

A page of another site, open in the same browser, must not use the models or
send files: neither from its own origin (`Origin`), nor by a host name that it
lets resolve to this machine (`Host`).
"""

import collections
import os
import threading
from collections.abc import Iterable, Mapping

import numpy as np

from tfcopy import filesystem
from tfcopy.runtime.exported_model import ExportedModel, load
from tfcopy.runtime.local_model import (
    find_models,
    find_versions,
)
from tfcopy.runtime.signatures import AskError
from tfcopy.serving.http_server.host_guard import HostGuard

_KEPT = 3
# Maximum characters of an example; models truncate texts.
LARGEST_TEXT = 100_000


class Models:
    """The models in a folder, loaded on demand.

    Args:
        folder: A folder of models, of the versions of a model, or of one
            version.
        kept: Number of models that stay loaded, the last ones used.
        **loading: As in `LocalModel`: `engine`, `trust`.

    Raises:
        AskError: If there is no model.
    """

    def __init__(self, folder, kept: int = _KEPT, **loading):
        self.folder = os.fspath(folder)
        self._kept = kept
        self._loading = loading
        self._loaded = collections.OrderedDict()
        self._lock = threading.Lock()
        if not filesystem.isdir(self.folder):
            raise AskError(f"{self.folder}: no such folder.")
        if not self.choices():
            raise AskError(
                f"{self.folder}: no exported models in it. Expected folders "
                "of folders named 1, 2, ... with a saved_model.pb each; "
                "recipes write them there."
            )

    def choices(self) -> dict[str, str]:
        """Returns the current models: names to show, and their folders.

        The highest version of a model comes first.
        """
        choices = {}
        own_name = os.path.basename(filesystem.abspath(self.folder))
        if filesystem.isfile(os.path.join(self.folder, "saved_model.pb")):
            return {own_name: self.folder}
        if not filesystem.isdir(self.folder):
            return {}
        models = {own_name: find_versions(self.folder)}
        for name, versions in (models | find_models(self.folder)).items():
            for number, path in reversed(versions.items()):
                choices[f"{name}, version {number}"] = path
        return choices

    def load(self, choice: str) -> ExportedModel:
        """Returns the model of a choice.

        Raises:
            AskError: If it does not exist any more, or cannot be loaded.
        """
        folder = self.choices().get(choice)
        if folder is None:
            raise AskError(f"{choice!r}: no such model in {self.folder}.")
        with self._lock:
            if folder not in self._loaded:
                self._loaded[folder] = load(folder, **self._loading)
                while len(self._loaded) > self._kept:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(folder)
            return self._loaded[folder]


def text_names(model) -> list[str]:
    """Returns the names of a model's texts, in its own order if known."""
    names = [*model.config.get("texts", ()), *model.inputs]
    return sorted(model.inputs, key=names.index)


def examples_of(
    model, most: int = 5, longest: int = 300
) -> list[dict[str, str]]:
    """Returns the examples of an export that are not too long.

    Args:
        model: An `ExportedModel`.
        most: Maximum number of examples.
        longest: Maximum characters of all texts of an example.

    Returns:
        Distinct dicts of texts by name; none for early exports without
        examples.
    """
    names = text_names(model)
    examples = {}
    for example in model.config.get("examples", ()):
        texts = tuple(str(example.get(name, "")) for name in names)
        is_short = sum(map(len, texts)) <= longest
        if is_short and all(text.strip() for text in texts):
            examples[texts] = dict(zip(names, texts))
    return list(examples.values())[:most]


def takes_dictionary(model) -> bool:
    """Returns whether requests may have a dictionary."""
    return "dictionary" in model.signatures["analyse"].inputs


def analyse(model, texts: Mapping[str, str], rows=()) -> dict[str, np.ndarray]:
    """Calls `analyse` of a model for one example.

    Args:
        model: An `ExportedModel`.
        texts: The texts by name.
        rows: Pairs of headword and definition, for models that take a
            dictionary; blank ones are ignored.

    Returns:
        Dict of the outputs of `analyse`, without the batch axis.

    Raises:
        AskError: If the dictionary is incomplete, the texts are too long, or
            the model fails.
    """
    inputs = {name: [text] for name, text in texts.items()}
    size = sum(map(len, texts.values()))
    if takes_dictionary(model):
        lines = dictionary_lines(rows)
        inputs["dictionary"] = [lines]
        size += sum(map(len, lines))
    if size > LARGEST_TEXT:
        raise AskError(
            f"The texts have {size:,} characters. The page takes up to "
            f"{LARGEST_TEXT:,}; ask with python -m tfcopy.serving.ask."
        )
    return model.rows("analyse", inputs)[0]


def dictionary_lines(rows) -> list[str]:
    """Returns lines `headword<TAB>definition` for the rows of a table."""
    lines = []
    for number, row in enumerate(rows, start=1):
        headword, definition = (" ".join(str(x or "").split()) for x in row)
        if bool(headword) != bool(definition):
            missing = "definition" if headword else "headword"
            raise AskError(
                f"Dictionary, row {number}: there is no {missing} with "
                f"{headword or definition!r}."
            )
        if headword:
            lines.append(f"{headword}\t{definition}")
    return lines


# Maximum bytes of a request, more than the texts have.
LARGEST_REQUEST = 1 << 20
_API = "/gradio_api/"
# All requests of the page; it has no field for files.
_POSTS = frozenset(f"{_API}{x}" for x in ("queue/join", "cancel", "reset"))
# Paths that return files of this machine, or pages of other hosts.
_PRIVATE = tuple(f"{_API}{x}" for x in ("file", "proxy", "upload", "stream"))


class Guard(HostGuard):
    """ASGI middleware that allows only the requests of the page.

    Args:
        app: The ASGI app of the page.
        names: Host names of the page, besides IP addresses and localhost.
    """

    advice = "Call it by its number, or start it with --host NAME."

    def __init__(self, app, names: Iterable[str] = ()):
        super().__init__(app, names, LARGEST_REQUEST)

    def further_refusal(self, scope):
        """Refuses requests that the page never sends."""
        path = scope["path"].rstrip("/")
        if scope["method"] == "POST":
            return (
                None if path in _POSTS else (403, "Nothing may be sent here.")
            )
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "No such method."
        if path.startswith(_PRIVATE):
            return 403, "Nothing may be read here."
        return None
