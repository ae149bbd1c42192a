"""Keeps the recipes' tests short: few pictures, and few whole runs.

Pictures take a third of a small training. Of recipes that stand on the parts
of others the whole runs are slow tests.
"""

import pytest

from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import definition_samples

# One with words, one with placeholders, and those that look at pictures.
DRAWN = ("test_reporting", "test_europarl_ps", "test_gigaword_ps")
DRAWN += ("test_definition_samples",)
SAMPLES = (
    reporting.Pictures,
    definition_samples.AnswerSamples,
    definition_samples.EntailmentSamples,
    definition_samples.NextWordSamples,
)


@pytest.fixture(scope="module", autouse=True)
def few_pictures(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] not in DRAWN:
            for kind in SAMPLES:
                patch.setattr(kind, "__call__", lambda *_: None)
        yield


# Module to the fixtures that run its recipe.
SLOW = {
    "test_copy_rules_copynet": {"finished"},
    "test_dialogue_copynet": {"finished"},
    "test_eulerian_pag": {"finished"},
    "test_gigaword_ps": {"finished", "finished_entity"},
    "test_lcsts_copynet": {"trained"},
    "test_rarest_word_ps": {"finished"},
    "test_wmt15_pag": {"finished"},
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        name = item.module.__name__.rpartition(".")[2]
        if SLOW.get(name, set()) & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
