"""Bilingual words of the demo catalogue and their forms."""

import dataclasses
import functools
import re

from tfcopy.data.generated import text_tables
from tfcopy.data.generated.demo_parliament_grammar import number_forms

_WORDS = text_tables.read("demo_catalogs_words")


@dataclasses.dataclass(frozen=True)
class Phrase:
    """What fills a slot: its forms in both languages, gender and number."""

    en: dict[str, str]
    es: dict[str, str]
    feminine: bool = False
    plural: bool = False

    @classmethod
    def plain(cls, en: str, es: str, feminine=False, plural=False) -> "Phrase":
        return cls({"": en}, {"": es}, feminine, plural)


@dataclasses.dataclass(frozen=True)
class Noun:
    """A noun, the kinds of names it has, and of those they may belong to."""

    en: list[str]
    es: list[str]
    feminine: bool
    kinds: list[str]
    owners: list[str]


@functools.cache
def nouns(section: str) -> list[Noun]:
    """The nouns of a section."""
    return [_noun(*line.sides()) for line in _WORDS[section]]


def _noun(en, es):
    es, kinds, owners = (es.split("; ") + ["", ""])[:3]
    es, gender = es.rsplit(" ", 1)
    es = es.split("/") if "/" in es else [es, plural(es)]
    return Noun(
        number_forms(en), es, gender == "f", kinds.split(), owners.split()
    )


@functools.cache
def owner_nouns() -> dict[str, Noun]:
    """Nouns of what names belong to, by the kind of name."""
    result = {}
    for line in _WORDS["owner nouns"]:
        kind, noun = line.split(": ")
        result[kind] = _noun(*noun.split(" = "))
    return result


@functools.cache
def verbs(section: str) -> list[Phrase]:
    """The verbs of a section, with all their forms."""
    sides = [line.sides() for line in _WORDS[section]]
    return [Phrase(english_verb(en), spanish_verb(es)) for en, es in sides]


@functools.cache
def adjectives(section: str) -> list[tuple[str, list[str]]]:
    """English adjectives, and the four forms of the Spanish ones."""
    sides = [line.sides() for line in _WORDS[section]]
    return [(en, adjective_forms(es)) for en, es in sides]


@functools.cache
def phrases(section: str) -> list[Phrase]:
    """The phrases of a section, which have one form."""
    return [Phrase.plain(*line.sides()) for line in _WORDS[section]]


# === Spanish words ===


def plural(noun: str) -> str:
    """The regular plural of a Spanish noun or adjective."""
    return noun + ("s" if noun[-1] in "aeiou" else "es")


def adjective_forms(adjective: str) -> list[str]:
    """Masculine, feminine, and the plurals of both."""
    if "/" in adjective:
        return adjective.split("/")
    feminine = re.sub("o$", "a", adjective)
    return [adjective, feminine, plural(adjective), plural(feminine)]


# The letter that a stem ends in before an e.
_BEFORE_E = {"c": "qu", "g": "gu", "z": "c"}


def spanish_verb(forms: str) -> dict[str, str]:
    """The forms of a Spanish verb: gerund, present, imperative, past.

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


# === English words ===


def english_verb(forms: str) -> dict[str, str]:
    """The forms of an English verb.

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


# === Whole sentences ===

_CONTRACTIONS = [
    (re.compile(r"\b([Dd]e|[Aa]) el\b"), r"\1l"),
    (re.compile(r"\by (?=h?i(?!e))"), "e "),
    (re.compile(r"\bo (?=h?o)"), "u "),
]
_OPENING = re.compile(r"[¿¡«\"`]?\w")


def contract(text: str) -> str:
    """Contracts Spanish articles, and changes `y` and `o` before their like."""
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    return text


def capitalize(text: str) -> str:
    """Capitalises the first word, unless it is a name."""
    match = _OPENING.match(text)
    return match[0].upper() + text[match.end() :] if match else text
