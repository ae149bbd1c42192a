"""Any two text files, plain or gzipped, aligned line by line."""

import dataclasses
import gzip
import hashlib
import itertools
import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

from tfcopy.data.corpora.corpus import (
    CorpusError,
    Split,
    TranslationCorpus,
    fingerprint,
)

FilePair = tuple[str | os.PathLike, str | os.PathLike]

_HELD_OUT_SHARE = 20  # one pair in twenty
_MAX_HELD_OUT = 2000
_BLOCK = 4096  # lines


def load(
    train: FilePair,
    validation: FilePair | None = None,
    test: FilePair | None = None,
    *,
    source_language: str = "source",
    target_language: str = "target",
    num_held_out: int | None = None,
    seed: int = 0,
    tokenized: bool = False,
    name: str | None = None,
) -> TranslationCorpus:
    """Reads a corpus from pairs of UTF-8 files, source first.

    Every file is checked from its first line to its last before anything is
    returned, so that a bad line stops the work at its start. Lines end at
    "\\n" alone; other line separators of Unicode stay inside the line. A pair
    of which one side is blank is skipped and counted.

    Args:
        train: The source and the target file of the training pairs.
        validation: The same for validation. If `None`, pairs spread evenly
            over `train` are held out.
        test: The same for testing.
        source_language: ISO 639 code of the source language.
        target_language: ISO 639 code of the target language.
        num_held_out: How many pairs to hold out for each split that has no
            files. By default one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
        tokenized: Whether the lines are already tokens between blanks.
        name: Name of the corpus; by default that of the source file.
    """
    files = {"validation": validation, "test": test}
    given = {key: _Files.check(pair) for key, pair in files.items() if pair}
    missing = [key for key in files if key not in given]
    train_files = _Files.check(train)
    splits = {key: pair.split() for key, pair in given.items()}
    held_out = _held_out(train_files, missing, num_held_out, seed)
    for key in missing:
        splits[key] = train_files.split(held_out, key)
    splits["train"] = train_files.split(held_out, "train")
    return TranslationCorpus(
        name=name or Path(train[0]).name,
        source_language=source_language,
        target_language=target_language,
        splits=splits,
        tokenized=tokenized,
    )


def read_lines(path: str | os.PathLike) -> Iterator[str]:
    """Yields the lines of a plain or gzipped UTF-8 file, without their ends."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # byte order mark
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}, line {number}: not valid UTF-8 (byte "
            f"0x{error.object[error.start]:02x} at position {error.start + 1} "
            "of the line). Convert the file to UTF-8, for example with iconv, "
            "or mend this line in both files."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path}: the gzip data is damaged or cut off after line {number} "
            f"({error}). Fetch the file again."
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "Check the path and its permissions."
        ) from error


@dataclasses.dataclass(frozen=True)
class _Files:
    """A pair of files of which every line has been checked."""

    paths: FilePair
    num_pairs: int
    num_skipped: int
    fingerprint: str

    @classmethod
    def check(cls, paths: FilePair) -> "_Files":
        digest = hashlib.sha256()
        num_lines = num_pairs = 0
        pairs = _read_aligned(paths)
        while block := list(itertools.islice(pairs, _BLOCK)):
            for lines in zip(*block):
                digest.update("\n".join((*lines, "")).encode())
            num_lines += len(block)
            num_pairs += sum(not _is_blank(pair) for pair in block)
        num_skipped = num_lines - num_pairs
        if not num_pairs:
            raise CorpusError(
                f"{paths[0]} and {paths[1]} hold no sentence pair"
                + (f", only {num_skipped:,} empty lines" * (num_skipped > 0))
                + ". Give two files with one sentence a line."
            )
        return cls(tuple(paths), num_pairs, num_skipped, digest.hexdigest())

    def read(self) -> Iterator[tuple[str, str]]:
        return (p for p in _read_aligned(self.paths) if not _is_blank(p))

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


def _held_out(files, names, num_held_out, seed) -> dict[int, str]:
    """Draws pairs evenly over the file: their indices, and whose they are."""
    if not names:
        return {}
    if num_held_out is None:
        share = max(1, files.num_pairs // _HELD_OUT_SHARE)
        num_held_out = min(_MAX_HELD_OUT, share)
    total = num_held_out * len(names)
    if num_held_out <= 0 or total >= files.num_pairs:
        raise CorpusError(
            f"Cannot hold out {num_held_out:,} pairs for {' and '.join(names)} "
            f"each: {files.paths[0]} holds {files.num_pairs:,} sentence pairs. "
            "Hold out fewer, or give validation and test files."
        )
    rng = random.Random(seed)
    owners = names * num_held_out
    rng.shuffle(owners)
    bounds = [files.num_pairs * i // total for i in range(total + 1)]
    return {
        rng.randrange(start, end): owner
        for start, end, owner in zip(bounds, bounds[1:], owners)
    }


def _read_aligned(paths: FilePair) -> Iterator[tuple[str, str]]:
    numbers = itertools.count()
    readers = [read_lines(path) for path in paths]
    for number, pair in zip(numbers, itertools.zip_longest(*readers)):
        if None in pair:
            shorter = pair.index(None)
            counts = [number, number]
            counts[1 - shorter] += 1 + sum(1 for _ in readers[1 - shorter])
            raise CorpusError(
                f"{paths[0]} has {counts[0]:,} lines, but {paths[1]} has "
                f"{counts[1]:,}. Both must have the same number, line n of one "
                "being the translation of line n of the other; was one of them "
                "cut off?"
            )
        yield pair


def _is_blank(pair: tuple[str, str]) -> bool:
    return not (pair[0].strip() and pair[1].strip())


def _open(path):
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else open(path, "rb")
