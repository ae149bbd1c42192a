"""Translations in gettext catalogues, `.po` and `.mo`, as a corpus.

Reference: the manual of GNU gettext, "The Format of PO Files".
"""

import collections
import dataclasses
import difflib
import functools
import hashlib
import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tfcopy import file_forms, filesystem
from tfcopy.data.corpora import compiled_catalogs
from tfcopy.data.corpora.catalog_lines import (
    Entry,
    Header,
    decoded,
    entries_of,
    forms_of_singular,
    read_header,
)
from tfcopy.data.corpora.corpus import (
    SPLITS,
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    is_blank,
    reading,
    splits,
)
from tfcopy.data.text.accelerators import letter_of, without_mark
from tfcopy.data.text.blanks import normalized
from tfcopy.data.text.languages import (
    base_language,
    normal_code,
)
from tfcopy.data.text.segments import lines_of

# Of the translated entries; files are held out whole.
_HELD_OUT_SHARE = 20
_MOST_HELD_OUT = 1 / 4  # in files; else entries are held out
_LARGE = 1 / 60  # programs with a larger share are held out last
# A part of a path that names a language: es, zh_Hans, pt-BR, sr@latin.
_LANGUAGE = re.compile(
    r"[a-z]{2,3}(?:[_-](?:[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3})){0,2}(?:@[a-z]+)?"
)
# Folders that hold catalogues, whatever the program.
_PLACES = ("LC_MESSAGES", "locale", "po", "translations")
# Programs of iso-codes: names of languages, countries, currencies.
_NAMES = re.compile(r"iso[-_]?\d.*")
_ADVICE = "Give a folder of catalogues with translated entries."


def load(
    folder,
    *,
    source_language: str = "en",
    target_language: str,
    seed: int = 0,
    hold_out: Sequence[str] = (),
    names: bool = False,
) -> TranslationCorpus:
    """Reads all catalogues of a folder and of those below it.

    An entry is an example: its `msgid` and its `msgstr`. If both have the same
    lines and columns, each of these is one, as in filling. Entries that are
    fuzzy or without a translation are skipped and counted. Obsolete entries
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

    If there are compiled catalogues (`.mo`), or `hold_out` is given, whole
    programs are held out. A program is what its file is named after, without
    the language: `git` for `fr/LC_MESSAGES/git.mo` and `git/po/fr.po`. A hash
    of this name chooses it. A text of several programs counts once.

    Args:
        folder: The folder.
        source_language: ISO 639 code of the `msgid`s.
        target_language: ISO 639 code of the `msgstr`s.
        seed: Seed of the choice of held-out files, or entries.
        hold_out: Programs to test on, instead of those that the hash chooses.
        names: Whether to read iso-codes, lists of names, among programs.

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
    by_program = bool(hold_out) or any(map(_is_compiled, catalogs))
    if by_program and not names:
        catalogs = {
            path: catalog
            for path, catalog in catalogs.items()
            if not _NAMES.fullmatch(os.path.basename(path))
        }
    for path, catalog in catalogs.items():
        name = _name(folder, path, catalog)
        if by_program:
            name = _program(folder, name, target_language)
        entries[name] += _pairs(catalog)
    if by_program:
        parts = _programs(folder, entries, hold_out)
    else:
        parts = _whole(entries, _shuffled(entries, seed))
    texts = [[x for name in part for x in entries[name]] for part in parts]
    texts = texts or _by_source(entries, seed)
    checked = [*_checked(folder, texts, num_others, by_program)]
    if by_program:
        num_texts = sum(x.num_pairs for x in checked)
        print(
            f"{folder}: {len(catalogs):,} files of {len(entries):,} programs, "
            f"{num_texts:,} texts."
        )
        for name, part in zip(SPLITS[1:], parts[1:]):
            print(f"{name}: programs {', '.join(part)}.")
    return TranslationCorpus(
        name=os.path.basename(os.path.normpath(folder)),
        source_language=source_language,
        target_language=target_language,
        splits=splits(*checked, seed=seed),
        held_out=tuple(parts[-1]) if by_program and parts else (),
    )


def _checked(folder, parts, num_others, once):
    """Yields the `CheckedPairs` of each part.

    Args:
        folder: The folder, for messages.
        parts: The pairs of each part, training first.
        num_others: Number of entries in other languages.
        once: Whether a pair that occurs again is left out.
    """
    known, left_out = set(), {}
    if num_others:
        left_out["other_language"] = num_others
    for part in parts:
        some = [pair for pair in part if not is_blank(pair)]
        new = [pair for pair in some if pair[0] not in known]
        if once:
            new = [*dict.fromkeys(new)]
        found = CheckedPairs.check(
            folder, functools.partial(iter, new), _ADVICE
        )
        left_out["duplicates"] = len(some) - len(new)
        yield dataclasses.replace(
            found, num_skipped=len(part) - len(some), left_out=left_out
        )
        known, left_out = known or {source for source, _ in some}, {}


class Catalog(NamedTuple):
    """Content of a catalogue.

    Attributes:
        text: The text of the file, `None` of a compiled one.
        charset: The encoding that it was read in.
        header: A `Header`.
        entries: All entries that are not obsolete, the header's among them.
    """

    text: str | None
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
    if content[:4] in compiled_catalogs.MAGIC:
        text = None
        charset, entries = compiled_catalogs.entries_of(path, content)
    else:
        with reading(path):
            file_forms.check_plain(content[:512], path)
        text, charset = decoded(path, content)
        entries = entries_of(path, text.split("\n"))
    return Catalog(text, charset, read_header(path, entries), entries)


def _is_compiled(path):
    return path.endswith(".mo")


def _catalogs_below(folder, base) -> dict[str, str]:
    """Finds the catalogues below a folder, and the languages of their paths.

    A compiled one is left out if its source is beside it, or its path names
    another language than `base`.
    """
    paths = []
    for place, _, names in filesystem.walk(folder, _print_left_out):
        sources = {x for x in names if x.endswith(".po")}
        paths += [
            os.path.join(place, x)
            for x in names
            if x in sources or _is_compiled(x) and f"{x[:-3]}.po" not in sources
            if not x.startswith(".")
        ]
    found = _languages_of_paths(folder, sorted(paths))
    return {
        path: language
        for path, language in found.items()
        if not (_is_compiled(path) and language)
        or base_language(language) == base
    }


def _print_left_out(error):
    place = error.filename
    print(f"{place}: left out: cannot be read ({error.strerror or error}).")


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
    base, wanted = base_language(language), normal_code(language)
    found = _catalogs_below(folder, base)
    catalogs, paths, damaged = {}, [*found], []
    if not paths:
        raise CorpusError(
            f"{folder}: no .po file there, and no .mo in {language!r}. "
            f"{_ADVICE}"
        )
    named = {path for path in paths if normal_code(found[path]) == wanted}
    for path in paths:
        catalogs[path] = None
        try:
            catalogs[path] = read_catalog(path)
        except CorpusError as error:
            if _is_compiled(path):
                damaged.append(error)
            elif not found[path] or base_language(found[path]) == base:
                raise
        else:
            found[path] = catalogs[path].header.language or found[path]
        found[path] = normal_code(found[path])
    alike = [
        x
        for x in paths
        if catalogs[x] and (not found[x] or base_language(found[x]) == base)
    ]
    if damaged and not alike:
        raise damaged[0]
    for error in damaged:
        print(f"Left out: {error}")
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
        path: os.path.relpath(path, folder)[: -len(".po")].split(os.sep)
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
        named = [
            x for x, y in itertools.pairwise(folders) if y.startswith("LC_")
        ]
        if named:
            found[path] = named[0]
        elif has_folders:
            found[path] = folders[0]
        elif all(is_named) and len(is_named) > 1:
            found[path] = stem
    return found


def _is_language(name):
    return _LANGUAGE.fullmatch(name) is not None


def _pairs(catalog) -> Iterator[tuple[str, str]]:
    """Yields all pairs, with an empty translation if none is reliable.

    A line that several messages share counts once.
    """
    known = set()
    for entry in catalog.entries:
        if entry.singular and not entry.is_credits:
            pairs = _pairs_of(entry, catalog.header.plural_forms)
            for lines in itertools.starmap(_lines_of, pairs):
                for pair in lines:
                    if len(lines) == 1 or pair not in known:
                        yield pair
                    known.add(pair)


def _lines_of(source, target):
    """Returns pairs of lines if both texts have the same, or else one pair.

    Columns count as lines, and accelerators are removed.
    """
    plain, mark, _ = without_mark(source)
    if mark and letter_of(target, mark):
        source, target = plain, target.replace(mark, "")
    lines = [lines_of(text.strip()) for text in (source, target)]
    # They may be indented differently.
    ends, others = ([x.replace(" ", "") for x in y[1::2]] for y in lines)
    same = zip(*(x[::2] for x in lines))
    pairs = same if ends == others else [(source, target)]
    return [tuple(normalized(x.strip()) for x in pair) for pair in pairs]


def _pairs_of(entry, formula) -> Iterable[tuple[str, str]]:
    forms = [entry.translations[i] for i in sorted(entry.translations)]
    if "fuzzy" in entry.flags or not all(forms):
        forms = [""]
    if entry.plural is None:
        yield entry.singular, forms[0]
        return
    of_one = forms_of_singular(
        formula, len(forms), entry.singular, entry.plural, entry.flags
    )
    one = [form for form, is_one in zip(forms, of_one) if is_one]
    yield entry.singular, one[0] if one else ""
    yield entry.plural, forms[-1]


def _name(folder, path, catalog):
    """Returns the parts of a path that name no language."""
    parts = os.path.relpath(path[: -len(".po")], folder).split(os.sep)
    language = normal_code(catalog.header.language)
    return tuple(x for x in parts if normal_code(x) != language)


def _program(folder, name, language):
    """Returns the program of a catalogue, given its `_name`."""
    base = base_language(language)
    own = [x for x in name if x not in _PLACES and base_language(x) != base]
    return own[-1] if own else os.path.basename(os.path.abspath(folder))


def _programs(folder, entries, hold_out):
    """Chooses the programs of each part, as `_whole`, by a hash."""
    for name in hold_out:
        if name not in entries:
            near = difflib.get_close_matches(name, entries) or sorted(entries)
            raise CorpusError(
                f"{folder}: --hold_out names {name}, which is no program "
                f"there. Found: {', '.join(near[:9])}."
            )
    total = sum(map(len, entries.values()))

    def place(name):
        is_large = len(entries[name]) > _LARGE * total
        return not is_large, hashlib.sha256(name.encode()).digest()

    return _whole(entries, sorted(entries, key=place), hold_out)


def _whole(entries, order, test=()):
    """Chooses the files, or programs, of each part.

    Returns:
        [] if more than a quarter would be held out and `test` names none.
    """
    pairs = {
        name: [x for x in some if not is_blank(x)]
        for name, some in entries.items()
    }
    parts = _held_out(pairs, order, test)
    sizes = [sum(len(pairs[x]) for x in part) for part in parts]
    num_left = (1 - _MOST_HELD_OUT) * sum(sizes)
    if not parts[1] or not test and sizes[0] < num_left:
        return []
    return parts


def _by_source(entries, seed):
    """Divides entries, if there are too few files to hold some out."""
    all_pairs = [pair for some in entries.values() for pair in some]
    pairs = collections.defaultdict(list)
    for pair in itertools.filterfalse(is_blank, all_pairs):
        pairs[pair[0]].append(pair)
    parts = _held_out(pairs, _shuffled(pairs, seed))
    first, *others = [[x for name in y for x in pairs[name]] for y in parts]
    return [[*filter(is_blank, all_pairs), *first], *filter(None, others)]


def _shuffled(names, seed):
    names = list(names)
    random.Random(seed).shuffle(names)
    return names


def _held_out(pairs, order, test=()):
    """Chooses the files, or sources, of train, validation and test.

    Args:
        pairs: Dict from names to their pairs.
        order: The names; the last ones are held out.
        test: Names for the test, instead of the last ones.
    """
    names = [name for name in order if name not in test]
    wanted = sum(map(len, pairs.values())) / _HELD_OUT_SHARE
    parts = []
    for num_left in (1,) if test else (2, 1):
        part, count = [], 0
        # At least one file with entries, and one is left for each other part.
        while len(names) > num_left and count < max(wanted, 1):
            part.append(names.pop())
            count += len(pairs[part[-1]])
        parts.append(part)
    left = {*names}
    parts += [[*test]] * bool(test)
    return [[x for x in pairs if x in left], *parts]  # in the files' order
