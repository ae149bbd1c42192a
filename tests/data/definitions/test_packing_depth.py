"""Levels of definitions: what is packed, and what a layer makes of it."""

import types

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.definitions.test_packing import packer, read
from tfcopy.data.definitions import DefinitionLookup, Definitions
from tfcopy.data.definitions.packing import LAYOUTS, DefinitionPacker
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.layers import DefinitionEmbedding
from tfcopy.tokens import BOS, EOS, SPECIAL_TOKENS, UNK

VOCABULARY = Vocabulary([*SPECIAL_TOKENS, "p", "q"])
P, Q, HEADWORD = 4, 5, 6
READERS = {"flat": "mean", "padded": "lstm"}


def dictionary(**entries):
    """Entries of definitions between semicolons, their words at blanks."""
    senses = [
        tuple(tuple(sense.split()) for sense in text.split(";"))
        for text in entries.values()
    ]
    lemmas = {"xs": ("x",), "yz": ("y", "z")}
    return Definitions(tuple(entries), tuple(senses), lemmas)


def make(definitions, layout="flat", depth=1, **options):
    lookup = DefinitionLookup(definitions)
    return DefinitionPacker(
        definitions,
        VOCABULARY,
        layout=layout,
        depth=depth,
        lookup=lookup,
        **options,
    )


def level(packed, number):
    """`(slot, ids)` of each definition of a level, and its counts."""
    names = ("ids", "owners", "weights", "counts")
    suffix = f"_{number}" if number else ""
    block = {name: packed[name + suffix] for name in names}
    return read(block), block["counts"].numpy().tolist()


CYCLE = dictionary(x="p y", y="q x")


def test_a_cycle_goes_on_to_the_deepest_level():
    packed = make(CYCLE, depth=2).pack(tf.constant([[[1]]]))
    assert level(packed, 0) == ([(1, [P, HEADWORD + 1])], [0, 1])
    assert level(packed, 1) == ([(1, [Q, HEADWORD + 1])], [0, 1])
    assert level(packed, 2) == ([(1, [P, UNK])], [0, 1])
    assert "ids_3" not in packed


VALUES = [(0.5, 1.5), (1.25, 1.75), (1.375, 2.125), (1.5625, 2.1875)]


@pytest.mark.parametrize("depth, expected", enumerate(VALUES))
def test_values_of_the_cycle(depth, expected):  # check 20
    embedding = DefinitionEmbedding(6, 1, reader="mean", depth=depth)
    embedding.build()
    table = np.array([0, 0, 0, 0, 1, 3], "float32")[:, None]
    embedding.word_table.embeddings.assign(table)
    packed = make(CYCLE, depth=depth).pack(tf.constant([[[1], [2]]]))
    np.testing.assert_allclose(embedding.read(packed)[1:, 0], expected)


def test_a_definition_of_itself():
    """Also where it is another form of the headword."""
    definitions = dictionary(x="p xs x y;x", y="yz", z="x")
    packed = make(definitions).pack(tf.constant([[[1], [2]]]))
    assert level(packed, 0)[0] == [
        (1, [P, HEADWORD, HEADWORD, HEADWORD + 1]),
        (1, [HEADWORD]),
        (2, [HEADWORD]),  # `yz` is of `y`, too
    ]
    assert level(packed, 1) == ([(1, [HEADWORD])], [0, 1])


def test_a_known_word_is_never_read():
    definitions = dictionary(x="p q z", p="x p", q="x")
    packed = make(definitions).pack(tf.constant([[[1, 2]]]))
    assert level(packed, 0)[0] == [(1, [P, Q, UNK]), (2, [HEADWORD + 1, P])]
    assert level(packed, 1)[0] == [(1, [P, Q, UNK])]


def test_a_word_has_the_definitions_of_all_its_entries():
    definitions = dictionary(w="yz xs", x="p;q;p p", y="q q;p q", z="q;x")
    packed = make(definitions, deeper_definitions=2).pack(tf.constant([[[1]]]))
    assert level(packed, 0)[0] == [(1, [HEADWORD + 1, HEADWORD + 2])]
    read, counts = level(packed, 1)
    assert read == [
        (1, [Q, Q]), (1, [P, Q]), (1, [Q]), (1, [UNK]), (2, [P]), (2, [Q]),
    ]  # fmt: skip
    assert counts == [0, 4, 2]


def test_recurrent_readers_have_boundaries_at_all_levels():
    packed = make(CYCLE, "padded").pack(tf.constant([[[1]]]))
    assert level(packed, 0)[0] == [(1, [BOS, P, HEADWORD + 1, EOS])]
    assert level(packed, 1)[0] == [(1, [BOS, Q, UNK, EOS])]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_to_go_deeper_for(layout):
    made = make(dictionary(x="p q", y="z"), layout, depth=2)
    for entry in (0, 1, 2):
        packed = made.pack(tf.constant([[[entry]]]))
        for number in (1, 2):
            assert not packed[f"weights_{number}"].numpy().any()
            assert packed[f"counts_{number}"].numpy().tolist() == [0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shapes_with_a_multiple(layout):
    made = make(CYCLE, layout, depth=1, multiple=4)
    shapes = set()
    for entries in ([[[1]]], [[[1], [2]]], [[[0]]]):
        packed = made.pack(tf.constant(entries))
        del packed["slots"]
        shapes.add(tuple(tuple(x.shape) for x in packed.values()))
    assert len(shapes) == 1


def test_without_a_depth_all_is_as_before():
    definitions = dictionary(x="p y", y="q x")
    entries = tf.constant([[[1], [2]]])
    expected = packer(definitions=definitions).pack(entries)
    found = make(definitions, "padded", depth=0).pack(entries)
    assert list(found) == list(expected)
    assert found["ids"].numpy().tolist() == [
        [BOS, P, UNK, EOS],
        [BOS, Q, UNK, EOS],
    ]


@pytest.mark.long
def test_in_a_graph(tmp_path):
    made = make(CYCLE, depth=2)
    entries = tf.constant([[[1], [2]], [[0], [1]]])
    expected = made.pack(entries)
    dataset = tf.data.Dataset.from_tensors(entries).map(made.pack)
    module = tf.Module()
    module.pack = tf.function(
        made.pack,
        input_signature=[tf.TensorSpec([None, None, 1], tf.int32)],
        autograph=False,
    )
    tf.saved_model.save(module, tmp_path)
    served = tf.saved_model.load(tmp_path).pack(entries)
    for found in (next(iter(dataset)), served):
        assert found.keys() == expected.keys()
        for name, x in expected.items():
            np.testing.assert_array_equal(found[name], x)


# === Against recursion in plain Python ===


def value(definitions, word_entries, embed, deeper, depth):
    """The mean embedding of entries, by the means of their definitions."""
    vectors = []
    for number in word_entries:
        senses = definitions.definitions[number - 1][: deeper or None]
        for sense in senses:
            vectors.append(np.mean([embed(w, number, depth) for w in sense], 0))
    return np.mean(vectors, 0) if vectors else np.zeros(3)


WORDS = ["p", "q", "x", "y", "z", "xs", "yz", "none"]
senses = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
entries = st.lists(senses, min_size=1, max_size=3).map(";".join)


@settings(max_examples=20)
@given(
    st.fixed_dictionaries({w: entries for w in "xyzp"}),
    st.integers(0, 3),
    st.sampled_from([1, 2, None]),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.sampled_from([None, 4]),
)
def test_agrees_with_recursion(texts, depth, deeper, numbers, multiple):
    definitions = dictionary(**texts)
    embedding = DefinitionEmbedding(6, 3, depth=depth)
    embedding.build()
    rng = np.random.default_rng(0)
    for weight in embedding.weights:
        weight.assign(rng.normal(size=weight.shape))
    table, *headword = (w.numpy() for w in embedding.weights)

    def embed(word, entry, depth):
        if word in VOCABULARY:
            return table[VOCABULARY.id(word)]
        if depth_of_all == 0:
            return table[UNK]
        found = entries_of_words[word]
        if entry in found:
            return headword[0][0]
        if not found or depth == 0:
            return table[UNK]
        return value(definitions, found, embed, deeper, depth - 1)

    found = DefinitionLookup(definitions).entries(WORDS).numpy().tolist()
    entries_of_words = {w: [i for i in x if i] for w, x in zip(WORDS, found)}
    depth_of_all = depth
    made = make(
        definitions,
        depth=depth,
        deeper_definitions=deeper,
        multiple=multiple,
    )
    packed = made.pack(tf.constant(numbers)[None, :, None])
    sums = embedding.read(packed) / np.maximum(packed["counts"], 1)[:, None]
    for number, slot in zip(numbers, packed["slots"].numpy().ravel()):
        expected = value(definitions, [number] * (number > 0), embed, 0, depth)
        np.testing.assert_allclose(sums[slot], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_exported_table_is_as_if_read_alive(layout):  # check 21
    definitions = dictionary(
        x="p y;z q", y="q x z;x y", z="xs;yz y", w="x;y z;p;q"
    )
    embedding = DefinitionEmbedding(
        6, 4, reader=READERS[layout], depth=2, combine="transform"
    )
    embedding.build()
    made = make(definitions, layout, depth=2)
    chunks = [tf.range(i, min(i + 3, 5)) for i in range(1, 5, 3)]
    rows = embedding.table(made.pack(chunk[:, None]) for chunk in chunks)
    entries = np.array([[[1, 4], [2, 0], [0, 0], [3, 4]]], "int32")
    ids = np.array([[P, UNK, UNK, Q]], "int32")
    alive = embedding(ids, made.pack(tf.constant(entries)))
    found = embedding(ids, {"slots": entries}, rows=rows)
    np.testing.assert_allclose(found, alive, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"depth": -1}, "`depth` must be.*Received: depth=-1"),
        ({"depth": 1}, "without a `lookup`.*depth=1, lookup=None"),
        ({"deeper_definitions": 0}, "at least 1.*deeper_definitions=0"),
    ],
)
def test_options_out_of_range(options, message):
    definitions = types.SimpleNamespace(definitions=())
    with pytest.raises(ValueError, match=message):
        packer(definitions=definitions, **options)
