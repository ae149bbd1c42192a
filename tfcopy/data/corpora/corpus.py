"""What every corpus of sentence pairs looks like to the rest of tfcopy."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping

SPLITS = ("train", "validation", "test")


class CorpusError(ValueError):
    """A corpus cannot be read; the message says where and what to do."""


@dataclasses.dataclass(frozen=True)
class Split:
    """Sentence pairs, read afresh each time they are iterated over.

    Args:
        read: Called without arguments, returns an iterator over
            `(source, target)` pairs of strings, always in the same order.
        fingerprint: Changes whenever the pairs may have changed.
        num_pairs: How many pairs there are at most, or `None` where that is
            not known without reading them all.
        num_skipped: The number of pairs left out as one side was empty.
    """

    read: Callable[[], Iterator[tuple[str, str]]]
    fingerprint: str
    num_pairs: int | None = None
    num_skipped: int = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self.read()


@dataclasses.dataclass(frozen=True)
class TranslationCorpus:
    """A parallel corpus: three splits of sentence pairs and their languages.

    Args:
        name: Short name for titles and log lines.
        source_language: ISO 639 code, such as `"en"`.
        target_language: ISO 639 code, such as `"fr"`.
        splits: A `Split` for each of `"train"`, `"validation"` and `"test"`.
        tokenized: Whether the sentences are already tokens between blanks.
    """

    name: str
    source_language: str
    target_language: str
    splits: Mapping[str, Split]
    tokenized: bool = False

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
        """Names this very text: the key under which work on it is cached."""
        return fingerprint(
            self.source_language,
            self.target_language,
            self.tokenized,
            *(self.splits[name].fingerprint for name in SPLITS),
        )


def fingerprint(*parts) -> str:
    """A short digest of plain values, the same on every machine."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
