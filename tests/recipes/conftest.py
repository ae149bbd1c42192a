"""Keeps the recipes' tests short: pictures take a third of a small training.

Checks at the end of each run that it says whether it showed the paper's claim.
"""

import contextlib
import io

import pytest

from tfcopy.experiments.definitions import (
    answering_systems,
    entailment_systems,
    next_word_systems,
)
from tfcopy.experiments.pairs.pair_training import SamplePictures
from tfcopy.experiments.run import Run

# One with words, one with placeholders, and those that look at pictures.
DRAWN = ("test_reporting", "test_europarl_ps", "test_gigaword_ps")
DRAWN += ("test_definition_samples",)
SAMPLES = (
    SamplePictures,
    answering_systems.AnswerSamples,
    entailment_systems.EntailmentSamples,
    next_word_systems.NextWordSamples,
)


@pytest.fixture(scope="module", autouse=True)
def few_pictures(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] not in DRAWN:
            for kind in SAMPLES:
                patch.setattr(kind, "__call__", lambda *_: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def claims_are_told():
    finish = Run.finish

    def finish_and_check(run, *arguments, **options):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            report = finish(run, *arguments, **options)
        print(told.getvalue(), end="")
        if run.is_chief:
            claims = report["claims"]
            sentences = [claim["sentence"] for claim in claims]
            lines = told.getvalue().splitlines()
            assert lines[len(lines) - len(claims) :] == sentences
            for claim in claims:
                # The figure is one that the run has.
                trained = claim["figures"].keys() & report["systems"].keys()
                assert all(claim["figures"][x] is not None for x in trained)
                is_told = "Not compared" not in claim["sentence"]
                assert is_told == (len(trained) == 2)
        return report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "finish", finish_and_check)
        yield
