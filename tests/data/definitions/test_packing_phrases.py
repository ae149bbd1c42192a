import numpy as np
import pytest
import tensorflow as tf

from tests.data.definitions.test_packing import (
    dictionary,
    entries_of,
    ids_of,
    packer,
    read,
)
from tfcopy.data.definitions.features import flat_inputs
from tfcopy.data.definitions.packing import LAYOUTS
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import definition_inputs

# Entries of words: a 1, b 2, e 4; the entry of the phrase is that of "d c".
WORDS = [["a", "d", "c", "b"], ["d", "d", "c", "e"]]
ENTRIES, IDS = entries_of(*WORDS), ids_of(*WORDS)
PHRASES = (
    tf.constant([[0, 3, 3, 0], [0, 3, 3, 0]]),
    tf.constant([[0, 1, 3, 0], [0, 1, 3, 0]]),
)


def test_phrases_share_slots_with_words():
    entries = tf.where(ENTRIES == 2, 3, ENTRIES)  # Of a word and a phrase.
    packed = packer("flat").pack(entries, phrases=PHRASES)
    assert packed["slots"].numpy()[..., 0].tolist() == [
        [1, 0, 0, 2],
        [0, 0, 0, 3],
    ]
    assert packed["phrase_slots"].numpy().tolist() == [[0, 2, 2, 0]] * 2
    assert packed["phrase_positions"].numpy().tolist() == [[0, 1, 3, 0]] * 2
    assert packed["counts"].numpy().tolist() == [0, 2, 1, 1]
    assert [slot for slot, _ in read(packed)] == [1, 1, 2, 3]


def test_words_come_first():
    packed = packer("flat").pack(ENTRIES, phrases=PHRASES)
    alone = packer("flat").pack(ENTRIES)
    number = len(read(alone))
    assert read(packed)[:number] == read(alone)
    assert read(packed)[number:] == [(4, [4, 5])]
    np.testing.assert_array_equal(packed["slots"], alone["slots"])


def test_frequent_words_may_be_part_of_a_phrase():
    packed = packer("flat", exclude_top_k=-1).pack(ENTRIES, IDS, PHRASES)
    assert not packed["slots"].numpy().any()
    assert packed["phrase_slots"].numpy().tolist() == [[0, 1, 1, 0]] * 2


def test_a_phrase_that_keeps_no_definition_is_none():
    definitions = dictionary(["b"], ["b"], ["a a a"], ["a"])
    made = packer("flat", definitions, max_length=2, too_long="drop")
    packed = made.pack(ENTRIES, phrases=PHRASES)
    assert not packed["phrase_slots"].numpy().any()
    assert not packed["phrase_positions"].numpy().any()


@pytest.mark.few(2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("depth", [0, 1])
def test_has_the_inputs_of_a_model(layout, depth):
    embedding = DefinitionEmbedding(
        9,
        4,
        reader={"flat": "mean", "padded": "lstm"}[layout],
        depth=depth,
        phrases=True,
    )
    names = ("context", "question")
    inputs, *_ = definition_inputs(names, embedding)

    def batch(entries):
        packed = packer(
            layout,
            depth=depth,
            lookup=Lookup(),
        ).pack(
            dict.fromkeys(names, entries),
            phrases=dict.fromkeys(names, PHRASES),
        )
        return flat_inputs(dict.fromkeys(names, IDS), packed)

    dataset = tf.data.Dataset.from_tensors(ENTRIES).map(batch)
    for found in (batch(ENTRIES), next(iter(dataset))):
        assert found.keys() == inputs.keys()
        for name, x in found.items():
            assert x.shape.rank == len(inputs[name].shape), name
            assert x.dtype.name == inputs[name].dtype, name
        positions = found["question_phrase_positions"].numpy()
        assert positions.tolist() == PHRASES[1].numpy().tolist()


class Lookup:
    """Of a dictionary all of whose words are known."""

    def entries(self, words):
        return tf.zeros([tf.size(words), 1], tf.int32)


def test_phrases_are_pairs():
    with pytest.raises(ValueError, match="a pair of .* 4 tensors. Received: 2"):
        packer().pack([ENTRIES, ENTRIES], phrases=PHRASES)
