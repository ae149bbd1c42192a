"""Links of Pharaoh's files beside the pairs that are left to train on."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.alignment.word_links import GuidedAlignment
from tfcopy.data.corpora import text_pairs
from tfcopy.data.pairs import pipeline
from tfcopy.data.pairs.encoding import encode
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary

TOKENIZERS = {
    "source_tokenizer": Tokenizer("space"),
    "target_tokenizer": Tokenizer("space"),
}
# `encode` keeps its graph for the same ones.
NO_WORDS = Vocabulary.build({}), Vocabulary.build({})
LENGTHS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=30
)


def write_pairs(folder, lengths):
    """Files whose words are all different; a length of 0 is a blank line."""
    paths = []
    for side in range(2):
        texts = (
            " ".join(f"{side}.{i}.{j}" for j in range(both[side]))
            for i, both in enumerate(lengths)
        )
        paths.append(folder / f"{side}.txt")
        paths[-1].write_text("".join(f"{text}\n" for text in texts))
    return paths


def encoded_pairs(paths, **options):
    corpus = text_pairs.load(paths, **options)
    return corpus, encode(corpus.train, *NO_WORDS, max_length=5, **TOKENIZERS)


@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS, rng=st.randoms(use_true_random=False))
def test_links_stay_with_their_pairs(tmp_path_factory, lengths, rng):
    """Blank lines, long pairs and held out ones have lines of links, too."""
    folder = tmp_path_factory.mktemp("links")
    usable = [*lengths, *([(2, 2)] * 6)]
    rng.shuffle(usable)
    links = [
        {
            (rng.randrange(s), rng.randrange(t))
            for _ in range(rng.randrange(4))
            if s and t
        }
        for s, t in usable
    ]
    paths = write_pairs(folder, usable)
    (folder / "links").write_text(
        "".join(" ".join(f"{s}-{t}" for s, t in own) + "\n" for own in links)
    )
    corpus, encoded = encoded_pairs(paths, num_held_out=2, seed=3)
    lines, num_lines = text_pairs.train_lines(paths, num_held_out=2, seed=3)
    assert num_lines == len(usable)
    alignment = GuidedAlignment.load(
        folder / "links", encoded, lines, num_lines
    )
    texts = list(corpus.train)
    rows = np.array(rng.sample(range(len(encoded)), len(encoded)))
    found = alignment.weights(rows, (7, 8))
    assert found.shape == (len(rows), 8, 7) and found.dtype == np.float32
    for weights, row in zip(found, rows):
        source, _ = texts[encoded.indices[row]]
        number = int(source.split()[0].split(".")[1])
        expected = np.zeros((8, 7))
        for s, t in links[number]:
            expected[t, s] = 1 / sum(t == other for _, other in links[number])
        np.testing.assert_allclose(weights, expected, rtol=1e-6)


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path, [(3, 2)] * 8)


def load(folder, pairs, text):
    (folder / "links").write_text(text)
    _, encoded = encoded_pairs(pairs, num_held_out=1)
    numbers = text_pairs.train_lines(pairs, num_held_out=1)
    return encoded, GuidedAlignment.load(folder / "links", encoded, *numbers)


@pytest.mark.parametrize(
    "text, message",
    [
        ("0-0\n" * 7, "links: expected 8 lines.*Received: 7"),
        ("0-0\n" * 9, "expected 8 lines.*Received: 9"),
        ("3-0\n" * 8, "line . *: expected links of sentences of 3 and 2"),
        ("0:0\n" * 8, "line 1: expected links such as 0-0"),
    ],
)
def test_faults_are_named(tmp_path, pairs, text, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, pairs, text)


def test_batches_have_the_links_of_their_pairs(tmp_path, pairs):
    """Slices of two replicas are those of the whole batch."""
    lines = [f"{i % 3}-{i % 2}\n" for i in range(8)]
    encoded, alignment = load(tmp_path, pairs, "".join(lines))
    plain = encoded.checksum
    encoded = dataclasses.replace(encoded, alignment=alignment)
    assert encoded.checksum != plain
    options = {"shuffle_seed": 0, "shapes": [(5, 6)]}
    (whole,) = pipeline.batches(encoded, 6, **options)
    assert whole["alignment"].shape == (6, 6, 5)
    halves = pipeline.batches(encoded, 6, **options, num_replicas=2)
    for name, array in whole.items():
        parts = [half[name] for half in halves]
        np.testing.assert_array_equal(np.concatenate(parts), array)
    assert "alignment" not in next(
        iter(pipeline.evaluation_batches(encoded, 6))
    )
