import importlib
import runpy
import sys
import types

import pytest

import tfcopy
from tfcopy import figures
from tfcopy.experiments import optional_figures as optional
from tfcopy.experiments import reporting


def test_tables_show_whole_numbers_whole_and_what_is_missing_not(capsys):
    rows = {
        "pag": {"bleu": 28.8649999, "parameters": 32_073_427},
        "pag, paper": {"bleu": 22},
    }
    columns = {"BLEU": "bleu", "weights": "parameters", "chrF": "chrf"}
    reporting.print_table(rows, columns)
    assert capsys.readouterr().out.splitlines() == [
        "",
        "              BLEU     weights  chrF",
        "pag         28.865  32,073,427      ",
        "pag, paper      22                  ",
    ]


@pytest.mark.parametrize(
    ("are_parts", "expected"),
    [(False, "▁ [B] [o] ▁ [A]"), (True, "[Bo] [A]")],
)
def test_what_is_copied_is_marked(are_parts, expected):
    translation = types.SimpleNamespace(
        tokens=["▁", "B", "o", "▁", "A"], copied_from=[-1, 3, 4, -1, 0]
    )
    assert reporting.mark_copied(translation, are_parts) == expected


def test_pictures_cannot_be_imported_where_matplotlib_is_missing(monkeypatch):
    # On import, where `common` expects it, not at the first picture.
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
        elif name.startswith("tfcopy.figures"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib"):
        importlib.import_module("tfcopy.figures")
    assert optional_figures() is None


def test_only_matplotlib_may_be_missing(monkeypatch):
    """Any other failure of the pictures' import is an error."""
    assert optional_figures() is figures
    monkeypatch.delattr(tfcopy, "figures")
    monkeypatch.delitem(sys.modules, "tfcopy.figures")
    monkeypatch.setitem(sys.modules, "tfcopy.figures.images", None)
    with pytest.raises(ImportError, match="tfcopy.figures.images"):
        optional_figures()


def optional_figures():
    return runpy.run_path(optional.__file__)["figures"]


@pytest.mark.parametrize(
    ("preset", "train", "is_shown"),
    [("demo", None, True), ("demo", ["a", "b"], False), ("paper", ["a"], True)],
)
def test_the_paper_is_not_beside_data_of_ones_own(preset, train, is_shown):
    config = types.SimpleNamespace(
        preset=preset, train=train, prepared=None, tfds=None
    )
    paper = {"nmt": {"bleu": 20.19}}
    assert reporting.beside(config, paper) == (paper if is_shown else {})
