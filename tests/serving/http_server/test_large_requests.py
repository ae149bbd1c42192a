"""Time of each part of a large request, and sizes of answers."""

import asyncio
import contextlib
import tracemalloc

import pytest

from tests.growth import check_linear
from tests.serving.http_server.capitals import Capitals, options_of
from tfcopy.serving.http_server import translation_service
from tfcopy.serving.http_server.api_messages import ApiError, TranslateRequest
from tfcopy.serving.http_server.served_models import LoadedModel
from tfcopy.serving.http_server.text_parts import PlainText, Segment, make_name

MOST = 110_000
MODELS = {("en", "fr"): Capitals(), ("de", "fr"): Capitals(reads_terms=False)}


def translated(q, source="en", **more):
    """Returns the answer of the service, without a server."""
    body = {"q": q, "source": source, "target": "fr", **more}

    async def ask():
        service = translation_service.TranslationService(
            {x: LoadedModel(y, x, 200) for x, y in MODELS.items()},
            translation_service.Metrics(),
            options_of(
                char_limit=MOST,
                batch_limit=256,
                deadline=60,
                batch_size=256,
                queue_size=10**6,
            ),
            print,
        )
        try:
            return await service.translate(TranslateRequest(**body))
        finally:
            await service.close()

    return asyncio.run(ask())


def nested(size):
    return "<b>" * (size // 8) + "a" + "</b>" * (size // 8)


def phrases(size):
    """A text, and a glossary of its phrases; both are large."""
    words = [f"w{i}" for i in range(size // 12)]
    known = words[:1000]
    return {"q": " ".join(words) + ".", "glossary": dict(zip(known, known))}


@pytest.mark.parametrize(
    "make",
    [
        lambda n: {"q": nested(n), "format": "html"},
        lambda n: {"q": nested(n), "protect": ["html"]},
        lambda n: {"q": nested(n), "format": "html", "source": "de"},
        lambda n: {"q": nested(n), "source": "auto"},
        lambda n: {"q": [nested(n // 256)] * 256, "format": "html"},
        lambda n: {"q": ["a" * (n // 256)] * 256, "source": "auto"},
        lambda n: {"q": "a. " * (n // 3), "alternatives": 20},
        lambda n: {"q": "%s a. " * (n // 6), "protect": ["printf"]},
        lambda n: {"q": "%d" * (n // 2), "protect": ["printf", "c-format"]},
        lambda n: {"q": "a", "glossary": {"a": "x" * n, "b" * (n // 9): "c"}},
        phrases,
    ],
)
def test_no_part_of_a_request_takes_long(make):
    def ask(body):
        with contextlib.suppress(ApiError):  # A sentence that is too long.
            translated(**body)

    check_linear(ask, make, (400, 6_400, 102_400))


def test_a_glossary_counts_as_text():
    half = "x" * (MOST // 2)
    for glossary in ({"a": half}, {half: "a"}):
        with pytest.raises(ApiError, match="exceeds text limit"):
            translated(half, glossary=glossary)
    assert translated("a", glossary={"a": half}) == {"translatedText": half}


@pytest.mark.parametrize("count", [1, 200])
def test_a_term_is_not_repeated_without_end(count):
    """The answer would have a gigabyte, and more."""
    MODELS["en", "fr"].asked.clear()
    text = "\n".join(f"{i} " + "a " * 98 for i in range(250 // count))
    tracemalloc.start()
    message = "the answer would have more than 1100000 characters"
    with pytest.raises(ApiError, match=message):
        translated([text] * count, glossary={"a": "x" * 50_000})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    # The model has names only.
    asked = [x["glossary"] for _, x in MODELS["en", "fr"].asked]
    assert asked and max(len(z) for x in asked for y in x for z in y) < 20


def test_terms_are_names_as_spans_are():
    terms = [
        ("hash table", "tabla <hash>"),
        ("not there", "x"),
        ("a", "\ue010"),
    ]
    document = PlainText("a hash  table %s", ["printf"], 200, terms)
    (segment,) = document.open_segments({})
    first, second, third = map(make_name, range(3))
    assert segment.spans == ("%s",)
    assert segment.terms == [
        f"{first}\t{first}",
        f"hash table\t{second}",
        f"a\t{third}",
    ]
    said = f"{third} la {second} {first} {make_name(3)}\ue003\ue005"
    assert segment.restore_spans(said) == "\ue010 la tabla <hash> %s "
    assert Segment("a\ue005").restore_spans("\ue005b\ue006") == "\ue005b"
