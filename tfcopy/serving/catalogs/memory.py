"""Translations that exist already: of catalogues, TMX and XLIFF.

What was translated elsewhere, word for word, is taken as it is; what is nearly
the same is shown to translators.
"""

import collections
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfcopy.data.corpora.catalog_lines import Entry
from tfcopy.data.corpora.gettext_catalogs import read_catalog
from tfcopy.data.text import exchange_formats


class Known(NamedTuple):
    """A translation that exists.

    Attributes:
        source: What it is the translation of.
        forms: Dict from the numbers of its forms to their texts.
        name: The file that it is of.
        likeness: How like the two sources are, in per cent of their letters.
    """

    source: str
    forms: Mapping[int, str]
    name: str
    likeness: float = 100.0


class Memory:
    """Translations by their sources.

    Of several translations of the same text that of an entry with the same
    context counts, then that which most entries have, then the first.
    """

    def __init__(self):
        # Counts and translations by context, or without one, and texts.
        self._known = collections.defaultdict(dict)
        # Keys of those without context by their texts, for `near`.
        self._texts = {}

    def __len__(self):
        return len(self._texts)

    def add_entries(self, entries: Iterable[Entry], name):
        """Adds what is translated in a catalogue, fuzzy entries left out."""
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
        """Adds a file: a catalogue, TMX or XLIFF; returns remarks about it.

        Args:
            path: The file.
            source_language, target_language: Codes of languages, which the
                units of TMX and XLIFF must be in, and a catalogue's header.
            is_given: As in `Header.check_language`.

        Raises:
            OSError, ValueError: naming the file, if it cannot be read, or has
                no translation into the language.
        """
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
            tuple(sorted(forms.items())), [0, Known(key[1], forms, name)]
        )
        found[0] += 1
        if key[2] is None:
            self._texts.setdefault(key[1], key)

    def exact(self, entry: Entry) -> Known | None:
        """The translation of the same text, with as many forms."""
        texts = entry.singular, entry.plural
        numbers = entry.translations.keys()
        own = self._most((entry.context, *texts), numbers)
        return own or self._most((None, *texts), numbers)

    def near(self, text: str, least: float) -> Known | None:
        """The most similar text that has a translation.

        Args:
            text: A text that is not there itself.
            least: Per cent of its letters, at least, that must be the same,
                as `rapidfuzz.fuzz.ratio` counts them.
        """
        from rapidfuzz import fuzz, process

        found = process.extractOne(
            text, self._texts.keys(), scorer=fuzz.ratio, score_cutoff=least
        )
        if found is None:
            return None
        source, likeness, _ = found
        return self._most(self._texts[source])._replace(likeness=likeness)

    def _most(self, key, numbers=None):
        """What most entries have, of translations with these forms."""
        found = [
            (count, known)
            for count, known in self._known.get(key, {}).values()
            if numbers is None or known.forms.keys() == numbers
        ]
        return max(found, key=lambda x: x[0])[1] if found else None
