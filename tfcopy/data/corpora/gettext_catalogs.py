"""Translations in gettext catalogues, `.po` files, as a corpus.

Reference: the manual of GNU gettext, "The Format of PO Files".
"""

import dataclasses
import functools
import os
import random
import re
from collections.abc import Iterable, Iterator

from tfcopy import file_forms, filesystem
from tfcopy.data.corpora.corpus import (
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    is_blank,
    reading,
    splits,
)

# Of the translated entries; files are held out whole.
_HELD_OUT_SHARE = 20
_MO_MAGIC = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")
_LINE = re.compile(r'(?:msg\w+(?:\[\d+\])?\s*)?"(?:[^"\\]|\\.)*"')
_ADVICE = "Give a folder of catalogues with translated entries."


def load(
    folder,
    *,
    source_language: str = "en",
    target_language: str,
    seed: int = 0,
) -> TranslationCorpus:
    """Reads all catalogues of a folder and of those below it.

    An entry is an example: its `msgid` and its `msgstr`, whole. Entries that
    are fuzzy or without a translation are skipped and counted; obsolete ones
    are comments. Of an entry with plural forms the first form translates the
    singular and the last one the plural. Contexts and comments are not read.
    Whole files are held out, one in twenty entries each for validation and
    test, so that what is tested is about other things; sources that stand in
    training are left out there, and counted. With fewer than three files
    entries are held out instead.

    Args:
        folder: The folder.
        source_language: ISO 639 code of the `msgid`s.
        target_language: ISO 639 code of the `msgstr`s.
        seed: Chooses what is held out.

    Raises:
        CorpusError: naming a file, and its line where it has one, that cannot
            be read, or is of another language.
    """
    folder = os.fspath(folder)
    paths = sorted(_catalogs_below(folder))
    if not paths:
        raise CorpusError(f"{folder}: no .po file there. {_ADVICE}")
    entries = {path: _read(path, target_language) for path in paths}
    pairs = {
        path: [pair for pair in some if not is_blank(pair)]
        for path, some in entries.items()
    }
    parts = _by_file(pairs, seed) if len(paths) > 2 else [paths]
    known, checked, num_known = set(), [], []
    for part in parts:
        some = [pair for path in part for pair in pairs[path]]
        new = [pair for pair in some if pair[0] not in known]
        num_known.append(len(some) - len(new))
        num_skipped = sum(len(entries[x]) - len(pairs[x]) for x in part)
        read = functools.partial(iter, new)
        found = CheckedPairs.check(folder, read, _ADVICE)
        checked.append(dataclasses.replace(found, num_skipped=num_skipped))
        known = known or {source for source, _ in some}
    made = splits(*checked, seed=seed)
    return TranslationCorpus(
        name=os.path.basename(os.path.normpath(folder)),
        source_language=source_language,
        target_language=target_language,
        splits={
            name: dataclasses.replace(split, left_out={"duplicates": number})
            for (name, split), number in zip(made.items(), num_known + [0, 0])
        },
    )


def read(path, language: str | None = None) -> list[tuple[str, str]]:
    """The translated pairs of a catalogue, line breaks as blanks.

    Args:
        path: The `.po` file.
        language: ISO 639 code that its header must not contradict.

    Raises:
        CorpusError: naming the file, and the line where there is one.
    """
    return [pair for pair in _read(path, language) if not is_blank(pair)]


def _read(path, language):
    """All pairs, with a blank translation where there is none to trust."""
    catalog = open_catalog(path)
    found = catalog.metadata.get("Language", "").strip()
    if language and found and found.split("_")[0] != language.split("_")[0]:
        raise CorpusError(
            f"{path} is in {found!r}, by its header. Expected: {language!r}."
        )
    return [
        (" ".join(source.split()), " ".join(target.split()))
        for entry in catalog
        for source, target in _pairs_of(entry)
    ]


def open_catalog(path):
    """A catalogue, as `polib.POFile`.

    Raises:
        CorpusError: naming the file, and the line where there is one.
        ImportError: If the library is missing; it says how to install it.
    """
    polib = import_polib()
    path = os.fspath(path)
    with reading(path), filesystem.open(path, "rb") as file:
        content = file.read()
    if content[:4] in _MO_MAGIC:
        raise CorpusError(
            f"{path} is a compiled catalogue (.mo). Give the .po file that it "
            "was made from, or make one by `msgunfmt`."
        )
    try:
        with reading(path):
            file_forms.check_plain(content[:512], path)
        _check_strings(path, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}, line {line}: not UTF-8. Convert it by `msgconv --to-code "
            "UTF-8`."
        ) from error
    try:
        return polib.pofile(path, encoding="utf-8", wrapwidth=78)
    except (OSError, ValueError, IndexError) as error:
        reason = str(error).removeprefix(f"Syntax error in po file {path} ")
        raise CorpusError(f"{path}: not a catalogue ({reason}).") from error


def import_polib():
    """The library that reads and writes catalogues.

    Raises:
        ImportError: If it is missing; it says how to install it.
    """
    try:
        import polib
    except ImportError:
        raise ImportError(
            "polib is missing, which reads catalogues: "
            "pip install 'tfcopy[catalogs]'."
        ) from None
    return polib


def _check_strings(path, text):
    """Refuses strings that do not end on their line, which polib drops."""
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if line.startswith(("msg", '"')) and not _LINE.fullmatch(line):
            raise CorpusError(
                f"{path}, line {number}: not a string of a catalogue: "
                f"{line[:60]!r}."
            )


def _catalogs_below(folder) -> Iterator[str]:
    for place, _, names in filesystem.walk(folder):
        for name in names:
            if name.endswith((".po", ".mo")) and not name.startswith("."):
                # A compiled one beside its source says nothing new.
                stem = os.path.join(place, name[:-3])
                if name.endswith(".po") or not filesystem.exists(f"{stem}.po"):
                    yield os.path.join(place, name)


def _pairs_of(entry) -> Iterable[tuple[str, str]]:
    if entry.obsolete:
        return
    forms = [entry.msgstr_plural[i] for i in sorted(entry.msgstr_plural)]
    forms = forms or [entry.msgstr]
    if entry.fuzzy or not all(forms):
        forms = [""]
    yield entry.msgid, forms[0]
    if entry.msgid_plural:
        yield entry.msgid_plural, forms[-1]


def _by_file(pairs, seed):
    """The paths of train, validation and test."""
    paths = list(pairs)
    random.Random(seed).shuffle(paths)
    wanted = sum(map(len, pairs.values())) / _HELD_OUT_SHARE
    parts = []
    for left in (2, 1):
        part, count = [], 0
        # At least one file with entries, and one is left for each other part.
        while len(paths) > left and count < max(wanted, 1):
            part.append(paths.pop())
            count += len(pairs[part[-1]])
        parts.append(part)
    return [sorted(paths), *parts]
