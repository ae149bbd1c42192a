"""Published corpora, for tests that are skipped where they are not there."""

import os
import pathlib

import pytest


def real(*names):
    """Returns paths in the folder that `TFCOPY_DATA` names."""
    folder = pathlib.Path(os.environ.get("TFCOPY_DATA", "../shared/data"))
    paths = tuple(folder / name for name in names)
    for path in paths:
        if not path.exists():
            pytest.skip(f"{path} is not there (set TFCOPY_DATA)")
    return paths


def documentation_pairs():
    """Returns the folder that `TFCOPY_PYDOCS` names."""
    folder = os.environ.get("TFCOPY_PYDOCS")
    if not folder:
        pytest.skip("TFCOPY_PYDOCS names no folder of documentation pairs.")
    return pathlib.Path(folder)
