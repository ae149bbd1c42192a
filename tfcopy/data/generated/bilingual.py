"""Sentences in English and another language at once, and forms of their words.

A pattern is a pair of sentences with slots (`text_tables.py`); the same slot
has the same filler on both sides. Words that agree with it are in square
brackets.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

from tfcopy.data.generated import text_tables
from tfcopy.tokens import SPAN

NAME = SPAN  # precedes each name until the sentence is finished


@dataclasses.dataclass(frozen=True)
class Phrase:
    """Filler of a slot: its forms in both languages, gender and number."""

    en: dict[str, str]
    other: dict[str, str]
    feminine: bool = False
    plural: bool = False

    @classmethod
    def plain(
        cls, en: str, other: str, feminine=False, plural=False
    ) -> "Phrase":
        """Makes a phrase of one form."""
        return cls({"": en}, {"": other}, feminine, plural)

    @classmethod
    def same(cls, name: str, feminine=False, plural=False) -> "Phrase":
        """Makes a phrase that is the same in both languages."""
        return cls.plain(name, name, feminine, plural)


def phrases(lines: Sequence[str]) -> list[Phrase]:
    """Phrases of one form; gender and number may follow: `= la paix f s`."""
    found = []
    for line in lines:
        en, other = text_tables.sides(line)
        feminine = plural = False
        if match := re.fullmatch("(.*) ([mf]) ([sp])", other):
            other = match[1]
            feminine, plural = match[2] == "f", match[3] == "p"
        found.append(Phrase.plain(en, other, feminine, plural))
    return found


def expand(
    pattern: tuple[str, str],
    phrase_of: Callable[[str], Phrase],
    adjective_forms: Callable[[str], Sequence[str]],
) -> tuple[str, str]:
    """Fills the slots of a pattern, the same way on both sides.

    Args:
        pattern: An English sentence and its translation.
        phrase_of: Called with the type of each slot, in order.
        adjective_forms: As in `text_tables.agree`, of the other language.
    """
    drawn = {}
    for slot in text_tables.slots(" ".join(pattern)):
        if slot.name not in drawn:
            drawn[slot.name] = phrase_of(slot.type)

    def fill(text, language):
        filled = text_tables.fill(
            text, lambda slot: getattr(drawn[slot.name], language)[slot.form]
        )
        return text_tables.agree(filled, drawn, adjective_forms)

    return fill(pattern[0], "en"), fill(pattern[1], "other")


# === English ===


def number_forms(noun: str) -> list[str]:
    """Returns singular and plural."""
    return noun.split("/") if "/" in noun else [noun, f"{noun}s"]


_ARTICLE = re.compile(r"\ba (?=[aeiouAEIOU])(?!eu|Eu|uni|use|one)")


def indefinite_article(text: str) -> str:
    """Turns `a` into `an` where it should be."""
    return _ARTICLE.sub("an ", text)


def english_verb(forms: str) -> dict[str, str]:
    """Returns the forms of an English verb.

    Args:
        forms: The base form of a regular verb, or base, past, participle and
            -ing form between slashes.
    """
    base, *others = forms.split("/")
    if not others:
        stem = base.removesuffix("e")
        others = [f"{stem}ed", f"{stem}ed", f"{stem}ing"]
    past, done, ing = others
    if base.endswith(("ss", "sh", "ch", "x")):
        present = f"{base}es"
    else:
        present = re.sub("ys$", "ies", f"{base}s")
    return {"": base, "s": present, "past": past, "done": done, "ing": ing}


# === French ===


def french_adjective(adjective: str) -> list[str]:
    """Returns masculine, feminine, and the plurals of both."""
    if "/" in adjective:
        return adjective.split("/")
    feminine = adjective if adjective[-1] == "e" else f"{adjective}e"
    plural = adjective if adjective[-1] in "sx" else f"{adjective}s"
    return [adjective, feminine, plural, f"{feminine}s"]


def agree_article(article: str, feminine: bool) -> str:
    """Returns a French article in the gender of its noun."""
    forms = {"le": "la", "ce": "cette", "un": "une"}
    return forms.get(article, article) if feminine else article


_VOWELS = "aàâeéèêëiîïoôuùûœ"
_NAME_VOWELS = "AÁÀÂÄÅĀÆEÉÈÊËĒIÍÎÏĪOÓÔÕÖŌŐØUÚÙÛÜŪŰ"
_VOWEL = rf"(?={NAME}?[{_VOWELS}{_NAME_VOWELS}]|h[^auo]|hom)"
_ELISIONS = [
    (re.compile(rf"\b([Ll])a_? {_VOWEL}"), r"\1'"),
    (re.compile(rf"\b([LlDdNnSsJjMm]|[Qq]u)e_? {_VOWEL}"), r"\1'"),
    (re.compile(r"\b([Ss])i (ils?\b)"), r"\1'\2"),
    (re.compile(r"\b([Dd])e le (?!_)"), r"\1u "),
    (re.compile(r"\b([Dd])e les "), r"\1es "),
    (re.compile(r"\bà le "), "au "),
    (re.compile(r"\bÀ le "), "Au "),
    (re.compile(r"\bà les "), "aux "),
    (re.compile(rf"\bnouveau {_VOWEL}"), "nouvel "),
    (re.compile(rf"\b([Cc])e (?=[{_VOWELS}h])"), r"\1et "),
]


def elide(text: str) -> str:
    """Elides and contracts French articles and pronouns."""
    for pattern, replacement in _ELISIONS:
        text = pattern.sub(replacement, text)
    return text.replace("_", "")


# === Spanish ===


def spanish_plural(noun: str) -> str:
    """Returns the regular plural of a Spanish noun or adjective."""
    return noun + ("s" if noun[-1] in "aeiou" else "es")


def spanish_adjective(adjective: str) -> list[str]:
    """Returns masculine, feminine, and the plurals of both."""
    if "/" in adjective:
        return adjective.split("/")
    feminine = re.sub("o$", "a", adjective)
    return [
        adjective,
        feminine,
        spanish_plural(adjective),
        spanish_plural(feminine),
    ]


# The letter that a stem ends in before an e.
_BEFORE_E = {"c": "qu", "g": "gu", "z": "c"}


def spanish_verb(forms: str) -> dict[str, str]:
    """Returns the forms of a Spanish verb.

    Args:
        forms: The infinitive of a regular verb, or all seven forms between
            slashes.
    """
    infinitive, *others = re.split("/ ?", forms)
    stem, ending = infinitive[:-2], infinitive[-2:]
    if not others and ending == "ar":
        soft = stem[:-1] + _BEFORE_E.get(stem[-1], stem[-1])
        others = [f"{stem}ando", f"{stem}a", f"{soft}e"]
        others += [f"{stem}ó", f"{stem}aron", f"{stem}ado"]
    elif not others:
        others = [f"{stem}iendo", f"{stem}e", f"{stem}a"]
        others += [f"{stem}ió", f"{stem}ieron", f"{stem}ido"]
    names = ("ing", "now", "do", "past", "pasts", "done")
    result = {"": infinitive, **dict(zip(names, others, strict=True))}
    return {**result, "s": result["now"], "nows": f"{result['now']}n"}


_CONTRACTIONS = [
    (re.compile(r"\b([Dd]e|[Aa]) el\b"), r"\1l"),
    (re.compile(r"\by (?=h?i(?!e))"), "e "),
    (re.compile(r"\bo (?=h?o)"), "u "),
]


def contract(text: str) -> str:
    """Contracts Spanish articles, and changes `y` and `o` before their like."""
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    return text
