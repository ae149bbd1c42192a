"""Patterns of spans of markup: code, links, placeholders, tags.

RE2 runs the patterns here, without TensorFlow, as it does in graphs. Unlike
`re`, it takes time linear in the text.
"""

import collections
import functools
import itertools
from collections.abc import Iterable

import re2

from tfcopy.data.text import blanks
from tfcopy.data.text.span_formats import FORMATS, SUFFIX, XCODE

# The longest alternatives come first. Runs and exports store names of patterns,
# which therefore never change: better patterns have new names.
_ROLE = r"(?:[A-Za-z][\w.+-]*:)*[A-Za-z][\w.+-]*"
_URL = r"(?:https?|ftp|file)://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_TARGET = r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)"  # of [text](...)
_BRACKETS = r"\([^\s<>\"'`()]*\)"  # of an address, in pairs
_PERCENT = r"%(?:\([^()]+\)|[0-9]+\$)?"
_WIDTH = r"(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]+))?"
_CONVERSION = r"(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrsp]"
_PERCENTS = (
    # In %ld%%, %ld% is no name.
    r"%(?:(?:hh|h|ll|l|[qjz])[diouxX]|t[diuxX]|[lL][eEfFgGaA]|l[cs])\b|%arg%%"
    r"|%[A-Za-z][A-Za-z]\w*%\B"  # %name%
    rf"|{XCODE}"
    rf"|{_PERCENT}[-+ #0]*{_WIDTH}{_CONVERSION}\b"
    # A letter may be right behind: %dMB, %(count)ds. After a blank it would be
    # one of a word: 100% of it.
    rf"|{_PERCENT}[-+#0]*{_WIDTH}{_CONVERSION}|%%"
    # %@, %1, %L2, %<n>s
    r"|%(?:[0-9]+\$)?@|%L?[1-9][0-9]?\b|%<[A-Za-z_]\w*>[a-z]?"
)
# The placeholders that begin with other signs.
WITHOUT_PERCENT = (
    r"\{\{ ?[A-Za-z_][^{}]*\}\}"  # {{ user.name|upper }}
    # ${count}, %{count}, #{count}, {0:%H:%M}
    r"|[$%#]?\{[^{}\s]*(?:\{[^{}\s]*\}[^{}\s]*)*\}"
    r"|\{\w*(?:[.!][\w.]*|\[\w+\])*:[^{},]*\}|\{\{|\}\}"
    r"|\$[A-Za-z_]\w*|\b__[A-Za-z]\w*__\b"
    r"|\B@[A-Za-z_]\w*@[\w-]+(?:\.[\w-]+)*|\B[:@][A-Za-z_]\w*\b"
)
# Placeholders that are identified by position alone, as whole spans.
ORDERED = rf"%[-+ #0]*{_WIDTH}(?:{_CONVERSION}|@)|\{{(?::[^{{}}]*)?\}}"
# Entities and comments of HTML and XML.
_ENTITY = r"<!--[^<>]*-->|&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);"
# Elements whose names do not stand for an argument, as in `mv <source> <link>`.
_ELEMENT = (
    "a|abbr|acronym|b|bdo|big|blockquote|body|br|center|code|dd|del|div|dl|dt|em"
    "|font|h[1-6]|hr|html|i|img|ins|kbd|li|nobr|ol|p|pre|q|qt|s|samp|small|span"
    "|strike|strong|su[bp]|t[dhrt]|table|tbody|tfoot|thead|u|ul|var|wbr"
)
# --help, --[no-]color, -v
_LONG_OPTION = r"\B--(?:\[no-\])?[A-Za-z0-9](?:-?\w)*"
_SHORT_OPTION = r"\B-[A-Za-z]\b"
PATTERNS = {
    **{f"{name}{SUFFIX}": row.span for name, row in FORMATS.items()},
    "links": (
        rf"{_TARGET}|{_EMAIL}"
        rf"|(?:https?|ftp|file)://(?:[^\s<>\"'`()]|{_BRACKETS})*"
        rf"(?:[^\s<>\"'`.,;:!?()\]}}*_]|{_BRACKETS})"
    ),
    "rst": (
        rf":{_ROLE}:`[^`]+`"  # :func:`ast.parse`
        r"|``[^`]+(?:`[^`]+)*``"  # ``%s``
        r"|<[^<>`\s]+>`__?"  # the target of `text <target>`_
        r"|\|[^|\s][^|]*[^|\s]\||\[(?:#[\w-]*|\d+|\*)\]_"  # |name|, [1]_
        rf"|{_URL}|{_EMAIL}"
    ),
    "markdown": (
        rf"```[^`]+```|``[^`]+``|`[^`]+`|{_TARGET}"
        rf"|<(?:{_URL}|{_EMAIL})>|{_URL}|{_EMAIL}"
    ),
    "html": rf"</?[A-Za-z][^<>]*>|{_ENTITY}",
    # Not <file>, which translators translate: an element of HTML, or a tag with
    # attributes, one that is empty, or one that closes.
    "tags": (
        rf"<(?i:{_ELEMENT})>|<[A-Za-z][\w:.-]*\s+[A-Za-z][\w:.-]*=[^<>]*>"
        rf"|<[A-Za-z][\w:.-]*\s*/>|</[A-Za-z][^<>]*>|{_ENTITY}"
    ),
    "placeholders": rf"{_PERCENTS}|{WITHOUT_PERCENT}",
    "printf": (
        r"%(?:\([^()\s]+\)|[0-9]+\$)?[-+ #0]*(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]+))?"
        r"(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrsp]\b|%%"
    ),
    "brace": r"\{[^{}\s]*(?:\{[^{}\s]*\}[^{}\s]*)*\}|\{\{|\}\}",
    "options": (  # also with values: --file=NAME, --color[=WHEN]
        rf"{_LONG_OPTION}"
        r"(?:\[=[^\s\[\]]+\]|=(?:<[^<>\s]+>|\{[^{}\s]+\}|[\w./:%+-]*\w))?"
        rf"|{_SHORT_OPTION}"
    ),
    # Options without their values, which are often translated: --file=FILE.
    "flags": rf"{_LONG_OPTION}|{_SHORT_OPTION}",
    "numbers": r"[$£¥€]?\b[0-9]+(?:[.,:][0-9]+)*\b[%$£¥€]?",
}
# Patterns with names of their own, the more special ones first.
KINDS = tuple(name for name in PATTERNS if not name.endswith(SUFFIX))
# Values of `--protect`.
NAMES = f"{', '.join(KINDS)}, and formats of gettext such as qt-format"
CHOICES = f"{NAMES}, or regular expressions of RE2"
_RANKS = {x: i for i, x in enumerate([*PATTERNS, WITHOUT_PERCENT])}
NOTHING = r"[^\x00-\x{10FFFF}]"


def pattern_of(names) -> str:
    """Joins patterns, given by name or as they are, to one.

    Their order does not count: patterns without a name come before formats of
    gettext, and these before all others.

    Args:
        names: Names of `PATTERNS`, or regular expressions of RE2.

    Raises:
        ValueError: If one is no regular expression, or matches where there is
            nothing, or a blank.
    """
    return _pattern_of(frozenset(names))


@functools.lru_cache
def _pattern_of(names):
    ordered = sorted(names, key=lambda x: (_RANKS.get(x, -1), x))
    for name in ordered:
        _check(name)
    patterns = (f"(?:{PATTERNS.get(name, name)})" for name in ordered)
    return "|".join(patterns) or NOTHING


def check_flag(names, flag: str = "protect"):
    """Raises a ValueError if a flag, `--protect`, cannot have these values."""
    try:
        _compile(pattern_of(names))
    except ValueError as error:
        raise ValueError(f"--{flag}: {error}") from None


def spans_of(text: str, names) -> list[str]:
    """Finds the spans of a text, in order.

    Args:
        text: A string.
        names: As in `pattern_of`.
    """
    text = blanks.normalize(text).encode(errors="replace").decode()
    return [text[begin:end] for begin, end in places_of(text, names)]


def places_of(text: str, names) -> list[tuple[int, int]]:
    """Finds begin and end of the spans of a line, in characters."""
    text = blanks.to_ascii(text).encode(errors="replace").decode()
    return [x.span() for x in _compile(pattern_of(names)).finditer(text)]


def replace_spans(text: str, names, replacement: str) -> str:
    """Replaces each span of a text.

    Args:
        text: A string.
        names: As in `pattern_of`.
        replacement: A string.
    """
    text = text.encode(errors="replace").decode()
    texts = itertools.repeat(replacement)
    return insert_texts(text, places_of(text, names), texts)


def insert_texts(text, places: Iterable, texts: Iterable):
    """Replaces some places of a text by other texts.

    Args:
        text: A string, or bytes.
        places: Pairs of begin and end, in their order.
        texts: Texts to insert there.
    """
    parts, done = [], 0
    for (begin, end), new in zip(places, texts):
        parts += [text[done:begin], new]
        done = end
    return text[:0].join([*parts, text[done:]])


def find_lost_spans(source: str, answer: str, names) -> list[str]:
    """Finds the spans of a source that an answer has less often.

    Args:
        source: A string.
        answer: A string.
        names: As in `pattern_of`.
    """
    missing = collections.Counter(spans_of(source, names))
    missing -= collections.Counter(spans_of(answer, names))
    return list(missing.elements())


@functools.lru_cache
def _compile(pattern: str):
    options = re2.Options()
    options.log_errors = False  # to standard error
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        if isinstance(reason, bytes):
            reason = reason.decode(errors="replace")
        raise ValueError(
            f"{pattern!r} is no regular expression of RE2 ({reason})."
        ) from None


@functools.lru_cache
def _check(name):
    pattern = PATTERNS.get(name, name)
    expression = _compile(pattern)
    _compile(f"(?:{pattern})")
    # An empty match depends on the neighbours.
    for before, after in itertools.product(("", "a", " ", "\n"), repeat=2):
        place = len(before)
        if expression.fullmatch(before + after, place, place):
            raise ValueError(f"{name!r} matches the empty string.")
    if expression.fullmatch(" "):
        raise ValueError(f"{name!r} matches a blank.")
