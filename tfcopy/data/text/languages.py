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

from babel import Locale
from babel.core import get_global

# Codes that CLDR does not know, or keeps apart; Argos Translate has the first
# two, and `no` is written for Bokmål.
_ALIASES = {"pb": "pt_BR", "zt": "zh_Hant", "no": "nb"}
# Of languages that are written without blanks.
_BLEU_TOKENIZE = {"zh": "zh", "ja": "char", "th": "char"}
# Modifiers of gettext's codes that are scripts, besides CLDR's names of these.
_LATIN = ("ijekavianlatin", "iqtelif", "pinyin", "romaji", "hepburn")
_SCRIPTS = dict.fromkeys(_LATIN, "Latn") | {"jawi": "Arab", "ajami": "Arab"}


class _Code(NamedTuple):
    """A language; parts that a code does not have are blank."""

    language: str
    script: str = ""
    region: str = ""
    variant: str = ""


def base_language(code: str) -> str:
    """Returns a language's ISO 639 code without its country and its script."""
    return _parse(code).language


def bleu_tokenize(code: str) -> str:
    """Returns sacreBLEU's tokenization for texts in a language."""
    return _BLEU_TOKENIZE.get(base_language(code), "13a")


def normal_code(code: str) -> str:
    """Returns a code as BCP 47 writes it: `pt-BR` for `PT_br`, `he` for `iw`.

    Args:
        code: Code of a language. Returned in lower case if it is none.
    """
    return "-".join(filter(None, _parse(code)))


def code_of_name(name: str) -> str:
    """Returns the code of a language that is named in English.

    Args:
        name: Such as "Hungarian" or "Portuguese (Brazil)", or a code, which is
            returned as it is.

    Returns:
        "" if it is neither a language's name in CLDR nor formed like a code.
        There are no others of two letters than CLDR's, such as "LL", and "und"
        is an undetermined language.
    """
    if re.fullmatch(r"[A-Za-z]{2,3}([-_.@]\S*)?", name):
        language = base_language(name)
        is_code = len(language) > 2 or language in Locale("en").languages
        return name if is_code and language != "und" else ""
    language, _, part = name.lower().rstrip(")").partition(" (")
    found = _codes("languages").get(name.lower(), "")
    parts = _codes("territories") | _codes("scripts")
    if not found and part in parts and code_of_name(language):
        found = f"{code_of_name(language)}_{parts[part]}"
    return found


def complete_code(code: str, name: str) -> str:
    """Returns the second of two codes if it adds to the first, or the first.

    It adds to one of the same language: anything if that has nothing else, and
    a script if that has none.
    """
    parsed, other = _parse(code), _parse(name)
    is_more = (
        parsed == _Code(other.language) or other.script and not parsed.script
    )
    return name if parsed.language == other.language and is_more else code


def best_language(
    wanted: str, available: Iterable[str], *, other_regions: bool = True
) -> str | None:
    """Finds a language by any of its codes, or else the nearest of its regions.

    An equal code is preferred, then one that means the same (`zh-Hant` for
    `zh-TW`), then the language without a region, then another region. The
    script is never exchanged, and is the most likely one if a code names none:
    `zh-CN`, `zh-Hans` and `zh` are no `zh-TW`, and `sr` is no `sr@latin`.

    Args:
        wanted: Code of a language.
        available: Codes to choose from, the preferred one first.
        other_regions: Whether a code of another region may be chosen for one
            that names its own.

    Returns:
        One of `available`, or `None` if none of them is in the language.
    """
    asked = _parse(wanted)
    parents = get_global("parent_exceptions")
    names = (_join_parts(*x) for x in (asked[:3], _likely(asked)))
    parent = next((parents[x] for x in names if x in parents), "")
    regions = ("", asked.region)

    def nearness(code):
        found = _parse(code)
        return (
            found == asked,
            _likely(found) == _likely(asked),
            found.variant == asked.variant,
            _likely(found) == _likely(_parse(parent)),
            found[1:3] == ("", ""),
        )

    alike = (
        code
        for code in available
        if asked.language and _likely(_parse(code))[:2] == _likely(asked)[:2]
        if other_regions or not asked.region or _parse(code).region in regions
    )
    return max(alike, key=nearness, default=None)


@functools.lru_cache(maxsize=4096)
def _likely(code):
    """Returns language, script and region, the most likely if missing."""
    language, script, region, _ = code
    subtags = get_global("likely_subtags")
    keys = (language, script, region), (language, region), (language, script)
    names = (_join_parts(*x) for x in (*keys, (language,)))
    known = _parse(next((subtags[x] for x in names if x in subtags), language))
    return language, script or known.script, region or known.region


@functools.cache
def _codes(kind):
    """Returns CLDR's codes by their English names in lower case."""
    names = getattr(Locale("en"), kind)
    return {name.lower(): code for code, name in names.items()}


def _script(part):
    """Returns the script that a part of a code names, or ""."""
    script = part.capitalize()
    if script in Locale("en").scripts:
        return script
    return _SCRIPTS.get(part) or _codes("scripts").get(part, "")


def _join_parts(*parts):
    return "_".join(filter(None, parts))


@functools.lru_cache(maxsize=4096)
def _parse(code):
    """Parses a `_Code`."""
    name, _, modifier = re.sub(r"\.[^@]*", "", code.lower()).partition("@")
    language, *parts = (x.strip() for x in re.split("[-_]", name))
    if not language:
        return _Code("")
    aliases = get_global("language_aliases") | _ALIASES

    def is_language(part):
        known = part in aliases or part in Locale("en").languages
        return known and re.fullmatch("[a-z]{3}", part)

    while parts and is_language(parts[0]):  # zh-cmn
        language = parts.pop(0)
    known = _parse(aliases[language]) if language in aliases else _Code("")
    fields = {}
    # A single letter begins an extension, or a private part.
    more = (x.strip() for x in re.split("[-_@]", modifier))
    parts += (x for x in more if not is_language(x))
    for part in itertools.takewhile(lambda x: len(x) > 1, parts):
        if re.fullmatch("[a-z]{2}|[0-9]{3}", part):
            fields.setdefault("region", part.upper())
        elif script := _script(part):
            fields.setdefault("script", script)
        else:
            fields.setdefault("variant", part)
    return known._replace(language=known.language or language, **fields)
