import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.definitions import word_vectors
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import EOS, SPECIAL_TOKENS, UNK

WORDS = Vocabulary([*SPECIAL_TOKENS, "the", "Łukasz", "acme", "#.##"])
VECTORS = {
    "acme": [0.5, -1.25, 3e-5],
    "other": [9.0, 9.0, 9.0],
    "Łukasz": [1.0, 2.0, 3.0],
    "</s>": [4.0, 5.0, 6.0],
}
FOUND = {"acme": 6, "Łukasz": 5, "</s>": EOS}


def as_text(vectors, header=True, end=" \n"):
    """`end` is what word2vec writes after each line."""
    size = len(next(iter(vectors.values())))
    lines = [f"{len(vectors)} {size}\n"] if header else []
    for word, vector in vectors.items():
        lines.append(" ".join([word, *map(str, vector)]) + end)
    return "".join(lines).encode()


def as_binary(vectors, end=b"\n"):
    size = len(next(iter(vectors.values())))
    parts = [f"{len(vectors)} {size}\n".encode()]
    for word, vector in vectors.items():
        parts += [word.encode(), b" ", np.array(vector, "<f4").tobytes(), end]
    return b"".join(parts)


def write(folder, data):
    path = folder / "vectors"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["", "gz"])
@pytest.mark.parametrize(
    "data",
    [
        as_text(VECTORS),
        as_text(VECTORS, header=False, end="\n"),
        as_text(VECTORS, end="\r\n"),
        as_binary(VECTORS),
        as_binary(VECTORS, end=b""),
    ],
    ids=["text", "no_header", "windows", "binary", "binary_packed"],
)
def test_reads_every_format(tmp_path, data, compress):
    found = word_vectors.load(write(tmp_path, compress(data)), WORDS, 3)
    assert found.matrix.dtype == np.float32
    assert found.matrix.shape == (WORDS.size, 3)
    for word, row in FOUND.items():
        np.testing.assert_array_equal(
            found.matrix[row], np.array(VECTORS[word], np.float32)
        )
    # `</s>` is no word that was counted.
    assert (found.num_found, found.num_words) == (2, 4)
    assert found.coverage == 50


def test_words_without_a_vector_are_drawn(tmp_path):
    words = Vocabulary([*SPECIAL_TOKENS, *(f"w{i}" for i in range(2_000))])
    path = write(tmp_path, as_text({"w7": [5.0] * 8}))
    first, again, other = (
        word_vectors.load(path, words, 8, seed=seed).matrix
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    drawn = np.delete(first, 4 + 7, axis=0)
    assert abs(drawn.std() - 0.01) < 3e-4 and abs(drawn.mean()) < 3e-4
    assert not np.allclose(drawn, np.delete(other, 4 + 7, axis=0))
    wide = word_vectors.load(path, words, 8, seed=1, scale=1.0).matrix
    np.testing.assert_allclose(wide[UNK], 100 * first[UNK], rtol=1e-5)


def test_words_with_blanks_and_repeated_words(tmp_path):
    """GloVe has the word `. . .`; the first vector of a word counts."""
    lines = ["the . . 1 2 3", "the 4 5 6", "the 7 8 9", "", "x"]
    path = write(tmp_path, "\n".join(["x 0 0 0", *lines]).encode())
    matrix = word_vectors.load(path, WORDS, 3).matrix
    np.testing.assert_array_equal(matrix[4], [4, 5, 6])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected vectors of 3 numbers.*Received: 0 on the first line"),
        (as_text({"the": [1.0] * 5}), "of 3 numbers.*Received: 5"),
        (as_text({"the": [1.0] * 5}, header=False), "Received: 5 on the first"),
        (as_binary({"the": [1.0] * 2}), "of 3 numbers.*Received: 2"),
        (b"x 1 2 3\nthe 1 2\n", "line 2: expected a word and 3.*Received: 2"),
        (b"2 3\nx 1 2 3\nthe 1 2 x\n", "line 3: .*Received: 2 of them"),
        (b"x 1 2 3\nthe 1 2 3 4\n", "line 2: .*Received: 4 of them"),
        (b"the 1 2 nan\n", "line 1: .*finite.*Received: 2"),
        (as_binary({"the": [1.0, np.inf, 0.0]}), "vector 1: .*Received: 2"),
        (as_binary(VECTORS)[:-10], "vector 4 of 4: the file ends"),
        (as_text({"The": [1.0] * 3}), "none of the 4 words"),
        (gzip.compress(as_text(VECTORS) * 99)[:-30], "gzip data is damaged"),
    ],
    ids=(
        "empty text_size no_header_size binary_size short letters long nan "
        "inf cut none gzip"
    ).split(),
)
def test_faults_are_named(tmp_path, data, message):
    path = write(tmp_path, data)
    with pytest.raises(ValueError, match=message) as error:
        word_vectors.load(path, WORDS, 3)
    assert str(error.value).startswith(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match="No such file.*missing"):
        word_vectors.load(tmp_path / "missing", WORDS, 3)


@given(
    st.dictionaries(
        st.text("ab é\n", min_size=1).filter(lambda w: w.split() == [w]),
        st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2),
        min_size=1,
    ),
    st.sampled_from(["text", "binary", "packed"]),
)
@settings(max_examples=60)
def test_what_is_written_is_read(tmp_path_factory, vectors, format):
    words = Vocabulary([*SPECIAL_TOKENS, *vectors])
    data = {
        "text": as_text,
        "binary": as_binary,
        "packed": lambda x: as_binary(x, end=b""),
    }[format](vectors)
    path = write(tmp_path_factory.mktemp("vectors"), data)
    found = word_vectors.load(path, words, 2)
    expected = np.array(list(vectors.values()), np.float32)
    np.testing.assert_array_equal(found.matrix[4:], expected)
    assert found.coverage == 100


@pytest.mark.parametrize("make", [as_text, as_binary])
def test_a_line_longer_than_a_buffer(tmp_path, make):
    path = write(tmp_path, make({"acme": [0.125] * 20_000}))
    assert word_vectors.load(path, WORDS, 20_000).num_found == 1


@pytest.mark.parametrize("make", [as_text, as_binary])
def test_a_large_file_needs_little_memory(tmp_path, make):
    vectors = {f"x{i}": [0.125] * 200 for i in range(10_000)}
    vectors["acme"] = [1.0] * 200
    path = write(tmp_path, make(vectors))
    del vectors
    tracemalloc.start()
    found = word_vectors.load(path, WORDS, 200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.num_found == 1
    assert peak < 5 << 20  # the file has 8 million bytes or more
