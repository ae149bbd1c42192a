"""Accelerators: `_File` and `&File`, the letters that open the items of a menu.

They are removed before the translation, and put back before a letter of it that
no other item of the menu has.
"""

import collections
import re
from typing import NamedTuple

# Before a word, or within one that begins with a capital: E_xit, Sa&ve. So
# snake_case, R&D and &amp; match nothing.
_INNER = r"|(?<![\w.])[A-Z][^\W\d_A-Z]*{0}[a-z][^\W_]*(?![\w(=;])"
_MARKS = {
    "_": re.compile(r"(?<![\w.`:/<{%$-])_(?=[^\W_])" + _INNER.format("_")),
    "&": re.compile(r"(?<![\w&])&(?=[^\W_])(?!\w+;)" + _INNER.format("&")),
}
_LONGEST = 60  # characters of a menu's item
_LETTER = re.compile(r"[^\W_]")
_END = re.compile(r"[\s.:\u2026\uff1a]*\Z")
# Letters that no key has; the item names another one.
_NO_KEY = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
)


class Marked(NamedTuple):
    """A text without its accelerator.

    Attributes:
        text: The text.
        mark: The sign before the letter, `_` or `&`; "" if there is none.
        letter: The letter.
    """

    text: str
    mark: str = ""
    letter: str = ""


def remove_mark(text: str) -> Marked:
    """Takes the accelerator out of a text, if it has exactly one."""
    if len(text) <= _LONGEST and "\n" not in text:
        for mark, pattern in _MARKS.items():
            if pattern.search(text) and text.count(mark) == 1:
                place = text.index(mark)
                rest = text[:place] + text[place + 1 :]
                return Marked(rest, mark, text[place + 1])
    return Marked(text)


def letter_of(text: str, mark: str) -> str:
    """Returns the letter after the mark of a translation, or "".

    Translations have the mark anywhere in a word.
    """
    _, found, rest = text.partition(mark)
    is_one = found and mark not in rest and _LETTER.match(rest)
    return rest[0] if is_one else ""


def insert_mark(
    text: str, mark: str, letter: str, used: collections.Counter, spans=()
) -> str:
    """Puts an accelerator before the letter that is used least in a menu.

    Of these letters the source's one is preferred, then the beginning of a
    word. If no key has the letters of the text, the source's letter follows the
    text.

    Args:
        text: A translation without marks.
        mark: `_` or `&`.
        letter: The letter of the source.
        used: Number of items of the menu with each letter, in lower case; the
            chosen one is added.
        spans: Places without letters, as pairs of begin and end.
    """
    places = [
        x.start() for x in _LETTER.finditer(text) if not _NO_KEY.match(x[0])
    ]
    for begin, end in spans:
        places = [x for x in places if not begin <= x < end]

    def rank(place):
        character = text[place].lower()
        other = character != letter.lower()
        inner = place > 0 and text[place - 1].isalnum()
        return used[character], inner and other, other, inner, place

    place = min(places, key=rank, default=None)
    if place is None or _NO_KEY.search(text):
        used[letter.lower()] += 1
        end = _END.search(text).start()
        return f"{text[:end]}({mark}{letter.upper()}){text[end:]}"
    used[text[place].lower()] += 1
    return text[:place] + mark + text[place:]
