"""Requests as the clients of LibreTranslate write them, byte for byte."""

import json
import time
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.http_server.capitals import Capitals, served

TEXT = "One & two,\nŁódź 😀"
SAID = "ONE & TWO,\nŁÓDŹ 😀"


@pytest.fixture(scope="module")
def client():
    with served(
        {("en", "pt-BR"): Capitals(), ("de", "pt-BR"): Capitals()}
    ) as x:
        yield x


def form_data(fields, boundary="----WebKitFormBoundaryAaB03x"):
    """Body and type of the `FormData` of a browser."""
    parts = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        f"\r\n\r\n{value}\r\n"
        for name, value in fields
    )
    body = f"{parts}--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def posted(client, path, body, content_type):
    headers = {"content-type": content_type} if content_type else {}
    answer = client.post(path, content=body, headers=headers)
    return answer.status_code, answer.json()


def test_the_page_of_libretranslate(client):
    """Its app.js appends to a `FormData`, the key blank if there is none."""
    codes = [x["code"] for x in client.get("/languages").json()]
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["target"]["code"] in codes
    fields = {
        "q": TEXT,
        "source": "auto",
        "target": "pt-BR",
        "format": "text",
        "alternatives": 3,
        "api_key": "",
        "secret": "x",
    }
    status, message = posted(client, "/translate", *form_data(fields.items()))
    assert (status, message["translatedText"]) == (200, SAID)
    assert message["detectedLanguage"]["language"] in codes
    assert isinstance(message["detectedLanguage"]["confidence"], int)
    assert isinstance(message["alternatives"], list)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"format": None},
        {"format": ""},
        {"alternatives": None, "protect": None, "glossary": None},
        {"api_key": None, "alternatives": ""},
        {"format": "text", "api_key": "", "more": [1]},
    ],
)
def test_fields_without_a_value_have_their_defaults(client, more):
    fields = {"q": TEXT, "source": "en", "target": "pt-BR", **more}
    answer = client.post("/translate", json=fields)
    assert answer.json() == {"translatedText": SAID}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_omegat_sends_a_query_string(client, method):
    """Its plugin by GET, with the language's code alone."""
    query = urlencode({"q": TEXT, "source": "en", "target": "pt"})
    answer = client.request(method, f"/translate?{query}")
    assert answer.json() == {"translatedText": SAID}
    answer = client.request(method, "/detect?q=This+is+a+sentence")
    assert answer.json()[0]["language"] == "en"
    assert client.request(method, "/translate").status_code == 400
    answer = client.request(method, f"/translate?{query}&q=%ff")
    assert answer.json()["error"].endswith("the form cannot be read")


@pytest.mark.parametrize(
    "q, said",
    [
        ('["a", "b\\u00e9"]', ["A", "BÉ"]),
        ('["a", 1]', '["A", 1]'),
        ("[a]", "[A]"),
        ('["a"', '["A"'),
        ("[[" * 3000, "[[" * 3000),
    ],
)
def test_a_json_list_of_texts_in_a_form_is_a_list(client, q, said):
    fields = {"q": q[:900], "source": "en", "target": "pt-BR"}
    said = said[:900] if isinstance(said, str) else said
    answer = client.post("/translate", data=fields).json()
    assert answer == {"translatedText": said}
    answer = posted(client, "/translate", *form_data(fields.items()))
    assert answer == (200, {"translatedText": said})


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
def test_every_form_has_the_same_text(client, text):
    fields = {"q": f"x{text}", "source": "en", "target": "pt-BR"}
    expected = client.post("/translate", json=fields).json()
    assert client.post("/translate", data=fields).json() == expected
    assert client.post(f"/translate?{urlencode(fields)}").json() == expected
    form = form_data(fields.items())
    assert posted(client, "/translate", *form) == (200, expected)


@pytest.mark.parametrize(
    "charset, status",
    [("utf-8", 200), ('"UTF-8"', 200), ("utf8", 200), ("latin-1", 400)]
    + [(x, 400) for x in ("utf-16", "utf-7", "punycode", "undefined", "?")],
)
def test_forms_are_utf_8(client, charset, status):
    """Python's codecs read other texts, fail, or take a quadratic time."""
    fields = {"q": TEXT, "source": "en", "target": "pt-BR"}
    body, kind = form_data(fields.items())
    error = {"error": "Invalid request: the form cannot be read"}
    expected = {"translatedText": SAID} if status == 200 else error
    answer = posted(client, "/translate", body, f"{kind}; charset={charset}")
    assert answer == (status, expected)


@pytest.mark.parametrize(
    "body, kind",
    [
        (b"--b\r\n", "multipart/form-data"),
        (b"--b\r\n", "multipart/form-data; boundary=b"),
        (b"", "multipart/form-data; boundary=b"),
        (b"--c--\r\n", "multipart/form-data; boundary=b"),
        (form_data([("q", "a")])[0][:-20], form_data([])[1]),
        (form_data([("q", "\xff")])[0].decode().encode("latin-1"),)
        + form_data([])[1:],
        (form_data([('q"; filename="x', "a")])),
        (form_data([("q", "a")] * 10_001)),
    ],
)
def test_forms_that_cannot_be_read_are_refused(client, body, kind, caplog):
    status, message = posted(client, "/translate", body[:15_000], kind)
    assert status == 400 and set(message) == {"error"}
    assert "\n" not in message["error"] and not caplog.records


def test_what_follows_a_form_is_logged_nowhere(client, caplog):
    fields = {"q": TEXT, "source": "en", "target": "pt-BR"}
    body, kind = form_data(fields.items())
    expected = {"translatedText": SAID}
    for more in (b"\r\n", b"more", b"\r\n--"):
        answer = posted(client, "/translate", body + more, kind)
        assert answer == (200, expected) and not caplog.records


def test_large_forms_take_linear_time(client):
    """Text that resembles a boundary is searched once."""
    boundary = "b" * 60
    for filling in ("\r", "\r\n", "\r\n-", "\r\n--" + boundary[:-1], "a=&"):
        text = filling * (15_000 // len(filling))
        begin = time.process_time()
        posted(client, "/translate", *form_data([("q", text)], boundary))
        assert time.process_time() - begin < 2


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_cannot_ask_by_get_either(client, site):
    query = urlencode({"q": "a", "source": "en", "target": "pt"})
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    answer = client.get(f"/translate?{query}", headers=headers)
    assert answer.status_code == 403
    headers["sec-fetch-site"] = "same-origin"
    answer = client.get(f"/translate?{query}", headers=headers)
    assert answer.status_code == 200
    assert json.loads(answer.content) == {"translatedText": "A"}


def test_a_text_without_letters_has_no_language(client):
    for text in ("123", "%: 😀", " "):
        answer = client.post("/detect", data={"q": text}).json()
        assert answer == [{"language": "en", "confidence": 0}]
        fields = {"q": [text, "Hallo"], "source": "auto", "target": "pt-BR"}
        answer = client.post("/translate", json=fields).json()
        assert answer["translatedText"] == [text, "HALLO"]
        found = answer["detectedLanguage"][0]
        assert found == {"language": "en", "confidence": 0}
