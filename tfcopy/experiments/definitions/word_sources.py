"""Where the systems of a recipe get the vectors of words from.

This file imports nothing heavy, so that recipes can name their systems before
they are run.
"""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class WordSources:
    """Where a system gets the vectors of words from.

    Attributes:
        reads: What the system reads as the definitions of a word:
            `"definitions"`, those of a dictionary; `"headwords"`, the
            headwords that are found for it; their `"spellings"`; its
            `"vector"`, one that is fixed; or `None`.
        reader: As in `DefinitionEmbedding`.
        combine: As in `DefinitionEmbedding`.
        spelling: Whether the system reads the spelling of words as well.
        stop_gradient: As in `DefinitionEmbedding`.
        shares_reader: Whether the model's own LSTM reads definitions.
        fixed: Whether the words' own embeddings are fixed vectors, for all
            words of the corpus.
    """

    reads: Literal["definitions", "headwords", "spellings", "vector"] | None = (
        None
    )
    reader: Literal["mean", "lstm"] = "mean"
    combine: Literal["bands", "transform", "sum", "replace"] = "transform"
    spelling: bool = False
    stop_gradient: bool = False
    shares_reader: bool = False
    fixed: bool = False

    @property
    def needs_dictionary(self) -> bool:
        """Whether the system needs a dictionary."""
        return self.reads not in (None, "vector")

    @property
    def needs_vectors(self) -> bool:
        """Whether the system needs a file of word vectors."""
        return self.fixed or self.reads == "vector"

    @property
    def reads_more(self) -> bool:
        """Whether it reads anything about a word but its own embedding."""
        return self.reads is not None or self.spelling
