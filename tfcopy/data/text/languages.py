"""Codes of languages, as translation tools write them.

A code may be BCP 47's (`pt-BR`, `zh-Hans-CN`), gettext's (`pt_BR.UTF-8`,
`sr@latin`), an older or a longer one (`iw`, `eng`) or LibreTranslate's (`pb`).
Likely subtags (of Unicode CLDR, by Babel) complete a code: `zh` is
`zh-Hans-CN`, `zh-TW` is `zh-Hant-TW`.
"""

import functools
import itertools
import re
from collections.abc import Iterable
from typing import NamedTuple

from babel.core import get_global

# Codes that CLDR does not know, or keeps apart; Argos Translate has the first
# two, and `no` is written for Bokmål.
_ALIASES = {"pb": "pt_BR", "zt": "zh_Hant", "no": "nb"}
# Of languages that are written without blanks.
_BLEU_TOKENIZE = {"zh": "zh", "ja": "char", "th": "char"}
# Modifiers of gettext's codes that are scripts.
_SCRIPTS = {"cyrillic": "Cyrl", "devanagari": "Deva", "latin": "Latn"}


class _Code(NamedTuple):
    """A language; parts that a code does not have are blank."""

    language: str
    script: str = ""
    region: str = ""
    variant: str = ""


def base_language(code: str) -> str:
    """Returns a language's ISO 639 code without its country and its script."""
    return _parsed(code).language


def bleu_tokenize(code: str) -> str:
    """Returns sacreBLEU's tokenization for texts in a language."""
    return _BLEU_TOKENIZE.get(base_language(code), "13a")


def normal_code(code: str) -> str:
    """Returns a code as BCP 47 writes it: `pt-BR` for `PT_br`, `he` for `iw`.

    Args:
        code: Code of a language. Returned in lower case if it is none.
    """
    return "-".join(filter(None, _parsed(code)))


def best_language(wanted: str, available: Iterable[str]) -> str | None:
    """Finds a language by any of its codes, or else the nearest of its regions.

    An equal code is preferred, then one that means the same (`zh-Hant` for
    `zh-TW`), then the language without a region, then another region. A code
    that names a script, or a region where another script is written, does not
    match one that names a different script: `zh-CN` is no `zh-TW`.

    Args:
        wanted: Code of a language.
        available: Codes to choose from, the preferred one first.

    Returns:
        One of `available`, or `None` if none of them is in the language.
    """
    asked = _parsed(wanted)
    parent = get_global("parent_exceptions").get(_joined(*asked[:3]), "")

    def nearness(code):
        found = _parsed(code)
        return (
            _likely(found)[1] == _likely(asked)[1],
            found == asked,
            _likely(found) == _likely(asked),
            found.variant == asked.variant,
            found == _parsed(parent),
            found[1:3] == ("", ""),
        )

    alike = (x for x in available if _are_alike(asked, _parsed(x)))
    return max(alike, key=nearness, default=None)


def _are_alike(one, other):
    """Returns whether two codes may mean one language in one script."""
    if one.language != other.language or not one.language:
        return False
    is_plain = ("", "") in (one[1:3], other[1:3])
    return is_plain or _likely(one)[1] == _likely(other)[1]


@functools.lru_cache(maxsize=4096)
def _likely(code):
    """Returns language, script and region, the most likely if missing."""
    language, script, region, _ = code
    subtags = get_global("likely_subtags")
    keys = (language, script, region), (language, region), (language, script)
    names = (_joined(*x) for x in (*keys, (language,)))
    known = _parsed(next((subtags[x] for x in names if x in subtags), language))
    return language, script or known.script, region or known.region


def _joined(*parts):
    return "_".join(filter(None, parts))


@functools.lru_cache(maxsize=4096)
def _parsed(code):
    """Parses a `_Code`."""
    name = re.sub(r"\.[^@]*", "", code.lower())
    language, *parts = (x.strip() for x in re.split("[-_@]", name))
    if not language:
        return _Code("")
    while parts and re.fullmatch("[a-z]{3}", parts[0]):  # zh-cmn
        language = parts.pop(0)
    aliases = get_global("language_aliases") | _ALIASES
    known = _parsed(aliases[language]) if language in aliases else _Code("")
    found = {}
    # A single letter begins an extension, or a private part.
    for part in itertools.takewhile(lambda x: len(x) > 1, parts):
        if re.fullmatch("[a-z]{4}", part) or part in _SCRIPTS:
            found.setdefault("script", _SCRIPTS.get(part, part.capitalize()))
        elif re.fullmatch("[a-z]{2}|[0-9]{3}", part):
            found.setdefault("region", part.upper())
        else:
            found.setdefault("variant", part)
    return known._replace(language=known.language or language, **found)
