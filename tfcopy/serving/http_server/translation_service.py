"""The translation service: from requests through segments to responses."""

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tfcopy.data.text.blanks import normalize
from tfcopy.data.text.span_patterns import NAMES, PATTERNS, find_lost_spans
from tfcopy.runtime.remote_model import RemoteModel
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server import served_models
from tfcopy.serving.http_server.api_messages import (
    ApiError,
    TranslateRequest,
    bad_request,
)
from tfcopy.serving.http_server.html_parts import HtmlText
from tfcopy.serving.http_server.request_batches import RequestBatches
from tfcopy.serving.http_server.text_parts import ADDRESS, PlainText
from tfcopy.terminal import one_line

# Weblate's stand-in for a placeholder, and addresses.
_ALWAYS_KEPT = (r"\[X[0-9]+X\]", ADDRESS)
# Weblate's test of a server's address: languages and text.
_WEBLATE_CHECK = "en", "de", ["test"]
# Maximum phrases of a glossary; each is searched in each line.
_MOST_TERMS = 1000
# Threads that parse long requests and format responses, and the maximum
# characters of requests that need none.
_READERS, _SHORT = 2, 2000
# Buckets of histograms of seconds.
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Those of segments in a batch.
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
# Maximum characters of a response, as a multiple of those of a request.
_MOST_TIMES = 10


class _Translated(NamedTuple):
    text: str
    alternatives: list[str]
    lost: list[str]
    confidence: float | None


class Metrics:
    """Prometheus metrics, without texts or keys."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self):
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        count = functools.partial(self._new, Counter)
        take = functools.partial(self._new, Histogram, buckets=_SECONDS)
        pair = "source", "target"
        self.requests = count("requests", "Requests.", "path", "status")
        self.seconds = take("request_seconds", "Seconds of a request.", "path")
        self.texts = count("texts", "Texts translated.", *pair)
        self.characters = count(
            "characters", "Characters of these texts.", *pair
        )
        self.lost_spans = count(
            "lost_spans", "Spans that answers did not keep.", *pair
        )
        sizes = functools.partial(self._new, Histogram, buckets=_SIZES)
        self.batch_size = sizes("batch_size", "Questions of a batch.", "model")
        self.batch_seconds = take(
            "batch_seconds", "Seconds that a model takes for a batch.", "model"
        )
        self.waiting = self._new(
            Gauge, "waiting", "Questions that wait for a model."
        )

    def _new(self, kind, name, help, *labels, **options):
        options["registry"] = self._registry
        return kind(f"tfcopy_{name}", help, labels, **options)

    def format(self) -> bytes:
        """Returns all metrics in Prometheus's format."""
        return generate_latest(self._registry)


class TranslationService:
    """Translates the texts of requests; belongs to one event loop.

    Args:
        models: Dict from pairs of languages to `LoadedModel`.
        metrics: `Metrics`.
        options: Options of the command: `char_limit`, `batch_limit` and
            `deadline` of a request; `protect`, formats of spans, or regular
            expressions, that all translations keep, besides those of a request;
            `weblate`, whether Weblate's test of an address, a translation from
            English to German, succeeds even if these languages are not served;
            and those of `RequestBatches`.
        log: Function of a line about an error.
    """

    def __init__(
        self,
        models: Mapping[tuple[str, str], served_models.LoadedModel],
        metrics: Metrics,
        options,
        log: Callable[[str], None],
    ):
        self.languages = served_models.Languages(models)
        self.options = options
        self._metrics = metrics
        self._protect = (*_ALWAYS_KEPT, *options.protect)
        self._log = log
        self._passes_check = options.weblate and (
            _WEBLATE_CHECK[:2] not in models
        )
        at_once = [x.model.at_once for x in models.values()]
        self._threads = concurrent.futures.ThreadPoolExecutor(sum(at_once))
        self._readers = concurrent.futures.ThreadPoolExecutor(_READERS)
        # Local models share the cores; a server has its own.
        cores = asyncio.Semaphore(max(at_once))
        self._models = {}
        for pair, loaded in models.items():
            slots, model = cores, loaded.model
            if isinstance(model, RemoteModel):
                slots = asyncio.Semaphore(model.at_once)
            batches = functools.partial(self._batches, ":".join(pair), slots)
            self._models[pair] = served_models.ServedModel(loaded, batches)
        metrics.waiting.set_function(
            lambda: sum(x.num_waiting for x in self._models.values())
        )

    def _batches(self, name, slots, ask):
        size = self._metrics.batch_size.labels(name)
        seconds = self._metrics.batch_seconds.labels(name)

        def observe(count, time):
            size.observe(count)
            seconds.observe(time)

        return RequestBatches(ask, self.options, slots, self._threads, observe)

    async def translate(self, request: TranslateRequest) -> dict:
        """Returns the response to a request, as in `TranslateAnswer`.

        Raises:
            ApiError: If the request fails.
        """
        texts = request.q if isinstance(request.q, list) else [request.q]
        terms = _terms(request.glossary)
        self.check_size(texts, terms)
        asked = request.source, request.target, request.q
        if self._passes_check and asked == _WEBLATE_CHECK:
            return {"translatedText": request.q}
        with self._errors_as_responses():
            async with asyncio.timeout(self.options.deadline):
                detections, pairs = await self._pairs(texts, request)
                answers = [None] * len(texts)
                for pair in dict.fromkeys(pairs):
                    places = [i for i, x in enumerate(pairs) if x == pair]
                    translated = await self._translate(
                        pair, [texts[i] for i in places], terms, request
                    )
                    for place, answer in zip(places, translated):
                        answers[place] = answer
        return _message(request, answers, detections)

    def check_size(self, texts: Sequence[str], terms: Sequence[tuple] = ()):
        """Checks the size of a request; raises an `ApiError`, 400."""
        characters = sum(map(len, itertools.chain(texts, *terms)))
        for size, limit in (
            (len(texts), self.options.batch_limit),
            (characters, self.options.char_limit),
        ):
            if size > limit:
                raise bad_request(
                    f"request ({size}) exceeds text limit ({limit})"
                )

    async def _pairs(self, texts, request):
        """Returns detected languages, if requested, and pairs of languages."""
        if request.source != "auto":
            pair = self.languages.match_pair(request.source, request.target)
            return None, [pair] * len(texts)
        sources = self.languages.find_sources(request.target)
        if not sources:
            raise ApiError(400, f"{request.target[:40]} is not supported")
        detections = await asyncio.to_thread(
            lambda: [
                served_models.detect_language(x, sources)[0] for x in texts
            ]
        )
        pair = self.languages.match_pair
        return detections, [
            pair(x.language, request.target) for x in detections
        ]

    async def _translate(self, pair, texts, terms, request):
        """Returns the `_Translated` of each text."""
        model = self._models[pair]
        protect = self._choose_formats(model, request)
        kind = HtmlText if request.format == "html" else PlainText
        size = sum(map(len, itertools.chain(texts, *terms)))
        run_in_reader = functools.partial(self._run_in_reader, size <= _SHORT)
        documents = await run_in_reader(
            kind(x, protect, model.max_words, terms) for x in texts
        )
        answers, scores = {}, [{} for _ in texts]
        while True:
            asked = await run_in_reader(
                (i, x)
                for i, y in enumerate(documents)
                for x in y.open_segments(answers)
            )
            segments = list(dict.fromkeys(x for _, x in asked))
            if not segments:
                break
            ranked = await model.translate(segments, request.alternatives)
            new = dict(zip(segments, ranked))
            for i, segment in asked:
                scores[i][segment] = new[segment][0].score
            answers |= {x: [z.text for z in y] for x, y in new.items()}
        shares = (model.confidence(x.values()) for x in scores)
        translated = await run_in_reader(
            self._write_all(texts, documents, answers, request, protect, shares)
        )
        count = self._metrics
        count.texts.labels(*pair).inc(len(texts))
        count.characters.labels(*pair).inc(sum(map(len, texts)))
        count.lost_spans.labels(*pair).inc(sum(len(x.lost) for x in translated))
        return translated

    async def _run_in_reader(self, at_once, items):
        """Returns the items of a generator.

        A thread runs the generator, and stops if the request is cancelled. For
        short requests it runs immediately, so that they do not wait for long
        ones.
        """
        if at_once:
            return list(items)
        gone = threading.Event()

        def take_items():
            return list(itertools.takewhile(lambda _: not gone.is_set(), items))

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, take_items)
        finally:
            gone.set()

    def _write_all(self, texts, documents, answers, request, protect, shares):
        most = max(map(len, answers.values()), default=1)
        ranks = range(min(request.alternatives + 1, most))
        limit = left = _MOST_TIMES * self.options.char_limit * len(ranks)
        for text, document, share in zip(texts, documents, shares):
            ranked = {}
            for rank in ranks:
                parts = [*document.parts(answers, rank)]
                left -= sum(map(len, parts))
                if left < 0:
                    raise bad_request(
                        f"the answer would have more than {limit} characters"
                    )
                ranked["".join(parts)] = rank
            best, *others = ranked
            lost = document.find_lost(answers)
            if protect is None:
                lost = find_lost_spans(text, best, self._protect)
            yield _Translated(best, others, lost, share)

    def _choose_formats(self, model, request):
        """Returns the formats of spans; `None` if the model keeps none."""
        unknown = [x for x in request.protect if x not in PATTERNS]
        if unknown:
            raise bad_request(
                f"protect {unknown[0][:40]!r} is not supported; there are "
                f"{NAMES}"
            )
        if model.keeps_spans:
            asked = {*request.protect}
            return *self._protect, *(x for x in PATTERNS if x in asked)
        for name in ("protect", "glossary"):
            if getattr(request, name):
                raise bad_request(
                    f"{name} is not supported by this model, which was trained "
                    "without --protect"
                )
        return None

    @contextlib.contextmanager
    def _errors_as_responses(self):
        """Logs errors with details, and raises an `ApiError` without them."""
        try:
            yield
        except asyncio.QueueFull:
            raise ApiError(
                503, "Too many texts wait already; ask again later", 1
            ) from None
        except TimeoutError:
            raise ApiError(
                503,
                f"No answer within {self.options.deadline:g} s; ask for less "
                "at once, or later",
                1,
            ) from None
        except ModelError as error:
            self._log(one_line(error))
            if error.code is not None:
                raise ApiError(503, "The model cannot be reached", 5) from None
            raise ApiError(500, "Cannot translate text") from None

    async def close(self):
        """Cancels pending work."""
        for model in self._models.values():
            await model.close()
        for threads in (self._threads, self._readers):
            threads.shutdown(wait=False, cancel_futures=True)


def _terms(glossary):
    """Returns pairs of a phrase and its translation, with single blanks."""
    if len(glossary) > _MOST_TERMS:
        raise bad_request(f"glossary must have at most {_MOST_TERMS} phrases")
    terms = {}
    for phrase, translation in glossary.items():
        phrase, translation = normalize(phrase, ""), normalize(translation)
        if not phrase or not translation:
            raise bad_request(
                "glossary must have a translation for each phrase, and no "
                "blank ones"
            )
        terms[phrase] = translation
    return [*terms.items()]


def _message(request, answers, detections):
    """Returns the response: lists for a list, texts for a text."""
    texts, alternatives, lost, shares = map(list, zip(*answers))
    is_calibrated = shares != [None] * len(shares)
    languages = detections and [x._asdict() for x in detections]
    if not isinstance(request.q, list):
        (texts,), (alternatives,), (lost,) = texts, alternatives, lost
        (shares,) = shares
        languages = languages and languages[0]
    message = {"translatedText": texts}
    if request.alternatives:
        message["alternatives"] = alternatives
    if languages:
        message["detectedLanguage"] = languages
    if is_calibrated:
        message["confidence"] = shares
    if any(lost):
        message["lostSpans"] = lost
    return message
