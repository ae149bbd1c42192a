"""The demo corpus of documentation: texts of programs, English-Spanish.

Its sentences come from a grammar (`tables/demo_catalogs_patterns.txt` explains
how they are written) and look like a translation team's gettext catalogues:
messages with placeholders, and documentation whose code, options, files and
addresses are spans of markup. Most spans of the validation and test sentences
never occur in training, so only a model that copies them can translate.

Spans of markup are characters of their own until a sentence is finished, so
that no rule of spelling alters them; which placeholders a message has depends
on their order on both sides.
"""

import dataclasses
import functools
import random
import re
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import bilingual, generated_corpus, text_tables
from tfcopy.data.generated.bilingual import (
    Phrase,
    contract,
    english_verb,
    expand,
    indefinite_article,
    number_forms,
    spanish_adjective,
    spanish_plural,
    spanish_verb,
)
from tfcopy.data.generated.demo_names import Placeholders, Spans

LANGUAGES = ("en", "es")


def load(
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    seed: int = 0,
    source_language: str = "en",
) -> TranslationCorpus:
    """Makes the demo corpus, which is generated when it is first read.

    Args:
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: Seed of the sentences; they are the same on every machine.
        source_language: `"en"` or `"es"`.
    """
    tables = ("names", "patterns", "words")
    return generated_corpus.load(
        "demo_catalogs",
        generate,
        (num_train, num_validation, num_test),
        seed,
        tables=[f"demo_catalogs_{table}" for table in tables],
        languages=LANGUAGES,
        source_language=source_language,
    )


def examples() -> list[tuple[str, str]]:
    """Returns sentences whose spans are never generated, and translations.

    They are in other alphabets, from real programs, or contain other markup.
    """
    return text_tables.pairs("catalogs")


def generate(split: str, num_pairs: int, seed: int = 0) -> Iterator:
    """Yields English-Spanish pairs without storing them anywhere."""
    grammar = Grammar(seed, split)
    for _ in range(num_pairs):
        entry = grammar.entry()
        yield entry.en, entry.es


# === Words ===

_WORDS = text_tables.read("demo_catalogs_words")


@dataclasses.dataclass(frozen=True)
class Noun:
    """A noun, the kinds of its names, and the kinds of their owners."""

    en: list[str]
    es: list[str]
    feminine: bool
    kinds: list[str]
    owners: list[str]


@functools.cache
def nouns(section: str) -> list[Noun]:
    """Returns the nouns of a section."""
    return [_noun(*text_tables.sides(line)) for line in _WORDS[section]]


def _noun(en, es):
    es, kinds, owners = (es.split("; ") + ["", ""])[:3]
    es, gender = es.rsplit(" ", 1)
    es = es.split("/") if "/" in es else [es, spanish_plural(es)]
    return Noun(
        number_forms(en), es, gender == "f", kinds.split(), owners.split()
    )


@functools.cache
def owner_nouns() -> dict[str, Noun]:
    """Returns nouns for the owners of names, by the kind of name."""
    result = {}
    for line in _WORDS["owner nouns"]:
        kind, noun = line.split(": ")
        result[kind] = _noun(*text_tables.sides(noun))
    return result


@functools.cache
def verbs(section: str) -> list[Phrase]:
    """Returns the verbs of a section, with all their forms."""
    sides = map(text_tables.sides, _WORDS[section])
    return [Phrase(english_verb(en), spanish_verb(es)) for en, es in sides]


@functools.cache
def adjectives(section: str) -> list[tuple[str, list[str]]]:
    """Returns English adjectives, and the four forms of the Spanish ones."""
    sides = map(text_tables.sides, _WORDS[section])
    return [(en, spanish_adjective(es)) for en, es in sides]


@functools.cache
def phrases(section: str) -> list[Phrase]:
    """Returns the phrases of a section, which have one form."""
    return bilingual.phrases(_WORDS[section])


_OPENING = re.compile(r"[¿¡«\"`]?\w")


def capitalize(text: str) -> str:
    """Capitalises the first word, unless it is a name."""
    match = _OPENING.match(text)
    return match[0].upper() + text[match.end() :] if match else text


# === Grammar ===

_PATTERNS = text_tables.read_as(
    text_tables.translations, "demo_catalogs_patterns"
)
_FIRST_SPAN = 0xE000  # of Unicode's private characters
_SECTIONS = {
    "docs": 56,
    "messages": 30,
    "plain docs": 5,
    "headings": 5,
    "plurals": 4,
}
# Slots whose phrases are written in full, and their sections.
_PHRASES = {
    "manner": "manners",
    "guide": "guides",
    "system": "systems",
    "type": "types",
    "few": "few",
}
_NOUNS = ("file", "folder", "unit", "code", "part", "callable")
# English, then Spanish: all forms, or plural forms.
_DETERMINERS = [
    ("the", "el/la/los/las"),
    ("the", "el/la/los/las"),
    ("this/these", "este/esta/estos/estas"),
    ("all the", "todos los/todas las"),
]
_YOUR = ("your", "su/su/sus/sus")
_MIN_WORDS, _MAX_WORDS = 4, 25


@dataclasses.dataclass(frozen=True)
class Entry:
    """Entry of a catalogue.

    Attributes:
        en: The English text.
        es: The Spanish text.
        flag: Name of their format in gettext, `"c-format"`, or `""`.
    """

    en: str
    es: str
    flag: str = ""


class Grammar:
    """Grammar of entries whose names belong to one split.

    Args:
        seed: Any integer or string.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, seed, split: str):
        self.rng = random.Random(f"{seed}/{split}")
        self._names = Spans(self.rng, split)

    def entry(self) -> Entry:
        """Draws an entry of one form."""
        (section,) = self.rng.choices([*_SECTIONS], weights=_SECTIONS.values())
        return self._entries(section, [self.rng.random() < 0.8])[0]

    def plural_entry(self) -> tuple[Entry, Entry]:
        """Draws an entry for one thing and its plural."""
        one, several = self._entries("plurals", [False, True])
        return one, several

    def _entries(self, section, plurals):
        """Draws the same sentence for each number of `{n}`."""
        while True:
            sentence = _Sentence(self.rng, self._names, section)
            pattern = self.rng.choice(_PATTERNS[section])
            opening = None
            if section == "docs" and pattern[0][0] == "{":
                if self.rng.random() < 0.15:
                    opening = self.rng.choice(_PATTERNS["openings"])
            state = self.rng.getstate()
            pairs = []
            for is_plural in plurals:
                # The same draws yield the same phrases.
                self.rng.setstate(state)
                sentence.begin(is_plural)
                pair = sentence.expand(pattern)
                if opening:
                    before = sentence.expand(opening)
                    pair = [" ".join(sides) for sides in zip(before, pair)]
                pairs.append(pair)
            lengths = [len(text.split()) for pair in pairs for text in pair]
            if _MIN_WORDS <= min(lengths) and max(lengths) <= _MAX_WORDS:
                return sentence.finish(pairs)


class _Sentence:
    """Sentence to fill, with the clauses in it."""

    def __init__(self, rng, names, section):
        self.rng = rng
        self.names = names
        self.is_message = section in ("messages", "plurals")
        self.clauses = "message" if self.is_message else "docs"
        kinds = (
            ("file", "unit") if self.is_message else ("file", "unit", "code")
        )
        self.kind = rng.choice((*kinds, kinds[-1]))

    def begin(self, is_plural):
        """Clears the filled slots; `is_plural` is the number of `{n}`."""
        self.spans = []
        self.is_plural = is_plural

    def expand(self, pattern) -> tuple[str, str]:
        """Fills a pattern, the same way on both sides."""
        return expand(pattern, self._phrase, spanish_adjective)

    def finish(self, pairs) -> list[Entry]:
        """Spells sentences, and inserts their names."""
        spelled = [
            (capitalize(indefinite_article(en)), capitalize(contract(es)))
            for en, es in pairs
        ]
        texts = [text for pair in spelled for text in pair]
        marks = {chr(_FIRST_SPAN + i): x for i, x in enumerate(self.spans)}
        names, flag = Placeholders(self.rng, self.names).choose(marks, texts)
        taken = set(names.values())
        for mark, (kind, _) in marks.items():
            if mark not in names:
                name = self.names.draw(kind, roles=not self.is_message)
                while name in taken and kind != "value":
                    name = self.names.draw(kind, roles=not self.is_message)
                taken.add(name)
                names[mark] = name
        table = str.maketrans(names)
        return [
            Entry(en.translate(table), es.translate(table), flag)
            for en, es in spelled
        ]

    def _phrase(self, type: str) -> Phrase:
        if type in _PHRASES:
            return self.rng.choice(phrases(_PHRASES[type]))
        if type in _NOUNS:
            return self._thing(type)
        if method := getattr(self, f"_{type}", None):
            return method()
        return Phrase.same(self._span(type))

    # === Names ===

    def _span(self, kind, wrap=False) -> str:
        """Adds a character in place of a span."""
        self.spans.append((kind, wrap))
        return chr(_FIRST_SPAN + len(self.spans) - 1)

    def _version(self) -> Phrase:
        first = self.rng.randrange(1, 5)
        return Phrase.same(f"{first}.{self.rng.randrange(0, 16)}")

    def _n(self) -> Phrase:
        return Phrase.same(self._span("d"), plural=self.is_plural)

    def _item(self) -> Phrase:
        """Draws a counted noun, in the number of `{n}`."""
        noun = self.rng.choice(nouns("plain nouns"))
        return Phrase.plain(
            noun.en[self.is_plural],
            noun.es[self.is_plural],
            noun.feminine,
            self.is_plural,
        )

    # === Clauses and verbs ===

    def _clause(self, kind):
        pattern = self.rng.choice(_PATTERNS[f"{self.clauses} {kind}"])
        return Phrase.plain(*self.expand(pattern))

    _cond = functools.partialmethod(_clause, "conditions")
    _wish = functools.partialmethod(_clause, "subjunctives")

    def _v(self) -> Phrase:
        return self.rng.choice(verbs(f"{self.kind} verbs"))

    def _plv(self) -> Phrase:
        return self.rng.choice(verbs("plain verbs"))

    # === Nouns ===

    def _thing(self, kind=None) -> Phrase:
        """Draws a noun with an article, and mostly a name."""
        kind = kind or self.kind
        noun = self.rng.choice(nouns(f"{kind} nouns"))
        share = 1 if kind in ("part", "callable") else 0.7
        if self.rng.random() < share:
            return self._named(noun)
        return self._describe(noun, "adjectives")

    def _plain(self) -> Phrase:
        noun = self.rng.choice(nouns("plain nouns"))
        return self._describe(noun, "plain adjectives")

    def _new(self) -> Phrase:
        """Draws a noun with an indefinite article: "a hidden folder"."""
        noun = self.rng.choice(nouns(f"{self.kind} nouns"))
        return self._noun_phrase(noun, ("a", "un/una"), "adjectives")

    def _named(self, noun) -> Phrase:
        """Adds names to a noun: "the ``x`` argument of :func:`f`"."""
        rng = self.rng
        is_plural = rng.random() < (0.05 if self.is_message else 0.15)
        names = [self._name(noun) for _ in range(1 + is_plural)]
        en, es = noun.en[is_plural], noun.es[is_plural]
        if rng.random() < 0.15:
            adjective, forms = rng.choice(adjectives("adjectives"))
            en = f"{adjective} {en}"
            es = f"{es} {forms[2 * is_plural + noun.feminine]}"
        if rng.random() < 0.7:
            en = f"the {' and '.join(x for x, _ in names)} {en}"
        else:
            en = f"the {en} {' and '.join(x for x, _ in names)}"
        article = ("el", "la", "los", "las")[2 * is_plural + noun.feminine]
        es = f"{article} {es} {' y '.join(x for _, x in names)}"
        if noun.owners and not self.is_message and rng.random() < 0.4:
            owner = self._owner(rng.choice(noun.owners))
            es = f"{es} de {owner[1]}"
            if rng.random() < 0.3:
                en = f"{owner[0]}'s {en.removeprefix('the ')}"
            else:
                en = f"{en} of {owner[0]}"
        return Phrase.plain(en, es, noun.feminine, is_plural)

    def _name(self, noun) -> tuple[str, str]:
        """Draws a name in both languages, which differ in their quotes."""
        if not self.is_message or self.rng.random() < 0.25:
            span = self._span(self.rng.choice(noun.kinds))
            return span, span
        shape = self.rng.random()
        span = self._span("s", wrap=shape < 0.25)
        if shape < 0.65:
            return span, span
        return f'"{span}"', f"«{span}»"

    def _owner(self, kind) -> tuple[str, str]:
        span = self._span(kind)
        if self.rng.random() < 0.5:
            return span, span
        noun = owner_nouns()[kind]
        article = ("el", "la")[noun.feminine]
        return f"the {span} {noun.en[0]}", f"{article} {noun.es[0]} {span}"

    def _describe(self, noun, qualities) -> Phrase:
        """Describes a noun without a name: "these temporary files"."""
        has_owner = self.kind in ("file", "unit") and qualities == "adjectives"
        articles = [*_DETERMINERS, _YOUR] if has_owner else _DETERMINERS
        return self._noun_phrase(noun, self.rng.choice(articles), qualities)

    def _noun_phrase(self, noun, article, qualities) -> Phrase:
        rng = self.rng
        en_article, es_article = (x.split("/") for x in article)
        # An article may have the singular alone, or the plural.
        is_plural = rng.random() < 0.5
        if len(es_article) == 2:
            is_plural = article[0].startswith("all")
        en, es = noun.en[is_plural], noun.es[is_plural]
        place = 2 * is_plural + noun.feminine
        if rng.random() < 0.65:
            adjective, forms = rng.choice(adjectives(qualities))
            en, es = f"{adjective} {en}", f"{es} {forms[place]}"
        return Phrase.plain(
            f"{en_article[-is_plural]} {en}",
            f"{es_article[place % len(es_article)]} {es}",
            noun.feminine,
            is_plural,
        )
