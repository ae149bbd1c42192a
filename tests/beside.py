"""Texts that stand in files beside the tests that read them."""

import pathlib


def read(module, *names):
    """Returns the texts of files in the folder `files` beside a module.

    Args:
        module: Path of the module.
        names: Names of the files.
    """
    folder = pathlib.Path(module).with_name("files")
    return [(folder / name).read_text("utf-8") for name in names]
