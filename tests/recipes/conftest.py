"""Pictures take a third of a small training: few recipes draw them here."""

import pytest

from tfcopy.recipes import common

# One with words, one with placeholders, and those that look at pictures.
DRAWN = ("test_common", "test_europarl_ps", "test_gigaword_ps")


@pytest.fixture(scope="module", autouse=True)
def few_pictures(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] not in DRAWN:
            patch.setattr(common.Pictures, "__call__", lambda *_: None)
        yield
