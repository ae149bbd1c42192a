"""Lines of text files, plain or compressed; pairs of texts, and their counts.

Counts are a dict, in results.json as well. Of the pairs `read`, some are
`left`. The others are `blank` (a side has no token), `too_long`, `duplicates`,
or `unlike` (a side is far longer than the other). In a folder of catalogues
some are in `other_language`s; in TMX some are `damaged`.
"""

import dataclasses
import functools
import itertools
import os
import zipfile
from collections.abc import Iterator, Mapping

import numpy as np

from tfcopy import file_formats, filesystem
from tfcopy.data.corpora import corpus
from tfcopy.data.text import exchange_formats


def read_lines(
    path: str | os.PathLike | zipfile.Path,
    keep_ends: bool = False,
    *,
    errors: str = "strict",
    once: bool = False,
) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, as `file_formats.open_text` reads it.

    Lines end at "\n" alone, and come without their ends ("\n" or "\r\n")
    unless `keep_ends`; other line separators of Unicode stay inside the line.
    The file may be a member of a zip archive, too.

    Args:
        path: The file.
        keep_ends: Whether lines keep their ends.
        errors: Treatment of bytes that are not UTF-8, as in `bytes.decode`.
        once: Whether the file is read only once, and so may be a pipe.

    Raises:
        CorpusError: naming the file, if it cannot be read.
    """
    with corpus.name_unreadable(path):
        if not once and not isinstance(path, zipfile.Path):
            file_formats.check_regular(path)
        yield from iter_lines(path, keep_ends, errors)


def iter_lines(
    path, keep_ends: bool = False, errors: str = "strict"
) -> Iterator[str]:
    """Yields the lines of a file like `read_lines`, once.

    Args:
        path, keep_ends, errors: As in `read_lines`.

    Raises:
        OSError: If the file cannot be read.
        CorpusError: naming the line that is not UTF-8.
    """
    number = 0
    try:
        with file_formats.open_plain(path) as file:
            for number, line in enumerate(file, start=1):
                if not keep_ends:
                    line = line.removesuffix(b"\n").removesuffix(b"\r")
                yield line.decode(errors=errors)
    except UnicodeDecodeError as error:
        raise corpus.CorpusError(
            f"{path}, line {number}: not valid UTF-8 (byte "
            f"0x{error.object[error.start]:02x} at position {error.start + 1} "
            "of the line). Convert the file to UTF-8, for example with iconv, "
            "or mend this line."
        ) from error


def iter_aligned_lines(paths, once: bool = False) -> Iterator[tuple[str, ...]]:
    """Yields line n of each of several files, for all n.

    Args:
        paths: The files.
        once: As in `read_lines`.

    Raises:
        CorpusError: If their numbers of lines differ.
    """
    readers = [read_lines(path, once=once) for path in paths]
    for number, lines in enumerate(itertools.zip_longest(*readers)):
        if None in lines:
            counts = {lines.index(None): number}
            longer = next(i for i, x in enumerate(lines) if x is not None)
            counts[longer] = number + 1 + sum(1 for _ in readers[longer])
            (one, count), (other, others) = sorted(counts.items())
            raise corpus.CorpusError(
                f"{paths[one]} has {count:,} lines, but {paths[other]} has "
                f"{others:,}. Both must have the same number: line n of one "
                "belongs to line n of the other. Was one of them cut off?"
            )
        yield lines


def line_error(
    path, number: int, expected: str, received
) -> corpus.CorpusError:
    """Returns an error that compares a line with the expectation."""
    return corpus.CorpusError(
        f"{path}, line {number:,}: expected {expected}. Received: {received!r}."
    )


def plain_or_gzipped(folder: str, name: str) -> str | None:
    """Returns the path of a file or its `.gz`; `None` if there is neither."""
    path = os.path.join(folder, name)
    return next(filter(filesystem.exists, (path, f"{path}.gz")), None)


# Source and target, or one file of TMX or XLIFF.
FilePair = tuple[str | os.PathLike, ...]


def file_pair(
    files: list[str] | None, flag: str, memories: bool = False
) -> FilePair | None:
    """Returns file names as a tuple; `None` if the flag was not given.

    Args:
        files: Value of the flag.
        flag: The flag, for messages.
        memories: Whether one file of TMX or XLIFF will do instead of two.

    Raises:
        ValueError: that names the flag, if these are other files.
    """
    if files is None:
        return None
    is_memory = memories and len(files) == 1
    if len(files) != 2 and not (
        is_memory and exchange_formats.is_memory(*files)
    ):
        raise ValueError(
            f"{flag} takes two files, source and target: {flag} a.en "
            f"a.fr{', or one of TMX or XLIFF' * memories}. Received: {files}."
        )
    return tuple(files)


def file_pairs(config, memories: bool = False) -> list[FilePair | None]:
    """Returns the file names of `--train`, `--validation` and `--test`.

    Args:
        config: The flags, those of these names among them.
        memories: As in `file_pair`.
    """
    return [
        file_pair(getattr(config, split), f"--{split}", memories)
        for split in corpus.SPLITS
    ]


def load(
    train: FilePair,
    validation: FilePair | None = None,
    test: FilePair | None = None,
    *,
    name: str | None = None,
    source_language: str = "source",
    target_language: str = "target",
    **options,
) -> corpus.TranslationCorpus:
    r"""Reads a corpus from pairs of UTF-8 files, source first, or from TMX.

    Every file is checked from its first line to its last before anything is
    returned, so that a bad line is reported at the start. Lines end at "\n"
    alone; other line separators of Unicode stay inside the line. A pair with a
    blank side is skipped and counted. One file is TMX or XLIFF, as
    `exchange_formats.read_memory` reads it.

    Args:
        train: The source and the target file of the training pairs, or one
            file with both.
        validation: The files of the validation pairs. If `None`, pairs spread
            evenly over `train` are held out.
        test: The files of the test pairs; held out as well if `None`.
        name: Name of the corpus; by default the name of the source file.
        source_language, target_language: Codes of languages, as in
            `translation_corpus`; of TMX the units in both are read.
        **options: `num_held_out` (for each split that has no files), `seed`,
            `tokenized`: as in `translation_corpus`.
    """
    languages = source_language, target_language
    return corpus.translation_corpus(
        (_check(paths, languages) for paths in (train, validation, test)),
        name or os.path.basename(train[0]),
        source_language=source_language,
        target_language=target_language,
        **options,
    )


def train_lines(
    train: FilePair,
    validation: FilePair | None = None,
    test: FilePair | None = None,
    *,
    source_language: str = "source",
    target_language: str = "target",
    num_held_out: int | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, int]:
    """Finds the lines, or units, of the training pairs of `load`.

    Args:
        train, validation, test, source_language, target_language,
            num_held_out, seed: As in `load`.

    Returns:
        The numbers of the lines, from 0 on, and the number of all lines.
    """
    num_lines, languages = 0, (source_language, target_language)

    def read_numbered():
        nonlocal num_lines
        for num_lines, pair in enumerate(
            _read_aligned(tuple(train), languages), 1
        ):
            yield (*pair, str(num_lines - 1))

    numbered = corpus.CheckedPairs.check(str(train[0]), read_numbered, "")
    others = (numbered if paths else None for paths in (validation, test))
    options = {"num_held_out": num_held_out, "seed": seed}
    split = corpus.splits(numbered, *others, **options)["train"]
    return np.array([int(number) for *_, number in split]), num_lines


def _check(paths: FilePair | None, languages) -> corpus.CheckedPairs | None:
    if not paths:
        return None
    report = exchange_formats.MemoryReport()
    checked = corpus.CheckedPairs.check(
        " and ".join(map(str, paths)),
        functools.partial(_read_aligned, tuple(paths), languages, report),
        "Give two files with one sentence a line, or TMX.",
    )
    for remark in report.remarks:
        print(f"{paths[0]}: {remark}")
    damaged = len(report.faults)
    return dataclasses.replace(
        checked,
        num_skipped=checked.num_skipped - damaged,
        left_out={"damaged": damaged} if damaged else {},
    )


def _read_aligned(
    paths: FilePair, languages, report=None
) -> Iterator[tuple[str, str]]:
    if len(paths) == 1:
        with corpus.name_unreadable(paths[0]):
            file_formats.check_regular(paths[0])
            try:
                yield from exchange_formats.read_memory(
                    *paths, *languages, report
                )
            except corpus.CorpusError:
                raise
            except ValueError as error:
                raise corpus.CorpusError(str(error)) from error
        return
    yield from iter_aligned_lines(paths)


_REASONS = {
    "blank": "blank",
    "too_long": "too long",
    "duplicates": "duplicates",
    "unlike": "of very different length",
}
# Counted only where there are some.
_RARE_REASONS = {"other_language": "in another language", "damaged": "damaged"}


def count_pairs(read: int, left: int, **left_out: int) -> dict[str, int]:
    """Completes the counts by the number of blank pairs."""
    known = dict.fromkeys(_REASONS, 0) | left_out
    known["blank"] = read - left - sum(left_out.values())
    return {"read": read, **known, "left": left}


def count_split(
    split: corpus.Split, left: int, too_long: int = 0
) -> dict[str, int]:
    """Counts the pairs of a split of a corpus.

    Args:
        split: The split.
        left: Number of pairs in use.
        too_long: Number of pairs that are too long for use.
    """
    num_pairs = split.num_pairs
    if num_pairs is None:
        num_pairs = left + too_long
    read = num_pairs + split.num_skipped + sum(split.left_out.values())
    return count_pairs(read, left, too_long=too_long, **split.left_out)


def counts_line(name: str, counts: Mapping[str, int]) -> str:
    """Formats the counts of a split as a line of text."""
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
