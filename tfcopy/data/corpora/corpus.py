"""Interface of all corpora, and their division into splits."""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import random
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

from tfcopy import file_formats

SPLITS = ("train", "validation", "test")
_HELD_OUT_SHARE = 20  # one example in twenty
_MAX_HELD_OUT = 2000
_BLOCK = 1024  # pairs
# Unicode's categories of separators, controls and marks of format.
_UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")


class CorpusError(ValueError):
    """Error of a corpus that cannot be read; names place and remedy."""


@dataclasses.dataclass(frozen=True)
class Split:
    """Examples, read again each time they are iterated over.

    The examples of a translation corpus are sentence pairs, `(source, target)`.

    Args:
        read: Called without arguments, returns an iterator over examples,
            always in the same order.
        fingerprint: Changes whenever the examples may have changed.
        num_pairs: The most examples that there may be, or `None` if that is
            unknown before all are read.
        num_skipped: The number of examples left out because one side was empty.
        left_out: Numbers of examples left out for other reasons, by the reasons
            of `text_pairs.count_pairs`.
    """

    read: Callable[[], Iterator]
    fingerprint: str
    num_pairs: int | None = None
    num_skipped: int = 0
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __iter__(self) -> Iterator:
        return self.read()


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
        """The split for training."""
        return self.splits["train"]

    @property
    def validation(self) -> Split:
        """The split for validation."""
        return self.splits["validation"]

    @property
    def test(self) -> Split:
        """The split for testing."""
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
        held_out: Names of the programs whose texts are the test set, if no
            other text of theirs is trained on.
        unmixed: Fingerprint before texts of another corpus were added, if any
            were.
    """

    source_language: str = dataclasses.field(kw_only=True)
    target_language: str = dataclasses.field(kw_only=True)
    held_out: tuple[str, ...] = ()
    unmixed: str | None = None

    @property
    def _key(self) -> tuple:
        return self.source_language, self.target_language


def fingerprint(*parts) -> str:
    """Returns a short digest of plain values, the same on every machine."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def check_range(name: str, value, least, most=None) -> None:
    """Raises a CorpusError that names an argument out of its range."""
    if value < least or (most is not None and value > most):
        bounds = f"{least:,} or more"
        if most is not None:
            bounds = f"from {least:,} to {most:,}"
        raise CorpusError(f"`{name}` must be {bounds}. Received: {value}.")


@contextlib.contextmanager
def name_unreadable(path) -> Iterator[None]:
    """Raises a CorpusError that names the file if it cannot be read."""
    try:
        yield
    except file_formats.FormError as error:
        raise CorpusError(str(error)) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "Check the path and its permissions."
        ) from error


def map_examples(
    splits: Mapping[str, Split], function: Callable, *key
) -> dict[str, Split]:
    """Applies a function to each example of some splits.

    Args:
        splits: Splits by name.
        function: Function of an example.
        *key: Values that identify the function, for the fingerprints.
    """
    return {
        name: dataclasses.replace(
            split,
            read=functools.partial(_map_read, function, split.read),
            fingerprint=(
                fingerprint(split.fingerprint, *key)
                if key
                else split.fingerprint
            ),
        )
        for name, split in splits.items()
    }


def _map_read(function, read) -> Iterator:
    return map(function, read())


def generate_splits(
    generate: Callable, numbers: Iterable[int], arguments: Iterable, *key
) -> dict[str, Split]:
    """Makes splits that are generated again whenever they are read.

    Args:
        generate: Called with the name of a split, its number of examples and
            `arguments`; returns an iterator over the examples.
        numbers: Number of examples of each split.
        arguments: Further arguments of `generate`.
        *key: Values that identify `generate`, for the fingerprints.
    """
    return {
        name: Split(
            functools.partial(generate, name, number, *arguments),
            fingerprint(*key, name, number, *arguments),
            number,
        )
        for name, number in zip(SPLITS, numbers)
    }


# === Splits of checked examples, some of which are held out ===


@dataclasses.dataclass(frozen=True)
class CheckedPairs:
    """Pairs that have been read once without an error.

    They may be any tuples of strings of the same length.

    Args:
        place: Where the examples are, for messages.
        read_all: Called without arguments, returns an iterator over
            `(source, target)` pairs of strings, blank ones too.
        num_pairs: The number of pairs without a blank side.
        num_skipped: The number of pairs with a blank side.
        fingerprint: Changes with the text of the pairs.
        noun: Noun for an example, for messages.
        left_out: As in `Split`, by reason.
    """

    place: str
    read_all: Callable[[], Iterator[tuple[str, ...]]]
    num_pairs: int
    num_skipped: int
    fingerprint: str
    noun: str = "sentence pair"
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def check(
        cls,
        place: str,
        read_all: Callable,
        advice: str,
        noun: str = "sentence pair",
    ) -> "CheckedPairs":
        """Reads all pairs; raises a CorpusError with `advice` if none is left.

        Errors in a pair are reported by `read_all`.
        """
        digest = hashlib.sha256()
        num_read = num_pairs = 0
        pairs = read_all()
        while block := list(itertools.islice(pairs, _BLOCK)):
            for texts in zip(*block):
                lengths = ",".join(map(str, map(len, texts)))
                digest.update("\n".join((lengths, *texts, "")).encode())
            num_read += len(block)
            num_pairs += sum(not is_blank(pair) for pair in block)
        num_skipped = num_read - num_pairs
        if not num_pairs:
            blank = f", only {num_skipped:,} with an empty side"
            raise CorpusError(
                f"{place}: no {noun} there{blank * (num_skipped > 0)}. {advice}"
            )
        return cls(
            place, read_all, num_pairs, num_skipped, digest.hexdigest(), noun
        )

    def read(self) -> Iterator[tuple[str, ...]]:
        """Yields the pairs without a blank side."""
        return (pair for pair in self.read_all() if not is_blank(pair))

    def split(self, held_out: dict[int, str] = {}, name: str = "") -> Split:
        """Selects the pairs that `held_out` assigns to `name`, or the rest."""
        if not held_out:
            return Split(
                self.read,
                self.fingerprint,
                self.num_pairs,
                self.num_skipped,
                self.left_out,
            )

        def read():
            for i, pair in enumerate(self.read()):
                if held_out.get(i, "train") == name:
                    yield pair

        is_train = name == "train"
        num_held_out = sum(owner == name for owner in held_out.values())
        return Split(
            read,
            fingerprint(self.fingerprint, sorted(held_out.items()), name),
            self.num_pairs - len(held_out) if is_train else num_held_out,
            self.num_skipped if is_train else 0,
            self.left_out if is_train else {},
        )


def share_held_out(total: int) -> int:
    """Returns the default number of held-out examples: 5 %, at most 2,000.

    Args:
        total: The number of examples.
    """
    return min(_MAX_HELD_OUT, max(1, total // _HELD_OUT_SHARE))


def translation_corpus(
    checked: Iterable[CheckedPairs | None],
    name: str,
    *,
    source_language: str = "source",
    target_language: str = "target",
    num_held_out: int | None = None,
    seed: int = 0,
    tokenized: bool = False,
) -> TranslationCorpus:
    """Makes a corpus of pairs that have been read once.

    Args:
        checked: The pairs for training, validation and testing, as in `splits`.
        name: Name of the corpus.
        source_language: ISO 639 code of the source language.
        target_language: ISO 639 code of the target language.
        num_held_out: As in `splits`.
        seed: As in `splits`.
        tokenized: Whether the texts are already tokens between blanks.
    """
    return TranslationCorpus(
        name=name,
        source_language=source_language,
        target_language=target_language,
        splits=splits(*checked, num_held_out=num_held_out, seed=seed),
        tokenized=tokenized,
    )


def splits(
    train: CheckedPairs,
    validation: CheckedPairs | None = None,
    test: CheckedPairs | None = None,
    *,
    num_held_out: int | None = None,
    seed: int = 0,
) -> dict[str, Split]:
    """Makes the three splits of a corpus.

    Args:
        train: The training pairs.
        validation: The validation pairs. If `None`, pairs spread evenly over
            `train` are held out.
        test: The test pairs; held out as well if `None`.
        num_held_out: Number of pairs to hold out for each of these. By default
            one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
    """
    pairs_of = {"validation": validation, "test": test}
    held_out = sample_held_out(
        train.num_pairs,
        [name for name, pairs in pairs_of.items() if pairs is None],
        num_held_out,
        seed,
        place=train.place,
        noun=train.noun,
    )
    result = {"train": train.split(held_out, "train")}
    for name, pairs in pairs_of.items():
        result[name] = (
            train.split(held_out, name) if pairs is None else pairs.split()
        )
    return result


def is_blank(texts: tuple[str, ...]) -> bool:
    """Returns whether a side has only blanks, controls and zero-width marks.

    No tokenizer finds a word there.
    """
    return not all(
        any(unicodedata.category(x) not in _UNSEEN for x in text)
        for text in texts
    )


def sample_held_out(
    total: int,
    names: list[str],
    num_held_out: int | None,
    seed: int,
    *,
    place: str,
    noun: str,
) -> dict[int, str]:
    """Draws examples spread evenly over all of them.

    Args:
        total: The number of examples.
        names: The splits that need examples; there may be none.
        num_held_out: Number of examples for each of them. By default one in
            twenty, at most 2,000.
        seed: Chooses the examples.
        place: Where the examples are, for messages.
        noun: Noun for an example, for messages.

    Returns:
        Dict from the indices of the drawn examples to their splits.

    Raises:
        CorpusError: if nothing would be left.
    """
    if not names:
        return {}
    if num_held_out is None:
        num_held_out = share_held_out(total)
    num_drawn = num_held_out * len(names)
    if num_held_out <= 0 or num_drawn >= total:
        raise CorpusError(
            f"Cannot hold out {num_held_out:,} for {' and '.join(names)} each: "
            f"there are {total:,} {noun}s in {place}. Hold out fewer, or give "
            "validation and test files."
        )
    rng = random.Random(seed)
    owners = names * num_held_out
    rng.shuffle(owners)
    bounds = [total * i // num_drawn for i in range(num_drawn + 1)]
    return {
        rng.randrange(start, end): owner
        for start, end, owner in zip(bounds, bounds[1:], owners)
    }
