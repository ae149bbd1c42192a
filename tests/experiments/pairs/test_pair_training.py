"""Batches of pairs, as a system is trained with them."""

import re
import types

import pytest

from tests.data.pairs.test_pipeline import corpus
from tfcopy.experiments.config import trainer_options
from tfcopy.experiments.pairs import pair_training
from tfcopy.recipes.europarl_ps import Config


@pytest.mark.parametrize(
    "xla, compiles", [("auto", None), ("on", True), ("off", False)]
)
def test_the_flag_says_whether_xla_compiles(xla, compiles):
    assert trainer_options(Config(xla=xla))["jit_compile"] is compiles


def test_compiled_batches_have_few_shapes(capsys):
    config = Config(batch_size=4, seed=2)
    train, validation = corpus(400), corpus(61, seed=1)
    data = types.SimpleNamespace(train=train, validation=validation)
    shapes = pair_training.compiled_shapes(config, data)
    printed = capsys.readouterr().out
    assert len(shapes) <= pair_training.MAX_SHAPES
    assert printed.startswith(f"XLA compiles {len(shapes)} shapes")
    context = types.SimpleNamespace(num_replicas_in_sync=1)
    read = pair_training.train_batches(config, train, shapes=shapes)
    words, cells = 0, 0
    for epoch in range(3):
        for batch in read(epoch, 0, context):
            sides = batch["source_ids"], batch["target_ids"]
            assert tuple(x.shape[1] for x in sides) in shapes
            if epoch == 0:
                words += sum((x.numpy() != 0).sum() for x in sides)
                cells += sum(x.numpy().size for x in sides)
    share = re.search(r"(\d+)% of their cells are words", printed)[1]
    assert int(share) == round(100 * words / cells)
    for batch in pair_training.dev_batches(config, data, shapes):
        sides = batch["source_ids"], batch["target_ids"]
        assert tuple(x.shape[1] for x in sides) in shapes
