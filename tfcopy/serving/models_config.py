"""Writes what TensorFlow Serving reads to find models: `models.config`.

Reference: `tensorflow_serving/config/model_server_config.proto`.
"""

import dataclasses
import os
import re
import sys
from collections.abc import Mapping, Sequence

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.flags import File, Folder, Parser, PositiveInt, form
from tfcopy.serving.client_library import commands
from tfcopy.serving.client_library.local_model import find_models
from tfcopy.serving.client_library.signatures import AskError

_DESCRIPTION = """\
Writes models.config, which tells TensorFlow Serving the exported models of a
folder and which of their versions to serve. Run it again after exporting a new
model; the server finds new versions of a listed model itself."""

_EXAMPLES = """\
examples:
  %(prog)s savedmodels
  %(prog)s savedmodels --models europarl_ps wmt15_pag
  %(prog)s savedmodels --latest 2
  %(prog)s savedmodels --versions europarl_ps=1,3 --label europarl_ps:stable=1

then:
  tfcopy serving_files
  docker compose -f serving/compose.yaml up -d
  curl -d '{"instances": ["The session is closed."]}' \\
    localhost:8501/v1/models/europarl_ps:predict"""

_SAFE = re.compile(r"[\w.-]+", re.ASCII)
_ESCAPED = {x: f"\\{x:03o}" for x in (*range(32), ord('"'), ord("\\"), 127)}


def models_config(
    models: Mapping[str, Sequence[int]],
    *,
    base_path: str = "/models",
    latest: int = 1,
    versions: Mapping[str, Sequence[int]] | None = None,
    labels: Mapping[str, Mapping[str, int]] | None = None,
) -> str:
    """A ModelServerConfig as text.

    Args:
        models: Names of models, and their versions.
        base_path: The folder of the models as the server sees it.
        latest: How many of the highest versions of a model are served.
        versions: Dict from models to the versions to serve instead.
        labels: Dicts from a label to a version, by the model's name.

    Raises:
        AskError: If a model or version that is named does not exist, or a
            label is of a version that is not served.
    """
    versions, labels = versions or {}, labels or {}
    for name in [*versions, *labels]:
        if name not in models:
            names = ", ".join(models)
            raise AskError(f"there is no model {name}. Available: {names}.")
    blocks = []
    for name, there in models.items():
        if not _SAFE.fullmatch(name):
            raise AskError(
                f"{name!r}: the name of a model may have letters, digits, "
                "'_', '-' and '.' only, as it is part of addresses."
            )
        served = sorted(versions.get(name, sorted(there)[-latest:]))
        _check_versions(name, served, there, "--versions")
        for label, version in labels.get(name, {}).items():
            _check_versions(name, [version], served, f"--label {label}")
        policy = f"latest {{ num_versions: {latest} }}"
        if name in versions:
            numbers = " ".join(f"versions: {version}" for version in served)
            policy = f"specific {{ {numbers} }}"
        lines = [
            f"name: {_quoted(name)}",
            f"base_path: {_quoted(f'{base_path}/{name}')}",
            'model_platform: "tensorflow"',
            f"model_version_policy {{ {policy} }}",
        ]
        lines += [
            f"version_labels {{ key: {_quoted(label)} value: {version} }}"
            for label, version in labels.get(name, {}).items()
        ]
        body = "".join(f"    {line}\n" for line in lines)
        blocks.append(f"  config {{\n{body}  }}\n")
    return f"model_config_list {{\n{''.join(blocks)}}}\n"


def _check_versions(name, wanted, there, flag):
    missing = [str(version) for version in wanted if version not in there]
    if missing:
        numbers = ", ".join(map(str, there))
        raise AskError(
            f"{flag}: {name} has no version {', '.join(missing)} to serve. "
            f"Available: {numbers}."
        )


_Versions = form("NAME=V,V", r"[^=]+=\d+(,\d+)*")
_Label = form("NAME:LABEL=V", r"[^:=]+:[\w.-]+=\d+")


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `models_config`: models and versions.

    Attributes:
        folder: folder of exported models
        models: serve these models only (default: all)
        latest: serve the N highest versions of each
        versions: serve these versions of a model instead of the highest
        label: let requests ask for a version by a name, such as stable
        base_path: folder of the models on the server
        output: file to write (default: models.config in the folder)
    """

    positional = {"folder": "FOLDER"}

    folder: str = "savedmodels"
    models: list[str] | None = None
    latest: PositiveInt = 1
    versions: list[_Versions] | None = None
    label: list[_Label] | None = None
    base_path: Folder = "/models"
    output: File | None = None


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, _DESCRIPTION, _EXAMPLES).parse(arguments)
    return commands.run("models_config", lambda: _write(options))


def _write(options):
    folder = options.folder
    if not filesystem.isdir(folder):
        raise AskError(f"{folder}: no such folder.")
    models = find_models(folder)
    if not models:
        raise AskError(
            f"{folder}: no exported model in it. Recipes export to "
            "savedmodels/<recipe>."
        )
    chosen = options.models or list(models)
    for name in chosen:
        if name not in models:
            names = ", ".join(models)
            raise AskError(
                f"--models: there is no {name} in {folder}. Available: {names}."
            )
    versions = {}
    for text in options.versions or ():
        name, numbers = text.split("=")
        versions[name] = list(map(int, numbers.split(",")))
    labels = {}
    for text in options.label or ():
        name, label, version = re.split("[:=]", text)
        labels.setdefault(name, {})[label] = int(version)
    text = models_config(
        {name: models[name] for name in chosen},
        base_path=options.base_path,
        latest=options.latest,
        versions=versions,
        labels=labels,
    )
    path = options.output or os.path.join(folder, "models.config")
    # The server may be reading it.
    write_atomically(path, lambda file: file.write(text.encode()))
    print(f"{path}: {', '.join(chosen)}")


def _quoted(text):
    """A text as protocol buffers have it, between quotes."""
    return '"' + text.translate(_ESCAPED) + '"'


if __name__ == "__main__":
    sys.exit(main())
