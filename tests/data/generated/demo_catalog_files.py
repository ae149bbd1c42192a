"""The demo catalogue as the files of a translation team.

    demo_catalog_files.write_catalogs("locale/es", 5_000)

writes gettext catalogues that a recipe's `--catalogs` reads: most entries are
translated, some are not, are fuzzy or obsolete; some have contexts or plural
forms.
"""

import os
import random

import polib

from tfcopy.data.generated.demo_catalogs import Grammar

# How many of a hundred entries are so.
_STATES = {"translated": 84, "untranslated": 9, "fuzzy": 4, "obsolete": 3}
_PLURALS = 5
_CONTEXTS = 6
_FOLDERS = ("library", "tutorial", "howto", "program")
_HEADER = {
    "Language": "es",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Plural-Forms": "nplurals=2; plural=(n != 1);",
}


def write_catalogs(folder, count, *, num_files=12, seed=0):
    """Writes catalogues from English to Spanish into a folder.

    Args:
        folder: The folder, which is made if it is not there.
        count: Number of entries in all files.
        num_files: Number of files, in several folders.
        seed: The same seed gives the same files.

    Returns:
        The paths of the files.
    """
    grammar = Grammar(f"{seed}/files", "train")
    rng = random.Random(f"{seed}/train/states")
    paths = []
    for i in range(num_files):
        place = os.path.join(folder, _FOLDERS[i % len(_FOLDERS)])
        os.makedirs(place, exist_ok=True)
        paths.append(os.path.join(place, f"part{i + 1}.po"))
        share = count // num_files + (i < count % num_files)
        _catalog(grammar, rng, share).save(paths[-1])
    return paths


def _catalog(grammar, rng, size):
    """Returns a catalogue of some entries, none of which comes twice."""
    catalog = polib.POFile(wrapwidth=78)
    catalog.metadata = _HEADER
    taken = set()
    while len(catalog) < size:
        entry = _entry(grammar, rng)
        key = entry.msgctxt, entry.msgid
        if key not in taken:
            taken.add(key)
            catalog.append(entry)
    return catalog


def _entry(grammar, rng):
    (state,) = rng.choices(list(_STATES), weights=list(_STATES.values()))
    context = rng.random() < _CONTEXTS / 100
    is_plural = rng.random() < _PLURALS / 100
    entry = _plural(grammar) if is_plural else _single(grammar)
    if context:
        entry.msgctxt = rng.choice(["menu", "button", "tooltip", "title"])
    entry.obsolete = state == "obsolete"
    if state == "untranslated":
        entry.msgstr = ""
        entry.msgstr_plural = dict.fromkeys(entry.msgstr_plural, "")
    if state == "fuzzy":
        # As where a source was changed after it had been translated.
        entry.flags.insert(0, "fuzzy")
        if not is_plural:
            entry.msgstr = _single(grammar).msgstr
    return entry


def _single(grammar):
    drawn = grammar.entry()
    flags = [drawn.flag] if drawn.flag else []
    return polib.POEntry(msgid=drawn.en, msgstr=drawn.es, flags=flags)


def _plural(grammar):
    one, several = grammar.plural_entry()
    return polib.POEntry(
        msgid=one.en,
        msgid_plural=several.en,
        msgstr_plural={0: one.es, 1: several.es},
        flags=[one.flag],
    )
