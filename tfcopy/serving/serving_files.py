"""Writes what TensorFlow Serving needs: a Compose file and its settings."""

import dataclasses
import os
import pathlib
import shlex
import sys

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.flags import Parser
from tfcopy.serving.client_library import commands
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import printable

FILES = pathlib.Path(__file__).with_name("server_files")

_DESCRIPTION = """\
Writes the files that TensorFlow Serving is started with: compose.yaml, which
serves all models of savedmodels/, the settings that it names, and a C program
that asks a model without Python. A file that is there already and differs is
never replaced: move it away, or name another folder."""


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `serving_files`: the folder.

    Attributes:
        folder: folder to write to
    """

    positional = {"folder": "FOLDER"}

    folder: str = "serving"


def main(arguments=None):
    """Returns the exit status."""
    folder = Parser(Options, _DESCRIPTION).parse(arguments).folder
    return commands.run("serving_files", lambda: write(folder))


def write(folder: str) -> None:
    """Writes the files to a folder, and prints what it has done.

    Raises:
        AskError: If another file is there; then nothing is written.
        OSError: If the folder cannot be written.
    """
    contents = {
        os.path.join(folder, path.relative_to(FILES)): path.read_bytes()
        for path in sorted(FILES.rglob("*"))
        # Not the program, where it was built.
        if path.suffix or path.name == "Makefile"
    }
    new = [path for path, text in contents.items() if _is_new(path, text)]
    for path in new:
        filesystem.makedirs(os.path.dirname(path) or ".")
    for path in contents:
        if path in new:
            write_atomically(path, lambda file: file.write(contents[path]))
        print(f"{printable(path)}: {'written' if path in new else 'is there'}")
    compose = shlex.quote(os.path.join(folder, "compose.yaml"))
    print("\nTo serve the models of savedmodels/:\n")
    print("  tfcopy models_config savedmodels")
    print(f"  docker compose -f {printable(compose)} up -d")


def _is_new(path, text):
    """Returns whether nothing is at a path; raises if another file is."""
    if filesystem.isfile(path):
        with filesystem.open(path, "rb") as file:
            if file.read() == text:
                return False
    elif not filesystem.exists(path) and not os.path.islink(path):
        return True
    raise AskError(
        f"{path}: something else is there. Move it away, or name another "
        "folder; nothing was written."
    )


if __name__ == "__main__":
    sys.exit(main())
