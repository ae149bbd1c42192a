"""Models of the translation server by pair of languages; their detection."""

import collections
import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import babel

from tfcopy.data.text.languages import base_language, best_language, normal_code
from tfcopy.data.text.segments import has_words
from tfcopy.evaluation.calibration import confidence_of
from tfcopy.runtime.ask_texts import pad_rows
from tfcopy.runtime.exported_model import (
    EvictableModel,
    ExportedModel,
    ModelCache,
)
from tfcopy.runtime.loading import open_model
from tfcopy.runtime.signatures import ModelError, split_location
from tfcopy.runtime.translation_records import (
    Translation,
    is_truncated,
    may_exceed_limit,
    num_source_tokens,
    read_translations,
)
from tfcopy.runtime.versions import find_exports
from tfcopy.serving.http_server.api_messages import ApiError, bad_request
from tfcopy.serving.http_server.request_batches import RequestBatches
from tfcopy.serving.http_server.text_parts import Segment

_LANGUAGE = r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*(?:@[a-z]+)?"
_PLACE = re.compile(rf"(?:({_LANGUAGE}):({_LANGUAGE})=)?(.*)", re.DOTALL)
# Words of the text that tests how many a model reads.
_MANY_WORDS = 2000
# Minimum confidence of a listed language, and maximum number of them.
_LEAST, _MOST = 1, 5
# Maximum characters of a text for detection.
_LOOKED_AT = 2_000


class ModelLocation(NamedTuple):
    """Location of a model, and its languages if they are given.

    Attributes:
        server: Address of the server, `None` for a folder.
        model: The folder, or the name of the model on the server.
        pair: Codes of the languages, or `None`.
    """

    server: str | None
    model: str
    pair: tuple[str, str] | None


def locate(text: str) -> list[ModelLocation]:
    """Returns the locations for an argument of the command.

    Args:
        text: A folder of models, of the versions of a model or of one version,
            or `ADDRESS/MODEL`; after `SOURCE:TARGET=` if the languages are
            unknown.

    Raises:
        ModelError: If there is no model.
    """
    source, target, where = _PLACE.fullmatch(text).groups()
    pair = (source, target) if source else None
    if not where:
        raise ModelError(f"{text!r}: no such folder.")
    server, name = split_location(where)
    if server is not None:
        if pair is None:
            raise ModelError(
                f"{text}: name the languages of a model on a server, as in "
                f"en:fr={where}."
            )
        return [ModelLocation(server, name, pair)]
    folders = find_exports(where)
    if pair and len(folders) > 1:
        raise ModelError(
            f"{text}: contains several models. Choose one: "
            f"{', '.join(folders)}."
        )
    return [ModelLocation(None, folder, pair) for folder in folders]


class LoadedModel(NamedTuple):
    """A model that translates a pair of languages.

    Attributes:
        model: An `ExportedModel`.
        pair: Codes of the languages.
        max_words: Maximum number of tokens of a text that it reads.
    """

    model: ExportedModel
    pair: tuple[str, str]
    max_words: int

    @property
    def keeps_spans(self) -> bool:
        """Returns whether requests may have terms and spans of their own."""
        return "with_glossary" in self.model.signatures


def load_all(
    places: Sequence[ModelLocation], on_skip: Callable[[str], None], options
) -> dict[tuple[str, str], LoadedModel]:
    """Loads all models, and returns them by pair of languages.

    Args:
        places: Their locations.
        on_skip: Function of a line about a skipped model.
        options: Options of the command: `max_words`, the maximum number of
            tokens, instead of the export's; `most_loaded`, the maximum number
            of models in memory; `deadline` of a request to a server; and those
            of `open_model`.

    Raises:
        ModelError: If a model cannot be loaded, two have the same languages, or
            there is none.
    """
    models, cache = {}, None
    if options.most_loaded is not None:
        cache = ModelCache(options.most_loaded, operator.call)
    for server, name, named in places:
        model = open_model(
            *(server, name),
            batch_size=options.batch_size,
            at_once=options.at_once,
            deadline=options.deadline if server else None,
            **options.engine_options,
        )
        if not model.translates:
            on_skip(f"{model.name}: skipped: it does not translate.")
            continue
        pair = named or tuple(
            model.config.get(f"{x}_language") for x in ("source", "target")
        )
        if None in pair or (named is None and pair[0] == pair[1]):
            on_skip(
                f"{model.name}: skipped: languages unknown. "
                f"Specify them as SOURCE:TARGET={name}"
            )
            continue
        pair = tuple(x.replace("_", "-") for x in pair)
        if pair in models:
            raise ModelError(
                f"{models[pair].model.name} and {model.name} both translate "
                f"{':'.join(pair)}. Name the one to serve."
            )
        words = options.max_words or model.config.get("max_source_length")
        words = words or measure_max_tokens(model)
        if cache is not None and server is None:
            model = EvictableModel(model, cache)
        models[pair] = LoadedModel(model, pair, words)
    if not models:
        raise ModelError("there is no model that translates.")
    return models


def measure_max_tokens(model) -> int:
    """Returns how many tokens of a text a model reads, found by a test."""
    texts = {"text": ["a " * _MANY_WORDS]}
    ((answer, *_),) = model.rows("analyse", texts, read_translations)
    return max(1, num_source_tokens(answer))


class ServedModel:
    """A model that translates segments of concurrent requests.

    Args:
        loaded: `LoadedModel`.
        batches: Function from a function of a list of segments to their
            `RequestBatches`.
    """

    def __init__(
        self, loaded: LoadedModel, batches: Callable[[Callable], RequestBatches]
    ):
        self.max_words = loaded.max_words
        self.keeps_spans = loaded.keeps_spans
        self._model = loaded.model
        self.confidence = confidence_of(self._model.config)
        names = ["serving_default", "analyse"]
        names += ["with_glossary"] * self.keeps_spans
        self._batches = {
            name: batches(functools.partial(self._ask, name)) for name in names
        }

    @property
    def num_waiting(self) -> int:
        """Returns the number of waiting segments."""
        return sum(x.num_waiting for x in self._batches.values())

    async def translate(
        self, segments: Sequence[Segment], alternatives: int = 0
    ) -> list[list[Translation]]:
        """Translates segments.

        Args:
            segments: Distinct segments.
            alternatives: Number of further translations; segments with spans or
                phrases have none.

        Returns:
            For each segment its translations, the best first.

        Raises:
            ApiError: 400 if a segment is too long.
        """
        long = [x for x in segments if may_exceed_limit(x.text, self.max_words)]
        analysed = await self._batches["analyse"].ask(long)
        for segment, (answer, *_) in zip(long, analysed):
            if is_truncated(answer, self.max_words):
                text = segment.restore_spans(segment.text)
                raise bad_request(
                    "a sentence is too long for the model, which reads "
                    f"{self.max_words} words: {text[:60]!r}..."
                )
        asked = collections.defaultdict(list)
        for segment in segments:
            name = "analyse" if alternatives else "serving_default"
            if segment.spans or segment.phrases:
                name = "with_glossary"
            asked[name].append(segment)
        answered = {}
        for name, group in asked.items():
            ranked = await self._batches[name].ask(group)
            for segment, answers in zip(group, ranked):
                answered[segment] = answers[: alternatives + 1]
        return [answered[x] for x in segments]

    async def close(self):
        """Cancels pending batches, and closes the model."""
        for batches in self._batches.values():
            await batches.close()
        self._model.close()

    def _ask(self, name, segments):
        """Returns the `Translation`s of each segment of a batch."""
        inputs = {"text": [x.text for x in segments]}
        if name == "with_glossary":
            terms = [[y.encode() for y in x.terms] for x in segments]
            inputs["glossary"] = pad_rows(terms)
        return self._model.rows(name, inputs, read_translations)


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
    def first_pair(self) -> tuple[str, str]:
        """Returns one of the pairs."""
        source = min(self._targets)
        return source, self._targets[source][0]

    def list_languages(self) -> list[dict]:
        """Returns all source languages, with their target languages."""
        return [
            {
                "code": code,
                "name": get_language_name(code),
                "targets": self._targets.get(code, []),
            }
            for code in sorted({*self._targets}.union(*self._targets.values()))
        ]

    def match_pair(self, source: str, target: str) -> tuple[str, str]:
        """Returns the served pair for the languages of a request.

        Codes may have another form than the served ones, or another region; see
        `best_language`.

        Raises:
            ApiError: 400 if there is none.
        """
        code = best_language(source, self.find_sources(target))
        if code is not None:
            return code, best_language(target, self._targets[code])
        codes = {x["code"]: x["name"] for x in self.list_languages()}
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

    def find_sources(self, target: str) -> list[str]:
        """Returns the source languages of a target language."""
        return [
            source
            for source, targets in self._targets.items()
            if best_language(target, targets)
        ]


def get_language_name(code: str) -> str:
    """Returns the English name of a language, or its code."""
    try:
        locale = babel.Locale.parse(normal_code(code), sep="-")
    except (ValueError, babel.UnknownLocaleError):
        return code
    return locale.get_display_name("en") or code


def detect_language(
    text: str, among: Iterable[str] | None = None
) -> list[Detected]:
    """Returns the possible languages of a text, the most probable first.

    For a text without letters, the result is English, or the first of `among`,
    with a confidence of 0.

    Args:
        text: The text.
        among: Codes of the possible languages; any language if `None`.
    """
    languages = []
    if has_words(text):
        scores = _identifier().rank(text[:_LOOKED_AT])
        # Only ISO 639-1 codes: some 180 others are rarely meant.
        scores = [(language, x) for language, x in scores if len(language) == 2]
        highest = max(score for _, score in scores)
        weights = {x: math.exp(max(-700, y - highest)) for x, y in scores}
        total = 0.01 * sum(weights.values())
        languages = [Detected(x, round(y / total)) for x, y in weights.items()]
    if among is not None:
        codes = [*among]
        named = (
            Detected(code, x.confidence)
            for x in languages
            if (code := _match_code(x.language, codes))
        )
        other = best_language("en", codes) or codes[0]
        return [next(named, Detected(other, 0))]
    likely = [x for x in languages[:_MOST] if x.confidence >= _LEAST]
    return likely or languages[:1] or [Detected("en", 0)]


def _match_code(language, codes):
    """Returns one of `codes` for a language of any script, or `None`."""
    alike = (x for x in codes if base_language(x) == base_language(language))
    return best_language(language, codes) or next(alike, None)


@functools.cache
def _identifier():
    # Imported late: its model takes half a second.
    from py3langid import langid

    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
