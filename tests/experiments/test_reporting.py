import importlib
import sys
import types

import keras
import numpy as np
import pytest

from tfcopy.experiments import reporting


def config(**options):
    return types.SimpleNamespace(
        **{"optimizer": "adam", "learning_rate": 0.15} | options
    )


@pytest.mark.parametrize(
    "gradient, step", [(0.01, 0.004741), (0.1, 0.045227), (1.0, 0.143019)]
)
def test_first_step_of_the_papers_adagrad(gradient, step):
    """Check 10 of the pointer-generator's numeric checks."""
    weight = keras.Variable(1.0)
    optimizer = reporting.optimizer(config(optimizer="adagrad"))
    optimizer.build([weight])
    optimizer.apply([keras.ops.convert_to_tensor(gradient)], [weight])
    assert 1 - float(weight) == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize("name", ["adam", "adagrad", "adadelta"])
def test_a_linear_schedule_ends_at_zero(name):
    options = config(optimizer=name, schedule="linear")
    optimizer = reporting.optimizer(options, steps=4)
    weight = keras.Variable(1.0)
    optimizer.build([weight])
    rates = []
    for _ in range(5):
        rates.append(float(np.array(optimizer.learning_rate)))
        optimizer.apply([keras.ops.convert_to_tensor(0.1)], [weight])
    np.testing.assert_allclose(rates, [0.15, 0.1125, 0.075, 0.0375, 0.0])


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
    ("characters", "expected"),
    [(False, "▁ [B] [o] ▁ [A]"), (True, " [Bo] [A]")],
)
def test_what_is_copied_is_marked(characters, expected):
    translation = types.SimpleNamespace(
        tokens=["▁", "B", "o", "▁", "A"], copied_from=[-1, 3, 4, -1, 0]
    )
    assert reporting.mark_copied(translation, characters) == expected


def test_pictures_cannot_be_imported_where_matplotlib_is_missing(monkeypatch):
    # On import, where `common` expects it, not at the first picture.
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(
        sys.modules, "tfcopy.figures.attention_figures", raising=False
    )
    with pytest.raises(ImportError, match="matplotlib"):
        importlib.import_module("tfcopy.figures.attention_figures")
