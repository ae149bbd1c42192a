"""What the header of a gettext catalogue says, and what is wrong with it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tfcopy.serving.catalogs.catalog_lines import Entry
from tfcopy.serving.client_library.signatures import AskError

_ADVICE = "`msginit` makes a catalogue with a header of a template"


class Header(NamedTuple):
    """What the header says of the translations.

    Attributes:
        place: The file and the line where it begins, for messages.
        language: Their language, such as "es_AR", or "".
        num_forms: The number of their plural forms, `None` if it is not told.
    """

    place: str
    language: str
    num_forms: int | None

    def check_language(self, language: str | None):
        """Raises an AskError if it contradicts a language, an ISO 639 code."""
        if (
            self.language
            and language
            and _base(self.language) != _base(language)
        ):
            raise AskError(
                f"{self.place}: the catalogue is in {self.language!r}, by its "
                f"header. Expected: {language!r}."
            )


def read_header(path, entries: Sequence[Entry]) -> Header:
    """The header of a catalogue.

    Args:
        path: The catalogue's, for messages.
        entries: Its entries.

    Raises:
        AskError: naming the line, if there is no header, or it tells another
            encoding than UTF-8.
    """
    entry = entries[0] if entries else None
    if entry is None or entry.singular or entry.context is not None:
        raise AskError(
            f"{path}, line {entry.start + 1 if entry else 1}: expected a "
            f"header that tells the charset; {_ADVICE}."
        )
    text = entry.translations[0]
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    place = f"{path}, line {entry.start + 1}"
    if not text.strip():
        raise AskError(f"{place}: the header is empty; {_ADVICE}.")
    charset = re.search(
        r"charset=([^\s;]+)", fields.get("content-type", ""), re.IGNORECASE
    )
    if not charset:
        raise AskError(f"{place}: the header tells no charset; {_ADVICE}.")
    if charset[1].lower() not in ("utf-8", "utf8"):
        raise AskError(
            f"{place}: the header tells the charset {charset[1]}. Convert it "
            "by `msgconv --to-code UTF-8`."
        )
    forms = re.search(r"nplurals\s*=\s*(\d+)", fields.get("plural-forms", ""))
    language = fields.get("language", "")
    return Header(place, language, int(forms[1]) if forms else None)


def _base(language):
    """A language without its country and its script."""
    return re.split(r"[_@.-]", language.lower())[0]
