"""Writes the sentences of the demo corpus in both languages at once.

A pattern is a pair of sentences with slots in braces, `{person}`; a digit
tells two slots of a kind apart, `{person2}`, and both sides mean the same
person by the same slot. Agreement stands in square brackets, with the slot to
agree with after a colon:

    [has|have:body]     number
    [il|elle|ils|elles:body]    masculine, feminine, and their plurals
    [rejeté*:doc]       the regular endings: rejeté, rejetée, rejetés, rejetées

Slots are filled before agreement is looked at, so `[{v.past}*:doc]` works.
Articles are written in full ("de le", "que il"); elision and contraction come
last. An underscore marks a pronoun, which does not contract: "de le_ dire".
"""

import dataclasses
import functools
import random
import re

from tfcopy.data.generated import demo_lexicon as lexicon
from tfcopy.data.generated import demo_patterns as patterns
from tfcopy.data.generated.demo_names import Names

_SLOT = re.compile(r"\{([a-z_]+)(\d?)(?:\.(\w+))?\}")
_AGREEMENT = re.compile(r"\[([^\[\]]*):(\w+)\]")
_NAME = "\ue000"  # stands before each name until the sentence is finished
_MAX_TOKENS = 29  # of either side, counting every mark as a token


@dataclasses.dataclass(frozen=True)
class Phrase:
    """What fills a slot: its forms in both languages, gender and number."""

    en: dict[str, str]
    fr: dict[str, str]
    feminine: bool = False
    plural: bool = False

    @classmethod
    def same(cls, name: str, feminine=False) -> "Phrase":
        """A name, which both languages write alike."""
        words = " ".join(_NAME + word for word in name.split(" "))
        return cls.plain(words, words, feminine)

    @classmethod
    def plain(cls, en: str, fr: str, feminine=False, plural=False) -> "Phrase":
        return cls({"": en}, {"": fr}, feminine, plural)


class Grammar:
    """Draws sentence pairs whose names belong to one split.

    Args:
        seed: Any integer or string; the same seed gives the same sentences.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, seed, split: str):
        self.rng = random.Random(f"{seed}/{split}")
        self.names = Names(self.rng, split)

    def sentence(self) -> tuple[str, str]:
        """Draws one English sentence and its French translation."""
        while True:
            pair = self._pair()
            if max(map(_count_tokens, pair)) <= _MAX_TOKENS:
                return pair

    def _pair(self) -> tuple[str, str]:
        rng = self.rng
        blocks = (patterns.STATEMENTS, patterns.QUESTIONS, patterns.HEADINGS)
        (block,) = rng.choices(blocks, weights=(80, 10, 10))
        en, fr = self._expand(block)
        opening = rng.random()
        if opening < 0.15 and block is patterns.STATEMENTS:
            en, fr = self._prepend(lexicon.OPENINGS, en, fr)
        elif opening < 0.25 and block is not patterns.HEADINGS:
            en, fr = self._prepend(lexicon.ADDRESSES, en, fr)
        return _finish(_indefinite_article(en)), _finish(_elide(fr))

    def _prepend(self, table, en, fr):
        phrase = self._definite(table)
        return f"{phrase.en['']} {en}", f"{phrase.fr['']} {fr}"

    def _expand(self, block: str) -> tuple[str, str]:
        """Fills the slots of a pattern, the same way on both sides."""
        en, fr = self.rng.choice(_pairs(block))
        slots = {}
        for kind, number, _ in _SLOT.findall(en + fr):
            if kind + number not in slots:
                slots[kind + number] = getattr(self, f"_{kind}")()
        return _fill(en, "en", slots), _fill(fr, "fr", slots)

    # === Names, figures and dates ===

    def _mr(self) -> Phrase:
        """A person with a title, which tells the gender."""
        feminine = self.rng.random() < 0.4
        name = Phrase.same(self.names.surname()).en[""]
        if feminine:
            return Phrase.plain(f"Mrs {name}", f"Mme {name}", feminine)
        return Phrase.plain(f"Mr {name}", f"M. {name}")

    def _person(self) -> Phrase:
        if self.rng.random() < 0.5:
            return self._mr()
        return Phrase.same(self.names.full_name())

    def _place(self) -> Phrase:
        return Phrase.same(self.names.place())

    def _org(self) -> Phrase:
        shape = self.rng.random()
        if shape < 0.35:
            return Phrase.same(self.names.company(), feminine=True)
        if shape < 0.5:
            name = Phrase.same(self.names.company()).en[""]
            return Phrase.plain(f"the {name} group", f"le groupe {name}")
        if shape < 0.75:
            name = Phrase.same(self.names.acronym()).en[""]
            en, fr = f"the {name} association", f"l'association {name}"
            return Phrase.plain(en, fr, feminine=True)
        name = Phrase.same(self.names.surname()).en[""]
        return Phrase.plain(f"the {name} institute", f"l'institut {name}")

    def _company(self) -> Phrase:
        return Phrase.same(self.names.company(), feminine=True)

    def _acronym(self) -> Phrase:
        return Phrase.same(self.names.acronym())

    def _emoji(self) -> Phrase:
        return Phrase.same(self.names.emoji())

    def _code(self) -> Phrase:
        return Phrase.same(self.names.code())

    def _number(self) -> Phrase:
        digits = self.rng.choice((1, 2, 2, 3, 3))
        number = self.rng.randrange(max(3, 10 ** (digits - 1)), 10**digits)
        return Phrase.plain(f"{number}", f"{number}", plural=True)

    def _thousands(self) -> Phrase:
        number = f"{self.rng.randrange(2, 900)} {self.rng.randrange(10)}00"
        return Phrase.plain(number, number, plural=True)

    def _year(self) -> Phrase:
        year = str(self.rng.randrange(1951, 2016))
        return Phrase.plain(year, year)

    def _late_year(self) -> Phrase:
        year = str(self.rng.randrange(2016, 2050))
        return Phrase.plain(year, year)

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
        """Such as "3 March 1999"; the article is the pattern's."""
        day = self.rng.randrange(1, 29)
        month = self._definite(lexicon.MONTHS)
        year = f" {self._year().en['']}" if self.rng.random() < 0.6 else ""
        fr_day = "1er" if day == 1 else day
        return Phrase.plain(
            f"{day} {month.en['']}{year}", f"{fr_day} {month.fr['']}{year}"
        )

    # === Phrases of ordinary words ===

    def _definite(self, table: str) -> Phrase:
        return self.rng.choice(_phrases(table))

    def _body(self) -> Phrase:
        if self.rng.random() < 0.12:
            en, fr, _ = self._adjective(lexicon.NATIONALITIES)
            return Phrase.plain(
                f"the {en} government", f"le gouvernement {fr[0]}"
            )
        return self._definite(lexicon.BODIES)

    def _role(self) -> Phrase:
        role = self._definite(lexicon.ROLES)
        if self.rng.random() < 0.25:
            en, fr, _ = self._adjective(lexicon.NATIONALITIES)
            article, noun = role.en[""].split(" ", 1)
            return Phrase.plain(
                f"{article} {en} {noun}",
                f"{role.fr['']} {fr[role.feminine]}",
                role.feminine,
            )
        return role

    def _committee(self) -> Phrase:
        return self._definite(lexicon.COMMITTEES)

    def _group(self) -> Phrase:
        group = self._definite(lexicon.GROUPS)
        forms = {"en": group.en[""], "fr": group.fr[""]}
        bare = {key: form.split(" ", 1)[1] for key, form in forms.items()}
        return dataclasses.replace(
            group,
            en={"": forms["en"], "bare": bare["en"]},
            fr={"": forms["fr"], "bare": bare["fr"]},
        )

    def _topic(self) -> Phrase:
        return self._definite(lexicon.TOPICS)

    def _month(self) -> Phrase:
        return self._definite(lexicon.MONTHS)

    def _weekday(self) -> Phrase:
        return self._definite(lexicon.WEEKDAYS)

    def _hour(self) -> Phrase:
        return self._definite(lexicon.HOURS)

    def _few(self) -> Phrase:
        return self._definite(lexicon.NUMBER_WORDS)

    def _past(self) -> Phrase:
        return self._definite(lexicon.PAST_TIMES)

    def _manner(self) -> Phrase:
        return self._definite(lexicon.MANNERS)

    def _soon(self) -> Phrase:
        return self._definite(lexicon.FUTURE_TIMES)

    def _country(self) -> Phrase:
        line = self.rng.choice(_lines(lexicon.COUNTRIES))
        en, fr = line.split(" = ")
        place, fr = fr.split("; ")
        fr, gender, number = fr.rsplit(" ", 2)
        return Phrase(
            {"": en, "in": f"in {en}"},
            {"": fr, "in": place},
            gender == "f",
            number == "p",
        )

    def _clause(self) -> Phrase:
        """A whole sentence, such as may follow "that"."""
        return Phrase.plain(*self._expand(patterns.CLAUSES))

    def _doc(self) -> Phrase:
        """A document with its article: "the annual report on fisheries"."""
        plural = self.rng.random() < 0.25
        articles = ("the", "les") if plural else ("the", "le")
        (kind,) = self.rng.choices(
            ("the", "this", "rank"), weights=(70, 15, 15)
        )
        if kind == "this":
            articles = ("these", "ces") if plural else ("this", "ce")
        table = lexicon.DOCUMENT_ADJECTIVES
        if kind == "rank":
            table, plural, articles = lexicon.RANKS, False, ("the", "le")
        return self._noun_phrase(
            articles, plural, table, 1 if kind == "rank" else 0.4
        )

    def _new_doc(self) -> Phrase:
        """The same with an indefinite article: "a new directive"."""
        table = lexicon.DOCUMENT_ADJECTIVES
        if self.rng.random() < 0.8:
            return self._noun_phrase(("a", "un"), False, table, 0.5)
        articles = self.rng.choice((("several", "plusieurs"), ("two", "deux")))
        return self._noun_phrase(articles, True, table, 0.3)

    def _noun_phrase(self, articles, plural, table, adjective_share) -> Phrase:
        line = self.rng.choice(_lines(lexicon.DOCUMENTS))
        en, fr = line.split(" = ")
        fr, gender = fr.rsplit(" ", 1)
        feminine = gender == "f"
        en, fr = _number_forms(en)[plural], _number_forms(fr)[plural]
        article = _agree_article(articles[1], feminine)
        if self.rng.random() < adjective_share:
            adjective, forms, before = self._adjective(table)
            form = forms[2 * plural + feminine]
            en = f"{adjective} {en}"
            fr = f"{form} {fr}" if before else f"{fr} {form}"
        if self.rng.random() < 0.12:
            topic = self._topic()
            en, fr = f"{en} on {topic.en['']}", f"{fr} sur {topic.fr['']}"
        return Phrase.plain(
            f"{articles[0]} {en}", f"{article} {fr}", feminine, plural
        )

    def _adjective(self, table: str) -> tuple[str, tuple, bool]:
        en, fr = self.rng.choice(_lines(table)).split(" = ")
        before = fr.startswith("<")
        return en, _adjective_forms(fr.lstrip("<")), before

    def _judgement(self) -> Phrase:
        """An adjective after "to be": `[{judgement}:doc]`."""
        en, forms, _ = self._adjective(lexicon.JUDGEMENTS)
        return Phrase({"": en}, {"": "|".join(forms), "m": forms[0]})

    def _v(self) -> Phrase:
        """What one does to a document."""
        return self._verb(lexicon.VERBS)

    def _said(self) -> Phrase:
        return self._verb(lexicon.REPORTING_VERBS)

    def _verb(self, table: str) -> Phrase:
        en, fr = self.rng.choice(_lines(table)).split(" = ")
        base, *others = en.split("/")
        regular = base + ("d" if base.endswith("e") else "ed")
        past, participle = others or (regular, regular)
        infinitive, *others = fr.split("/")
        done = others[0] if others else infinitive.removesuffix("er") + "é"
        return Phrase(
            {"": base, "past": past, "done": participle},
            {"": infinitive, "done": done},
        )


def _fill(text: str, language: str, slots: dict[str, Phrase]) -> str:
    def slot(match):
        kind, number, form = match.groups(default="")
        return getattr(slots[kind + number], language)[form]

    def agreement(match):
        forms, phrase = match[1], slots[match[2]]
        if forms.endswith("*"):
            forms = "|".join(_adjective_forms(forms[:-1]))
        forms = forms.split("|")
        if len(forms) == 2 and not match[1].endswith("*"):
            return forms[phrase.plural]
        return forms[2 * phrase.plural + phrase.feminine]

    return _AGREEMENT.sub(agreement, _SLOT.sub(slot, text))


# === Forms of words ===


def _number_forms(noun: str) -> list[str]:
    return noun.split("/") if "/" in noun else [noun, f"{noun}s"]


def _adjective_forms(adjective: str) -> list[str]:
    """Masculine, feminine, and the plurals of both."""
    if "/" in adjective:
        return adjective.split("/")
    feminine = adjective if adjective[-1] == "e" else f"{adjective}e"
    plural = adjective if adjective[-1] in "sx" else f"{adjective}s"
    return [adjective, feminine, plural, f"{feminine}s"]


def _agree_article(article: str, feminine: bool) -> str:
    forms = {"le": "la", "ce": "cette", "un": "une"}
    return forms.get(article, article) if feminine else article


# === Sound and spelling of whole sentences ===

_VOWELS = "aàâeéèêëiîïoôuùûœ"
_NAME_VOWELS = "AÁÀÂÄÅĀÆEÉÈÊËĒIÍÎÏĪOÓÔÕÖŌŐØUÚÙÛÜŪŰ"
_VOWEL = rf"(?={_NAME}?[{_VOWELS}{_NAME_VOWELS}]|h[^auo]|hom)"
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


def _elide(text: str) -> str:
    for pattern, replacement in _ELISIONS:
        text = pattern.sub(replacement, text)
    return text.replace("_", "")


_ARTICLE = re.compile(r"\ba (?=[aeiouAEIOU])(?!eu|Eu|uni|use|one)")


def _indefinite_article(text: str) -> str:
    return _ARTICLE.sub("an ", text)


def _finish(text: str) -> str:
    """Capitalises the first word, unless it is a name, which stays as it is."""
    text = text.replace("..", ".")  # "at 3 p.m.."
    return (text[0].upper() + text[1:]).replace(_NAME, "")


def _count_tokens(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


# === Reading the tables ===


@functools.cache
def _lines(table: str) -> list[str]:
    return table.strip().split("\n")


@functools.cache
def _phrases(table: str) -> list[Phrase]:
    phrases = []
    for line in _lines(table):
        en, fr = line.split(" = ")
        feminine = plural = False
        if match := re.fullmatch("(.*) ([mf]) ([sp])", fr):
            fr, feminine, plural = match[1], match[2] == "f", match[3] == "p"
        phrases.append(Phrase.plain(en, fr, feminine, plural))
    return phrases


@functools.cache
def _pairs(block: str) -> list[tuple[str, str]]:
    """English and French lines in turn."""
    lines = [line for line in block.strip().split("\n") if line]
    return list(zip(lines[::2], lines[1::2], strict=True))
