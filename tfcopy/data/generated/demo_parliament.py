"""The demo corpus of translation: a small English-French parliament.

Its sentences come from a grammar (`tables/demo_parliament_patterns.txt`
explains how they are written) and are full of names of people, places,
companies, reports and sums of money, most of which are too rare for any
vocabulary. The names of the validation and test sentences never occur in
training, so only a model that copies can translate them.
"""

import dataclasses
import functools
import random
import re
from collections.abc import Iterator, Sequence

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import bilingual, generated_corpus, text_tables
from tfcopy.data.generated.bilingual import (
    NAME,
    Phrase,
    agree_article,
    elide,
    expand,
    french_adjective,
    indefinite_article,
    number_forms,
)
from tfcopy.data.generated.demo_names import Names

LANGUAGES = ("en", "fr")
_TABLES = ("demo_names", "demo_parliament_patterns", "demo_parliament_words")
_NUM_TRAIN = {"small": 100_000, "large": 200_000}


def load(
    *,
    size: str = "large",
    num_train: int | None = None,
    num_validation: int = 500,
    num_test: int = 500,
    seed: int = 0,
    source_language: str = "en",
) -> TranslationCorpus:
    """Makes the demo corpus, which is generated when it is first read.

    Args:
        size: `"large"`, or `"small"`, which has half of the words and is learnt
            in a minute or two.
        num_train: Number of training pairs; by default 200,000 of the large
            corpus and 100,000 of the small one.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: Seed of the sentences; they are the same on every machine.
        source_language: `"en"` or `"fr"`.
    """
    if num_train is None:
        num_train = _NUM_TRAIN[size]
    return generated_corpus.load(
        "demo_parliament",
        functools.partial(generate, size=size),
        (num_train, num_validation, num_test),
        seed,
        tables=_TABLES,
        languages=LANGUAGES,
        source_language=source_language,
    )


def examples() -> list[tuple[str, str]]:
    """Returns sentences with names of all scripts, and translations.

    None of these names can occur in the training pairs.
    """
    return text_tables.pairs("parliament")


def generate(
    split: str, num_pairs: int, seed: int = 0, size: str = "large"
) -> Iterator:
    """Yields English-French pairs without storing them anywhere."""
    grammar = Grammar(seed, split, small=size == "small")
    for _ in range(num_pairs):
        yield grammar.sentence()


# === Grammar ===

_WORDS = text_tables.read("demo_parliament_words")
_PATTERNS = text_tables.read_as(
    text_tables.translations, "demo_parliament_patterns"
)
# Slots whose phrases are written in full, and their sections.
_PHRASES = {
    "committee": "committees",
    "event": "events",
    "topic": "topics",
    "month": "months",
    "weekday": "weekdays",
    "hour": "hours",
    "few": "number words",
    "past": "past times",
    "manner": "manners",
    "soon": "future times",
}
_NAMES = ("place", "acronym", "emoji", "code")  # slots of single names
# Shares of the sections, in percent. In "reversed" sentences the translation
# has the names in another order, and little else identifies them. In "agreeing"
# ones a participle or an adjective agrees with a noun, whose gender a plural
# article does not show.
_SECTIONS = {
    "statements": 36,
    "agreeing": 22,
    "reversed": 22,
    "questions": 10,
    "headings": 10,
}
# The share of each that begins as "unfortunately, ..." does. It is larger for
# "agreeing" ones, nearly all of which would begin with an article.
_OPENINGS = {
    "statements": 0.15,
    "agreeing": 0.5,
    "reversed": 0.15,
    "questions": 0.0,
    "headings": 0.0,
}
# The small grammar has every second line of the sections that are longer.
_SHORT_SECTION = 11
_MAX_TOKENS = 29  # on either side, counting every punctuation mark as a token


class Grammar:
    """Grammar of sentence pairs whose names belong to one split.

    Args:
        seed: Any integer or string.
        split: `"train"`, `"validation"` or `"test"`.
        small: Whether to do with half of the words, which are learnt sooner.
    """

    def __init__(self, seed, split: str, small: bool = False):
        self.rng = random.Random(f"{seed}/{split}")
        self.names = Names(self.rng, split)
        self.small = small

    def sentence(self) -> tuple[str, str]:
        """Draws one English sentence and its French translation."""
        while True:
            pair = self._pair()
            if max(map(count_tokens, pair)) <= _MAX_TOKENS:
                return pair

    def _pair(self) -> tuple[str, str]:
        (section,) = self.rng.choices([*_SECTIONS], weights=_SECTIONS.values())
        en, fr = self._expand(section)
        opening = self.rng.random()
        if opening < _OPENINGS[section]:
            en, fr = self._prepend("openings", en, fr)
        elif opening < 0.25 and section != "headings":
            en, fr = self._prepend("addresses", en, fr)
        return finish(indefinite_article(en)), finish(elide(fr))

    def _prepend(self, section, en, fr):
        phrase = self._definite(section)
        return f"{phrase.en['']} {en}", f"{phrase.other['']} {fr}"

    def _expand(self, section: str) -> tuple[str, str]:
        pattern = self.rng.choice(_PATTERNS[section])
        return expand(pattern, self._phrase, french_adjective)

    def _phrase(self, type: str) -> Phrase:
        if type in _PHRASES:
            return self._definite(_PHRASES[type])
        if type in _NAMES:
            return _name(getattr(self.names, type)())
        return getattr(self, f"_{type}")()

    # === Names, figures and dates ===

    def _mr(self) -> Phrase:
        """Draws a person with a title, which shows the gender."""
        feminine = self.rng.random() < 0.4
        name = _name(self.names.surname()).en[""]
        if feminine:
            return Phrase.plain(f"Mrs {name}", f"Mme {name}", feminine)
        return Phrase.plain(f"Mr {name}", f"M. {name}")

    def _person(self) -> Phrase:
        if self.rng.random() < 0.5:
            return self._mr()
        return _name(self.names.full_name())

    def _org(self) -> Phrase:
        shape = self.rng.random()
        if shape < 0.35:
            return _name(self.names.company(), feminine=True)
        if shape < 0.5:
            name = _name(self.names.company()).en[""]
            return Phrase.plain(f"the {name} group", f"le groupe {name}")
        if shape < 0.75:
            name = _name(self.names.acronym()).en[""]
            en, fr = f"the {name} association", f"l'association {name}"
            return Phrase.plain(en, fr, feminine=True)
        name = _name(self.names.surname()).en[""]
        return Phrase.plain(f"the {name} institute", f"l'institut {name}")

    def _company(self) -> Phrase:
        return _name(self.names.company(), feminine=True)

    def _number(self) -> Phrase:
        digits = self.rng.choice((1, 2, 2, 3, 3))
        number = self.rng.randrange(max(3, 10 ** (digits - 1)), 10**digits)
        return Phrase.same(str(number), plural=True)

    def _thousands(self) -> Phrase:
        number = f"{self.rng.randrange(2, 900)} {self.rng.randrange(10)}00"
        return Phrase.same(number, plural=True)

    def _year(self) -> Phrase:
        return Phrase.same(str(self.rng.randrange(1951, 2016)))

    def _late_year(self) -> Phrase:
        return Phrase.same(str(self.rng.randrange(2016, 2050)))

    def _amount(self) -> Phrase:
        shape = self.rng.random()
        if shape < 0.3:
            number = self._thousands().en[""]
            return Phrase.plain(f"EUR {number}", f"{number} euros")
        number = self._number().en[""]
        if shape < 0.7:
            return Phrase.plain(
                f"EUR {number} million", f"{number} millions de euros"
            )
        return Phrase.plain(
            f"{number} billion euros", f"{number} milliards de euros"
        )

    def _date(self) -> Phrase:
        """Draws a date such as "3 March 1999", without an article."""
        day = self.rng.randrange(1, 29)
        month = self._definite("months")
        year = f" {self._year().en['']}" if self.rng.random() < 0.6 else ""
        fr_day = "1er" if day == 1 else day
        return Phrase.plain(
            f"{day} {month.en['']}{year}", f"{fr_day} {month.other['']}{year}"
        )

    # === Phrases of ordinary words ===

    def _choose(self, lines: Sequence):
        """Draws a line of a section, or its phrase."""
        halved = self.small and len(lines) > _SHORT_SECTION
        return self.rng.choice(lines[::2] if halved else lines)

    def _definite(self, section: str) -> Phrase:
        return self._choose(_phrases(section))

    def _body(self) -> Phrase:
        if self.rng.random() < 0.12:
            en, fr, _ = self._adjective("nationalities")
            if self.rng.random() < 0.5:
                return Phrase.plain(
                    f"the {en} government", f"le gouvernement {fr[0]}"
                )
            return Phrase.plain(
                f"the {en} delegation", f"la délégation {fr[1]}", feminine=True
            )
        return self._definite("bodies")

    def _role(self) -> Phrase:
        role = self._definite("roles")
        if self.rng.random() < 0.25:
            en, fr, _ = self._adjective("nationalities")
            article, noun = role.en[""].split(" ", 1)
            return Phrase.plain(
                f"{article} {en} {noun}",
                f"{role.other['']} {fr[role.feminine]}",
                role.feminine,
            )
        return role

    def _group(self) -> Phrase:
        group = self._definite("groups")
        forms = {"en": group.en[""], "fr": group.other[""]}
        bare = {key: form.split(" ", 1)[1] for key, form in forms.items()}
        return dataclasses.replace(
            group,
            en={"": forms["en"], "bare": bare["en"]},
            other={"": forms["fr"], "bare": bare["fr"]},
        )

    def _country(self) -> Phrase:
        en, fr = text_tables.sides(self._choose(_WORDS["countries"]))
        place, fr = fr.split("; ")
        fr, gender, number = fr.rsplit(" ", 2)
        return Phrase(
            {"": en, "in": f"in {en}"},
            {"": fr, "in": place},
            gender == "f",
            number == "p",
        )

    def _clause(self) -> Phrase:
        """Draws a whole sentence that may follow "that"."""
        return Phrase.plain(*self._expand("clauses"))

    def _doc(self) -> Phrase:
        """Draws a document: "the annual report on fisheries"."""
        plural = self.rng.random() < 0.5
        articles = ("the", "les") if plural else ("the", "le")
        (kind,) = self.rng.choices(
            ("the", "this", "rank"), weights=(70, 15, 15)
        )
        if kind == "this":
            articles = ("these", "ces") if plural else ("this", "ce")
        if kind == "rank":
            return self._noun_phrase(("the", "le"), False, "ranks", 1)
        return self._noun_phrase(articles, plural, "document adjectives", 0.4)

    def _new_doc(self) -> Phrase:
        """Draws a document with an indefinite article: "a new directive"."""
        adjectives = "document adjectives"
        if self.rng.random() < 0.5:
            return self._noun_phrase(("a", "un"), False, adjectives, 0.5)
        articles = self.rng.choice((("several", "plusieurs"), ("two", "deux")))
        return self._noun_phrase(articles, True, adjectives, 0.5)

    def _noun_phrase(
        self, articles, plural, adjectives, adjective_share
    ) -> Phrase:
        en, fr = text_tables.sides(self._choose(_WORDS["documents"]))
        fr, gender = fr.rsplit(" ", 1)
        feminine = gender == "f"
        en, fr = number_forms(en)[plural], number_forms(fr)[plural]
        article = agree_article(articles[1], feminine)
        if self.rng.random() < adjective_share:
            adjective, forms, before = self._adjective(adjectives)
            form = forms[2 * plural + feminine]
            en = f"{adjective} {en}"
            fr = f"{form} {fr}" if before else f"{fr} {form}"
        if self.rng.random() < 0.2:
            topic = self._definite("topics")
            en, fr = f"{en} on {topic.en['']}", f"{fr} sur {topic.other['']}"
        return Phrase.plain(
            f"{articles[0]} {en}", f"{article} {fr}", feminine, plural
        )

    def _adjective(self, section: str) -> tuple[str, list, bool]:
        """Draws an English word, its French forms, and if these come first."""
        en, fr = text_tables.sides(self._choose(_WORDS[section]))
        return en, french_adjective(fr.lstrip("<")), fr.startswith("<")

    def _predicate(self, section: str) -> Phrase:
        """Draws an adjective after "to be": `[{judgement}:doc]`."""
        en, forms, _ = self._adjective(section)
        return Phrase({"": en}, {"": "|".join(forms), "m": forms[0]})

    _judgement = functools.partialmethod(_predicate, "judgements")
    _state = functools.partialmethod(_predicate, "states")

    def _verb(self, section: str) -> Phrase:
        en, fr = text_tables.sides(self._choose(_WORDS[section]))
        base, *others = en.split("/")
        regular = base + ("d" if base.endswith("e") else "ed")
        past, participle = others or (regular, regular)
        infinitive, *others = fr.split("/")
        done = others[0] if others else infinitive.removesuffix("er") + "é"
        return Phrase(
            {"": base, "past": past, "done": participle},
            {"": infinitive, "done": done},
        )

    _v = functools.partialmethod(_verb, "verbs")  # whose object is a document
    _said = functools.partialmethod(_verb, "reporting verbs")


def _name(name: str, feminine=False) -> Phrase:
    """Makes a phrase of a name, the same in both languages."""
    words = " ".join(NAME + word for word in name.split(" "))
    return Phrase.same(words, feminine)


@functools.cache
def _phrases(section: str) -> list[Phrase]:
    return bilingual.phrases(_WORDS[section])


def finish(text: str) -> str:
    """Capitalises the first word, unless it is a name."""
    text = text.replace("..", ".")  # "at 3 p.m.."
    return (text[0].upper() + text[1:]).replace(NAME, "")


def count_tokens(text: str) -> int:
    """Counts words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))
