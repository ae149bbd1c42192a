"""Placeholder formats of the `*-format` flags of gettext's catalogues.

A format defines the pattern of its placeholders, whether their order counts,
the notation of their numbers, and the characters that are doubled to be
themselves. The patterns run in RE2.

Reference: the manual of GNU gettext, "Language specific format strings".
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Format(NamedTuple):
    """A format of gettext.

    Attributes:
        span: Regular expression of a placeholder, or of an escaped character
            that would begin one.
        ordered: Regular expression of `re` for the beginning of placeholders
            that are identified by position alone; `""` without any.
        numbered: Template of the number after that beginning, such as `{}$`;
            `""` if the format has no numbers.
        first: The number of the first placeholder.
        doubled: Characters that are doubled to be themselves.
        strict: Regular expression of `re` for the beginning of placeholders
            that no plural form may lack, even the form of one; `""` without
            any.
        follows: Whether a placeholder without a number takes the next argument
            after its predecessor, even if the predecessor has a number.
        again: A sign of placeholders that take the argument of their
            predecessor; `""` without any.
    """

    span: str
    ordered: str = ""
    numbered: str = ""
    first: int = 1
    doubled: str = ""
    strict: str = ""
    follows: bool = False
    again: str = ""

    def place_of(self, span: str) -> int | None:
        """Returns the position, from 0, in the number of a placeholder.

        `None` if it has no number.
        """
        number = re.escape(self.numbered).replace(r"\{\}", "([0-9]{1,9})")
        found = re.search(number, span) if number else None
        return int(found[1]) - self.first if found else None

    def insert_number(self, span: str, place: int) -> str | None:
        """Adds the number of a position, counted from 0, to a placeholder.

        `None` if the format has no numbers, or the placeholder takes several.
        """
        begin = self.ordered and re.match(self.ordered, span)
        if not begin or not self.numbered or "*" in span:
            return None
        number = self.numbered.format(self.first + place)
        return span[: begin.end()] + number + span[begin.end() :]


_NUMBER = r"(?:[0-9]+\$)?"
_STAR = r"(?:\*(?:[0-9]+\$)?|[0-9]+)?"
_C_SIZE = r"(?:hh|h|ll|l|L|q|j|z|t)?"
_PRI = r"<PRI[diouxX](?:LEAST|FAST)?(?:[0-9]+|MAX|PTR)>"
# The percent sign of a placeholder without a number and a name. `%%` is none,
# nor is C's `%m`, the text of an error.
_ORDERED = r"%(?![0-9]+\$|[-+ #0]*[0-9]*(?:[({%m]|<(?!PRI)))"


def _printf(conversion, flags="-+ #0", number=_NUMBER, width=_STAR, size=""):
    precision = rf"(?:\.{width})?"
    return f"%{number}[{flags}]*{width}{precision}{size}{conversion}|%%"


def _percent(span, numbered="{}$", ordered=_ORDERED, strict=""):
    return Format(span, ordered, numbered, doubled="%", strict=strict)


def _braces(arguments, ordered="", numbered=""):
    return Format(rf"\{{\{{|\}}\}}|{arguments}", ordered, numbered, 0, "{}")


_C = _printf(
    f"(?:{_C_SIZE}[diouxXeEfFgGaAcCsSpnm%]|{_PRI})", "-+ #0'I", size=""
)
_JAVA_STYLE = r"[^{}']*(?:\{[^{}]*\}[^{}']*)*"
_TILDE = (
    r"~(?:(?:[-+]?[0-9]+|'.|[vV#])?,)*(?:[-+]?[0-9]+|'.|[vV#])?[:@]*"
    r"(?:[^\W\d_]|[$%&~|?(){}\[\];^<>*!])"
)
# A specifier of a replacement field: fields within it, but no further ones.
_SPEC = r"[^{}]*(?:\{[^{}]*\}[^{}]*)*"
# Variables of a string of Xcode, such as %#@files@, and their number.
XCODE = r"%(?:[0-9]+\$)?#@[^\s%@]+@|%arg\b"
FORMATS = {
    "c": _percent(_C),
    # `%@` is an object.
    "objc": _percent(f"{XCODE}|{_C.replace('pnm%]', 'pnm%@]')}"),
    # `std::format`.
    "c++": _braces(rf"\{{[0-9]*(?::{_SPEC})?\}}", r"\{(?=[:}])", "{}"),
    "python": _percent(
        _printf(
            "[diouxXeEfFgGcrsa%]",
            number=r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?",
            width=r"(?:\*|[0-9]+)?",
            size="[hlL]?",
        ),
        numbered="",
        strict=_ORDERED,
    ),
    "python-brace": _braces(
        rf"\{{(?:[A-Za-z_]\w*|[0-9]+)?(?:\.[A-Za-z_]\w*|\[[^\[\]{{}}]+\])*"
        rf"(?:![rsa])?(?::{_SPEC})?\}}",
        r"\{(?=[!:}])",
        "{}",
    ),
    # `MessageFormat`: text in quotes is literal.
    "java": Format(rf"'[^']*'|\{{[0-9]+(?:,{_JAVA_STYLE})?\}}", doubled="'"),
    "java-printf": _percent(
        _printf("(?:[bBhHsScCdoxXeEfgGaAn%]|[tT][A-Za-z])", "-+ #0,(<"),
        # `%n` ends a line.
        ordered=r"%(?![0-9]+\$|[-+ #0,(<]*[n%])",
    )._replace(again="<"),
    "csharp": _braces(r"\{[0-9]+(?:,-?[0-9]+)?(?::(?:[^{}]|\{\{|\}\})*)?\}"),
    "javascript": _percent(_printf("[bcdfjosxX%]", "-+ #0'I")),
    "scheme": Format(_TILDE, "~", doubled="~", strict="~[^~%]"),
    "lisp": Format(_TILDE, "~", doubled="~", strict="~[^~%]"),
    "elisp": _percent(_printf("[sSdioxXceEfgG%]"))._replace(follows=True),
    "librep": _percent(_printf("[sSdoxXc%]"))._replace(follows=True),
    # `std::fmt`.
    "rust": _braces(
        rf"\{{(?:[A-Za-z_]\w*|[0-9]+)?(?::{_SPEC})?\}}", r"\{(?=[:}])", "{}"
    ),
    "go": _percent(
        _printf(
            "[vTtbcdoOqxXUeEfFgGsp]",
            number=r"(?:\[[0-9]+\])?",
            width=r"(?:(?:\[[0-9]+\])?\*|[0-9]+)?",
            size=r"(?:\[[0-9]+\])?",
        ),
        "[{}]",
        # The number comes right before the verb.
        r"%[-+ #0]*[0-9*]*(?:\.[0-9*]*)?(?=[A-Za-z])",
    )._replace(follows=True),
    "ruby": _percent(
        r"%[-+ #0]*[0-9]*\{[^{}]+\}|"
        # Flags, a width and a name, in any order.
        + rf"%(?:[-+ #*0-9]|<[^<>]+>|[0-9]+\$)*(?:\.{_STAR})?"
        + r"(?:<[^<>]+>)?[diouxXbBeEfgGaAcps%]|%<[^<>]+>",
        strict=_ORDERED,
    ),
    "sh": Format(r"\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*"),
    "sh-printf": _percent(_printf("[diouxXeEfFgGaAcsbq]")),
    "awk": _percent(_printf("[diouxXeEfFgGaAcs%]")),
    "lua": _percent(
        _printf("[diouxXeEfgGaAcqs]", number="", width="[0-9]*"),
        numbered="",
        strict=_ORDERED,
    ),
    "object-pascal": _percent(
        r"%(?:[0-9]*:)?-?(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?"
        r"[dDuUeEfFgGnNmMpPsSxX]"
        r"|%%",
        "{}:",
        r"%(?![0-9]+:|%)",
    )._replace(first=0),
    "modula2": _percent(_printf("[diuxXceEfFgGs]")),
    "d": _percent(_printf("[sdbBoxXeEfFgGaAcu]")),
    "smalltalk": Format(r"%[1-9]|%%"),
    "qt": Format(r"%L?[0-9]{1,2}", strict="%"),
    "qt-plural": Format("%L?n"),
    "kde": Format(r"%[1-9][0-9]*"),
    "kde-kuit": Format(r"%[1-9][0-9]*"),
    "boost": _percent(
        r"%[0-9]+%|%\|(?:[0-9]+\$)?[-+ #0'_=h]*[0-9*]*(?:\.[0-9*]+)?"
        r"(?:[a-zA-Z]|t[^|]|T[^|])?\|"
        rf"|%{_NUMBER}[-+ #0'_=hlL]*{_STAR}(?:\.{_STAR})?"
        rf"{_C_SIZE}[dioxXuUeEfFgGaAcCsSpn]|%%",
        ordered=r"%\|(?![0-9]+\$)|%(?!\||[0-9]+[$%]|%)",
    ),
    "tcl": _percent(_printf("[diouxXeEfgGcs]", size="[hl]?")),
    "perl": _percent(
        rf"%{_NUMBER}[-+ #0I]*(?:\*?v)?{_STAR}(?:\.{_STAR})?"
        rf"(?:hh|h|ll|l|L|q|V|z|t|j)?[diouxXbBeEfFgGaAcspnDUO%]"
    ),
    "perl-brace": Format(r"\{[A-Za-z_]\w*\}"),
    "php": _percent(
        rf"%{_NUMBER}(?:[-+ 0]|'.)*[0-9]*(?:\.[0-9]*)?l?[bcdeEfFgGosuxX]|%%"
    ),
    "gcc-internal": _percent(
        rf"%{_NUMBER}[q+#]*(?:\.(?:\*(?:[0-9]+\$)?|[0-9]+))?(?:ll|l|w|t|z)?"
        r"[diouxXcspmHJKDETFAVLQOPSICXfGkUvBnNehyZR]|%[<>'%r]",
        ordered=r"%(?![0-9]+\$|[<>'%rRm])",
    ),
    "gfc-internal": _percent(
        rf"%{_NUMBER}q?(?:ll|l)?[diuscCLef]|%[<>%]",
        ordered=r"%(?![0-9]+\$|[<>%])",
        strict="%C",
    )._replace(follows=True),
    "ycp": Format(r"%[1-9]|%%", doubled="%"),
}
SUFFIX = "-format"


def find_format(name: str) -> Format | None:
    """Returns the format of a flag, such as `c-format`, or `None`."""
    if not name.endswith(SUFFIX):
        return None
    return FORMATS.get(name.removesuffix(SUFFIX))


def find_ordered(span: str, names) -> Format | None:
    """Returns the format whose placeholder is identified by position alone.

    Args:
        span: A placeholder.
        names: Names of formats; others are ignored.
    """
    for row in filter(None, map(find_format, names)):
        if row.ordered and re.match(row.ordered, span):
            return row
    return None


def find_arguments(
    spans: Sequence[str], names
) -> list[tuple[int, str | None] | None]:
    """Returns the arguments that placeholders take by their positions.

    Args:
        spans: All placeholders of a text.
        names: Names of formats; others are ignored.

    Returns:
        For each its argument, counted from 0, and the placeholder with a
        number, which is `None` if it cannot have one; or `None` where the
        order does not matter.
    """
    rows = [find_ordered(x, names) for x in spans]
    formats = [*filter(None, map(find_format, names))]
    # In some formats a number determines the numbers of later placeholders.
    mixed = next((x for x in rows if x and x.follows), None)
    arguments, place, last = [], 0, None
    for span, row in zip(spans, rows):
        numbers = (x.place_of(span) for x in formats)
        number = next((x for x in numbers if x is not None), None)
        if row and row.again and row.again in span:
            once = span.replace(row.again, "")
            numbered = None if last is None else row.insert_number(once, last)
            arguments.append((last, numbered))
            continue
        if number is not None and mixed:
            place, numbered = number, span
        elif row:
            numbered = row.insert_number(span, place)
        else:
            arguments.append(None)
            last = last if number is None else number
            continue
        arguments.append((place, numbered))
        last = place
        place += 1 + span.count("*")
    return arguments
