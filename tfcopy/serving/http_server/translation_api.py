"""LibreTranslate's API, as an ASGI app with its documentation at `/docs`.

`ApiGuard` and `Access` decide who may ask: by the site, the key, and the number
of requests per minute. `TranslationApi` answers.

The interface is that of https://docs.libretranslate.com; `protect`, `glossary`,
`lostSpans` and `confidence` are ours.
"""

import asyncio
import contextlib
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping

from fastapi import Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi_offline import FastAPIOffline
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException

from tfcopy import file_formats
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server.api_messages import (
    ApiError,
    DetectedLanguage,
    DetectRequest,
    Error,
    Language,
    TranslateAnswer,
    TranslateRequest,
    read_request,
)
from tfcopy.serving.http_server.host_guard import HostGuard
from tfcopy.serving.http_server.served_models import (
    detect_language,
    get_language_name,
)
from tfcopy.serving.http_server.translation_service import (
    Metrics,
    TranslationService,
)
from tfcopy.terminal import one_line

_ABOUT = """\
Translations by models that copy: names, numbers, markup and placeholders come \
back as they were typed. The interface is LibreTranslate's; `protect`, \
`glossary`, `lostSpans` and `confidence` are further ones."""
_ERRORS = {
    400: "The request is invalid.",
    403: "The key is missing or unknown, or the request not allowed.",
    413: "The request has too many bytes.",
    429: "Too many requests a minute.",
    500: "The model has failed.",
    503: "The models are being loaded, or too many texts wait.",
}
# Wrong keys from an address before it is blocked for a while.
_WRONG_KEYS = RateLimitItemPerMinute(10)


class ApiGuard(HostGuard):
    """Refuses requests in the API's form."""

    advice = "Use the server's IP address, or start it with --names NAME."

    def refuse_further(self, scope):
        """Allows GET from other sites, too; see `HostGuard`."""
        site = dict(scope["headers"]).get(b"sec-fetch-site", b"none")
        is_own = site in (b"same-origin", b"none")
        if not is_own and scope["path"] in ("/translate", "/detect"):
            return 403, "Cross-origin requests are refused."
        return None

    def format_refusal(self, reason):
        """Returns content type and content of a refusal; see `HostGuard`."""
        return b"application/json", json.dumps({"error": reason.rstrip(".")})


def read_keys(path) -> dict[bytes, int | None]:
    """Reads a file of API keys, one per line, with optional limits.

    Lines are `KEY`, or `KEY<TAB>REQUESTS A MINUTE`; blank ones and those that
    begin with `# ` are skipped.

    Returns:
        Dict from digests of the keys to their limits, `None` for the default.

    Raises:
        ModelError: If it cannot be read; the message names file and line.
    """
    try:
        with file_formats.open_plain(path) as file:
            lines = file.read().decode().splitlines()
    except (OSError, UnicodeDecodeError, file_formats.FormError) as error:
        reason = getattr(error, "strerror", None) or "not a file of keys"
        raise ModelError(
            f"--api_keys: cannot read {path} ({reason})."
        ) from None
    keys = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("# "):
            continue
        key, *limit = line.split()
        if len(limit) > 1 or not all(
            x.isascii() and x.isdigit() for x in limit
        ):
            raise ModelError(  # without the key
                f"--api_keys: {path}, line {number}: expected a key, or a key "
                "and its requests a minute."
            )
        keys[_digest(key)] = int(limit[0]) if limit else None
    if not keys:
        raise ModelError(f"--api_keys: {path} has no keys.")
    return keys


class Access:
    """Checks API keys and limits.

    Args:
        keys: Result of `read_keys`; `None` if no key is required.
        limit: Maximum requests per minute of a key, or of an address if no key
            is required; `None` for any number.
    """

    def __init__(
        self, keys: Mapping[bytes, int | None] | None, limit: int | None
    ):
        self.needs_key = keys is not None
        self._keys = keys or {}
        self._limit = limit
        self._requests = MovingWindowRateLimiter(MemoryStorage())

    def check(self, key: str, address: str):
        """Counts a request, or refuses it.

        Raises:
            ApiError: 403 without a valid key; 429 above the limit, or after too
                many wrong keys from the address.
        """
        limit, who = self._limit, address
        if self.needs_key:
            if not key:
                raise ApiError(
                    403, "Please contact the server operator to get an API key"
                )
            # Before the key is looked up, so that guessing has a cost.
            if not self._requests.test(_WRONG_KEYS, "wrong keys", address):
                raise ApiError(
                    429, f"Slowdown: {_WRONG_KEYS} of wrong keys", 60
                )
            who = _digest(key)
            if who not in self._keys:
                self._requests.hit(_WRONG_KEYS, "wrong keys", address)
                raise ApiError(403, "Invalid API key")
            limit = self._keys[who] if self._keys[who] is not None else limit
            who = who.hex()
        if limit is None:
            return
        item = RateLimitItemPerMinute(max(1, limit))
        if limit < 1 or not self._requests.hit(item, who):
            raise ApiError(429, f"Slowdown: {limit} per 1 minute", 60)


class TranslationApi:
    """The ASGI app, which starts before its models are loaded.

    Args:
        load: Function that loads the models, called in a thread. It returns a
            function from `Metrics` to the `TranslationService`.
        access: `Access`.
        on_failure: Function of the error if the models cannot be loaded.
    """

    def __init__(
        self,
        load: Callable[[], Callable[[Metrics], TranslationService]],
        access: Access,
        on_failure: Callable[[Exception], None],
    ):
        self._load = load
        self._access = access
        self._on_failure = on_failure
        self._metrics = Metrics()
        self._service = None
        self._app = self._make_app()
        self._paths = {getattr(x, "path", "") for x in self._app.routes}

    @property
    def service(self) -> TranslationService:
        """Returns the service.

        Raises:
            ApiError: 503 while the models are being loaded.
        """
        if self._service is None:
            raise ApiError(503, "The models are still being loaded", 5)
        return self._service

    async def __call__(self, scope, receive, send):
        """Answers and counts a request, as an ASGI app."""
        path, begin = scope.get("path"), time.monotonic()
        path = path if path in self._paths else "other"

        async def count_and_send(message):
            if message["type"] == "http.response.start":
                status = str(message["status"])
                self._metrics.requests.labels(path, status).inc()
            await send(message)

        await self._app(scope, receive, count_and_send)
        if scope["type"] == "http":
            seconds = time.monotonic() - begin
            self._metrics.seconds.labels(path).observe(seconds)

    def _make_app(self):
        app = FastAPIOffline(
            title="tfcopy",
            version="1.0",
            description=_ABOUT,
            openapi_url="/spec",
            redoc_url=None,
            lifespan=self._lifespan,
            exception_handlers={
                ApiError: _respond_to_api_error,
                HTTPException: _respond_to_http_error,
                Exception: _respond_to_failure,
            },
        )
        errors = {
            status: {"model": Error, "description": text}
            for status, text in _ERRORS.items()
        }
        get, post = app.get, app.post
        post(
            "/translate",
            response_model=TranslateAnswer,
            responses=errors,
            openapi_extra=_document_request(TranslateRequest),
        )(self.translate)
        post(
            "/detect",
            response_model=list[DetectedLanguage],
            responses=errors,
            openapi_extra=_document_request(DetectRequest),
        )(self.detect)
        # OmegaT sends a query string by GET.
        get("/translate", include_in_schema=False)(self.translate)
        get("/detect", include_in_schema=False)(self.detect)
        get("/languages", response_model=list[Language])(self.languages)
        get("/frontend/settings")(self.settings)
        post("/suggest", responses={403: errors[403]})(self.suggest)
        post("/translate_file", responses={403: errors[403]})(self.file)
        get("/health", responses={503: errors[503]})(self.ready)
        get("/health/ready", responses={503: errors[503]})(self.ready)
        get("/health/live")(self.live)
        get("/metrics", response_class=Response)(self.metrics)
        get("/", include_in_schema=False)(self.index)
        return app

    @contextlib.asynccontextmanager
    async def _lifespan(self, app):
        loop = asyncio.get_running_loop()

        def load():
            try:
                make_service = self._load()
            except Exception as error:
                loop.call_soon_threadsafe(self._on_failure, error)
            else:
                with contextlib.suppress(RuntimeError):  # The loop is closed.
                    loop.call_soon_threadsafe(self._begin, make_service)

        # A daemon thread does not delay the end after Ctrl-C.
        threading.Thread(target=load, daemon=True).start()
        yield
        if self._service is not None:
            await self._service.close()

    def _begin(self, make_service):
        try:
            self._service = make_service(self._metrics)
        except Exception as error:
            self._on_failure(error)

    async def _read_allowed(self, request, kind):
        """Reads a request, if it is allowed."""
        query = await read_request(kind, request)
        address = request.client.host if request.client else ""
        self._access.check(query.api_key or "", address)
        return query

    async def translate(self, request: Request):
        """Translates a text, or a list of texts."""
        query = await self._read_allowed(request, TranslateRequest)
        return await _answer_unless_gone(request, self.service.translate(query))

    async def detect(self, request: Request):
        """Detects the language of a text, or of each text in a list."""
        query = await self._read_allowed(request, DetectRequest)
        texts = query.q if isinstance(query.q, list) else [query.q]
        self.service.check_size(texts)
        languages = await asyncio.to_thread(
            lambda: [[y._asdict() for y in detect_language(x)] for x in texts]
        )
        return JSONResponse(
            languages if isinstance(query.q, list) else languages[0]
        )

    async def languages(self):
        """Lists all languages, with their target languages."""
        return self.service.languages.list_languages()

    async def settings(self):
        """Returns settings for pages that use this API."""
        source, target = (
            {"code": code, "name": get_language_name(code)}
            for code in self.service.languages.first_pair
        )
        return {
            "apiKeys": self._access.needs_key,
            "charLimit": self.service.options.char_limit,
            "frontendTimeout": 500,
            "keyRequired": self._access.needs_key,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {"source": source, "target": target},
        }

    async def suggest(self):
        """Refuses suggestions: the server does not store them."""
        raise ApiError(403, "Suggestions are disabled on this server.")

    async def file(self):
        """Refuses files: the server translates texts alone."""
        raise ApiError(403, "Files translation are disabled on this server.")

    async def ready(self):
        """Checks whether the server is ready to translate."""
        return {"status": "ok"} if self.service else {}

    async def live(self):
        """Checks whether the server runs, even while it loads its models."""
        return {"status": "ok"}

    async def metrics(self):
        """Counts and times, for Prometheus."""
        text = self._metrics.format()
        return Response(text, media_type=self._metrics.content_type)

    async def index(self):
        return RedirectResponse("docs")


def _digest(key):
    # Looked up by its digest, so that timing reveals nothing about a key.
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


def _document_request(kind):
    """Returns the documentation of a request."""
    schema = kind.model_json_schema()
    forms = "application/x-www-form-urlencoded", "multipart/form-data"
    content = {x: {"schema": schema} for x in ("application/json", *forms)}
    return {"requestBody": {"required": True, "content": content}}


async def _answer_unless_gone(request, work):
    """Returns the answer to a request; skips those of disconnected clients."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return JSONResponse(task.result())
        return Response(status_code=499)  # not read by the client
    except asyncio.CancelledError:  # after the grace period
        raise ApiError(503, "The server is being stopped", 5) from None
    finally:
        task.cancel()
        gone.cancel()


async def _respond_to_api_error(request, error):
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    message = {"error": one_line(error.message)}
    return JSONResponse(message, error.status, headers)


async def _respond_to_http_error(request, error):
    return JSONResponse({"error": error.detail}, error.status_code)


async def _respond_to_failure(request, error):
    print(f"serve: {one_line(error)}", file=sys.stderr, flush=True)
    return JSONResponse({"error": "The server has failed"}, 500)
