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

from tfcopy import file_formats, filesystem
from tfcopy.data.corpora import catalog_lines, compiled_catalogs, corpus
from tfcopy.data.text.accelerators import letter_of, remove_mark
from tfcopy.data.text.blanks import normalize
from tfcopy.data.text.languages import (
    base_language,
    best_language,
    code_of_name,
    complete_code,
    normal_code,
)
from tfcopy.data.text.segments import lines_of
from tfcopy.terminal import printable

# Of the translated entries; files are held out whole.
_HELD_OUT_SHARE = 20
_MOST_HELD_OUT = 1 / 4  # in files; else entries are held out
_LARGE = 1 / 60  # programs with a larger share are held out last
# Folders that hold catalogues, whatever the program.
_PLACES = ("LC_MESSAGES", "locale", "po", "translations")
# Programs of iso-codes: names of languages, countries, currencies.
_NAMES = re.compile(r"iso[-_]?\d.*")
_ADVICE = "Give a folder of catalogues with translated entries."
_LARGEST = 1 << 28  # bytes of a catalogue
_MOST_LINES = 10  # of one kind


def load(
    folder,
    *,
    source_language: str = "en",
    target_language: str,
    seed: int = 0,
    hold_out: Sequence[str] = (),
    names: bool = False,
) -> corpus.TranslationCorpus:
    """Reads all catalogues of a folder and of those below it.

    An entry is an example: its `msgid` and its `msgstr`. If both have the same
    lines and columns, each of these is one, as in filling. Entries that are
    fuzzy or without a translation are skipped and counted. Obsolete entries
    are comments. If an entry has plural forms, the formula in the header
    selects the form that translates the singular, and the last form translates
    the plural. Contexts and comments are not read, and accelerators (`_File`,
    `&File`) are removed. Catalogues of other languages are left out, and their
    entries counted. The language is taken from the header, or else from the
    path, such as `es/LC_MESSAGES` or `es.po`; of a program in several countries
    the nearest one is read (`find_catalogs`).

    Whole files are held out, one in twenty entries each for validation and
    test, so that the test set is about other things. Sources that occur in
    training are left out there, and counted. If these files would be more than
    a quarter of all, as one of few files is, entries are held out instead.

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
    catalogs, other_catalogs = find_catalogs(folder, target_language)
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
        name = _name(folder, path, catalog.header.language or target_language)
        if by_program:
            name = _program(folder, name)
        entries[name] += _pairs(catalog)
    if by_program:
        test = [*dict.fromkeys(map(printable, hold_out))]
        parts = _programs(folder, entries, test)
    else:
        parts = _whole(entries, _shuffle(entries, seed))
    texts = [[x for name in part for x in entries[name]] for part in parts]
    texts = texts or _split_sources(entries, seed)
    checked = [*_check_parts(folder, texts, num_others, by_program)]
    if by_program:
        num_texts = sum(x.num_pairs for x in checked)
        counts = f"{len(catalogs):,} files of {len(entries):,} programs"
        print(printable(f"{folder}: {counts}, {num_texts:,} texts."))
        for name, part in zip(corpus.SPLITS[1:], parts[1:]):
            print(f"{name}: programs {', '.join(part)}.")
    return corpus.TranslationCorpus(
        name=_base_name(folder),
        source_language=source_language,
        target_language=target_language,
        splits=corpus.splits(*checked, seed=seed),
        held_out=tuple(parts[-1]) if by_program and parts else (),
    )


def _check_parts(folder, parts, num_others, once):
    """Yields the `CheckedPairs` of each part.

    Args:
        folder: The folder, for messages.
        parts: The pairs of each part, training first.
        num_others: Number of entries in other languages.
        once: Whether a pair that occurs again is left out.

    Raises:
        CorpusError: If a part is empty.
    """
    known, left_out = set(), {}
    if num_others:
        left_out["other_language"] = num_others
    for split, part in zip(corpus.SPLITS, parts):
        filled_pairs = [pair for pair in part if not corpus.is_blank(pair)]
        new = [pair for pair in filled_pairs if pair[0] not in known]
        if known and not new:
            raise corpus.CorpusError(
                f"{folder}: what is held out for {split} has no translated "
                "text that training lacks. Name other programs by --hold_out."
            )
        if once:
            new = [*dict.fromkeys(new)]
        checked = corpus.CheckedPairs.check(
            folder, functools.partial(iter, new), _ADVICE
        )
        left_out["duplicates"] = len(filled_pairs) - len(new)
        yield dataclasses.replace(
            checked,
            num_skipped=len(part) - len(filled_pairs),
            left_out=left_out,
        )
        known, left_out = known or {source for source, _ in filled_pairs}, {}


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
    header: catalog_lines.Header
    entries: list[catalog_lines.Entry]


def read_catalog(path) -> Catalog:
    """Reads a catalogue.

    Raises:
        CorpusError: naming the file, and the line where there is one.
    """
    path = os.fspath(path)
    with corpus.name_unreadable(path):
        content = file_formats.read_regular(path, _LARGEST)
    if content[:4] in compiled_catalogs.MAGIC:
        text = None
        charset, entries = compiled_catalogs.entries_of(path, content)
    else:
        with corpus.name_unreadable(path):
            file_formats.check_plain(content[:512], path)
        text, charset = catalog_lines.decode(path, content)
        entries = catalog_lines.entries_of(path, text.split("\n"))
    return Catalog(
        text, charset, catalog_lines.read_header(path, entries), entries
    )


def _is_compiled(path):
    return path.endswith(".mo")


def _catalogs_below(folder, base, left_out) -> dict[str, str]:
    """Finds the catalogues below a folder, and the languages of their paths.

    A compiled one is left out if its source is beside it, or its path names
    another language than `base`. `left_out` receives lines about folders.
    """
    paths = []
    for place, names in _walk(folder, left_out):
        sources = {x for x in names if x.endswith(".po")}
        paths += [
            os.path.join(place, x)
            for x in names
            if x in sources or _is_compiled(x) and f"{x[:-3]}.po" not in sources
            if not x.startswith(".")
        ]
    return {
        path: language
        for path, language in _languages_of_paths(folder, sorted(paths)).items()
        if not (_is_compiled(path) and language)
        or base_language(language) == base
    }


def _walk(folder, left_out):
    """Yields the folders below a folder, each once, and the names of files.

    Links are followed if they are named as a language's folder, as in a tree of
    locales, and lead elsewhere.
    """

    def add(error):
        reason = error.strerror or error
        left_out.append(
            f"{error.filename}: left out: cannot be read ({reason})."
        )

    tops, links, seen = [folder], [], set()
    for top in tops:
        for place, folders, names in filesystem.walk(top, add):
            real = filesystem.realpath(place)
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            yield place, names
            for name in sorted(folders):
                path = os.path.join(place, name)
                if os.path.islink(path):
                    is_named = catalog_lines.is_language(
                        name
                    ) or name.startswith("LC_")
                    target = os.path.join(filesystem.realpath(path), "")
                    is_above = os.path.join(real, "").startswith(target)
                    (tops if is_named and not is_above else links).append(path)
    left_out += [
        f"{path}: left out: a link to a folder, not named as a language's."
        for path in links
        if filesystem.realpath(path) not in seen
    ]


def _print_lines(lines):
    """Prints the first of many lines of one kind, and the number of others."""
    for line in lines[:_MOST_LINES]:
        print(printable(line))
    if lines[_MOST_LINES:]:
        print(f"... and {len(lines) - _MOST_LINES:,} more like this.")


def find_catalogs(
    folder, language: str, *, one_code: bool = False
) -> tuple[dict, dict]:
    """Reads the catalogues of a folder, and of those below it.

    Of each program, the catalogues in the language are taken, or else in the
    nearest of its codes (`best_language`): for `pt_BR` those in `pt`; for `pt`
    those of a country. A line tells which codes differ. The script is never
    exchanged. The code is that of the header, completed by the path; if the
    header names no known language, that of the path, and a line tells.

    Args:
        folder: The folder.
        language: ISO 639 code, perhaps with a country or a script.
        one_code: Whether only catalogues of the nearest code in the folder are
            taken, for all programs.

    Returns:
        Two dicts from paths to a `Catalog`, whose header has the code: of
        catalogues in the language or in none, and of others; `None` if one
        cannot be read.

    Raises:
        CorpusError: If none is in the language, or one cannot be read.
    """
    base = base_language(language)
    left_out, unknown, damaged = [], [], []
    candidates = _catalogs_below(folder, base, left_out)
    _print_lines(left_out)
    if not candidates:
        raise corpus.CorpusError(
            f"{folder}: no .po file there, and no .mo in {language!r}. "
            f"{_ADVICE}"
        )
    catalogs = {}
    programs = collections.defaultdict(dict)
    for path, named in candidates.items():
        catalogs[path] = None
        try:
            catalog = read_catalog(path)
        except corpus.CorpusError as error:
            if _is_compiled(path):
                damaged.append(error)
            elif not named or base_language(named) == base:
                raise
            continue
        header = catalog.header
        code = candidates[path] = _choose_code(language, header.language, named)
        catalogs[path] = catalog._replace(header=header._replace(language=code))
        name = None if one_code else _name(folder, path, code or language)
        programs[name][path] = code
        is_asked = base_language(header.field) == base
        if header.field and not (is_asked or code_of_name(header.field)):
            by_path = f"read as {code!r}, by its path"
            unknown.append(
                f"{path}: {by_path if code_of_name(code) else 'left out'}: the "
                f"header names {header.field!r}, which is no known language."
            )
    taken = _choose_catalogs(language, programs)
    taken |= {x for x in candidates if catalogs[x] and not candidates[x]}
    if damaged and not taken:
        raise damaged[0]
    _print_lines([f"Left out: {error}" for error in damaged])
    if not taken:
        path = min(
            candidates, key=lambda x: base_language(candidates[x]) != base
        )
        raise corpus.CorpusError(
            f"{path} is in {candidates[path]!r}, by its header or its path. "
            f"Expected a catalogue in {language!r}."
        )
    _print_lines(unknown)
    codes = collections.Counter(normal_code(candidates[x]) for x in taken)
    if codes.keys() - {normal_code(language)}:
        counts = (
            f"{x or 'without a code'} ({n:,})" for x, n in codes.most_common()
        )
        line = f"{folder}: catalogues for {language}: {', '.join(counts)}."
        print(printable(line))
    return (
        {path: catalogs[path] for path in candidates if path in taken},
        {path: catalogs[path] for path in candidates if path not in taken},
    )


def _choose_code(language, code, named):
    """Returns the code of a catalogue by its header, and by its path.

    Of two codes of the language in one script, the nearer one counts.
    """
    if not code_of_name(code):
        return named or code
    code = complete_code(code, named)
    codes = [code, named] if best_language(code, [named]) else [code]
    return best_language(language, codes) or code


def _choose_catalogs(language, programs) -> set[str]:
    """Chooses the catalogues of the nearest code of each program.

    Another country than that of `language` counts if there is nothing else.

    Args:
        language: The code.
        programs: By program, a dict from its catalogues to their codes.
    """
    taken = set()
    for other_regions in (False, True):
        for codes in programs.values():
            best = best_language(
                language, codes.values(), other_regions=other_regions
            )
            same = normal_code(best or "")
            taken |= {
                x for x in codes if best and normal_code(codes[x]) == same
            }
        if taken:
            break
    return taken


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
    has_folders = all(
        x[1:] and catalog_lines.is_language(x[0]) for x in parts.values()
    )
    stems = collections.defaultdict(list)
    for *folders, stem in parts.values():
        stems[tuple(folders)].append(catalog_lines.is_language(stem))
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

    Columns count as lines, and accelerators are removed. Blanks at the edges of
    a line are removed, too, as filling does not ask for them (`segments`).
    """
    plain, mark, _ = remove_mark(source)
    if mark and letter_of(target, mark):
        source, target = plain, target.replace(mark, "")
    lines = [lines_of(text.strip()) for text in (source, target)]
    # They may be indented differently.
    ends, others = ([re.findall("[\t\n]", x) for x in y[1::2]] for y in lines)
    same = zip(*(x[::2] for x in lines))
    pairs = same if ends == others else [(source, target)]
    return [tuple(normalize(x.strip()) for x in pair) for pair in pairs]


def _pairs_of(entry, formula) -> Iterable[tuple[str, str]]:
    forms = [entry.translations[i] for i in sorted(entry.translations)]
    if "fuzzy" in entry.flags or not all(forms):
        forms = [""]
    if entry.plural is None:
        yield entry.singular, forms[0]
        return
    of_one = catalog_lines.forms_of_singular(
        formula, len(forms), entry.singular, entry.plural, entry.flags
    )
    one = [form for form, is_one in zip(forms, of_one) if is_one]
    yield entry.singular, one[0] if one else ""
    yield entry.plural, forms[-1]


def _name(folder, path, language):
    """Returns the parts of a path that do not name the language."""
    parts = os.path.relpath(path[: -len(".po")], folder).split(os.sep)
    base = base_language(language)
    return tuple(
        printable(x)
        for x in parts
        if not (catalog_lines.is_language(x) and base_language(x) == base)
    )


def _program(folder, name):
    """Returns the program of a catalogue, given its `_name`."""
    own = [x for x in name if x not in _PLACES]
    return own[-1] if own else _base_name(folder)


def _base_name(folder):
    return printable(os.path.basename(os.path.abspath(folder)))


def _programs(folder, entries, hold_out):
    """Chooses the programs of each part, as `_whole`, by a hash.

    Raises:
        CorpusError: If `hold_out` names a program that is not there, or leaves
            fewer than two.
    """
    for name in hold_out:
        if name not in entries:
            near = difflib.get_close_matches(name, entries) or sorted(entries)
            raise corpus.CorpusError(
                f"{folder}: --hold_out names {name}, which is no program "
                f"there. Found: {', '.join(near[:9])}."
            )
    total = sum(map(len, entries.values()))

    def place(name):
        is_large = len(entries[name]) > _LARGE * total
        return not is_large, hashlib.sha256(name.encode()).digest()

    parts = _whole(entries, sorted(entries, key=place), hold_out)
    if hold_out and not parts:
        raise corpus.CorpusError(
            f"{folder}: --hold_out {' '.join(hold_out)} leaves "
            f"{len(entries.keys() - {*hold_out})} of {len(entries)} programs. "
            "Expected two or more, one to train on and one for validation. "
            "Name fewer programs, or none: then texts of all are held out."
        )
    return parts


def _whole(entries, order, test=()):
    """Chooses the files, or programs, of each part.

    Returns:
        [] if more than a quarter would be held out and `test` names none.
    """
    pairs = {
        name: [x for x in some if not corpus.is_blank(x)]
        for name, some in entries.items()
    }
    parts = _hold_out(pairs, order, test)
    sizes = [sum(len(pairs[x]) for x in part) for part in parts]
    num_left = (1 - _MOST_HELD_OUT) * sum(sizes)
    if not parts[1] or not test and sizes[0] < num_left:
        return []
    return parts


def _split_sources(entries, seed):
    """Divides entries, if there are too few files to hold some out."""
    all_pairs = [
        pair for entry_pairs in entries.values() for pair in entry_pairs
    ]
    pairs = collections.defaultdict(list)
    for pair in itertools.filterfalse(corpus.is_blank, all_pairs):
        pairs[pair[0]].append(pair)
    parts = _hold_out(pairs, _shuffle(pairs, seed))
    first, *others = [[x for name in y for x in pairs[name]] for y in parts]
    return [
        [*filter(corpus.is_blank, all_pairs), *first],
        *filter(None, others),
    ]


def _shuffle(names, seed):
    names = list(names)
    random.Random(seed).shuffle(names)
    return names


def _hold_out(pairs, order, test=()):
    """Chooses the files, or sources, of train, validation and test.

    Args:
        pairs: Dict from names to their pairs.
        order: The names; the last ones are held out.
        test: Names for the test, instead of the last ones.
    """
    names = [name for name in order if name not in test]
    target_size = sum(map(len, pairs.values())) / _HELD_OUT_SHARE
    parts = []
    for num_left in (1,) if test else (2, 1):
        part, count = [], 0
        # At least one file with entries, and one is left for each other part.
        while len(names) > num_left and count < max(target_size, 1):
            part.append(names.pop())
            count += len(pairs[part[-1]])
        parts.append(part)
    left = {*names}
    parts += [[*test]] * bool(test)
    return [[x for x in pairs if x in left], *parts]  # in the files' order
