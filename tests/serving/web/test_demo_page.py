"""The page with its server, in a real browser.

With TFCOPY_DEMO_MODELS, a folder of exported models, and TFCOPY_SCREENSHOTS,
where to write, `test_screenshots` makes the pictures of the documentation.
"""

import contextlib
import http.client
import os
import shutil
import threading
import urllib.parse

import pytest

from tests.serving.servables import text_models
from tests.serving.web.browser import assert_offline
from tests.serving.web.page import opened
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import Signature
from tfcopy.serving import demo
from tfcopy.serving.demo import Models
from tfcopy.serving.http_server import listening

pytestmark = pytest.mark.long

NASTY = "<script>hacked=1</script> <img/src=x/onerror=hacked=1> ${1+1} {{a}}"
MODELS = os.environ.get("TFCOPY_DEMO_MODELS")
# What is shown of which model: its texts, and a dictionary.
SCREENSHOTS = {
    "europarl_ps": (
        "demo_page.png",
        [
            "TransRheinTech is going to invest EUR 27 million in Łódź and in "
            "Bålsta."
        ],
        "",
    ),
    "squad_definitions": (
        "demo_page_definitions.png",
        [
            "Maria has a zorkle near the bridge . Grace found a wug in the "
            "barn . Aunt Sally bought a flimp on the deck .",
            "Where is a vehicle ?",
        ],
        "zorkle = a small vehicle\nwug = a green bird",
    ),
    "copier": ("demo_page.png", ["the session of Łukasz ."], ""),
}


class InProcess(ExportedModel):
    """A served model that was never exported."""

    def __init__(self, name):
        served, _, _ = text_models.make(name, "mean")
        self._analyse = served.signature("analyse")
        self.name, self.config = name, served.config
        inputs = {
            key: 2 if key == "dictionary" else 1
            for key in self._analyse.structured_input_signature[1]
        }
        names = ("serving_default", "analyse")
        self.signatures = dict.fromkeys(names, Signature(inputs, ()))

    def _ask_batch(self, signature, arrays):
        texts = {name: x.tolist() for name, x in arrays.items()}
        dictionary = texts.pop("dictionary", None)
        return text_models.ask(self._analyse, texts, dictionary)


class TinyModels(Models):
    """An exported one, and some that are not."""

    def __init__(self, folder):
        self.others = {name: InProcess(name) for name in text_models.MODELS}
        super().__init__(folder)

    def choices(self):
        return {**super().choices(), **dict.fromkeys(self.others, "here")}

    def load(self, choice):
        if choice in self.others:
            return self.others[choice]
        return super().load(choice)


@pytest.fixture(scope="module")
def models(tmp_path_factory, copier_export):
    if MODELS:
        return Models(MODELS)
    folder = tmp_path_factory.mktemp("savedmodels")
    shutil.copytree(copier_export, folder / "copier" / "1")
    (folder / "damaged" / "7").mkdir(parents=True)
    (folder / "damaged" / "7" / "saved_model.pb").write_bytes(b"oops")
    return TinyModels(folder)


@contextlib.contextmanager
def served(models):
    """The address of the page, while a thread serves it."""
    server = demo.serve(models)
    with listening.listen("127.0.0.1", 0) as place:
        thread = threading.Thread(target=server.run, args=([place],))
        thread.start()
        try:
            yield listening.format_address(place)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def page(models):
    with served(models) as address, opened(address) as page:
        yield page


@pytest.fixture
def tiny(page):
    if MODELS:
        pytest.skip("TFCOPY_DEMO_MODELS names other models.")
    return page


def ask(page, model, *texts):
    page.choose(model)
    page.type(*texts)
    page.settle()
    assert not page.error()


def test_the_server_takes_no_files_and_no_strangers(page):
    """`test_page_server` has the cases."""
    address = urllib.parse.urlsplit(page.driver.current_url)

    def status(method, path, **headers):
        connection = http.client.HTTPConnection(address.hostname, address.port)
        with contextlib.closing(connection):
            connection.request(method, path, b"x", headers)
            return connection.getresponse().status

    assert status("GET", "/") == status("GET", "/page.js") == 200
    assert status("GET", "/../site.py") == status("GET", "/index.html") == 404
    assert status("POST", "/api/answer") == 400
    assert status("POST", "/upload") == 403
    assert status("GET", "/", Host="evil.example") == 403
    assert status("GET", "/", Origin="http://evil.example") == 403


def test_an_unknown_word_comes_back_in_the_colour_of_its_source(tiny):
    ask(tiny, "copier, version 1", "the session of Łukasz .")
    source, answer = tiny.execute_script(
        "return [1, 2].map(i => [...document.querySelectorAll("
        "`.pair section:nth-child(${i}) mark`)].map(x => ["
        "x.textContent, getComputedStyle(x).backgroundColor]))"
    )
    assert [x for x, _ in answer] == ["the", "session", "of", "Łukasz", "."]
    assert answer == source
    assert len({colour for _, colour in answer}) == 5
    cells = tiny.all(".map tbody td")
    assert len(cells) == 5 * 6
    assert cells[0].get_attribute("title") == "the → the: 1.000"
    assert len(tiny.all(".framed")) == 5


def test_whatever_is_typed_is_text(tiny):
    ask(tiny, "language", NASTY)
    assert NASTY in tiny.section("Text")
    assert tiny.execute_script("return typeof hacked") == "undefined"
    assert not tiny.all("#result img")
    ask(tiny, "copier, version 1", "שלום Łukasz 👩‍👩‍👧")
    directions = tiny.execute_script(
        "return [...document.querySelectorAll('.text')]"
        ".map(x => getComputedStyle(x).direction)"
    )
    assert directions == ["rtl", "rtl"]


def test_a_definition_changes_the_answer(tiny):
    ask(tiny, "language", "the wug")
    assert tiny.all(".defined:not(.own)")
    before = tiny.section("Next word")
    assert before.count("%") >= 5
    tiny.click("summary")
    tiny.insert("#lines", "wug = big bird, or a person that can mew")
    tiny.click("button.primary")
    tiny.wait(lambda: tiny.section("Next word") not in ("", before))
    (own,) = tiny.all("section .own")
    assert own.text == "wug"
    assert own.get_attribute("title") == "defined by your dictionary: wug"
    tiny.insert("#lines", "dog =")
    tiny.click("button.primary")
    tiny.wait(lambda: "“dog =”: write two sides" in tiny.error())


def test_an_answer_is_marked_in_its_context(tiny):
    context = "the zebra runs . 😀 a wug is old , and so on ."
    ask(tiny, "answers", context, "what is a wug ?")
    answer = tiny.texts("section .large")[0]
    marked = "".join(tiny.texts("section .text mark.answer"))
    texts = {"context": context, "question": "what is a wug ?"}
    (expected,) = InProcess("answers").analyse([texts])
    assert answer == (expected["text"].decode() or "(empty)")
    assert marked.replace(" ", "").endswith(answer.replace(" ", ""))
    for title in ("Begins with", "Ends with"):
        assert "word" in tiny.section(title)
    assert tiny.all(".map tbody tr")


def test_labels_have_probabilities(tiny):
    ask(tiny, "entailment", "the zebra runs .", "a wug is old")
    assert tiny.section("Label") in tiny.texts(".bars .marked bdi")
    assert tiny.section("Probabilities").count("%") == 3
    assert "zebra" in tiny.section("Premise")
    assert "wug" in tiny.section("Hypothesis")


def test_what_is_typed_stays_when_a_model_is_chosen(tiny):
    tiny.choose("language")
    tiny.insert("#text-text", "the wug")
    tiny.choose("copier, version 1")
    assert tiny.all("#text-text")[0].get_attribute("value") == "the wug"


def test_a_model_that_cannot_be_loaded_is_an_error_of_one_line(tiny, models):
    tiny.choose("damaged, version 7")
    tiny.wait(lambda: "cannot be loaded" in tiny.error())
    assert tiny.error().startswith(os.fspath(models.folder))
    assert "\n" not in tiny.error()
    tiny.choose("copier, version 1")
    tiny.wait(lambda: not tiny.error())


def test_screenshots(page, models, tmp_path):
    folder = os.environ.get("TFCOPY_SCREENSHOTS", tmp_path)
    for name, (file, texts, lines) in SCREENSHOTS.items():
        for choice in models.choices():
            if choice.startswith(name):
                page.choose(choice)
                if lines:
                    page.click("summary")
                    page.insert("#lines", lines)
                page.type(*texts)
                page.settle()
                page.screenshot(os.path.join(folder, file), full=True)
                break


def test_nobody_else_is_asked_for_anything(page):
    assert_offline(page)


def test_a_server_that_is_gone_is_told(models):
    with contextlib.ExitStack() as stack, contextlib.ExitStack() as server:
        page = stack.enter_context(opened(server.enter_context(served(models))))
        page.wait(lambda: page.texts("#facts")[0])
        server.close()
        page.type("the session")
        page.settle()
        assert "The server does not answer." in page.error()
