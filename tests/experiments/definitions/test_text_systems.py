"""Batches of texts, as XLA compiles training on them."""

import functools

import pytest

from tests.data.definitions.test_features import make
from tests.data.definitions.test_text_batches import TEXTS
from tfcopy.data.definitions import TextBatches
from tfcopy.experiments import training_choices
from tfcopy.experiments.definitions import text_systems


@pytest.mark.long
def test_compiled_batches_of_tokens_have_few_shapes(capsys):
    lengths = text_systems._longest_texts(TEXTS)
    assert lengths == ((1, 1), (2, 2), (3, 3))
    limit = training_choices.Batching(32, batch_tokens=6).limit(lengths)
    batches = TextBatches(make(end=True), TEXTS.words)
    text_systems._choose_shapes(batches, TEXTS, limit, seed=1)
    assert "compiles at most" in capsys.readouterr().out
    read = training_choices.make_trainer_data(
        functools.partial(batches.train, TEXTS, limit, shuffle_seed=1)
    )
    seen, rows = set(), set()
    for epoch in range(3):
        for batch in read(epoch, 0, Context):
            seen.add(tuple(x.shape for x in batch.values()))
            rows.add(len(batch["label"]))
    assert rows <= {6, 3, 2} and len(rows) > 1
    assert len(seen) <= training_choices.MAX_SHAPES


class Context:
    """One device."""

    num_replicas_in_sync = 1
