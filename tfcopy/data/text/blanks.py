"""Blanks: those that carry meaning, and spaces between words.

French has U+00A0 or U+202F before `:` and within `« »`, Khmer has U+200B
between words, and Japanese and Chinese have U+3000. These four stay in texts,
tokens and answers. All other blanks and control characters are spaces.
"""

import re

# The blanks that carry meaning.
KEPT = "\u00a0\u202f\u200b\u3000"
# All blanks of Unicode, for models whose own rules normalise them; "\ufeff"
# stands for those that are not in `KEPT`.
TYPED = KEPT + "\ufeff"
# They, as blanks of ASCII; those of `KEPT` are `\s` to all patterns.
IN_ASCII = dict(zip(TYPED, "\t\r\f\n\v"))
# Blanks that end a line or a column, within brackets of a regular expression.
BREAKS = "\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
# All that are not kept, within brackets of a regular expression.
_SPACES = "\x00-\x20\x7f-\x9f\u1680\u2000-\u200a\u2028\u2029\u205f\ufeff"


def spaces(kept: str = KEPT) -> str:
    """Returns the regular expression of a run of spaces, for `re` and RE2.

    Args:
        kept: The blanks that are no spaces, some of `KEPT`, or `TYPED`.
    """
    if kept == TYPED:
        return "[\x00-\x20\x7f-\x9f]+"
    others = "".join(x for x in KEPT if x not in kept)
    return f"[{_SPACES}{others}]+"


def facts(kept: str = KEPT) -> dict:
    """Returns what an export declares of blanks; see `runtime.text_rules`.

    Args:
        kept: As in `spaces`.
    """
    return {"spaces": spaces(kept), "blank": spaces("")}


def normalize(text: str, kept: str = KEPT) -> str:
    """Returns a text whose spaces are single, without any around it.

    Args:
        text: A string.
        kept: As in `spaces`.
    """
    return re.sub(spaces(kept), " ", text).strip(" ")


def to_ascii(text: str) -> str:
    """Replaces `KEPT` by blanks of ASCII, as `glossary.to_ascii` in graphs."""
    return text.translate(str.maketrans({x: IN_ASCII[x] for x in KEPT}))


def is_word(text: str) -> bool:
    """Returns whether a text can be a line of a file of words."""
    text = re.sub(f"[{KEPT}]", "_", text)
    return text.split() == [text]
