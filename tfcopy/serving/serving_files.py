"""Writes the files that TensorFlow Serving is started with.

They are models.config, which lists the exported models of a folder;
compose.yaml, which serves them; the settings that it names; a Dockerfile for
`tfcopy serve`; and a C program that runs a model on a phone. Run it again after
exporting a new model: models.config is replaced as long as it has its first
line. Any other file that differs is kept: move it away, or choose another --to.
The server finds new versions of a listed model by itself.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import sys
from collections.abc import Iterable

from tfcopy import filesystem, terminal
from tfcopy.atomic_files import write_atomically
from tfcopy.flags import Parser, PositiveInt
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.versions import find_models
from tfcopy.terminal import printable

FILES = pathlib.Path(__file__).with_name("server_files")
CONFIG = "models.config"
# Files of this name that begin differently are not ours.
_OURS = b"# Written by tfcopy serving_files, which replaces it.\n"

_EXAMPLES = """\
examples:
  %(prog)s
  %(prog)s savedmodels --latest 2

then:
  docker compose -f serving/compose.yaml up -d
  curl -d '{"instances": ["The session is closed."]}' \\
    localhost:8501/v1/models/europarl_ps:predict"""

_SAFE = re.compile(r"[\w.-]+", re.ASCII)


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `serving_files`: models, versions, the folder.

    Attributes:
        models: folder of exported models
        to: folder to write to
        latest: serve the N highest versions of each model
    """

    positional = {"models": "FOLDER"}

    models: str = "savedmodels"
    to: str = "serving"
    latest: PositiveInt = 1


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, __doc__, _EXAMPLES).parse(arguments)
    return terminal.run("serving_files", lambda: write(options))


def write(options: Options) -> None:
    """Writes the files to a folder, and prints what it has done.

    Raises:
        ModelError: If a file is not ours, or there is no folder of models but
            the one by default; nothing is written then.
        OSError: If the folder cannot be written.
    """
    contents = {
        os.path.join(options.to, path.relative_to(FILES)): path.read_bytes()
        for path in sorted(FILES.rglob("*"))
        # Not the program, where it was built.
        if path.suffix or path.name in ("Dockerfile", "Makefile")
    }
    is_there = filesystem.isdir(options.models)
    if not is_there and options.models != Options.models:
        raise ModelError(f"{options.models}: no such folder.")
    models = find_models(options.models) if is_there else {}
    if models:
        config = models_config(models, options.latest)
        contents[os.path.join(options.to, CONFIG)] = _OURS + config.encode()
    new = [path for path, text in contents.items() if _is_new(path, text)]
    for path in new:
        filesystem.makedirs(os.path.dirname(path) or ".")
    for path in contents:
        if path in new:
            # The server may be reading it.
            write_atomically(path, lambda file: file.write(contents[path]))
        print(f"{printable(path)}: {'written' if path in new else 'is there'}")
    if not models:
        print(
            f"\nNo exported model in {printable(options.models)}, and so no "
            f"{CONFIG}. Recipes export to savedmodels/<recipe>; run this again "
            "then."
        )
    compose = shlex.quote(os.path.join(options.to, "compose.yaml"))
    print(f"\nTo serve {', '.join(models) or 'them'}:\n")
    print(f"  docker compose -f {printable(compose)} up -d")


def models_config(models: Iterable[str], latest: int = 1) -> str:
    """Returns a ModelServerConfig as text.

    Args:
        models: Names of models.
        latest: Number of versions of a model to serve, the highest ones.

    Raises:
        ModelError: If a name cannot be part of an address.
    """
    blocks = []
    for name in models:
        if not _SAFE.fullmatch(name):
            raise ModelError(
                f"{name!r}: the name of a model may have letters, digits, "
                "'_', '-' and '.' only, as it is part of addresses."
            )
        lines = (
            f'name: "{name}"',
            f'base_path: "/models/{name}"',
            'model_platform: "tensorflow"',
            f"model_version_policy {{ latest {{ num_versions: {latest} }} }}",
        )
        body = "".join(f"    {line}\n" for line in lines)
        blocks.append(f"  config {{\n{body}  }}\n")
    return f"model_config_list {{\n{''.join(blocks)}}}\n"


def _is_new(path, text):
    """Returns whether to write a path; raises if the file is not ours."""
    if filesystem.isfile(path):
        found = filesystem.read_bytes(path)
        if found == text:
            return False
        if text.startswith(_OURS) and found.startswith(_OURS):
            return True
    elif not filesystem.exists(path) and not os.path.islink(path):
        return True
    raise ModelError(
        f"{path}: something else is there. Move it away, or choose another "
        "--to; nothing was written."
    )


if __name__ == "__main__":
    sys.exit(main())
