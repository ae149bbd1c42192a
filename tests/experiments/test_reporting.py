import importlib
import runpy
import sys
import types
import typing

import numpy as np
import pytest

import tfcopy
from tfcopy import figures
from tfcopy.experiments import optional_figures as optional
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import (
    answering_steps,
    entailment_steps,
    next_word_steps,
)
from tfcopy.experiments.pairs import translation_scores
from tfcopy.serving.client_library.ask_texts import to_line


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


WILD = "a\x1b[2J\x00\r\nb\x9b\u2028c"


class Texts(list):
    """Stands for `WordTexts`: two wild words, three times."""

    texts = ("premise", "hypothesis")
    labels: typing.ClassVar = {"label": [0] * 3}

    def tokens(self, *_):
        return [WILD, WILD]


def print_marked():
    found = types.SimpleNamespace(tokens=[WILD], copied_from=[0])
    reporting.print_marked_examples([(WILD, WILD)], {"a": [found]})


def print_answers():
    text = types.SimpleNamespace(text=WILD)
    example = types.SimpleNamespace(context=WILD, question=WILD, answers=[text])
    question = types.SimpleNamespace(example=example)
    answering_steps.print_examples([question], {"B": [text]})


def print_translations():
    found = types.SimpleNamespace(text=WILD)
    translation_scores.print_answers(
        types.SimpleNamespace(translate_all=lambda *_, **__: [found]), [WILD]
    )


@pytest.mark.parametrize(
    "show",
    [
        print_marked,
        print_answers,
        print_translations,
        lambda: next_word_steps.print_examples(
            Texts("abc"), {"B": [[1.0, 2.0]] * 3}, ()
        ),
        lambda: entailment_steps.print_examples(Texts("abc"), {"B": np.eye(3)}),
    ],
)
def test_texts_are_printed_as_ask_prints_them(show, capsys):
    """In one line, without what a terminal may obey."""
    show()
    lines = capsys.readouterr().out.split("\n")
    assert all(map(str.isprintable, lines))
    shown = to_line(WILD).decode()
    assert sum(shown in line for line in lines) > 1


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
