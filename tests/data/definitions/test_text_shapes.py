"""Batches of texts with definitions, padded to few shapes."""

import numpy as np
import pytest
import tensorflow as tf

from tests.models.defined_texts import SPELLING, make_embedding
from tfcopy.data.definitions.text_shapes import TextShapes
from tfcopy.models.definition_inputs import embed_texts

LAYOUTS = ("flat", "padded")


def batch(rng, layout, examples=4):
    """Random texts of random lengths, with definitions and spellings."""
    length, defined = rng.integers(2, 9), rng.integers(1, 5)
    owners = np.sort(rng.integers(1, defined + 1, rng.integers(2, 9)))
    size = [len(owners)]
    if layout == "padded":
        size.append(rng.integers(2, 6))
    words = rng.integers(1, 4)
    tensors = {
        "text_ids": rng.integers(4, 9, (examples, length)),
        "text_slots": rng.integers(0, defined + 1, (examples, length, 2)),
        "definition_ids": rng.integers(4, 9, size),
        "definition_owners": owners,
        "text_spelling_slots": rng.integers(0, words + 1, (examples, length)),
        "spelling_ids": rng.integers(4, 7, (words + 1, rng.integers(2, 5))),
        "label": rng.integers(0, 3, (examples,)),
    }
    floats = {
        "definition_weights": np.ones(len(owners)),
        "definition_counts": np.bincount(owners, minlength=defined + 1),
    }
    made = {k: tf.constant(x, tf.int32) for k, x in tensors.items()}
    return made | {k: tf.constant(x, tf.float32) for k, x in floats.items()}


def shapes_of(batch):
    return tuple((name, *x.shape) for name, x in sorted(batch.items()))


def many(layout, number=80, seed=0):
    rng = np.random.default_rng(seed)
    return [batch(rng, layout) for _ in range(number)]


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_are_few_shapes(layout):
    seen = many(layout)
    shapes = TextShapes(seen, 6)
    assert len({shapes_of(x) for x in seen}) > 60
    padded = [shapes.pad(x) for x in seen]
    assert 2 <= len({shapes_of(x) for x in padded}) <= 6
    cells = sum(int(tf.size(x)) for one in seen for x in one.values())
    there = sum(int(tf.size(x)) for one in padded for x in one.values())
    labels = sum(int(tf.size(one["label"])) for one in seen)
    assert abs(shapes.share - cells / there) < 1e-6 + labels / there
    # Batches that nobody saw are mostly among them.
    others = {shapes_of(shapes.pad(x)) for x in many(layout, 40, seed=1)}
    assert len(others - {shapes_of(x) for x in padded}) <= 3


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_changes_no_vector(layout):
    reader = {"reader": "mean" if layout == "flat" else "lstm"}
    embedding = make_embedding(spelling=SPELLING, **reader)
    seen = many(layout, 12)
    shapes = TextShapes(seen, 3)
    for one in seen[:4]:
        padded = shapes.pad(one)
        assert shapes_of(padded) != shapes_of(one)
        for name, x in one.items():
            inside = padded[name][tuple(slice(n) for n in x.shape)]
            np.testing.assert_array_equal(inside, x)
        vectors, masks = embed_texts(("text",), embedding, one)
        longer, longer_masks = embed_texts(("text",), embedding, padded)
        length = one["text_ids"].shape[1]
        np.testing.assert_allclose(
            longer["text"][:, :length], vectors["text"], rtol=1e-5, atol=1e-6
        )
        assert not np.any(longer_masks["text"][:, length:])


def test_batches_of_other_numbers_of_examples_have_their_own_classes():
    rng = np.random.default_rng(0)
    sizes = (4, 6, 2, 4, 6, 2) * 5
    seen = [batch(rng, "flat", examples) for examples in sizes]
    shapes = TextShapes(seen, 9)
    padded = [shapes.pad(x) for x in seen]
    assert [len(x["label"]) for x in padded] == list(sizes)
    assert len({shapes_of(x) for x in padded}) <= 9
    # One that was not seen shares the classes of all.
    others = {shapes_of(shapes.pad(batch(rng, "flat", 3))) for _ in range(20)}
    classes = [tuple(x) for x in shapes.classes]
    assert len(others) <= len(set(classes))


def test_what_no_class_holds_keeps_its_shape():
    seen = many("flat", 10)
    shapes = TextShapes(seen, 3)
    long = seen[0] | {"text_ids": tf.ones((4, 99), tf.int32)}
    assert shapes_of(shapes.pad(long)) == shapes_of(long)
    graph = tf.function(shapes.pad, autograph=False)
    assert shapes_of(graph(seen[1])) == shapes_of(shapes.pad(seen[1]))
    # A last batch has fewer examples.
    few = {
        name: x if name.startswith(("definition", "spelling_ids")) else x[:2]
        for name, x in seen[2].items()
    }
    assert shapes.pad(few)["label"].shape == (2,)
    with pytest.raises(ValueError, match="0 batches"):
        TextShapes([], 3)
