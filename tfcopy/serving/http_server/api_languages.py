"""Codes of languages: names, matching, and detection."""

import collections
import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import babel

from tfcopy.data.text.languages import best_language, normal_code
from tfcopy.serving.http_server.api_messages import ApiError

# Minimum confidence of a listed language, and maximum number of them.
_LEAST, _MOST = 1, 5
# Maximum characters of a text for detection.
_LOOKED_AT = 2_000


class Detected(NamedTuple):
    """A detected language.

    Attributes:
        language: Code of the language.
        confidence: Its probability, a whole number of per cent.
    """

    language: str
    confidence: int


class Languages:
    """The pairs of languages that a server translates.

    Args:
        pairs: Codes of source and target.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]):
        self._targets = collections.defaultdict(list)
        for source, target in sorted(pairs):
            self._targets[source].append(target)

    @property
    def first(self) -> tuple[str, str]:
        """Returns one of the pairs."""
        source = min(self._targets)
        return source, self._targets[source][0]

    def listed(self) -> list[dict]:
        """Returns all source languages, with their target languages."""
        codes = {*self._targets}.union(*self._targets.values())
        return [
            {
                "code": code,
                "name": name_of_language(code),
                "targets": self._targets.get(code, []),
            }
            for code in sorted(codes)
        ]

    def pair(self, source: str, target: str) -> tuple[str, str]:
        """Returns the served pair for the languages of a request.

        Codes may have another form than the served ones, or another region; see
        `best_language`.

        Raises:
            ApiError: 400 if there is none.
        """
        found = best_language(source, self.sources_of(target))
        if found is not None:
            return found, best_language(target, self._targets[found])
        codes = {x["code"]: x["name"] for x in self.listed()}
        pair = []
        for asked in (source, target):
            code = best_language(asked, codes)
            if code is None:
                raise ApiError(400, f"{asked[:40]} is not supported")
            pair.append(f"{codes[code]} ({code})")
        raise ApiError(
            400,
            f"{pair[1]} is not available as a target language from {pair[0]}",
        )

    def sources_of(self, target: str) -> list[str]:
        """Returns the source languages of a target language."""
        return [
            source
            for source, targets in self._targets.items()
            if best_language(target, targets)
        ]


def name_of_language(code: str) -> str:
    """Returns the English name of a language, or its code."""
    try:
        locale = babel.Locale.parse(normal_code(code), sep="-")
    except (ValueError, babel.UnknownLocaleError):
        return code
    return locale.get_display_name("en") or code


def detected(text: str, among: Iterable[str] | None = None) -> list[Detected]:
    """Returns the possible languages of a text, the most probable first.

    For a text without letters, the result is English, or the first of `among`,
    with a confidence of 0.

    Args:
        text: The text.
        among: Codes of the possible languages; any language if `None`.
    """
    found = []
    if any(map(str.isalpha, text)):
        scores = _identifier().rank(text[:_LOOKED_AT])
        # Only ISO 639-1 codes: some 180 others are rarely meant.
        scores = [(language, x) for language, x in scores if len(language) == 2]
        highest = max(score for _, score in scores)
        likely = {x: math.exp(max(-700, y - highest)) for x, y in scores}
        total = 0.01 * sum(likely.values())
        found = [Detected(x, round(y / total)) for x, y in likely.items()]
    if among is not None:
        codes = [*among]
        named = (
            Detected(code, x.confidence)
            for x in found
            if (code := best_language(x.language, codes))
        )
        other = best_language("en", codes) or codes[0]
        return [next(named, Detected(other, 0))]
    told = [x for x in found[:_MOST] if x.confidence >= _LEAST]
    return told or found[:1] or [Detected("en", 0)]


@functools.cache
def _identifier():
    # Imported late: its model takes half a second.
    from py3langid import langid

    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
