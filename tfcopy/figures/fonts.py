"""Fonts that draw the words of most scripts.

Needs matplotlib (`pip install tfcopy[figures]`); importing this file fails
where it is missing.
"""

import functools
import unicodedata

from matplotlib import font_manager

# Tried in this order for the words that the first font lacks.
_FALLBACK_FAMILIES = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Unifont",
)


@functools.cache
def font_families():
    """Returns the installed families that together draw most scripts."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _FALLBACK_FAMILIES if name in installed]


@functools.cache
def _known_characters():
    """Returns the code points that some font of `font_families` can draw."""
    known = set()
    for family in font_families():
        path = font_manager.findfont(family)
        known.update(font_manager.get_font(path).get_charmap())
    return known


def drawable(word, max_length=24):
    """Replaces characters that no font can draw by their codes."""
    known = _known_characters()
    characters, length = [], 0
    for character in unicodedata.normalize("NFC", word):
        if ord(character) not in known or not character.isprintable():
            character = f"<{ord(character):X}>"
        length += len(character)
        # A dollar would start a formula.
        characters.append("\\$" if character == "$" else character)
    if length <= max_length:
        return "".join(characters)
    kept, room = [], max_length - 1
    for character in characters:
        room -= len(character.removeprefix("\\"))
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def inches(labels):
    """The room that the longest text takes, with margins, in inches."""
    return 0.6 + 0.11 * max(map(_columns, labels), default=0)


def _columns(text):
    """How wide a text is, in columns; Chinese characters count twice."""
    return sum(1 + (unicodedata.east_asian_width(x) in "WF") for x in text)
