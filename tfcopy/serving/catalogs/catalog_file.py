"""Catalogue files: reading, and replacement as a whole.

A module for each format, gettext or XLIFF, reads, decodes and fills it.
"""

import os
from collections.abc import Mapping

from tfcopy import filesystem
from tfcopy.atomic_files import replacement
from tfcopy.runtime.signatures import AskError
from tfcopy.serving.catalogs import entries, xliff


class CatalogFile:
    """A catalogue to fill, and the file to write.

    Changes by others, or by an earlier run, are kept: each write fills the
    entries that are still open in the current file.

    Args:
        path: Path of the catalogue.
        output: Path of the file to write; the catalogue itself by default. An
            existing file must be the same catalogue, with entries filled.
        language: Target language, if no header names it.

    Raises:
        AskError: If it cannot be filled; the message names the line.
        CorpusError: If it is not a catalogue; the message names the line.
    """

    def __init__(self, path, output=None, language: str | None = None):
        self.path = os.fspath(path)
        self.name = os.fspath(output or path)
        # Keeps links.
        self._target = filesystem.realpath(self.name)
        self._form = xliff if xliff.is_xliff(path) else entries
        catalog = self._form.read(self.path)
        _check_header(self.path, catalog, language)
        self.header = catalog.header
        self._text, self.charset = self._decoded(self.path)
        is_there = filesystem.exists(self._target)
        if is_there and not filesystem.samefile(path, self._target):
            other = self._form.read(self.name)
            if not _is_continued(catalog.entries, other.entries):
                raise AskError(
                    f"{self.name} exists and is not {self.path} with entries "
                    "filled. Remove it, or choose another --output."
                )
            catalog = other
        self.entries = catalog.entries
        is_open = [entry for entry in self.entries if entry.is_open]
        self.open_entries = [x for x in is_open if not x.is_credits]
        # Credits, which only translators can fill.
        self.num_credits = len(is_open) - len(self.open_entries)

    def _decoded(self, path):
        """Reads a text, and a charset that encodes it to the same bytes."""
        content = entries.content_of(path)
        text, charset = self._form.decoded(path, content)
        if text.encode(charset, "replace") != content:
            raise AskError(
                f"{path}: {charset} would write some of its text in other "
                "bytes. Convert it, a catalogue by `msgconv --to-code UTF-8`."
            )
        return text, charset

    def write(self, outcomes: Mapping) -> bool:
        """Fills the open entries; returns whether the file changed.

        Args:
            outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

        Raises:
            CorpusError: If it is not a catalogue any more.
            OSError: If it cannot be written; the earlier content stays.
        """
        before = None
        if filesystem.exists(self._target):
            before, self.charset = self._decoded(self._target)
        text = self._form.filled(self.name, before or self._text, outcomes)
        if text == before:
            return False
        source = self.path if before is None else self._target
        with replacement(self._target) as new:
            with open(new, "wb") as file:
                file.write(text.encode(self.charset))
            if not filesystem.is_url(source):
                os.chmod(new, os.stat(source).st_mode & 0o7777)
        return True


_ADVICE = "`msginit` makes a catalogue with a header of a template"


def _check_header(path, catalog, language):
    """Refuses headers that gettext's programs cannot read."""
    header = catalog.header
    if not header.is_there and language:
        return
    advice, fault = _ADVICE, None
    if not header.is_there:
        fault = "expected a header that names the charset"
        advice += ", and --language does without"
    elif not header.text.strip():
        fault = "the header is empty"
    elif not header.charset:
        fault = "the header names no charset"
    elif header.charset == "CHARSET":
        fault = "the header names the charset CHARSET, as templates do"
    if fault is not None:
        raise AskError(f"{header.place}: {fault}; {advice}.")


def _is_continued(entries, others):
    """Returns whether a second list of entries keeps all translations."""
    return len(entries) == len(others) and all(
        one.key == other.key
        and one.plural == other.plural
        and (one.is_open or one.translations == other.translations)
        for one, other in zip(entries, others)
    )
