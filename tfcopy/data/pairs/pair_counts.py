"""How many pairs a corpus has, and why some of them are left out.

Counts are a dict, in results.json as well: of the pairs `read` so many are
`left`; the others are `blank` (a side has no token), `too_long`, `duplicates`,
or `unlike` (a side is far longer than the other). Of a folder of catalogues
some are in `other_language`s.
"""

from collections.abc import Mapping

from tfcopy.data.corpora.corpus import Split

_REASONS = {
    "blank": "blank",
    "too_long": "too long",
    "duplicates": "duplicates",
    "unlike": "of very different length",
}
# Counted only where there are some.
_RARE_REASONS = {"other_language": "in another language"}


def count(read: int, left: int, **left_out: int) -> dict[str, int]:
    """The counts, given all reasons but that a side is blank."""
    known = dict.fromkeys(_REASONS, 0) | left_out
    known["blank"] = read - left - sum(left_out.values())
    return {"read": read, **known, "left": left}


def of_split(split: Split, left: int, too_long: int = 0) -> dict[str, int]:
    """The counts of a split of a corpus.

    Args:
        split: The split.
        left: How many of its pairs are used.
        too_long: How many are not because they are too long.
    """
    num_pairs = split.num_pairs
    if num_pairs is None:
        num_pairs = left + too_long
    read = num_pairs + split.num_skipped + sum(split.left_out.values())
    return count(read, left, too_long=too_long, **split.left_out)


def line(name: str, counts: Mapping[str, int]) -> str:
    """The counts of a split as a line of text."""
    reasons = ", ".join(
        f"{counts[key]:,} {text}"
        for key, text in {**_REASONS, **_RARE_REASONS}.items()
        if counts.get(key)
    )
    read, left = counts["read"], counts["left"]
    told = "none left out"
    if reasons:
        told = f"{read - left:,} left out ({reasons}), {left:,} left"
    return f"{name}: {read:,} pairs read, {told}"
