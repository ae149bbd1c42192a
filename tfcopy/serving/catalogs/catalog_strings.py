"""Strings as gettext catalogues write them: escaped, quoted and wrapped."""

import re

# Columns of a line with its quotes, as gettext's programs wrap.
_WIDTH = 79
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}
_MEANINGS = {escape[1]: char for char, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]+)|(.))", re.DOTALL)


def unescaped(text: str) -> str:
    """What a string means, from what stands between its quotes."""
    return _ESCAPE.sub(_meaning, text)


def lines_of(keyword: str, text: str) -> list[str]:
    """The lines of a string after its keyword.

    It stands on one line if it has one and fits there; otherwise the lines
    after an empty string end at line breaks and, where they are too long, at
    blanks.

    Args:
        keyword: Such as `msgstr` or `msgstr[0]`.
        text: What the string means.
    """
    whole = f'{keyword} "{_escaped(text)}"'
    if "\n" not in text[:-1] and len(whole) <= _WIDTH:
        return [whole]
    lines = [f'{keyword} ""']
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        lines += [f'"{part}"' for part in _wrapped(line)]
    return lines


def _wrapped(line):
    """The escaped parts of a line that fit into the width, blanks last."""
    part = ""
    for word in re.findall(r" *[^ ]+ *|^ +$", line):
        word = _escaped(word)
        if part and len(part) + len(word) > _WIDTH - 2:
            yield part
            part = ""
        part += word
    yield part


def _escaped(text):
    return text.translate(str.maketrans(_ESCAPES))


def _meaning(match):
    octal, hexadecimal, char = match.groups()
    if octal:
        return chr(int(octal, 8))
    if hexadecimal:
        return chr(int(hexadecimal, 16) % 0x110000)
    return _MEANINGS.get(char, char)
