"""The demo catalogue as the files of a translation team.

    demo_catalog_files.write_catalogs("locale/es", 5_000)

writes gettext catalogues that a recipe's `--catalogs` reads: most entries are
translated, some are not, are fuzzy or obsolete; some have contexts or plural
forms.
"""

import os
import random

import polib

from tfcopy import filesystem
from tfcopy.data.generated import demo_catalogs
from tfcopy.data.generated.demo_catalogs import Grammar

# How many of a hundred entries are so.
_STATES = {"translated": 84, "untranslated": 9, "fuzzy": 4, "obsolete": 3}
_PLURALS = 5
_CONTEXTS = 6
_CONTEXT_NAMES = ("menu", "button", "tooltip", "title", "command line")
_FOLDERS = ("library", "tutorial", "howto", "program")
_DATE = "2024-01-01 12:00+0000"  # The same seed gives the same files.


def write_catalogs(
    folder: str | os.PathLike,
    count: int,
    *,
    num_files: int = 12,
    split: str = "train",
    seed: int = 0,
    source_language: str = "en",
) -> list[str]:
    """Writes catalogues into a folder, over those of the same names.

    Args:
        folder: The folder, which is made if it is not there.
        count: Number of entries in all files.
        num_files: Number of files, in several folders.
        split: Whose names they have: `"train"`, `"validation"` or `"test"`.
        seed: The same seed gives the same files.
        source_language: Language of the `msgid`s, `"en"` or `"es"`.

    Returns:
        The paths of the files.
    """
    if source_language not in demo_catalogs.LANGUAGES:
        raise ValueError(
            f"`source_language` must be one of {demo_catalogs.LANGUAGES}. "
            f"Received: {source_language!r}."
        )
    if not 1 <= num_files <= count:
        raise ValueError(
            "Each file needs an entry. Received: "
            f"{count} entries for {num_files} files."
        )
    writer = _Writer(split, seed, source_language)
    paths = []
    for i in range(num_files):
        place = os.path.join(folder, _FOLDERS[i % len(_FOLDERS)])
        filesystem.makedirs(place)
        paths.append(os.path.join(place, f"part{i + 1}.po"))
        share = count // num_files + (i < count % num_files)
        writer.catalog(share).save(paths[-1])
    return paths


class _Writer:
    """Makes catalogues of one direction from one grammar."""

    def __init__(self, split, seed, source_language):
        self.grammar = Grammar(f"{seed}/files", split)
        self.rng = random.Random(f"{seed}/{split}/states")
        languages = demo_catalogs.LANGUAGES
        self.source = source_language
        (self.target,) = {*languages} - {source_language}

    def catalog(self, size):
        """A catalogue of some entries, none of which comes twice."""
        catalog = polib.POFile(wrapwidth=78)
        catalog.metadata = {
            "Project-Id-Version": "demo 1.0",
            "Report-Msgid-Bugs-To": "bugs@demo.example",
            "POT-Creation-Date": _DATE,
            "PO-Revision-Date": _DATE,
            "Last-Translator": "Demo <translators@demo.example>",
            "Language-Team": "Demo <translators@demo.example>",
            "Language": self.target,
            "MIME-Version": "1.0",
            "Content-Type": "text/plain; charset=UTF-8",
            "Content-Transfer-Encoding": "8bit",
            "Plural-Forms": "nplurals=2; plural=(n != 1);",
        }
        taken = set()
        while len(catalog) < size:
            entry = self._entry(line=10 * len(catalog) + 1)
            key = entry.msgctxt, entry.msgid
            if key not in taken:
                taken.add(key)
                catalog.append(entry)
        return catalog

    def _entry(self, line):
        rng = self.rng
        (state,) = rng.choices(list(_STATES), weights=list(_STATES.values()))
        context = rng.random() < _CONTEXTS / 100
        is_plural = rng.random() < _PLURALS / 100
        entry = self._plural() if is_plural else self._single()
        if context:
            entry.msgctxt = rng.choice(_CONTEXT_NAMES)
        if state == "obsolete":
            entry.obsolete = True
        else:
            entry.occurrences = [("demo.rst", str(line))]
        if state == "untranslated":
            entry.msgstr = ""
            entry.msgstr_plural = dict.fromkeys(entry.msgstr_plural, "")
        if state == "fuzzy":
            # As where a source was changed after it had been translated.
            entry.flags.insert(0, "fuzzy")
            if not is_plural:
                before = self._single()
                entry.previous_msgid = before.msgid
                entry.msgstr = before.msgstr
        return entry

    def _single(self):
        drawn = self.grammar.entry()
        return polib.POEntry(
            msgid=getattr(drawn, self.source),
            msgstr=getattr(drawn, self.target),
            flags=[drawn.flag] if drawn.flag else [],
        )

    def _plural(self):
        one, several = self.grammar.plural_entry()
        return polib.POEntry(
            msgid=getattr(one, self.source),
            msgid_plural=getattr(several, self.source),
            msgstr_plural={
                0: getattr(one, self.target),
                1: getattr(several, self.target),
            },
            flags=[one.flag],
        )
