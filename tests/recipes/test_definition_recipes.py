"""The three recipes that read definitions, whole and tiny."""

import functools
import json
import os

import pytest

from tests.recipes import exporting, starting
from tests.recipes.starting import figures, results
from tfcopy.data.generated import demo_definitions
from tfcopy.experiments import config
from tfcopy.experiments import run as run_module
from tfcopy.experiments.definitions.definition_data import GROUPS
from tfcopy.recipes import lm1b_definitions, snli_definitions, squad_definitions

TINY = """--units 4 --embedding_dim 6 --vectors_dim 8 --updates 2 --eval_every 1
--batch_size 8 --num_train 16""".split()
RECIPES = {
    "lm": (
        lm1b_definitions,
        "--systems=[dict_mean] --ema=0.5 --average=last".split(),
    ),
    "nli": (snli_definitions, ["--systems=[dict]"]),
    "qa": (squad_definitions, ["--systems=[S]"]),
}
SCORES = {
    "lm": "perplexity after_oov after_known known_targets",
    "nli": "accuracy interval",
    "qa": "exact_match f1 independent_exact_match independent_f1 interval",
}
PICTURES = {"nli": {"rarity.png", "categories.png"}}


@pytest.fixture(scope="module", autouse=True)
def small_demos():
    """Few examples to validate and to test, of each group some."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("questions", "entailments", "sentences"):
            generate = functools.partial(
                getattr(demo_definitions, name), num_validation=8, num_test=24
            )
            patch.setattr(demo_definitions, name, generate)
        yield


def start(name, folder, *arguments):
    recipe, systems = RECIPES[name]
    return starting.start(recipe, [*TINY, *systems], folder, *arguments)


@pytest.fixture(scope="module", params=RECIPES)
def finished(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    assert start(request.param, folder) == 0
    return request.param, folder


def test_results_hold_what_was_agreed(finished):
    name, folder = finished
    report = starting.check_report(folder)
    (scores,) = report["systems"].values()
    expected = f"{SCORES[name]} parameters updates seconds_training groups"
    assert set(expected.split()) <= set(scores)
    assert scores["updates"] == 2
    averaged = {"ema": 0.5, "average": "last", "updates": [1, 2]}
    assert scores.get("averaged") == (averaged if name == "lm" else None)
    assert set(scores["groups"]) == set(GROUPS)
    assert report["gap_closed"] == {}
    drawn = set(os.listdir(folder / "logs" / "demo"))
    assert PICTURES.get(name, set()) <= drawn


def test_the_report_is_plain_json(finished):
    _, folder = finished
    text = (folder / "logs" / "demo" / "results.json").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


def some(*names):
    """Finished runs, those of other names only where there is time."""
    return pytest.mark.parametrize(
        "finished",
        [
            name
            if name in names
            else pytest.param(name, marks=pytest.mark.slow)
            for name in RECIPES
        ],
        indirect=True,
    )


@pytest.mark.slow
def test_the_command_exports_the_same_model(finished):
    exporting.check_export(finished[1])


def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished[1])


@some("lm")
def test_finished_run_goes_on_where_it_was(finished, capsys, monkeypatch):
    name, folder = finished
    before, path = figures(folder), results(folder)["savedmodel"]
    monkeypatch.setattr(run_module, "export", lambda *_, **__: path)  # slow
    assert start(name, folder) == 0
    assert "update " not in capsys.readouterr().err.replace("after update", "")
    assert figures(folder) == before


def test_the_papers_baseline_has_the_updates_of_the_authors_code():
    own = snli_definitions.Config(**snli_definitions.PRESETS["paper"])
    assert own.updates == 1_560_000
    assert config.config_for_system(own, "baseline").updates == 2_340_000
