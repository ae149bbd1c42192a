"""Sentences that are done leave the batch of a search."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding.searching import search_sources
from tests.decoding.table_model import TableModel, random_model
from tfcopy import tokens
from tfcopy.decoding import SearchOptions, SearchResult

B, S, L, V = 24, 5, 6, 7
OPTIONS = [
    {},
    {"merge": "max", "num_hypotheses": 3, "return_attention": True},
    {"refill": True, "num_hypotheses": 2, "length_penalty": 1.0},
    {"coverage_penalty": 0.3, "return_attention": True},
    {"no_repeat_ngram": 2, "unfinished_compete": True, "min_length": 2},
    {"source_only": (4, 5)},
]


def sources():
    rng = np.random.default_rng(0)
    ids = rng.integers(4, V, (B, S)).astype("int32")
    lengths = rng.integers(1, S + 1, (B, 1))
    ids = np.where(np.arange(S) < lengths, ids, tokens.PAD).astype("int32")
    copy_ids = np.where(ids == 4, V + np.arange(S), ids)
    return ids, np.where(ids == tokens.PAD, -1, copy_ids).astype("int32")


class Counted(TableModel):
    """Notes how many sentences each step is asked for."""

    def decode_step(self, ids, state, memory):
        self.sizes.append(ids.shape[0])
        return super().decode_step(ids, state, memory)


def search(model, rows, prefix, **options):
    """Returns the result for some sentences of the model."""
    memory = {name: x[rows] for name, x in model.memory.items()}
    some = Counted.__new__(Counted)
    some.vocabulary_size, some.memory, some.sizes = V, memory, []
    ids, copy_ids = (x[rows] for x in sources())
    if prefix is not None:
        prefix = ops.convert_to_tensor(prefix[rows])
    options = SearchOptions(num_beams=3, max_length=L, **options)
    return search_sources(some, ids, copy_ids, options, prefix), some.sizes


def assert_close(found, expected):
    for name, x, y in zip(SearchResult._fields, found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("options", "has_prefix"),
    [*((options, False) for options in OPTIONS), (OPTIONS[1], True)],
    ids=str,
)
@pytest.mark.few(1, 3)
def test_answers_are_those_of_each_sentence_alone(options, has_prefix):
    ids, _ = sources()
    model = random_model(3, ids, L, V, eos_logit=5.0)
    # Half of the sentences hardly ever end.
    model.memory["logits"][::2, ..., tokens.EOS] -= 12.0
    prefix = np.full((B, 2), tokens.PAD, "int32")
    prefix[1::3] = [[5, 6]]
    prefix = prefix if has_prefix else None
    together, sizes = search(model, slice(None), prefix, **options)
    if keras.backend.backend() == "tensorflow":
        assert sizes[0] == B and sizes[-1] < B
        assert all(size % 8 == 0 for size in sizes)
        assert sizes == sorted(sizes, reverse=True)
    for row in (0, 1, B - 2):
        alone, _ = search(model, [row], prefix, **options)
        assert_close([x[row] for x in together], [x[0] for x in alone])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.few(2, 5)
def test_static_shapes_change_nothing(options):
    ids, _ = sources()
    model = random_model(3, ids, L, V, eos_logit=5.0)
    expected, _ = search(model, slice(None), None, **options)
    found, sizes = search(
        model, slice(None), None, static_shapes=True, **options
    )
    assert set(sizes) == {B}
    assert_close(found, expected)


def test_any_number_of_sentences_may_leave_if_rounding_may_differ():
    ids, _ = sources()
    model = random_model(3, ids, L, V, eos_logit=5.0)
    model.memory["logits"][::2, ..., tokens.EOS] -= 12.0
    expected, by_eights = search(model, slice(None), None)
    found, sizes = search(model, slice(None), None, same_in_every_batch=False)
    if keras.backend.backend() == "tensorflow":
        assert sum(sizes) < sum(by_eights)
        assert any(size % 8 for size in sizes)
    assert_close(found, expected)
