"""Keeps the recipes' tests short: pictures take a third of a small training."""

import pytest

from tfcopy.experiments.definitions import definition_samples
from tfcopy.experiments.pairs.pair_training import SamplePictures

# One with words, one with placeholders, and those that look at pictures.
DRAWN = ("test_reporting", "test_europarl_ps", "test_gigaword_ps")
DRAWN += ("test_definition_samples",)
SAMPLES = (
    SamplePictures,
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
