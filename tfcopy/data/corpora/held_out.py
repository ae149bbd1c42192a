"""Splits of checked examples, some of which are held out."""

import dataclasses
import hashlib
import itertools
import random
import unicodedata
from collections.abc import Callable, Iterator

from tfcopy.data.corpora.corpus import CorpusError, Split, fingerprint

_HELD_OUT_SHARE = 20  # one pair in twenty
_MAX_HELD_OUT = 2000
_BLOCK = 1024  # pairs
# Unicode's categories of separators, controls and marks of format.
_UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")


@dataclasses.dataclass(frozen=True)
class CheckedPairs:
    """Pairs that have all been read once without an error.

    They may be any tuples of strings of the same length.

    Args:
        place: Where the examples are, for messages.
        read_all: Called without arguments, returns an iterator over
            `(source, target)` pairs of strings, blank ones too.
        num_pairs: The number of pairs without a blank side.
        num_skipped: The number of pairs with a blank side.
        fingerprint: Changes with the text of the pairs.
        noun: What an example is called, for messages.
    """

    place: str
    read_all: Callable[[], Iterator[tuple[str, ...]]]
    num_pairs: int
    num_skipped: int
    fingerprint: str
    noun: str = "sentence pair"

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
        return (pair for pair in self.read_all() if not is_blank(pair))

    def split(self, held_out: dict[int, str] = {}, name: str = "") -> Split:
        """The pairs that `held_out` assigns to `name`; for "train" the rest."""
        if not held_out:
            return Split(
                self.read, self.fingerprint, self.num_pairs, self.num_skipped
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
        )


def splits(
    train: CheckedPairs,
    validation: CheckedPairs | None = None,
    test: CheckedPairs | None = None,
    *,
    num_held_out: int | None = None,
    seed: int = 0,
) -> dict[str, Split]:
    """The three splits of a corpus.

    Args:
        train: The training pairs.
        validation: The validation pairs. If `None`, pairs spread evenly over
            `train` are held out.
        test: The test pairs, likewise.
        num_held_out: How many pairs to hold out for each of these. By default
            one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
    """
    pairs_of = {"validation": validation, "test": test}
    missing = [name for name, pairs in pairs_of.items() if pairs is None]
    held_out = draw(
        train.num_pairs,
        missing,
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
    """Whether a side has nothing but blanks, controls and zero-width marks.

    No tokenizer finds a word there.
    """
    return not all(
        any(unicodedata.category(x) not in _UNSEEN for x in text)
        for text in texts
    )


def draw(
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
        num_held_out: How many each of them gets. By default one in twenty, at
            most 2,000.
        seed: Chooses the examples.
        place: Where the examples are, for messages.
        noun: What an example is called, for messages.

    Returns:
        The indices of those drawn, and the split each one belongs to.

    Raises:
        CorpusError: if nothing would be left.
    """
    if not names:
        return {}
    if num_held_out is None:
        num_held_out = min(_MAX_HELD_OUT, max(1, total // _HELD_OUT_SHARE))
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
