"""A text as word ids, with the words as they are written."""

import array
import dataclasses
import os
from collections.abc import Iterable

import numpy as np

from tfcopy.data.alignment.word_alignment import Sentences
from tfcopy.data.chunked_map import map_chunks
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.text import tokenization
from tfcopy.data.text.tokenization import string_tensor


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedText:
    """Sentences of words.

    Args:
        sentences: The words, as ids.
        words: The words as they are written, by id.
        folds: int array, by id: words that differ only in case share a number.
    """

    sentences: Sentences
    words: list[str]
    folds: np.ndarray

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[bytes]]) -> "TokenizedText":
        """Makes a text from sentences, whose words are UTF-8."""
        numbers, ids, lengths = {}, array.array("i"), [0]
        for row in rows:
            ids.extend(numbers.setdefault(word, len(numbers)) for word in row)
            lengths.append(len(row))
        lower = tokenization.lower(string_tensor(numbers)).numpy()
        return cls(
            Sentences(np.array(ids, np.int32), np.cumsum(lengths)),
            [word.decode() for word in numbers],
            np.unique(lower, return_inverse=True)[1],
        )

    @classmethod
    def read(
        cls,
        path,
        tokenizer: tokenization.Tokenizer,
        *,
        total: int | None = None,
        progress: bool = True,
    ) -> "TokenizedText":
        """Reads a file, plain or compressed; each line is a sentence.

        Args:
            path: The file.
            tokenizer: Cuts lines into words.
            total: Number of lines, for the time left.
            progress: Whether to show a bar.

        Raises:
            CorpusError: naming file and line.
        """
        parts = map_chunks(
            lambda lines: tokenizer.tokenize(string_tensor(lines)).to_list(),
            read_lines(path),
            total=total,
            description=os.path.basename(path),
            progress=progress,
        )
        return cls.from_rows(row for rows in parts for row in rows)

    @property
    def folded(self) -> Sentences:
        """The sentences, in lower case."""
        return Sentences(self.folds[self.sentences.ids], self.sentences.splits)
