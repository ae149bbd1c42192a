"""The plain words of the definition demos, and what they can be told of.

All of their English is here. Alternatives stand between bars; an indefinite
article is written `{a}`, and put in when the next word is known.
"""

import dataclasses
import functools
import re


@dataclasses.dataclass(frozen=True)
class Kind:
    """One sort of things.

    Attributes:
        names: The nouns that definitions use.
        nouns: Plain words for such things.
        actions: What only such things do; no two kinds share a verb.
    """

    names: str
    nouns: str
    actions: str


KINDS = {
    "animal": Kind(
        "animal|creature",
        "fox|goat|hare|horse",
        "runs across the field|sleeps in the straw",
    ),
    "tool": Kind(
        "tool|implement",
        "axe|chisel|hammer|spade",
        "breaks the stone|rusts in the shed",
    ),
    "instrument": Kind(
        "instrument|device for music",
        "drum|flute|guitar|violin",
        "plays a waltz|sounds in the hall",
    ),
    "garment": Kind(
        "garment|piece of clothing",
        "coat|hat|scarf|shirt",
        "fits the boy|hangs in the wardrobe",
    ),
    "vehicle": Kind(
        "vehicle|means of transport",
        "bus|lorry|ship|taxi",
        "arrives at noon|carries ten people",
    ),
    "container": Kind(
        "container|vessel",
        "bottle|box|bucket|jug",
        "holds the water|leaks onto the table",
    ),
    "dish": Kind(
        "dish|meal",
        "cake|pudding|soup|stew",
        "smells of butter|steams on the plate",
    ),
    "plant": Kind(
        "plant|growing thing",
        "birch|oak|rose|tulip",
        "blooms in spring|grows near the wall",
    ),
}

# Each colour, and what else has it.
COLOURS = {
    "red": "blood",
    "green": "grass",
    "white": "snow",
    "black": "coal",
}
ORIGINS = ("the north", "the south", "the east", "the west")

# === Definitions ===

# By what is known of a word.
DEFINITIONS = {
    "kind colour": (
        "{size}{colour} {kind}|{size}{kind} , {colour} all over|"
        "{size}{kind} of the colour of {like}"
    ),
    "kind origin": (
        "{size}{kind} from {origin}|{size}{kind} found in {origin}"
    ),
    "colour origin": (
        "{size}{colour} thing from {origin}|"
        "{size}{colour} thing found in {origin}|"
        "{size}thing from {origin} , of the colour of {like}"
    ),
    "kind": "{size}{kind}",
}
OPENINGS = "{a}|{a}|a kind of|any"
SIZES = "|||small |large "

# Ordinary words: nobody needs these definitions.
ORDINARY = {
    "woman": "a grown person , not a man",
    "man": "a grown person , not a woman",
    "boy": "a young person , later a man",
    "girl": "a young person , later a woman",
    "teacher": "a person who works in a school",
    "doctor": "a person who works in a hospital",
    "farmer": "a person who works on a farm",
    "market": "a place where one buys and sells things",
    "garden": "a piece of soil with grass and trees",
    "kitchen": "a part of the house , for work with food",
    "school": "a house where the young are taught",
    "street": "a road between two rows of houses",
    "station": "a place where a journey begins",
    "red": "of the colour of blood",
    "white": "of the colour of snow",
    "buy": "to get a thing for money",
    "sell": "to give a thing away for money",
    "find": "to see a thing that was lost",
}

# === Questions ===

PERSONS = (
    "Anna|Omar|Lena|Boris|Clara|David|Emma|Felix|Grace|Henry|Irene|Jakob|"
    "Kate|Louis|Maria|Noah|Olga|Peter|Rosa|Simon|Aunt Sally|Uncle Frank"
)
PLACES = (
    "in the garden|in the kitchen|in the barn|in the hall|at the market|"
    "at the station|at the gate|at the school|near the bridge|"
    "near the river|near the church|behind the hotel|behind the theatre|"
    "on the shelf|on the hill|on the deck"
)
STATEMENTS = (
    "{who} has {thing} {where} .|{who} bought {thing} {where} .|"
    "{who} found {thing} {where} ."
)
QUESTIONS = {
    "who": "Who has {asked} ?",
    "where": "Where is {asked} ?",
}

# === Pairs of sentences ===

SUBJECTS = (
    "woman|man|boy|girl|child|teacher|doctor|farmer|nurse|student|painter|"
    "driver"
)
PREMISES = (
    "{A} {subject} {verb} {thing} .|{A} young {subject} {verb} {thing} .|"
    "{A} {subject} {verb} {thing} {where} ."
)
HYPOTHESES = "{A} {subject} {verb} {asked} .|Somebody {verb} {asked} ."
VERBS = (
    "buys|sells|finds|sees|draws|wants|shows|loses|hides|paints|likes|"
    "looks at|talks about|asks for|dreams of"
)

# === Text ===

SENTENCES = (
    "The {thing} .|The {adjective} {thing} .|{when} the {thing} .|"
    "{who} says that the {thing} .|{who} sees how {a} {thing} .|"
    "Somewhere {a} {thing} .|Now and then an old {thing} .|"
    "The {thing} , and the {other} .|{when} the {adjective} {thing} .|"
    "The {adjective} {thing} while the {other} ."
)
ADJECTIVES = "old|new|little|strange|big|lovely"
TIMES = "Every day|At times|On Sundays|Once more|Today|Soon"

# How a text names something by what is told of it.
ASKED = {
    "kind": "{a} {value}",
    "colour": "something {value}",
    "origin": "something from {value}",
}

_TOKEN = re.compile(r"\{\w+\}|[^\s{}]+")


def choices(block: str) -> list[str]:
    """The alternatives of a block."""
    return block.split("|")


def with_articles(text: str) -> str:
    """Puts `a` or `an` for `{a}`, and the same for `{A}`."""
    tokens = text.split()
    for i, token in enumerate(tokens):
        if token.lower() == "{a}":
            is_vowel = tokens[i + 1][0].lower() in "aeiou"
            tokens[i] = token[1] + "n" * is_vowel
    return " ".join(tokens)


@functools.cache
def plain_words() -> tuple[str, ...]:
    """Every word of texts, questions and definitions that is not invented.

    For a vocabulary that knows all of these, and no invented word.
    """
    texts = ["a an A An"]
    for name, table in sorted(globals().items()):
        if name.isupper() and not name.startswith("_"):
            texts += _texts(table)
    tokens = _TOKEN.findall(" ".join(texts).replace("|", " "))
    return tuple(sorted({x for x in tokens if not x.startswith("{")}))


def _texts(table):
    """All texts in a table, keys of `DEFINITIONS` and the like left out."""
    if isinstance(table, str):
        return [table]
    if isinstance(table, Kind):
        return list(dataclasses.astuple(table))
    texts = [text for x in _values(table) for text in _texts(x)]
    is_of_words = table in (KINDS, COLOURS, ORDINARY)
    return texts + (list(table) if is_of_words else [])


def _values(table):
    return table.values() if isinstance(table, dict) else table
