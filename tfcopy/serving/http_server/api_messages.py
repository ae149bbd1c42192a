"""Messages of the API: requests, JSON or forms, and responses."""

import contextlib
import logging
from typing import Annotated, Literal
from urllib.parse import parse_qsl

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)
from python_multipart.multipart import parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tfcopy.data.text.span_patterns import NAMES
from tfcopy.file_formats import FormError, parse_json

_MOST_FIELDS = 10_000
_MOST_ALTERNATIVES = 20
# Expected forms of fields, for messages.
_EXPECTED = {
    "q": "must be a text or a list of texts",
    "source": "must be the code of a language",
    "target": "must be the code of a language",
    "api_key": "must be a text",
    "protect": f"must be a list of formats: {NAMES}",
    "glossary": "must be an object of phrases and their translations",
    "alternatives": "parameter is not a number",
}


class ApiError(Exception):
    """An error response: `{"error": message}`.

    Args:
        status: HTTP status.
        message: One line.
        retry_after: Seconds after which to retry, or `None`.
    """

    def __init__(
        self, status: int, message: str, retry_after: int | None = None
    ):
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.retry_after = retry_after


def bad_request(reason: str) -> ApiError:
    """Returns the error of an invalid request."""
    return ApiError(400, f"Invalid request: {reason}")


_NO_FORM = bad_request("the form cannot be read")


def _check_unicode(text):
    text.encode()  # Raises UnicodeError, a ValueError, for a lone surrogate.
    return text


_Text = Annotated[str, AfterValidator(_check_unicode)]
_Name = Annotated[str, Field(max_length=1_000), AfterValidator(_check_unicode)]
_Texts = Annotated[
    _Text | list[_Text], Field(description="A text, or a list of texts.")
]
_Key = Annotated[
    _Name | None, Field(description="A key, of a server that asks for one.")
]


class TranslateRequest(BaseModel):
    """A text, or a list of texts, to translate."""

    q: _Texts
    source: Annotated[
        _Name, Field(description="Its language, `auto` to detect it.")
    ]
    target: Annotated[_Name, Field(description="The language to translate to.")]
    format: Annotated[
        Literal["text", "html"],
        Field(description="Of HTML the tags are kept, the texts translated."),
    ] = "text"
    alternatives: Annotated[
        int,
        Field(
            ge=0,
            le=_MOST_ALTERNATIVES,
            description="How many further answers are wanted, if the search "
            "has so many; there are none for texts with kept spans or terms.",
        ),
    ] = 0
    protect: Annotated[
        list[_Name],
        Field(
            description="What else the answer has as it is in the text: "
            + NAMES
        ),
    ] = []
    glossary: Annotated[
        dict[_Text, _Text],
        Field(
            description="Translations that the answer must have, by phrases "
            "of the text. (In a form: lines, phrase<TAB>translation.)"
        ),
    ] = {}
    api_key: _Key = None

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "q": "The session is closed.",
                "source": "en",
                "target": "fr",
            }
        }
    )


class DetectRequest(BaseModel):
    """A text whose language is to be detected."""

    q: _Texts
    api_key: _Key = None


class DetectedLanguage(BaseModel):
    """A detected language."""

    language: str
    confidence: Annotated[int, Field(description="Per cent.")]


class TranslateAnswer(BaseModel):
    """The translation, or a list of them where `q` is a list."""

    translatedText: str | list[str]
    alternatives: Annotated[
        list[str] | list[list[str]] | None,
        Field(description="Further answers, where they were asked for."),
    ] = None
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None
    confidence: Annotated[
        float | list[float | None] | None,
        Field(
            description="Probability that the translation needs no edit, from "
            "0 to 1, if the model is calibrated."
        ),
    ] = None
    lostSpans: Annotated[
        list[str] | list[list[str]] | None,
        Field(description="Protected spans that the answer has lost, if any."),
    ] = None


class Language(BaseModel):
    """A language, with its target languages."""

    code: str
    name: str
    targets: list[str]


class Error(BaseModel):
    """Reason of a failure, in one line."""

    error: str


async def read_request(kind: type[BaseModel], request: Request):
    """Reads a request: JSON or a form, and the query string.

    Null and blank fields have their defaults. Fields of the body take
    precedence over the query string.

    Args:
        kind: `TranslateRequest` or `DetectRequest`.
        request: The request. A body that begins with a brace is JSON, whatever
            its content type.

    Raises:
        ApiError: 400; the message names the wrong field.
    """
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    content_type = content_type.partition(";")[0].strip().lower()
    is_json = content_type.endswith("json") or body.lstrip()[:1] == b"{"
    fields = _fields(_pairs(request.scope["query_string"]))
    if is_json:
        fields |= _json(body)
    elif content_type == "multipart/form-data":
        fields |= _fields(await _parts(request, body))
    elif body and content_type not in ("", "application/x-www-form-urlencoded"):
        raise bad_request("expected JSON, or a form")
    else:
        fields |= _fields(_pairs(body))
    fields = {k: x for k, x in fields.items() if x not in (None, "", [])}
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise ApiError(400, _reason(error.errors()[0])) from None


def _reason(error):
    name, given = str(error["loc"][0]), error["input"]
    if error["type"] == "missing":
        return f"Invalid request: missing {name} parameter"
    if name == "format":
        return f"{str(given)[:40]} format is not supported"
    expected = _EXPECTED[name]
    if error["type"] == "greater_than_equal":
        expected = "parameter must be >= 0"
    elif error["type"] == "less_than_equal":
        expected = f"parameter must be <= {_MOST_ALTERNATIVES}"
    elif error["type"] == "string_too_long":
        expected = "is too long"
    elif error["type"] == "value_error":
        expected = "has half a character, which is no Unicode"
    return f"Invalid request: {name} {expected}"


def _json(body):
    try:
        fields = parse_json(body)
    except FormError as error:
        raise ApiError(400, f"Invalid JSON format: {error}") from None
    if not isinstance(fields, dict):
        raise ApiError(400, "Invalid JSON format")
    return fields


# It would write a line for each odd form; none is wrong for it alone.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)


async def _parts(request, body):
    """Returns names and texts of a multipart form without files."""
    most = {"max_fields": _MOST_FIELDS, "max_part_size": len(body)}
    _, options = parse_options_header(request.headers["content-type"])
    # Starlette accepts all codecs of Python; punycode takes quadratic time.
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise _NO_FORM
    try:
        body.decode()  # Starlette would decode it as Latin-1.
        async with request.form(max_files=0, **most) as form:
            return form.multi_items()
    except (UnicodeDecodeError, HTTPException):
        raise _NO_FORM from None


def _pairs(text):
    """Returns names and values of an urlencoded form."""
    try:
        return parse_qsl(
            text.decode(),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="strict",
        )
    except (UnicodeDecodeError, ValueError):
        raise _NO_FORM from None


def _fields(pairs):
    """Returns the fields of a form; several `q` become a list."""
    fields = {}
    for name, value in pairs:
        if name == "glossary":
            terms = (x.partition("\t") for x in value.splitlines() if x.strip())
            fields[name] = {x.strip(): y.strip() for x, _, y in terms}
        elif name == "protect":
            fields.setdefault(name, []).extend(value.replace(",", " ").split())
        elif name == "q":
            fields.setdefault(name, []).append(value)
        else:
            fields.setdefault(name, value)
    if len(fields.get("q", [])) == 1:
        (fields["q"],) = fields["q"]
        if fields["q"].startswith("["):
            with contextlib.suppress(FormError):
                texts = parse_json(fields["q"])
                if all(isinstance(x, str) for x in texts):
                    fields["q"] = texts
    return fields
