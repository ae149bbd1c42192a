"""Codes of languages: their names, those that are served, and detection."""

import collections
import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import babel

from tfcopy.serving.http_server.api_messages import ApiError

# The least probability of a language that is told, and the most of them.
_LEAST, _MOST = 0.01, 5
# Characters of a text by which its language is detected.
_LOOKED_AT = 2_000


class Detected(NamedTuple):
    """A language that a text may be in.

    Attributes:
        language: Its code.
        confidence: Its probability, per cent.
    """

    language: str
    confidence: float


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
        """One of the pairs."""
        source = min(self._targets)
        return source, self._targets[source][0]

    def listed(self) -> list[dict]:
        """All languages, with the codes that each is translated to."""
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
        """The pair that is served for what a request names.

        A region or script that is not served is left out: `pt_BR` is taken for
        `pt`.

        Raises:
            ApiError: 400 if there is none.
        """
        codes = {x["code"]: x["name"] for x in self.listed()}
        found = []
        for asked in (source, target):
            code = _served(asked, codes)
            if code is None:
                raise ApiError(400, f"{asked[:40]} is not supported")
            found.append(code)
        source, target = found
        if target not in self._targets.get(source, ()):
            raise ApiError(
                400,
                f"{codes[target]} ({target}) is not available as a target "
                f"language from {codes[source]} ({source})",
            )
        return source, target

    def sources_of(self, target: str) -> list[str]:
        """The codes of languages that are translated to one."""
        return [
            source
            for source, targets in self._targets.items()
            if _served(target, targets)
        ]


def _served(asked, codes):
    """The code that is meant, `None` if there is none of them."""
    by_form = {x.lower(): x for x in codes}
    parts = asked.replace("_", "-").lower().split("-")
    forms = ("-".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((by_form[x] for x in forms if x in by_form), None)


def name_of_language(code: str) -> str:
    """A language's name in English; its code if it has none."""
    try:
        locale = babel.Locale.parse(code.replace("-", "_"))
    except (ValueError, babel.UnknownLocaleError):
        return code
    return locale.get_display_name("en") or code


def detected(text: str, among: Iterable[str] | None = None) -> list[Detected]:
    """The languages that a text may be in, the most probable first.

    Args:
        text: The text.
        among: Codes of those that it must be one of; any language if `None`.
    """
    scores = _identifier().rank(text[:_LOOKED_AT])
    # Those with a code of ISO 639-1: of some 180, few others are ever meant.
    scores = [(language, x) for language, x in scores if len(language) == 2]
    highest = max(score for _, score in scores)
    likely = {x: math.exp(max(-700, y - highest)) for x, y in scores}
    total = sum(likely.values())
    found = [Detected(x, 100 * y / total) for x, y in likely.items()]
    if among is not None:
        codes = {x.lower().split("-")[0]: x for x in reversed([*among])}
        found = [
            Detected(codes[x.language], x.confidence)
            for x in found
            if x.language in codes
        ] or [Detected(x, 0.0) for x in codes.values()]
        return [_rounded(x) for x in found[:1]]
    told = [x for x in found[:_MOST] if x.confidence >= 100 * _LEAST]
    return [_rounded(x) for x in told or found[:1]]


def _rounded(x):
    return x._replace(confidence=round(x.confidence, 1))


@functools.cache
def _identifier():
    # Late: it reads its model, half a second.
    from py3langid import langid

    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
