"""The interface of all corpora."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping

SPLITS = ("train", "validation", "test")


class CorpusError(ValueError):
    """A corpus cannot be read; the message says where and what to do."""


@dataclasses.dataclass(frozen=True)
class Split:
    """Examples, read afresh each time they are iterated over.

    The examples of a translation corpus are sentence pairs, `(source, target)`.

    Args:
        read: Called without arguments, returns an iterator over examples,
            always in the same order.
        fingerprint: Changes whenever the examples may have changed.
        num_pairs: How many examples there are at most, or `None` where that
            is not known without reading them all.
        num_skipped: The number of examples left out because one side was empty.
        left_out: How many were left out for other reasons, which are those of
            `pair_counts`.
    """

    read: Callable[[], Iterator]
    fingerprint: str
    num_pairs: int | None = None
    num_skipped: int = 0
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __iter__(self) -> Iterator:
        return self.read()

    @property
    def num_examples(self) -> int | None:
        """Equal to `num_pairs`, for examples that are not pairs."""
        return self.num_pairs


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Three splits of examples of one kind.

    Args:
        name: Short name for titles and log lines.
        splits: A `Split` for each of `"train"`, `"validation"` and `"test"`.
        tokenized: Whether the texts are already tokens between blanks.
        generated: Whether tfcopy generated the texts itself.
    """

    name: str
    splits: Mapping[str, Split]
    tokenized: bool = False
    generated: bool = False

    def __post_init__(self):
        if set(self.splits) != set(SPLITS):
            raise ValueError(
                f"`splits` must hold {', '.join(SPLITS)}. "
                f"Received: {', '.join(self.splits)}."
            )

    @property
    def train(self) -> Split:
        return self.splits["train"]

    @property
    def validation(self) -> Split:
        return self.splits["validation"]

    @property
    def test(self) -> Split:
        return self.splits["test"]

    @property
    def fingerprint(self) -> str:
        """Identifies the exact text: the key under which work is cached."""
        return fingerprint(
            *self._key,
            self.tokenized,
            *(self.splits[name].fingerprint for name in SPLITS),
        )

    @property
    def _key(self) -> tuple:
        """Further values that the fingerprint depends on."""
        return ()


@dataclasses.dataclass(frozen=True)
class TranslationCorpus(Corpus):
    """A parallel corpus: three splits of sentence pairs and their languages.

    Args:
        name: Short name for titles and log lines.
        splits: A `Split` for each of `"train"`, `"validation"` and `"test"`.
        tokenized: Whether the sentences are already tokens between blanks.
        generated: Whether tfcopy generated the sentences itself.
        source_language: ISO 639 code, such as `"en"`.
        target_language: ISO 639 code, such as `"fr"`.
    """

    source_language: str = dataclasses.field(kw_only=True)
    target_language: str = dataclasses.field(kw_only=True)

    @property
    def _key(self) -> tuple:
        return self.source_language, self.target_language


def fingerprint(*parts) -> str:
    """A short digest of plain values, the same on every machine."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
