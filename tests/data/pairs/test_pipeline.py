import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.pairs.pipeline import (
    PADDING,
    batch_lengths,
    batches,
    choose_shapes,
    evaluation_batches,
    evaluation_rows,
    shape_for,
    training_rows,
)


def corpus(num_pairs, seed=0):
    """Pair i has the source ids (i + 10, ...), of random lengths."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for side, names in (
        ("source", ("source_ids", "source_copy_ids")),
        ("target", ("target_ids", "pointers")),
    ):
        lengths = rng.integers(1, 12, num_pairs)
        arrays[f"{side}_splits"] = np.concatenate([[0], np.cumsum(lengths)])
        for name in names:
            ids = np.repeat(np.arange(num_pairs) + 10, lengths)
            arrays[name] = ids.astype(np.int32)
    return EncodedCorpus(
        **arrays, indices=np.arange(num_pairs), num_read=num_pairs
    )


def read(dataset):
    return [{k: v.numpy() for k, v in batch.items()} for batch in dataset]


def pairs_of(batch):
    return (batch["source_ids"][:, 0] - 10).tolist()


def assert_equal(batches_a, batches_b):
    assert len(batches_a) == len(batches_b)
    for a, b in zip(batches_a, batches_b):
        for name in PADDING:
            np.testing.assert_array_equal(a[name], b[name])


def test_rows_are_the_pairs_padded_on_the_right():
    encoded = corpus(9)
    (batch,) = read(batches(encoded, 9))
    for name, padding in PADDING.items():
        splits = getattr(encoded, f"{name[:6]}_splits", None)
        if splits is None:
            splits = encoded.target_splits
        assert batch[name].shape == (9, np.diff(splits).max())
        assert batch[name].dtype == np.int32
        for i, row in enumerate(batch[name]):
            ids = getattr(encoded, name)[splits[i] : splits[i + 1]]
            assert row[: len(ids)].tolist() == ids.tolist()
            assert (row[len(ids) :] == padding).all()


@given(
    num_pairs=st.integers(1, 60),
    batch_size=st.integers(1, 20),
    seed=st.integers(0, 5),
    epoch=st.integers(0, 3),
    pool_batches=st.integers(1, 4),
)
@settings(max_examples=25)
def test_each_pair_once_an_epoch_and_resuming(
    num_pairs, batch_size, seed, epoch, pool_batches
):
    encoded = corpus(num_pairs)
    batch_size = min(batch_size, num_pairs)
    options = {
        "shuffle_seed": seed,
        "epoch": epoch,
        "pool_batches": pool_batches,
    }
    whole = read(batches(encoded, batch_size, **options))
    assert len(whole) == num_pairs // batch_size
    seen = sum((pairs_of(batch) for batch in whole), [])
    assert len(set(seen)) == len(seen)
    start = len(whole) // 2
    resumed = batches(encoded, batch_size, start_batch=start, **options)
    assert_equal(read(resumed), whole[start:])


def test_epochs_and_seeds_differ_and_repeat():
    encoded = corpus(50)

    def order(seed, epoch):
        dataset = batches(encoded, 5, shuffle_seed=seed, epoch=epoch)
        return [pairs_of(batch) for batch in read(dataset)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1) != order(2, 1)


def test_sorting_in_pools_saves_padding():
    encoded = corpus(1000)

    def share(pool_batches):
        dataset = batches(
            encoded, 20, shuffle_seed=0, pool_batches=pool_batches
        )
        return np.mean([(b["target_ids"] == 0).mean() for b in read(dataset)])

    assert 3 * share(20) < share(1)


def test_shapes_are_given():
    encoded = corpus(40)
    shapes = [(5, 12), (12, 5), (12, 12)]
    for dataset in (
        batches(encoded, 4, shapes=shapes),
        evaluation_batches(encoded, 4, shapes=shapes),
    ):
        for batch in read(dataset):
            lengths = batch["source_ids"].shape[1], batch["target_ids"].shape[1]
            assert lengths in shapes


def test_the_longest_of_each_batch_are_known_before():
    encoded = corpus(39)
    limit = TokenLimit(50)
    for rows, dataset in (
        (
            training_rows(encoded, 4, seed=3),
            batches(encoded, 4, shuffle_seed=3),
        ),
        (
            training_rows(encoded, limit, seed=3),
            batches(encoded, limit, shuffle_seed=3),
        ),
        (evaluation_rows(encoded, 4), evaluation_batches(encoded, 4)),
    ):
        assert batch_lengths(encoded, rows) == [
            (batch["source_ids"].shape[1], batch["target_ids"].shape[1])
            for batch in read(dataset)
        ]


def test_replicas_get_their_slices_of_the_global_batch():
    encoded = corpus(35)
    options = {"shuffle_seed": 3, "epoch": 1}
    expected = [
        {key: x[2 * r : 2 * r + 2] for key, x in batch.items()}
        for batch in read(batches(encoded, 8, **options))
        for r in range(4)
    ]
    own = batches(encoded, 8, num_replicas=4, **options)
    assert_equal(read(own), expected)
    assert own.element_spec["source_ids"].shape.as_list() == [2, None]


@pytest.mark.parametrize("shapes", [None, ((6, 12), (12, 6), (12, 12))])
def test_batches_of_tokens_start_anywhere_and_are_shared(shapes):
    encoded = corpus(60)
    limit = TokenLimit(40, shapes=shapes)
    options = {"shuffle_seed": 3, "epoch": 1}
    whole = read(batches(encoded, limit, **options))
    assert len(whole) > 5
    pairs = sum((pairs_of(batch) for batch in whole), [])
    assert 60 - 40 < len(pairs) == len(set(pairs))
    seen = set()
    for batch in whole:
        assert max(x.size for x in batch.values()) <= 40
        seen.add((*batch["source_ids"].shape, batch["target_ids"].shape[1]))
    if shapes is not None:
        assert {shape[1:] for shape in seen} <= set(shapes)
        assert {shape[0] for shape in seen} <= {6, 3}
    resumed = batches(encoded, limit, start_batch=4, **options)
    assert_equal(read(resumed), whole[4:])
    halves = read(batches(encoded, limit, num_replicas=2, **options))
    joined = [
        {key: np.concatenate([x, other[key]]) for key, x in one.items()}
        for one, other in zip(halves[::2], halves[1::2], strict=True)
    ]
    assert_equal(joined, whole)
    sizes = [[len(pairs_of(x)) for x in halves[i : i + 2]] for i in (0, 2)]
    assert all(0 <= one - other <= 1 for one, other in sizes)


def test_static_batch_size_only_where_pairs_are_counted():
    encoded = corpus(10)
    for limit, size in ((4, 4), (TokenLimit(40), None)):
        spec = batches(encoded, limit).element_spec
        assert set(spec) == set(PADDING)
        for tensor in spec.values():
            assert tensor == tf.TensorSpec([size, None], tf.int32)


def test_evaluation_can_be_put_back_in_order():
    found = read(evaluation_batches(corpus(23), 5))
    assert [len(batch["indices"]) for batch in found] == [5, 5, 5, 5, 3]
    outputs = np.zeros(23, int)
    widths = []
    for batch in found:
        outputs[batch["indices"]] = pairs_of(batch)
        widths.append(batch["source_ids"].shape[1])
    np.testing.assert_array_equal(outputs, np.arange(23))
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 5, "num_replicas": 2}, "multiple of `num_replicas`"),
        ({"batch_size": 11}, "holds 10 pairs, fewer than one batch"),
        (
            {"batch_size": TokenLimit(20), "num_replicas": 2},
            "`tokens` must be at least 22, 2 times .*. Received: 20",
        ),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        batches(corpus(10), **options)


LENGTHS = st.integers(1, 60)
BATCHES = st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=40)


def cells(batches, shapes):
    return sum(sum(shape_for(x, shapes)) for x in batches)


@settings(max_examples=25)
@given(BATCHES, st.integers(1, 16))
def test_every_batch_has_one_of_few_shapes(batches, number):
    shapes = choose_shapes(batches, number)
    assert 1 <= len(set(shapes)) == len(shapes) <= number
    for batch in batches:
        shape = shape_for(batch, shapes)
        assert shape in shapes
        assert all(a <= b for a, b in zip(batch, shape))
    assert tuple(max(x) for x in zip(*batches)) in shapes


def test_a_thousand_lengths_need_little_padding():
    batches = [(n, 2 * n) for n in range(1, 1_001)]
    shapes = choose_shapes(batches, 16)
    assert len(shapes) == 16 and (1_000, 2_000) in shapes
    assert cells(batches, shapes) < 1.1 * sum(map(sum, batches))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="Received: 0 batches, number=3"):
        choose_shapes([], 3)
    with pytest.raises(ValueError, match="number=0"):
        choose_shapes([(1, 1)], 0)
    with pytest.raises(ValueError, match="5 and 1 tokens a side has no shape"):
        shape_for((5, 1), [(4, 4)])
