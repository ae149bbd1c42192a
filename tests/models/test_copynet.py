import numpy as np
import pytest

from tests import helpers
from tests.layers.random_inputs import randomized
from tests.models import contract
from tfcopy import losses
from tfcopy.layers import CopyDistribution
from tfcopy.models import copynet
from tfcopy.tokens import EOS, NO_COPY, PAD, UNK

V = 9
# Words known and unknown, once and twice; the second sentence is shorter.
BATCH = {
    "source_ids": np.array([[5, 1, 6, 1, 5, 1], [4, 7, 5, 0, 0, 0]], "int32"),
    "source_copy_ids": np.array(
        [[5, V + 1, 6, V + 3, 5, V + 1], [4, V + 1, V + 2, *[NO_COPY] * 3]],
        "int32",
    ),
    "target_ids": np.array(
        [[V + 1, V + 3, 5, 6, EOS], [4, V + 2, EOS, PAD, PAD]], "int32"
    ),
}


def make_model(**options):
    """With large weights, so that all that is read shows."""
    sizes = {"embedding_dim": 4, "units": 5, "attention_units": 6}
    return randomized(copynet(8, V, **sizes | options))


@pytest.fixture
def model():
    return make_model()


def run(model, batch=BATCH):
    return CopyDistribution(*helpers.evaluate(model, dict(batch)))


def costs(model, batch=BATCH):
    """`-log p` of each target word; 0 on padding."""
    nll = helpers.to_numpy(losses.marginal_copy_loss(batch, run(model, batch)))
    return np.where(batch["target_ids"] == PAD, 0, nll)


def changed(**arrays):
    return {**BATCH, **{k: np.array(x, "int32") for k, x in arrays.items()}}


@pytest.mark.parametrize(
    "system, total",
    [("copynet", 3_531_103), ("rnnsearch", 2_811_103), ("enc_dec", 2_540_803)],
)
def test_number_of_parameters(system, total):
    """For 1,003 rows; BOS as a word like others adds three of them."""
    for size, expected in ((1003, total), (1004, total + 150 + 150 + 301)):
        with contract.without_numbers():
            model = copynet(size, size, system=system)
        assert model.count_params() == expected


def swapped(ids, first, second):
    return np.where(ids == first, second, np.where(ids == second, first, ids))


def test_names_of_unknown_words_do_not_matter(model):
    """Check 12."""
    expected = costs(model)
    source, target = (
        swapped(BATCH[name], V + 1, V + 3)
        for name in ("source_copy_ids", "target_ids")
    )
    renamed = changed(source_copy_ids=source, target_ids=target)
    helpers.assert_close(costs(model, renamed), expected)
    difference = np.abs(costs(model, changed(target_ids=target)) - expected)[0]
    assert difference[:2].min() > 1e-3
    # Later words read other places, not other words.
    assert difference[2:].max() > 1e-3


@pytest.mark.parametrize("first", [8, V + 1])
def test_nothing_is_read_where_the_source_lacks_all_words(model, first):
    """Check 13, on a source of unknown words; V + 1 is one of them."""
    batch = {
        "source_ids": BATCH["source_ids"][:1],
        "source_copy_ids": V + np.array([[0, 1, 0, 3, 3, 5]], "int32"),
        "target_ids": np.array([[first, 7, UNK, 6, EOS]], "int32"),
    }
    other = make_model()
    kernel = helpers.to_numpy(other.cell.kernel).copy()
    kernel[4 + 10 :] += 1  # the rows that selective read goes through
    other.cell.kernel.assign(kernel)
    for x, y in zip(run(model, batch), run(other, batch)):
        difference = np.abs(helpers.to_numpy(x) - helpers.to_numpy(y)).max()
        assert difference == 0 if first == 8 else difference > 1e-3
