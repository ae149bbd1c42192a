"""Translations in gettext catalogues, `.po` files, as a corpus.

Reference: the manual of GNU gettext, "The Format of PO Files".
"""

import collections
import dataclasses
import functools
import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfcopy import file_forms, filesystem
from tfcopy.data.corpora import plural_forms
from tfcopy.data.corpora.catalog_lines import (
    Entry,
    Header,
    decoded,
    entries_of,
    read_header,
)
from tfcopy.data.corpora.corpus import (
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    is_blank,
    reading,
    splits,
)
from tfcopy.data.text.accelerators import letter_of, without_mark
from tfcopy.data.text.languages import base_language, normal_code

# Of the translated entries; files are held out whole.
_HELD_OUT_SHARE = 20
_MOST_HELD_OUT = 1 / 4  # in files; else entries are held out
_MO_MAGIC = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")
# A part of a path that names a language: es, zh_Hans, pt-BR, sr@latin.
_LANGUAGE = re.compile(
    r"[a-z]{2,3}(?:[_-](?:[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3})){0,2}(?:@[a-z]+)?"
)
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
    are fuzzy or without a translation are skipped and counted. Obsolete entries
    are comments. If an entry has plural forms, the formula in the header
    selects the form that translates the singular, and the last form translates
    the plural. Contexts and comments are not read, and accelerators (`_File`,
    `&File`) are removed. Catalogues of other languages are left out, and their
    entries counted. The language is taken from the header, or else from the
    path, such as `es/LC_MESSAGES` or `es.po`.

    Whole files are held out, one in twenty entries each for validation and
    test, so that the test set is about other things. Files of `es` and `es_MX`
    with the same name are held out together. Sources that occur in training are
    left out there, and counted. If these files would be more than a quarter of
    all, as one of few files is, entries are held out instead.

    Args:
        folder: The folder.
        source_language: ISO 639 code of the `msgid`s.
        target_language: ISO 639 code of the `msgstr`s.
        seed: Seed of the choice of held-out files.

    Raises:
        CorpusError: naming a file, and its line where it has one, that cannot
            be read, or is of another language.
    """
    folder = os.fspath(folder)
    catalogs, other_catalogs = of_language(folder, target_language)
    num_others = sum(
        bool(entry.singular)
        for catalog in other_catalogs.values()
        for entry in (catalog.entries if catalog else ())
    )
    entries = collections.defaultdict(list)
    for path, catalog in catalogs.items():
        parts = os.path.relpath(path.removesuffix(".po"), folder).split(os.sep)
        language = normal_code(catalog.header.language)
        name = tuple(x for x in parts if normal_code(x) != language)
        entries[name] += _pairs(catalog)
    pairs = {
        name: [pair for pair in some if not is_blank(pair)]
        for name, some in entries.items()
    }
    parts = _held_out(pairs, seed)
    skipped = [sum(len(entries[x]) - len(pairs[x]) for x in y) for y in parts]
    all_pairs = list(itertools.chain.from_iterable(pairs.values()))
    num_left = sum(len(pairs[x]) for x in parts[0])
    if not parts[1] or num_left < (1 - _MOST_HELD_OUT) * len(all_pairs):
        pairs, skipped = collections.defaultdict(list), [sum(skipped), 0, 0]
        for pair in all_pairs:
            pairs[pair[0]].append(pair)
        first, *others = _held_out(pairs, seed)
        parts = [first, *filter(None, others)]
    known, checked, num_known = set(), [], []
    for part, num_skipped in zip(parts, skipped):
        some = [pair for name in part for pair in pairs[name]]
        new = [pair for pair in some if pair[0] not in known]
        num_known.append(len(some) - len(new))
        read = functools.partial(iter, new)
        found = CheckedPairs.check(folder, read, _ADVICE)
        checked.append(dataclasses.replace(found, num_skipped=num_skipped))
        known = known or {source for source, _ in some}
    made = splits(*checked, seed=seed)
    left_out = {
        name: {"duplicates": number}
        for name, number in zip(made, num_known + [0, 0])
    }
    if num_others:
        left_out["train"]["other_language"] = num_others
    return TranslationCorpus(
        name=os.path.basename(os.path.normpath(folder)),
        source_language=source_language,
        target_language=target_language,
        splits={
            name: dataclasses.replace(split, left_out=left_out[name])
            for name, split in made.items()
        },
    )


class Catalog(NamedTuple):
    """Content of a catalogue.

    Attributes:
        text: The text of the file.
        charset: The encoding that it was read in.
        header: A `Header`.
        entries: All entries that are not obsolete, the header's among them.
    """

    text: str
    charset: str
    header: Header
    entries: list[Entry]


def read_catalog(path) -> Catalog:
    """Reads a catalogue.

    Raises:
        CorpusError: naming the file, and the line where there is one.
    """
    path = os.fspath(path)
    with reading(path), filesystem.open(path, "rb") as file:
        content = file.read()
    if content[:4] in _MO_MAGIC:
        raise CorpusError(
            f"{path} is a compiled catalogue (.mo). Give the .po file that it "
            "was made from, or make one by `msgunfmt`."
        )
    with reading(path):
        file_forms.check_plain(content[:512], path)
    text, charset = decoded(path, content)
    entries = entries_of(path, text.split("\n"))
    return Catalog(text, charset, read_header(path, entries), entries)


def _catalogs_below(folder) -> Iterator[str]:
    for place, _, names in filesystem.walk(folder):
        for name in names:
            if name.endswith((".po", ".mo")) and not name.startswith("."):
                # A compiled one beside its source adds nothing.
                stem = os.path.join(place, name[:-3])
                if name.endswith(".po") or not filesystem.exists(f"{stem}.po"):
                    yield os.path.join(place, name)


def of_language(
    folder, language: str, exact: bool = False
) -> tuple[dict, dict]:
    """Reads the catalogues of a folder, and of those below it.

    Args:
        folder: The folder.
        language: ISO 639 code, perhaps with a country or a script, whose
            catalogues then come first.
        exact: Whether catalogues of other countries, `es_MX` for `es`, count as
            others, if there are any without a country.

    Returns:
        Two dicts from paths to a `Catalog`: of catalogues in the language or in
        none, and of others; `None` if one cannot be read.

    Raises:
        CorpusError: If none is in the language, or one cannot be read.
    """
    paths = sorted(_catalogs_below(folder))
    if not paths:
        raise CorpusError(f"{folder}: no .po file there. {_ADVICE}")
    base, wanted = base_language(language), normal_code(language)
    catalogs, found = {}, _languages_of_paths(folder, paths)
    named = {path for path in paths if normal_code(found[path]) == wanted}
    for path in paths:
        catalogs[path] = None
        try:
            catalogs[path] = read_catalog(path)
        except CorpusError:
            if not found[path] or base_language(found[path]) == base:
                raise
        else:
            found[path] = catalogs[path].header.language or found[path]
        found[path] = normal_code(found[path])
    alike = [
        x for x in paths if not found[x] or base_language(found[x]) == base
    ]
    if not alike:
        raise CorpusError(
            f"{paths[0]} is in {found[paths[0]]!r}, by its header or its path. "
            f"Expected a catalogue in {language!r}."
        )
    told = {x for x in alike if found[x] == wanted}
    if exact and (told or named.intersection(alike)):
        alike = [x for x in alike if x in told | named or not found[x]]
    elif wanted != base and told:
        alike = [x for x in alike if found[x] in ("", base, wanted)]
    return (
        {path: catalogs[path] for path in alike},
        {path: catalogs[path] for path in paths if path not in alike},
    )


def _languages_of_paths(folder, paths) -> dict[str, str]:
    """Finds the languages that paths below a folder name; "" without one.

    A path names a language as `es/LC_MESSAGES/a.po`; as `es/a.po` if all
    folders are named so; and as `es.po` if all files of its folder are, and
    there are several. Modules of Python are named `io` and `re`, too.
    """
    parts = {
        path: os.path.relpath(path, folder).removesuffix(".po").split(os.sep)
        for path in paths
    }
    has_folders = all(x[1:] and _is_language(x[0]) for x in parts.values())
    stems = collections.defaultdict(list)
    for *folders, stem in parts.values():
        stems[tuple(folders)].append(_is_language(stem))
    found = {}
    for path, (*folders, stem) in parts.items():
        is_named = stems[tuple(folders)]
        found[path] = ""
        if "LC_MESSAGES" in folders[1:]:
            found[path] = folders[folders.index("LC_MESSAGES", 1) - 1]
        elif has_folders:
            found[path] = folders[0]
        elif all(is_named) and len(is_named) > 1:
            found[path] = stem
    return found


def _is_language(name):
    return _LANGUAGE.fullmatch(name) is not None


def _pairs(catalog) -> Iterator[tuple[str, str]]:
    """Yields all pairs, with an empty translation if none is reliable."""
    for entry in catalog.entries:
        if entry.singular and not entry.is_credits:
            for pair in _pairs_of(entry, catalog.header.plural_forms):
                source, mark, _ = without_mark(pair[0])
                if mark and letter_of(pair[1], mark):
                    pair = source, pair[1].replace(mark, "")
                yield tuple(" ".join(text.split()) for text in pair)


def _pairs_of(entry, formula) -> Iterable[tuple[str, str]]:
    forms = [entry.translations[i] for i in sorted(entry.translations)]
    if "fuzzy" in entry.flags or not all(forms):
        forms = [""]
    if entry.plural is None:
        yield entry.singular, forms[0]
        return
    of_one = plural_forms.from_singular(
        formula, len(forms), entry.singular, entry.plural, entry.flags
    )
    one = [form for form, is_one in zip(forms, of_one) if is_one]
    yield entry.singular, one[0] if one else ""
    yield entry.plural, forms[-1]


def _held_out(pairs, seed):
    """Draws the files, or sources, of train, validation and test."""
    names = list(pairs)
    random.Random(seed).shuffle(names)
    wanted = sum(map(len, pairs.values())) / _HELD_OUT_SHARE
    parts = []
    for num_left in (2, 1):
        part, count = [], 0
        # At least one file with entries, and one is left for each other part.
        while len(names) > num_left and count < max(wanted, 1):
            part.append(names.pop())
            count += len(pairs[part[-1]])
        parts.append(part)
    left = {*names}
    return [[x for x in pairs if x in left], *parts]  # in the files' order
