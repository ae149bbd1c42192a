"""Catalogue files: reading, and replacement as a whole.

A module for each format, gettext or XLIFF, reads, decodes and fills it.
"""

import contextlib
import os
import shutil
from collections.abc import Mapping

from tfcopy import file_formats, filesystem
from tfcopy.atomic_files import replacement
from tfcopy.runtime.signatures import ModelError
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

    Attributes:
        remarks: What writing the file has changed besides its content.

    Raises:
        ModelError: If it cannot be filled; the message names the line.
        CorpusError: If it is not a catalogue; the message names the line.
    """

    def __init__(self, path, output=None, language: str | None = None):
        self.path = os.fspath(path)
        self.name = os.fspath(output or path)
        # Keeps links.
        self._target = filesystem.realpath(self.name)
        self.remarks = []
        is_there = filesystem.exists(self._target)
        for file in {self.path, self._target} if is_there else [self.path]:
            with contextlib.suppress(FileNotFoundError):
                file_formats.check_regular(file)
        self._form = xliff if xliff.is_xliff(path) else entries
        catalog = self._form.read(self.path)
        _check_header(catalog, language)
        self.header = catalog.header
        self._text, self.charset = self._decode(self.path)
        if is_there and not filesystem.samefile(path, self._target):
            other = self._form.read(self.name)
            if not _is_continued(catalog.entries, other.entries):
                raise ModelError(
                    f"{self.name} exists and is not {self.path} with entries "
                    "filled. Remove it, or choose another --output."
                )
            catalog = other
        self.entries = catalog.entries
        is_open = [entry for entry in self.entries if entry.is_open]
        self.open_entries = [x for x in is_open if not x.is_credits]
        # Credits, which only translators can fill.
        self.num_credits = len(is_open) - len(self.open_entries)
        if self.open_entries and is_there and _is_read_only(self._target):
            raise ModelError(
                f"{self.name}: the file is read-only. Make it writable, or "
                "choose another --output."
            )

    def _decode(self, path):
        """Reads a text, and a charset that encodes it to the same bytes."""
        content = entries.content_of(path)
        text, charset = self._form.decode(path, content)
        if text.encode(charset, "replace") != content:
            raise ModelError(
                f"{path}: {charset} would write some of its text in other "
                "bytes. Convert it, a catalogue by `msgconv --to-code UTF-8`."
            )
        return text, charset

    def write(self, outcomes: Mapping) -> bool:
        """Fills the open entries; returns whether the file changed.

        Args:
            outcomes: Dict from keys of entries to a `Suggestion` or `Skipped`.

        Raises:
            CorpusError: If it is not a catalogue any more.
            OSError: If it cannot be written; the earlier content stays.
        """
        before = None
        if filesystem.exists(self._target):
            before, self.charset = self._decode(self._target)
        text = self._form.fill_text(self.name, before or self._text, outcomes)
        if text == before:
            return False
        with replacement(self._target) as new:
            with open(new, "wb") as file:
                file.write(text.encode(self.charset))
            if before is not None and not filesystem.is_url(self._target):
                self.remarks += _keep_attributes(self._target, new)
            elif before is None and not filesystem.is_url(self.path):
                os.chmod(new, os.stat(self.path).st_mode & 0o7777 | 0o200)
        return True


def _is_read_only(path):
    """Returns whether a file is not to be changed, not even by root."""
    if filesystem.is_url(path):
        return False
    return not (os.stat(path).st_mode & 0o222 and os.access(path, os.W_OK))


def _keep_attributes(path, new):
    """Gives a new file the attributes of the old one, but for its time.

    Returns:
        Remarks on those that it cannot have.
    """
    old, remarks = os.stat(path), []
    for name, *owner in (("owner", old.st_uid, -1), ("group", -1, old.st_gid)):
        try:
            os.chown(new, *owner)
        except PermissionError:
            remarks.append(f"{path}: the file has another {name} now.")
    shutil.copystat(path, new)
    os.utime(new)
    if old.st_nlink > 1:
        remarks.append(
            f"{path}: hard links to the earlier file ({old.st_nlink - 1}) keep "
            "its content."
        )
    return remarks


_ADVICE = "`msginit` makes a catalogue with a header of a template"


def _check_header(catalog, language):
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
        raise ModelError(f"{header.place}: {fault}; {advice}.")


def _is_continued(entries, others):
    """Returns whether a second list of entries keeps all translations."""
    return len(entries) == len(others) and all(
        one.key == other.key
        and one.plural == other.plural
        and (one.is_open or one.translations == other.translations)
        for one, other in zip(entries, others)
    )
