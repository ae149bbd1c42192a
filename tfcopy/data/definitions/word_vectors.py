"""Word vectors in the formats of word2vec and GloVe, to initialise embeddings.

A file is text, with a word and its numbers per line, with word2vec's header
("number of words, number of dimensions") or without (GloVe); or word2vec's
binary format; either of them plain or compressed. It is read once from front to
end, and only the rows of the vocabulary are kept.
"""

import dataclasses
import hashlib
import math
import os
from collections.abc import Iterator

import numpy as np

from tfcopy import file_forms
from tfcopy import tokens as special
from tfcopy.data.text.vocabulary import Vocabulary

_BLOCK = 1 << 20  # bytes
_LONGEST = 1 << 20  # bytes of a line or word; more is no file of vectors


@dataclasses.dataclass(frozen=True, eq=False)
class WordVectors:
    """A table for a vocabulary.

    Args:
        matrix: float32, `(V, dim)`.
        num_found: Words of the vocabulary that the file has a vector for; the
            special words are not counted.
        num_words: Words of the vocabulary without the special ones.
    """

    matrix: np.ndarray
    num_found: int
    num_words: int

    @property
    def coverage(self) -> float:
        """Share of words that have a vector, in percent."""
        return 100 * self.num_found / max(self.num_words, 1)


def load(
    path,
    vocabulary: Vocabulary,
    dim: int,
    *,
    scale: float = 0.01,
    seed: int = 0,
) -> WordVectors:
    """Reads the vectors of a vocabulary's words.

    Words that have none are drawn from a normal distribution. The file may also
    have special words, such as word2vec's `</s>`. If a word occurs twice, the
    first one counts.

    Args:
        path: The file.
        vocabulary: `Vocabulary`.
        dim: Size of the vectors.
        scale: Standard deviation of the other rows.
        seed: Seed of the other rows.

    Raises:
        ValueError: naming the file and the line (in the binary format: the
            number of the vector), if it is damaged, has another size, or knows
            no word of the vocabulary.
        OSError: if it cannot be read.

    Reference:
        Gulcehre et al., 2016, section 5.2.
    """
    path = os.fspath(path)
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((vocabulary.size, dim), np.float32) * scale
    rows = {word.encode(): i for i, word in enumerate(vocabulary.words)}
    num_found = 0
    for word, vector in _read(path, dim, rows):
        row = rows.pop(word, None)
        if row is not None:
            matrix[row] = vector
            num_found += row >= len(special.SPECIAL_TOKENS)
    num_words = vocabulary.size - len(special.SPECIAL_TOKENS)
    if not num_found and num_words:
        raise ValueError(
            f"{path}: none of the {num_words:,} words of the vocabulary has a "
            "vector there. Are they spelt in the same way, capitals too?"
        )
    return WordVectors(matrix, num_found, num_words)


def checksum(matrix: np.ndarray) -> str:
    """Changes with the vectors and their order."""
    return hashlib.sha256(np.ascontiguousarray(matrix).data).hexdigest()[:16]


def _read(path, dim, wanted) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yields the words that are `wanted`, and their vectors."""
    with file_forms.open_plain(path) as file:
        buffer = _Buffer(file)
        first = buffer.line()
        header = _header(first)
        if header is None:
            _check_size(path, len(first.split()) - 1, dim)
            yield from _text_vectors(path, buffer, first, 1, dim, wanted)
            return
        count, size = header
        _check_size(path, size, dim)
        if buffer.is_text(size):
            line = buffer.line()
            yield from _text_vectors(path, buffer, line, 2, dim, wanted)
        else:
            yield from _binary_vectors(path, buffer, count, dim, wanted)


def _header(line) -> tuple[int, int] | None:
    """The numbers of words and of dimensions, if a line is a header."""
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _check_size(path, size, dim):
    if size != dim:
        raise ValueError(
            f"{path}: expected vectors of {dim} numbers, the size of the "
            f"embeddings. Received: {max(size, 0)} on the first line."
        )


def _text_vectors(path, buffer, line, number, dim, wanted):
    while line:
        word, *rest = line.split(maxsplit=1) or [b""]
        if word in wanted:
            fields = b"".join(rest).split()
            # GloVe has words with blanks inside, which no vocabulary has.
            has_blank = len(fields) > dim and not _is_number(fields[-dim - 1])
            if not has_blank:
                vector = [
                    float(x) if _is_number(x) else math.nan for x in fields
                ]
                yield word, _checked(path, f"line {number:,}", vector, dim)
        line = buffer.line()
        number += 1


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def _checked(path, place, vector, dim):
    vector = np.array(vector, np.float32)
    if len(vector) != dim or not np.isfinite(vector).all():
        raise ValueError(
            f"{path}, {place}: expected a word and {dim} finite numbers. "
            f"Received: {np.isfinite(vector).sum()} of them."
        )
    return vector


def _binary_vectors(path, buffer, count, dim, wanted):
    for number in range(1, count + 1):
        # Some writers end a vector with a line end, others do not.
        word = buffer.until(b" ").lstrip(b"\n")
        data = buffer.read(4 * dim)
        if not word.endswith(b" ") or len(data) < 4 * dim:
            raise ValueError(
                f"{path}, vector {number:,} of {count:,}: the file ends, or is "
                f"damaged. Expected a word, a blank and {dim} numbers of 4 "
                "bytes (word2vec's binary format)."
            )
        if word[:-1] in wanted:
            vector = np.frombuffer(data, "<f4")
            yield word[:-1], _checked(path, f"vector {number:,}", vector, dim)


class _Buffer:
    """A file of bytes, read in blocks."""

    def __init__(self, file):
        self._file = file
        self._data = b""
        self._start = 0

    def line(self) -> bytes:
        """The next line with its end; empty after the last."""
        return self.until(b"\n")

    def until(self, end: bytes) -> bytes:
        """The bytes up to and including an end, or to the end of the file."""
        searched = self._start
        while (place := self._data.find(end, searched)) < 0:
            known = len(self._data) - self._start
            if known > _LONGEST or not self._fill():
                return self._take(len(self._data))
            searched = self._start + known
        return self._take(place + 1)

    def read(self, size: int) -> bytes:
        """The next bytes, fewer at the end of the file."""
        while len(self._data) - self._start < size and self._fill():
            pass
        return self._take(min(self._start + size, len(self._data)))

    def is_text(self, dim: int) -> bool:
        """Returns whether the next line is a word and this many numbers."""
        line = self.line()
        self._data = line + self._data[self._start :]
        self._start = 0
        numbers = line.split()[-dim:]
        return len(numbers) == dim and all(map(_is_number, numbers))

    def _take(self, end):
        taken = self._data[self._start : end]
        self._start = end
        return taken

    def _fill(self) -> bool:
        block = self._file.read(_BLOCK)
        self._data = self._data[self._start :] + block
        self._start = 0
        return bool(block)
