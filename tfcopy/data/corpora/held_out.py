"""Splits of pairs that were all read once, some of them held out."""

import dataclasses
import hashlib
import itertools
import random
from collections.abc import Callable, Iterator

from tfcopy.data.corpora.corpus import CorpusError, Split, fingerprint

_HELD_OUT_SHARE = 20  # one pair in twenty
_MAX_HELD_OUT = 2000
_BLOCK = 1024  # pairs


@dataclasses.dataclass(frozen=True)
class CheckedPairs:
    """Pairs that were read from the first to the last without a fault.

    Args:
        place: Where they are, for messages.
        read_all: Called without arguments, returns an iterator over
            `(source, target)` pairs of strings, blank ones too.
        num_pairs: The number of those that have no blank side.
        num_skipped: The number of the others.
        fingerprint: Changes with the text of the pairs.
    """

    place: str
    read_all: Callable[[], Iterator[tuple[str, str]]]
    num_pairs: int
    num_skipped: int
    fingerprint: str

    @classmethod
    def check(
        cls, place: str, read_all: Callable, advice: str
    ) -> "CheckedPairs":
        """Reads all pairs; raises a CorpusError with `advice` if none is left.

        What is wrong with a pair is said by `read_all`.
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
                f"{place}: no sentence pair there{blank * (num_skipped > 0)}. "
                f"{advice}"
            )
        return cls(place, read_all, num_pairs, num_skipped, digest.hexdigest())

    def read(self) -> Iterator[tuple[str, str]]:
        return (pair for pair in self.read_all() if not is_blank(pair))

    def split(self, held_out: dict[int, str] = {}, name: str = "") -> Split:
        """Those pairs that `held_out` gives to `name`, the rest to "train"."""
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
        test: The same for testing.
        num_held_out: How many pairs to hold out for each of these. By default
            one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
    """
    given = {"validation": validation, "test": test}
    missing = [name for name, pairs in given.items() if pairs is None]
    held_out = _draw(train, missing, num_held_out, seed)
    result = {"train": train.split(held_out, "train")}
    for name, pairs in given.items():
        result[name] = (
            train.split(held_out, name) if pairs is None else pairs.split()
        )
    return result


def is_blank(pair: tuple[str, str]) -> bool:
    """Whether a side has no text."""
    return not (pair[0].strip() and pair[1].strip())


def _draw(pairs, names, num_held_out, seed) -> dict[int, str]:
    """Draws pairs evenly over the file: their indices, and whose they are."""
    if not names:
        return {}
    if num_held_out is None:
        share = max(1, pairs.num_pairs // _HELD_OUT_SHARE)
        num_held_out = min(_MAX_HELD_OUT, share)
    total = num_held_out * len(names)
    if num_held_out <= 0 or total >= pairs.num_pairs:
        raise CorpusError(
            f"Cannot hold out {num_held_out:,} pairs for {' and '.join(names)} "
            f"each: there are {pairs.num_pairs:,} sentence pairs in "
            f"{pairs.place}. Hold out fewer, or give validation and test files."
        )
    rng = random.Random(seed)
    owners = names * num_held_out
    rng.shuffle(owners)
    bounds = [pairs.num_pairs * i // total for i in range(total + 1)]
    return {
        rng.randrange(start, end): owner
        for start, end, owner in zip(bounds, bounds[1:], owners)
    }
