"""The API, by models that are functions: what is answered, and refused."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.http_server.capitals import Capitals, served, translate
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.http_server import served_models, translation_service
from tfcopy.serving.http_server.api_messages import ApiError
from tfcopy.serving.http_server.translation_api import Access, read_keys


@pytest.fixture(scope="module")
def model():
    return Capitals()


@pytest.fixture(scope="module")
def client(model):
    models = {
        ("en", "fr"): model,
        ("en", "pt-BR"): Capitals(),
        ("de", "fr"): Capitals(reads_terms=False),
    }
    with served(models) as client:
        yield client


def said(client, *arguments, **more):
    """The translation, which must be all of the answer."""
    status, message = translate(client, *arguments, **more)
    assert (status, [*message]) == (200, ["translatedText"])
    return message["translatedText"]


def test_texts_and_lists_are_translated(client):
    assert said(client, "One.\n\n two") == "ONE.\n\n TWO"
    texts = ["one", "", "😀", "one", "two\n"]
    assert said(client, texts) == ["ONE", "", "😀", "ONE", "TWO\n"]


def test_a_form_is_answered_as_json_is(client):
    form = {"source": "en", "target": "fr", "format": "text"}
    answer = client.post("/translate", data={**form, "q": ["a", "b"]})
    assert answer.json() == {"translatedText": ["A", "B"]}
    form["glossary"] = "two\tzwei drei\n\n"
    form["protect"] = "html,printf"
    answer = client.post("/translate", data=form | {"q": "%s two"})
    assert answer.json() == {"translatedText": "%s zwei drei"}
    # What curl sends with -d.
    answer = client.post(
        "/translate",
        content='{"q": "a", "source": "en", "target": "fr"}',
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert answer.json() == {"translatedText": "A"}


def test_html_keeps_its_tags(client):
    text = '<p class="a">one <b>two</b> &amp; three</p><pre>four</pre>'
    expected = '<p class="a">ONE <b>TWO</b> &amp; THREE</p><pre>four</pre>'
    for source in ("en", "de"):
        assert said(client, text, source, format="html") == expected


def test_spans_and_terms_of_a_request_are_kept(client):
    text = "a %(n)s and <a href='b  c'>d</a> [X7X] hash  table"
    terms = {"hash table": "tabla  hash", "not there": "x"}
    answer = said(client, text, protect=["printf", "html"], glossary=terms)
    assert answer == "A %(n)s AND <a href='b  c'>D</a> [X7X] HASH  TABLE"
    # Weblate's placeholders always are.
    assert said(client, "a [X7X] b") == "A [X7X] B"


def test_lost_spans_are_told(client, model, monkeypatch):
    monkeypatch.setattr(model, "_with_terms", lambda text, lines: "LOST")
    answer = translate(client, ["a %s %s", "b"], protect=["printf"])[1]
    assert answer["translatedText"] == ["LOST", "B"]
    assert answer["lostSpans"] == [["%s", "%s"], []]
    answer = translate(client, "a %s", protect=["printf"])[1]
    assert answer["lostSpans"] == ["%s"]
    # Of a model that keeps none, too: it may point at some.
    answer = translate(client, "[X1X] [x2x] [X3X]", "de")[1]
    assert "lostSpans" not in answer
    monkeypatch.setattr(Capitals, "_said", lambda self, text: text[6:])
    answer = translate(client, "[X1X] [X2X] a", "de")[1]
    assert answer["lostSpans"] == ["[X1X]"]


def test_a_calibrated_model_tells_its_confidence():
    model, points = Capitals(), [[-2.0, 0.2], [0.0, 0.8]]
    model.config = {**model.config, "scores": {"calibration": points}}
    with served({("en", "fr"): model}) as client:
        assert translate(client, "one")[1]["confidence"] == 0.8
        # All of its segments must be right; alternatives have others.
        texts = ["one\ntwo", "two\ntwo", "😀"]
        answer = translate(client, texts, alternatives=1)[1]
        assert answer["confidence"] == [0.25, 0.5, 0.8]


def test_further_answers_are_given_where_there_are_any(client):
    answer = translate(client, ["one", "[X1X] a", "😀"], alternatives=5)[1]
    assert answer["translatedText"] == ["ONE", "[X1X] A", "😀"]
    assert answer["alternatives"] == [["ONE!"], [], []]
    assert translate(client, "a", alternatives=1)[1]["alternatives"] == ["A!"]


def test_languages_are_matched_and_listed(client):
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["fr"]},
        {"code": "en", "name": "English", "targets": ["fr", "pt-BR"]},
        {"code": "fr", "name": "French", "targets": []},
        {"code": "pt-BR", "name": "Portuguese (Brazil)", "targets": []},
    ]
    pairs = "en_US fr-FR, EN PT_br, eng pb, ger fr, en pt"
    for source, target in map(str.split, pairs.split(",")):
        assert translate(client, "a", source, target)[0] == 200
    error = {"error": "zh is not supported"}
    assert translate(client, "a", "en", "zh") == (400, error)
    message = "English (en) is not available as a target language from French"
    error = {"error": f"{message} (fr)"}
    assert translate(client, "a", "fr", "en") == (400, error)


def test_a_language_is_detected_among_those_that_are_served(client):
    english = "This is a sentence that is written in English."
    german = "Das ist ein Satz, der auf Deutsch geschrieben ist."
    answer = translate(client, [english, german], "auto")[1]
    assert answer["translatedText"] == [english.upper(), german.upper()]
    found = answer["detectedLanguage"]
    assert [x["language"] for x in found] == ["en", "de"]
    assert all(90 < x["confidence"] <= 100 for x in found)
    answer = translate(client, "Le chat est là.", "auto", "pt-BR")[1]
    assert answer["detectedLanguage"]["language"] == "en"
    assert answer["detectedLanguage"]["confidence"] < 10
    assert translate(client, "a", "auto", "xx")[0] == 400
    detected = client.post("/detect", data={"q": english}).json()
    assert detected[0]["language"] == "en"
    answer = client.post("/detect", json={"q": [german, ""]})
    assert answer.json()[0][0]["language"] == "de"
    assert client.post("/detect", json={"q": ["a"] * 6}).status_code == 400


def test_scripts_are_not_exchanged_but_detected():
    pairs = served_models.Languages([("en", "zh-TW"), ("zh-TW", "en")])
    assert pairs.match_pair("en", "zh_HK") == ("en", "zh-TW")
    for code in ("zh", "zh-CN"):
        with pytest.raises(ApiError, match="is not supported"):
            pairs.match_pair("en", code)
    found = served_models.detect_language("這是一個句子。", ["en", "zh-TW"])
    assert [x.language for x in found] == ["zh-TW"]


def test_what_is_not_done_is_refused(client):
    for path in ("suggest", "translate_file"):
        answer = client.post(f"/{path}", data={"q": "a"})
        assert answer.status_code == 403
        assert "disabled on this server" in answer.json()["error"]
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 1000 and not settings["keyRequired"]
    assert settings["language"]["source"] == {"code": "de", "name": "German"}


@pytest.mark.parametrize(
    "body, error",
    [
        ({}, "missing q parameter"),
        ({"q": ""}, "missing q parameter"),
        ({"q": []}, "missing q parameter"),
        ({"q": None}, "missing q parameter"),
        ({"q": 1}, "q must be a text or a list of texts"),
        ({"q": ["a", 1]}, "q must be a text or a list of texts"),
        ({"q": {"a": "b"}}, "q must be a text or a list of texts"),
        ({"source": None}, "missing source parameter"),
        ({"source": ["en"]}, "source must be the code of a language"),
        ({"source": "e" * 2000}, "source is too long"),
        ({"source": "zz"}, "zz is not supported"),
        ({"source": "e\nn"}, "e n is not supported"),
        ({"target": 1.5}, "target must be the code of a language"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"format": 3}, "3 format is not supported"),
        ({"alternatives": "x"}, "alternatives parameter is not a number"),
        ({"alternatives": -1}, "alternatives parameter must be >= 0"),
        ({"alternatives": 1e300}, "alternatives parameter"),
        ({"alternatives": 10**9}, "alternatives parameter must be <= "),
        ({"protect": "html"}, "protect must be a list of formats: links, "),
        ({"protect": ["a.*"]}, "protect 'a.*' is not supported"),
        ({"glossary": ["a"]}, "glossary must be an object"),
        ({"glossary": {"a": 1}}, "glossary must be an object"),
        ({"glossary": {"a": " "}}, "glossary must have a translation"),
        (
            {"glossary": {str(i): "b" for i in range(1001)}},
            "glossary must have at most 1000 phrases",
        ),
        ({"api_key": 1}, "api_key must be a text"),
        ({"q": "a" * 1001}, "request (1001) exceeds text limit (1000)"),
        ({"q": ["a"] * 6}, "request (6) exceeds text limit (5)"),
        (
            {"source": "de", "glossary": {"a": "b"}},
            "glossary is not supported by this model",
        ),
        (
            {"source": "de", "protect": ["html"]},
            "protect is not supported by this model",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_line(client, body, error):
    known = {"q": "a", "source": "en", "target": "fr"} if body else {}
    answer = client.post("/translate", json={**known, **body})
    assert answer.status_code == 400
    (message,) = answer.json().values()
    assert error in message
    assert len(message.splitlines()) == 1 and len(message) < 300


@pytest.mark.parametrize(
    "body, kind, status, error",
    [
        (b"{", "json", 400, "Invalid JSON format: "),
        (b"[1]", "json", 400, "Invalid JSON format"),
        (b"", "json", 400, "Invalid JSON format"),
        (b'{"q": "\xff"}', "json", 400, "not valid UTF-8"),
        (b'{"q": "\\ud800"}', "json", 400, "q has half a character"),
        (b"[" * 15_000, "json", 400, "nested too deep"),
        (b"q=%ff", "x-www-form-urlencoded", 400, "the form cannot be read"),
        (b"\xff", "x-www-form-urlencoded", 400, "the form cannot be read"),
        (b"&q=a" * 4_999, "x-www-form-urlencoded", 400, "missing source"),
        (b"q=a", "xml", 400, "expected JSON, or a form"),
        (b"q=" + b"a" * 20_000, "json", 413, "More than 20,000 bytes"),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(
    client, body, kind, status, error
):
    headers = {"content-type": f"application/{kind}; charset=utf-8"}
    answer = client.post("/translate", content=body, headers=headers)
    assert answer.status_code == status
    assert error in answer.json()["error"]


def test_paths_and_methods_that_are_not_there(client):
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("PUT", "/translate", 405),
        ("DELETE", "/languages", 405),
    ):
        answer = client.request(method, path)
        assert answer.status_code == status and "error" in answer.json()


def test_no_other_site_may_ask(client):
    for headers in ({"host": "evil.example"}, {"origin": "http://e.example"}):
        answer = client.get("/languages", headers=headers)
        assert answer.status_code == 403 and "error" in answer.json()


def test_odd_texts_are_answered(client, model):
    text = "\x00a\x1b[31m \u202e\ufeff\u2028b 👩‍👩‍👧 \ue0030\ue004"
    assert translate(client, text) == (200, {"translatedText": text.upper()})


def test_a_sentence_that_is_too_long_is_not_cut(client, model):
    status, message = translate(client, "word " * 199 + "end")
    assert (status, model.asked[-1][0]) == (400, "analyse")
    assert "which reads 200 words: 'word word" in message["error"]
    # One that may be, and is not, is answered.
    text = "word " * 198 + "end"
    assert translate(client, text) == (200, {"translatedText": text.upper()})
    # Nor is a sentence, of several that are too long together.
    text = "A b c d. " * 100
    assert translate(client, text) == (200, {"translatedText": text.upper()})


def test_requests_that_come_together_are_asked_together(client, model):
    model.may_answer.clear()
    model.asked.clear()
    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(said, client, "t 0")]
        while not model.asked:
            time.sleep(0.01)
        answers += [pool.submit(said, client, f"t {i}") for i in range(1, 9)]
        while _waiting(client) < 8:
            time.sleep(0.01)
        model.may_answer.set()
    assert [x.result() for x in answers] == [f"T {i}" for i in range(9)]
    assert [len(x["text"]) for _, x in model.asked] == [1, 8]


def _waiting(client):
    line = r"tfcopy_waiting "
    lines = client.get("/metrics").text.splitlines()
    return float(next(x for x in lines if x.startswith(line)).split()[1])


def test_metrics_count(client):
    translate(client, "one two")
    translate(client, 1)
    client.get("/secret?q=text")
    metrics = client.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    text = metrics.text
    assert 'tfcopy_requests_total{path="/translate",status="400"}' in text
    assert 'tfcopy_requests_total{path="other",status="404"}' in text
    assert 'tfcopy_texts_total{source="en",target="fr"}' in text
    assert 'tfcopy_batch_size_count{model="en:fr"}' in text
    assert "secret" not in text and "two" not in text


def test_the_documentation_needs_no_other_host(client):
    spec = client.get("/spec").json()
    fields = spec["paths"]["/translate"]["post"]["requestBody"]["content"]
    properties = fields["application/json"]["schema"]["properties"]
    assert {"q", "source", "target", "format", "glossary"} <= {*properties}
    assert {"400", "413", "429", "503"} <= {
        *spec["paths"]["/translate"]["post"]["responses"]
    }
    page = client.get("/").text
    assert "swagger" in page and "https://" not in page


def test_a_server_that_loads_is_alive_and_not_ready():
    go_on = threading.Event()

    def load():
        go_on.wait(20)
        raise ModelError("no such model")

    with served({}, load=load) as client:
        assert client.get("/health/live").json() == {"status": "ok"}
        for path in ("/health", "/health/ready", "/languages"):
            answer = client.get(path)
            assert answer.status_code == 503 and "Retry-After" in answer.headers
            assert "still being loaded" in answer.json()["error"]
        assert translate(client, "a")[0] == 503
        assert client.get("/metrics").status_code == 200
        go_on.set()
        while not client.failures:
            time.sleep(0.01)
    assert str(client.failures[0]) == "no such model"


@pytest.mark.parametrize(
    "failure, status, error",
    [
        (ModelError("/secret/path: cannot"), 500, "Cannot translate text"),
        (ModelError("host:1", "UNAVAILABLE"), 503, "cannot be reached"),
        (ZeroDivisionError("trace"), 500, "The server has failed"),
    ],
)
def test_a_failure_is_told_to_the_operator(failure, status, error, capsys):
    model = Capitals()
    with served({("en", "fr"): model}) as client:
        model.failure = failure
        answer = translate(client, "a")
        assert answer[0] == status and error in answer[1]["error"]
        assert str(failure) not in answer[1]["error"]
        assert str(failure) in (client.told or [capsys.readouterr().err])[0]
        model.failure = None
        assert translate(client, "a")[0] == 200


def test_too_much_at_once_and_too_late_are_refused():
    model = Capitals()
    with served({("en", "fr"): model}, deadline=0.3, queue_size=2) as client:
        model.may_answer.clear()
        with ThreadPoolExecutor(4) as pool:
            found = [*pool.map(translate, [client] * 4, [["a", "b"]] * 4)]
        errors = sorted(message["error"] for _, message in found)
        assert [status for status, _ in found] == [503] * 4
        assert errors[0].startswith("No answer within 0.3 s")
        assert errors[-1].startswith("Too many texts wait already")
        model.may_answer.set()
        assert translate(client, "a")[0] == 200


def test_keys_are_asked_for(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# who\nalice\n\nbob\t2\nnobody 0\n")
    access = Access(read_keys(path), 3)
    with served({("en", "fr"): Capitals()}, access=access) as client:
        message = "Please contact the server operator to get an API key"
        assert translate(client, "a") == (403, {"error": message})
        assert translate(client, "a", api_key="")[0] == 403
        error = {"error": "Invalid API key"}
        assert translate(client, "a", api_key="eve") == (403, error)
        for key, count in (("alice", 3), ("bob", 2), ("nobody", 0)):
            for _ in range(count):
                assert translate(client, "a", api_key=key)[0] == 200
            status, message = translate(client, "a", api_key=key)
            assert status == 429
            assert message == {"error": f"Slowdown: {count} per 1 minute"}
        assert client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"]


def test_an_address_that_sends_wrong_keys_has_to_wait(tmp_path):
    path = tmp_path / "keys"
    path.write_text("alice\n")
    access = Access(read_keys(path), None)
    with served({("en", "fr"): Capitals()}, access=access) as client:
        for i in range(10):
            assert translate(client, "a", api_key="alice")[0] == 200
            assert translate(client, "a", api_key=f"eve {i}")[0] == 403
        for key in ("eve", "alice"):
            status, message = translate(client, "a", api_key=key)
            assert status == 429
            assert message["error"] == "Slowdown: 10 per 1 minute of wrong keys"
    access.check("alice", "192.0.2.1")


@pytest.mark.parametrize("passes", [False, True])
def test_the_check_of_weblate_may_be_passed(passes):
    with served({("en", "fr"): Capitals()}, weblate=passes) as client:
        pairs = ((["test"], "de"), (["Test"], "de"), (["test"], "es"))
        statuses = [translate(client, q, "en", x)[0] for q, x in pairs]
        assert statuses == [200 if passes else 400, 400, 400]
        assert translate(client, ["test"])[1] == {"translatedText": ["TEST"]}


def test_an_address_has_a_limit_without_keys():
    with served({("en", "fr"): Capitals()}, access=Access(None, 1)) as client:
        assert [translate(client, "a")[0] for _ in range(3)] == [200, 429, 429]


@pytest.mark.parametrize(
    "content, error",
    [
        ("", "has no keys"),
        ("# x\n", "has no keys"),
        ("a\nb c d\n", "line 2: expected a key"),
        ("a x\n", "line 1: expected a key"),
        (b"\xff", "cannot read"),
        (None, "No such file"),
    ],
)
def test_a_file_of_keys_is_checked(tmp_path, content, error):
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(getattr(content, "encode", lambda: content)())
    with pytest.raises(ModelError, match=error):
        read_keys(path)


def test_a_deadline_stops_the_work_of_a_thread(monkeypatch):
    """Of long requests; short ones do not wait for these."""
    read = []

    class Slow(translation_service.PlainText):
        def __init__(self, text, *options):
            if len(text) > 100:
                time.sleep(0.2)
                read.append(text)
            super().__init__(text, *options)

    monkeypatch.setattr(translation_service, "PlainText", Slow)
    limits = {"char_limit": 100_000, "batch_limit": 1000, "deadline": 0.5}
    with served({("en", "fr"): Capitals()}, **limits, queue_size=10) as client:
        with ThreadPoolExecutor(4) as pool:
            texts = [client] * 4, [["long " * 30] * 100] * 4
            found = pool.map(translate, *texts)
            while not read:
                time.sleep(0.01)
            assert translate(client, "a") == (200, {"translatedText": "A"})
        assert [status for status, _ in found] == [503] * 4
        time.sleep(0.3)
        count = len(read)
        assert count < 12
        time.sleep(0.5)
        assert len(read) == count
