"""What a span of markup is: code, a link, a placeholder, a tag.

The patterns are RE2's, which TensorFlow uses, and mean the same to `re` with
`re.ASCII`, which commands without TensorFlow use.
"""

import collections
import re

# The longest alternatives come first.
_ROLE = r"(?:[A-Za-z][\w.+-]*:)*[A-Za-z][\w.+-]*"
_URL = r"(?:https?|ftp|file)://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
PATTERNS = {
    "rst": (
        rf":{_ROLE}:`[^`]+`"  # :func:`ast.parse`
        r"|``[^`]+(?:`[^`]+)*``"  # ``%s``
        r"|<[^<>`\s]+>`__?"  # the target of `text <target>`_
        r"|\|[^|\s][^|]*[^|\s]\||\[(?:#[\w-]*|\d+|\*)\]_"  # |name|, [1]_
        rf"|{_URL}|{_EMAIL}"
    ),
    "markdown": (
        r"```[^`]+```|``[^`]+``|`[^`]+`"
        r"|\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)"  # the target of [text](...)
        rf"|<(?:{_URL}|{_EMAIL})>|{_URL}|{_EMAIL}"
    ),
    "html": (
        r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->"
        r"|&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);"
    ),
    "printf": (
        r"%(?:\([^()\s]+\)|[0-9]+\$)?[-+ #0]*(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]+))?"
        r"(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrsp]\b|%%"
    ),
    "brace": r"\{[^{}\s]*(?:\{[^{}\s]*\}[^{}\s]*)*\}|\{\{|\}\}",
}


def pattern_of(names) -> str:
    """One pattern for what any of some names, or own patterns, match.

    Args:
        names: Names of `PATTERNS`, or regular expressions.
    """
    return "|".join(f"(?:{PATTERNS.get(name, name)})" for name in names)


def spans_of(text: str, names) -> list[str]:
    """The spans of a text, in their order.

    Args:
        text: A string.
        names: As in `pattern_of`.
    """
    text = " ".join(text.split())
    return [
        match[0] for match in re.finditer(pattern_of(names), text, re.ASCII)
    ]


def lost_spans(source: str, answer: str, names) -> list[str]:
    """The spans of a source that an answer does not have as often.

    Args:
        source: A string.
        answer: A string.
        names: As in `pattern_of`.
    """
    missing = collections.Counter(spans_of(source, names))
    missing -= collections.Counter(spans_of(answer, names))
    return list(missing.elements())
