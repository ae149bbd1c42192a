"""Forms of words, articles and elision in the demo parliament's sentences."""

import re

NAME = "\ue000"  # precedes each name until the sentence is finished

# === Forms of words ===


def number_forms(noun: str) -> list[str]:
    """Singular and plural."""
    return noun.split("/") if "/" in noun else [noun, f"{noun}s"]


def adjective_forms(adjective: str) -> list[str]:
    """Masculine, feminine, and the plurals of both."""
    if "/" in adjective:
        return adjective.split("/")
    feminine = adjective if adjective[-1] == "e" else f"{adjective}e"
    plural = adjective if adjective[-1] in "sx" else f"{adjective}s"
    return [adjective, feminine, plural, f"{feminine}s"]


def agree_article(article: str, feminine: bool) -> str:
    """A French article in the gender of its noun."""
    forms = {"le": "la", "ce": "cette", "un": "une"}
    return forms.get(article, article) if feminine else article


# === Sound and spelling of whole sentences ===

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


_ARTICLE = re.compile(r"\ba (?=[aeiouAEIOU])(?!eu|Eu|uni|use|one)")


def indefinite_article(text: str) -> str:
    """Turns `a` into `an` where it should be."""
    return _ARTICLE.sub("an ", text)


def finish(text: str) -> str:
    """Capitalises the first word, unless it is a name."""
    text = text.replace("..", ".")  # "at 3 p.m.."
    return (text[0].upper() + text[1:]).replace(NAME, "")


def count_tokens(text: str) -> int:
    """The number of words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))
