"""Catalogues that are read, filled and written again, whole or not at all."""

import os
from collections.abc import Mapping

from tfcopy import filesystem
from tfcopy.atomic_files import replacement
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.gettext_catalogs import open_catalog
from tfcopy.serving.catalogs.catalog_header import read_header
from tfcopy.serving.catalogs.catalog_lines import Entry, entries_of
from tfcopy.serving.catalogs.entry_filling import filled
from tfcopy.serving.client_library.signatures import AskError


class CatalogFile:
    """A catalogue with entries to fill, and where it is written to.

    What others, or an earlier run, have done there is kept: each write fills
    what still waits for a translation in the file as it is then.

    Args:
        path: The catalogue.
        output: The file to write; the catalogue itself if not given. If it
            is there already, it must be that catalogue with entries filled.

    Raises:
        AskError: naming the line, if it cannot be filled.
    """

    def __init__(self, path, output=None):
        self.path = os.fspath(path)
        self.name = os.fspath(output or path)
        # A link stays a link.
        self._target = filesystem.realpath(self.name)
        self._text, entries = _checked(self.path)
        self.header = read_header(self.path, entries)
        if self._is_there and not filesystem.samefile(path, self._target):
            _, others = _checked(self.name)
            if not _is_continued(entries, others):
                raise AskError(
                    f"{self.name} exists and is not {self.path} with entries "
                    "filled. Remove it, or choose another --output."
                )
            entries = others
        self.open_entries = [entry for entry in entries if entry.is_open]

    @property
    def _is_there(self):
        return filesystem.exists(self._target)

    def write(self, outcomes: Mapping) -> bool:
        """Fills what waits for a translation; returns whether that changed it.

        Args:
            outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

        Raises:
            AskError: If it is no catalogue any more.
            OSError: naming the file; what was there before is still there.
        """
        before = _read(self._target) if self._is_there else None
        text = filled(self.name, before or self._text, outcomes)
        if text == before:
            return False
        source = self.path if before is None else self._target
        with replacement(self._target) as new:
            with open(new, "wb") as file:
                file.write(text.encode())
            if not filesystem.is_url(source):
                os.chmod(new, os.stat(source).st_mode & 0o7777)
        return True


def _read(path) -> str:
    try:
        with filesystem.open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        reason = error.strerror or error
        raise AskError(f"{path}: cannot be read ({reason}).") from error
    except UnicodeDecodeError as error:
        raise AskError(f"{path}: not UTF-8.") from error


def _checked(path) -> tuple[str, list[Entry]]:
    """A catalogue's text and its entries."""
    try:
        catalog = open_catalog(path)
    except CorpusError as error:
        raise AskError(str(error)) from error
    text = _read(path)
    entries = entries_of(path, text.split("\n"))
    lines = {}
    for entry in entries:
        line = lines.setdefault(entry.key, entry.start + 1)
        if line != entry.start + 1:
            raise AskError(
                f"{path}, line {entry.start + 1}: the entry of line {line} "
                "once more. `msguniq` removes one of them."
            )
    # Another reader must find the same.
    found = sum(bool(x.msgid) for x in catalog if not x.obsolete)
    if found != sum(bool(x.singular) for x in entries):
        raise AskError(f"{path}: not a catalogue that all read alike.")
    return text, entries


def _is_continued(entries, others):
    """Whether all that was translated in some entries is so in others."""
    return len(entries) == len(others) and all(
        one.key == other.key
        and one.plural == other.plural
        and (one.is_open or one.translations == other.translations)
        for one, other in zip(entries, others)
    )
