"""Splits texts into the segments that a model translates one by one.

A line is a segment, and of a long line a sentence. Line ends, columns, and
blanks around a segment stay as they are.
"""

import re
from collections.abc import Sequence

from tfcopy.data.text.span_patterns import replaced_spans

_BLANKS = re.compile(r"(\s+)")
_BREAK = re.compile(r"[\t\n\r\f\v\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]»”’]*$|[。！？]$")


def has_words(text: str, names: Sequence[str] = ()) -> bool:
    """Returns whether there is anything to translate: a letter.

    Args:
        text: The text.
        names: Formats whose spans do not count, as in
            `span_patterns.pattern_of`.
    """
    rest = replaced_spans(text, names, " ") if names else text
    return any(char.isalpha() for char in rest)


def lines_of(text: str) -> list[str]:
    """Splits a text into lines, which alternate with what separates them."""

    def is_end(line, blanks, word):
        return _BREAK.search(blanks) or not line or not word

    return _grouped(text, is_end)


def sentences_of(line: str) -> list[str]:
    """Splits a line into sentences, which alternate with blanks."""
    return _grouped(line, lambda words, *_: _SENTENCE_END.search(words[-9:]))


def _grouped(text, is_end):
    """Returns groups of words of a text, which alternate with blanks.

    Args:
        text: The text.
        is_end: Function of the last word so far, the blanks behind it and the
            next word.
    """
    parts = _BLANKS.split(text)
    groups, group = [], [parts[0]]
    for blanks, word in zip(parts[1::2], parts[2::2]):
        if is_end(group[-1], blanks, word):
            groups += ["".join(group), blanks]
            group = [word]
        else:
            group += [blanks, word]
    return [*groups, "".join(group)]
