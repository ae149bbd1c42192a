import pytest
import tensorflow as tf

from tests.data.definitions.test_packing import entries_of, ids_of, packer
from tests.data.definitions.test_spelling import CHARACTERS
from tfcopy.data.definitions.flat_inputs import flat_inputs
from tfcopy.data.definitions.packing import LAYOUTS
from tfcopy.data.definitions.spelling import spellings
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import definition_inputs, definition_layout

TEXTS = {"context": ["a", "b", "d c"], "question": ["e"]}
READERS = {"flat": "mean", "padded": "lstm"}


def batch(layout, spelt=True):
    ids = {name: ids_of(words) for name, words in TEXTS.items()}
    entries = {name: entries_of(words) for name, words in TEXTS.items()}
    words = {name: tf.constant([words]) for name, words in TEXTS.items()}
    return flat_inputs(
        ids,
        packer(layout).pack(entries) if layout else None,
        spellings(words, CHARACTERS) if spelt else None,
    )


@pytest.mark.parametrize("layout", [*LAYOUTS, None])
@pytest.mark.parametrize("spelt", [True, False])
def test_has_the_inputs_of_a_model(layout, spelt):
    embedding = DefinitionEmbedding(
        9,
        4,
        reader=READERS.get(layout),
        spelling={"characters": 9, "units": 4} if spelt else None,
    )
    assert definition_layout(embedding) == layout
    inputs, *_ = definition_inputs(tuple(TEXTS), embedding)
    found = batch(layout, spelt)
    assert found.keys() == inputs.keys()
    for name, x in found.items():
        assert x.shape.rank == len(inputs[name].shape), name
        assert x.dtype.name == inputs[name].dtype, name


@pytest.mark.long
def test_is_a_batch_of_tf_data():
    found = batch("padded")
    dataset = tf.data.Dataset.from_tensors(0).map(lambda _: batch("padded"))
    for name, x in next(iter(dataset)).items():
        assert x.numpy().tolist() == found[name].numpy().tolist()
    assert found["context_slots"].shape == (1, 3, 1)
    assert found["question_slots"].numpy().tolist() == [[[4]]]
    assert found["context_spelling_slots"].numpy().tolist() == [[1, 2, 3]]
    assert len(found["definition_counts"]) == len(found["spelling_ids"]) == 5


def test_errors_say_what_does_not_fit():
    ids = {name: ids_of(words) for name, words in TEXTS.items()}
    entries = [entries_of(words) for words in TEXTS.values()]
    with pytest.raises(ValueError, match="'context', 'question'.*list"):
        flat_inputs(ids, packer().pack(entries))
    with pytest.raises(ValueError, match="'context', 'question'.*'a'"):
        flat_inputs(ids, packer().pack({"a": entries[0]}))
    with pytest.raises(ValueError, match="different names.*'definition'"):
        flat_inputs(
            {"definition": ids["context"]},
            packer().pack({"definition": entries[0]}),
        )
