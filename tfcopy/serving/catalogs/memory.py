"""Translation memories: catalogues, TMX and XLIFF.

Translations of the same text are reused; those of similar texts are shown to
translators.
"""

import collections
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.data.corpora.catalog_lines import Entry
from tfcopy.data.corpora.gettext_catalogs import find_catalogs, read_catalog
from tfcopy.data.text import exchange_formats


class MemoryMatch(NamedTuple):
    """An existing translation.

    Attributes:
        source: The source.
        forms: Dict from the numbers of its forms to their texts.
        name: The file that contains it.
        likeness: Similarity of the two sources, in per cent of their letters.
    """

    source: str
    forms: Mapping[int, str]
    name: str
    likeness: float = 100.0


class Memory:
    """Translations by source.

    Among several translations of a text, one with the same context is
    preferred, then the most frequent one, then the first.
    """

    def __init__(self):
        # Counts of translations, by context or `None`, and texts.
        self._known = collections.defaultdict(dict)
        # Keys without a context, by text, for `find`.
        self._texts = {}

    def add_entries(self, entries: Iterable[Entry], name):
        """Adds the translations of a catalogue, without fuzzy entries."""
        for entry in entries:
            forms = entry.translations
            if entry.singular and "fuzzy" not in entry.flags:
                if all(forms.values()):
                    texts = entry.singular, entry.plural
                    self._add((entry.context, *texts), forms, name)
                    self._add((None, *texts), forms, name)

    def add_file(
        self,
        path,
        source_language: str,
        target_language: str,
        is_given: bool = False,
    ) -> list[str]:
        """Adds a catalogue, TMX or XLIFF; returns remarks about the file.

        Args:
            path: Path of the file, or of a folder of catalogues.
            source_language, target_language: Codes of languages, for the units
                of TMX and XLIFF, and the header of a catalogue.
            is_given: As in `Header.check_language`.

        Raises:
            OSError, ValueError: If it cannot be read, or has no translation
                into the language; the message names the file.
        """
        if filesystem.isdir(path):
            found, _ = find_catalogs(path, target_language)
            for name, catalog in found.items():
                self.add_entries(catalog.entries, name)
            return [f"catalogues in {target_language}: {len(found):,}."]
        if not exchange_formats.is_memory(path):
            catalog = read_catalog(path)
            catalog.header.check_language(target_language, is_given)
            self.add_entries(catalog.entries, path)
            return []
        report = exchange_formats.MemoryReport()
        for source, target in exchange_formats.read_memory(
            path, source_language, target_language, report
        ):
            if source.strip() and target.strip():
                self._add((None, source, None), {0: target}, path)
        return report.remarks

    def _add(self, key, forms, name):
        found = self._known[key].setdefault(
            tuple(sorted(forms.items())), [0, MemoryMatch(key[1], forms, name)]
        )
        found[0] += 1
        if key[2] is None:
            self._texts.setdefault(key[1], key)

    def exact(self, entry: Entry) -> MemoryMatch | None:
        """Returns the translation of the same text, with as many forms."""
        texts = entry.singular, entry.plural
        numbers = entry.translations.keys()
        own = self._most((entry.context, *texts), numbers)
        return own or self._most((None, *texts), numbers)

    def find(self, text: str, least: float) -> MemoryMatch | None:
        """Returns the most similar text that has a translation.

        Args:
            text: A text that is not in the memory.
            least: Minimum similarity in per cent of letters, as
                `rapidfuzz.fuzz.ratio` counts them.
        """
        from rapidfuzz import fuzz, process

        match = process.extractOne(
            text, self._texts.keys(), scorer=fuzz.ratio, score_cutoff=least
        )
        if match is None:
            return None
        source, likeness, _ = match
        return self._most(self._texts[source])._replace(likeness=likeness)

    def _most(self, key, numbers=None):
        """Returns the most frequent translation with these forms."""
        found = [
            (count, known)
            for count, known in self._known.get(key, {}).values()
            if numbers is None or known.forms.keys() == numbers
        ]
        return max(found, key=lambda x: x[0])[1] if found else None
