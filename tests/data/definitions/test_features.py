"""Features turn words into the ids that models read."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.definitions.test_packing import entries_of, ids_of, packer
from tests.data.definitions.test_spelling import CHARACTERS as SPELT_CHARACTERS
from tfcopy.data import definitions
from tfcopy.data.definitions.features import flat_inputs, spellings
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import definition_inputs, definition_layout
from tfcopy.tokens import BOS, EOS, PAD, UNK

WORDS = Vocabulary.build({"the": 3, "cat": 2, "sees": 1})
CHARACTERS = Vocabulary.build(dict.fromkeys("acdeghost", 1))
DEFINITIONS = definitions.Definitions(
    ("cat", "dog", "hound"), ((("pet",),), (("pet", "too"),), (("a", "dog"),))
)
OF_DEFINITIONS = Vocabulary.build(dict.fromkeys(["a", "pet", "too"], 1))
TEXT = tf.ragged.constant([["the", "dogs", "sees"], ["cat"]])
OTHER = tf.ragged.constant([["hound"], []], tf.string, row_splits_dtype="int64")


def make(spelt=True, **options):
    packing = {"exclude_top_k": options.get("exclude_top_k")}
    return definitions.DefinitionFeatures(
        WORDS,
        lookup=definitions.DefinitionLookup(DEFINITIONS),
        packer=definitions.DefinitionPacker(
            DEFINITIONS, OF_DEFINITIONS, layout="flat", **packing
        ),
        characters=CHARACTERS if spelt else None,
        **options,
    )


def found(features, **texts):
    return {k: x.numpy() for k, x in features.inputs(texts).items()}


def test_texts_are_ids_slots_and_spellings():
    the, cat, sees = (WORDS.id(x) for x in ("the", "cat", "sees"))
    batch = found(make(), text=TEXT, other=OTHER)
    assert batch["text_ids"].tolist() == [[the, UNK, sees], [cat, PAD, PAD]]
    assert batch["other_ids"].tolist() == [[UNK], [PAD]]
    # Numbered as they come, the texts in the order of their names: hound,
    # dog and cat.
    assert batch["text_slots"][..., 0].tolist() == [[0, 2, 0], [3, 0, 0]]
    assert batch["other_slots"][..., 0].tolist() == [[1], [0]]
    assert batch["definition_counts"].tolist() == [0, 1, 1, 1]
    pet, too, a = (OF_DEFINITIONS.id(x) for x in ("pet", "too", "a"))
    assert batch["definition_ids"].tolist() == [a, UNK, pet, too, pet]
    assert batch["text_spelling_slots"].tolist() == [[2, 3, 4], [5, 0, 0]]
    c, a, t = map(CHARACTERS.id, "cat")
    assert batch["spelling_ids"][5, :5].tolist() == [BOS, c, a, t, EOS]


@pytest.mark.parametrize("begin", [True, False])
@pytest.mark.parametrize("end", [True, False])
def test_marks_stand_at_both_ends(begin, end):
    plain = found(make(), text=TEXT, other=OTHER)
    marked = found(make(begin=begin, end=end), text=TEXT, other=OTHER)
    for name, text in (("text", TEXT), ("other", OTHER)):
        for i, length in enumerate(text.row_lengths().numpy()):
            expected = plain[f"{name}_ids"][i, :length].tolist()
            expected = [BOS] * begin + expected + [EOS] * end
            ids = marked[f"{name}_ids"][i]
            assert ids[: len(expected)].tolist() == expected
            assert (ids[len(expected) :] == PAD).all()
            for key in ("slots", "spelling_slots"):
                before = plain[f"{name}_{key}"][i, :length]
                after = marked[f"{name}_{key}"][i]
                stands = slice(int(begin), int(begin) + length)
                np.testing.assert_array_equal(after[stands], before)
                assert not np.delete(after, range(*stands.indices(99)), 0).any()


def test_frequent_words_have_neither_definition_nor_spelling():
    batch = found(make(exclude_top_k=-1), text=TEXT)
    assert batch["text_slots"][..., 0].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert batch["text_spelling_slots"].tolist() == [[0, 1, 0], [0, 0, 0]]


def test_what_was_looked_up_before_is_taken():
    features = make(begin=True)
    known = {"text": features.look_up(TEXT.flat_values)}
    now = found(features, text=TEXT)
    for name, x in features.inputs({"text": TEXT}, known).items():
        np.testing.assert_array_equal(x, now[name])


TEXTS = {"context": ["a", "b", "d c"], "question": ["e"]}
READERS = {"flat": "mean", "padded": "lstm"}


def batch(layout, spelt=True):
    ids = {name: ids_of(words) for name, words in TEXTS.items()}
    entries = {name: entries_of(words) for name, words in TEXTS.items()}
    words = {name: tf.constant([words]) for name, words in TEXTS.items()}
    return flat_inputs(
        ids,
        packer(layout).pack(entries) if layout else None,
        spellings(words, SPELT_CHARACTERS) if spelt else None,
    )


@pytest.mark.parametrize("layout", ["flat", "padded", None])
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
