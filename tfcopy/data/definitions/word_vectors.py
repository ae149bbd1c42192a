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

from tfcopy import file_formats
from tfcopy import tokens as special
from tfcopy.data.text.vocabulary import Vocabulary

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
    with file_formats.open_plain(path) as file:
        line, number = file.readline(_LONGEST), 1
        header = _header(line)
        _check_size(path, header[1] if header else len(line.split()) - 1, dim)
        if header and not _is_text(file.peek(_LONGEST), dim):
            yield from _binary_vectors(path, file, header[0], dim, wanted)
            return
        if header:
            line, number = file.readline(_LONGEST), 2
        yield from _text_vectors(path, file, line, number, dim, wanted)


def _header(line) -> tuple[int, int] | None:
    """Parses the numbers of words and dimensions, if a line is a header."""
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


def _text_vectors(path, file, line, number, dim, wanted):
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
                yield word, _check(path, f"line {number:,}", vector, dim)
        line = file.readline(_LONGEST)
        number += 1


def _is_text(head, dim) -> bool:
    """Returns whether some bytes begin with a word and numbers in digits."""
    line, end, _ = head.partition(b"\n")
    fields = line.split()[1:]
    if not end:  # The last field may be cut off.
        fields, dim = fields[:-1], 1
    return len(fields) >= dim and all(map(_is_number, fields[-dim:]))


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def _check(path, place, vector, dim):
    vector = np.array(vector, np.float32)
    if len(vector) != dim or not np.isfinite(vector).all():
        raise ValueError(
            f"{path}, {place}: expected a word and {dim} finite numbers. "
            f"Received: {np.isfinite(vector).sum()} of them."
        )
    return vector


def _binary_vectors(path, file, count, dim, wanted):
    for number in range(1, count + 1):
        # Some writers end a vector with a line end, others do not.
        word = _word(file).lstrip(b"\n")
        data = file.read(4 * dim)
        if not word.endswith(b" ") or len(data) < 4 * dim:
            raise ValueError(
                f"{path}, vector {number:,} of {count:,}: the file ends, or is "
                f"damaged. Expected a word, a blank and {dim} numbers of 4 "
                "bytes (word2vec's binary format)."
            )
        if word[:-1] in wanted:
            vector = np.frombuffer(data, "<f4")
            yield word[:-1], _check(path, f"vector {number:,}", vector, dim)


def _word(file) -> bytes:
    """Reads the bytes up to and including a blank."""
    word = bytearray()
    while byte := file.read(1):
        word += byte
        if byte == b" " or len(word) > _LONGEST:
            break
    return bytes(word)
