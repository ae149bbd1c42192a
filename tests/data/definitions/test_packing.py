"""Ids of the numeric checks in the notes on the paper are ours plus one."""

import types

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tfcopy.data.definitions.packing import DefinitionPacker
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK

VOCABULARY = Vocabulary([*SPECIAL_TOKENS, *"abcde"])
HEADWORDS = {"a": 1, "b": 2, "d c": 3, "e": 4}
LAYOUTS = ("flat", "padded")


def dictionary(*entries):
    """Entries of definitions, the words of which stand between blanks."""
    entries = [[tuple(text.split()) for text in entry] for entry in entries]
    return types.SimpleNamespace(
        headwords=tuple(f"w{i}" for i, _ in enumerate(entries)),
        definitions=tuple(tuple(entry) for entry in entries),
    )


DEFINITIONS = dictionary(["b c", "d e"], ["e d"], ["a b"], ["b c d"])


def packer(layout="padded", definitions=DEFINITIONS, **options):
    return DefinitionPacker(definitions, VOCABULARY, layout=layout, **options)


def entries_of(*sentences):
    numbers = [[[HEADWORDS.get(w, 0)] for w in words] for words in sentences]
    return tf.constant(numbers, tf.int32)


def ids_of(*sentences):
    return tf.constant([[VOCABULARY.id(w) for w in s] for s in sentences])


def read(packed):
    """`(slot, ids)` of each definition; those of slot 0 fill up."""
    ids, owners = packed["ids"].numpy(), packed["owners"].numpy().tolist()
    weights = packed["weights"].numpy().tolist()
    if ids.ndim == 2:
        assert weights == [float(owner > 0) for owner in owners]
        return [(u, row[row != PAD].tolist()) for u, row in zip(owners, ids)]
    rows, i = [], 0
    while i < len(ids):
        length = round(1 / weights[i]) if owners[i] else 1
        end = i + length
        assert set(owners[i:end]) == {owners[i]}
        weight = owners[i] and 1 / length
        np.testing.assert_allclose(weights[i:end], [weight] * length)
        rows.append((owners[i], ids[i:end].tolist()))
        i = end
    return rows


def occurrences(packed):
    """`(b, t, j)`: sentence, word, and which definition it has."""
    rows = read(packed)
    return [
        (int(b), int(t), j)
        for b, t, place in np.argwhere(packed["slots"].numpy())
        for j, (slot, _) in enumerate(rows)
        if slot == packed["slots"][b, t, place]
    ]


BATCH = ["a", "b", "b"], ["d c", "a", "b"]


def test_each_definition_is_read_once():  # check 1
    packed = packer().pack(entries_of(*BATCH))
    expected = [[2, 5, 6, 3], [2, 7, 8, 3], [2, 8, 7, 3], [2, 4, 5, 3]]
    assert packed["ids"].numpy().tolist() == expected
    assert packed["owners"].numpy().tolist() == [1, 1, 2, 3]
    assert packed["counts"].numpy().tolist() == [0, 2, 1, 1]
    assert occurrences(packed) == [
        (0, 0, 0), (0, 0, 1), (0, 1, 2), (0, 2, 2),
        (1, 0, 3), (1, 1, 0), (1, 1, 1), (1, 2, 2),
    ]  # fmt: skip


def test_frequent_words_have_no_definition():  # check 2
    """7 ids below are 2 words, the special tokens not counted."""
    batch = ["a", "b", "c", "d"], ["a", "e", "b", ""]
    packed = packer(exclude_top_k=2).pack(entries_of(*batch), ids_of(*batch))
    assert read(packed) == [(1, [2, 5, 6, 7, 3])]
    assert occurrences(packed) == [(1, 1, 0)]


@pytest.mark.parametrize(
    "top_k, found", [(None, 5), (0, 5), (1, 3), (5, 1), (-1, 1)]
)
def test_unknown_words_are_never_excluded(top_k, found):  # check 3
    batch = [["a", "d c", "b", "e"]]
    made = packer("flat", exclude_top_k=top_k)
    packed = made.pack(entries_of(*batch), ids_of(*batch))
    assert len(read(packed)) == found
    assert packed["slots"][0, 1, 0] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_definition_at_all(layout):  # check 4
    packed = packer(layout).pack(entries_of(["c", ""]))
    assert packed["slots"].numpy().tolist() == [[[0], [0]]]
    assert packed["counts"].numpy().tolist() == [0]
    filler = {"flat": [PAD], "padded": [BOS, EOS]}[layout]
    assert packed["ids"].numpy().reshape(-1).tolist() == filler
    assert not packed["owners"].numpy().any()
    assert not packed["weights"].numpy().any()


def kept(entry, layout, max_definitions, max_length):
    rows = []
    for words in [words for words in entry if words][:max_definitions]:
        ids = [VOCABULARY.id(word) for word in words[:max_length]]
        rows.append([BOS, *ids, EOS] if layout == "padded" else ids)
    return rows


def retrieve(definitions, texts, words, top_k, options):
    """Definitions of each word, and of the batch in order."""
    of_words, batch = [], {}
    for entries, ids in zip(texts, words):
        for place in np.ndindex(ids.shape):
            i, own = ids[place], []
            known = i != UNK and (top_k == -1 or i < 4 + (top_k or 0))
            for entry in entries[place]:
                if entry == 0 or (top_k and known):
                    continue
                rows = kept(definitions.definitions[entry - 1], **options)
                own.append(rows)
                batch.setdefault(entry, rows)
            of_words.append([rows for rows in own if rows])
    return of_words, [rows for rows in batch.values() if rows]


texts_of_words = st.lists(st.sampled_from("abcdez"), max_size=5).map(" ".join)
entries_of_texts = st.lists(texts_of_words, max_size=4)


@settings(max_examples=80)
@given(st.data())
def test_packs_what_plain_retrieval_finds(data):
    def draw(*choices):
        return data.draw(st.sampled_from(choices))

    definitions = dictionary(
        *data.draw(st.lists(entries_of_texts, min_size=1, max_size=4))
    )
    top_k = draw(None, 0, 1, 3, -1)
    options = {
        "layout": draw(*LAYOUTS),
        "max_definitions": draw(1, 2, 20, None),
        "max_length": draw(1, 3, 30, None),
    }
    made = packer(definitions=definitions, exclude_top_k=top_k, **options)
    shapes = [(2, draw(0, 1, 3), 2), (1, 2, 2)]
    numbers = st.integers(0, made.num_entries)
    texts = [data.draw(arrays("int32", s, elements=numbers)) for s in shapes]
    ids = st.integers(0, VOCABULARY.size - 1)
    words = [data.draw(arrays("int32", s[:2], elements=ids)) for s in shapes]
    packed = made.pack(texts, words)
    of_words, batch = retrieve(definitions, texts, words, top_k, options)

    assert packed["counts"][0] == 0
    counts = packed["counts"].numpy()[1:].tolist()
    assert counts == [len(rows) for rows in batch]
    rows = read(packed)
    expected = [(u, ids) for u, of in enumerate(batch, 1) for ids in of]
    assert rows[: len(expected)] == expected
    assert [u for u, _ in rows[len(expected) :]] == [0] * (not expected)
    assert [x.shape for x in packed["slots"]] == shapes
    slots = [u for x in packed["slots"] for u in x.numpy().reshape(-1, 2)]
    found = [[batch[u - 1] for u in of_word if u] for of_word in slots]
    assert found == of_words


def test_an_unknown_layout_is_named():
    with pytest.raises(ValueError, match="'flat' or.*Received: 'ragged'"):
        packer(layout="ragged")


def test_entries_that_the_dictionary_lacks():
    with pytest.raises(tf.errors.InvalidArgumentError):
        packer().pack(tf.constant([[[len(HEADWORDS) + 1]]]))
