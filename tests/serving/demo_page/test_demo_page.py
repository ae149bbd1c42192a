"""The page in a real browser.

With TFCOPY_DEMO_MODELS, a folder of exported models, and TFCOPY_SCREENSHOTS,
where to write, `test_screenshots` makes the pictures of the documentation.
"""

import contextlib
import http.client
import importlib.util
import math
import os
import shutil
import socket
import threading
import urllib.parse

import pytest
from keras import ops

# Each process collects all files: the library is imported by tests only.
if importlib.util.find_spec("gradio") is None:
    pytest.skip("gradio is not installed", allow_module_level=True)

from tests.serving.web import browser as browsers  # noqa: E402
from tests.serving.servables import text_models  # noqa: E402
from tests.serving.servables.translators import (  # noqa: E402
    Copier,
    copier,
    eagerly,
)
from tfcopy.layers.copying import MASKED, CopyDistribution  # noqa: E402
from tfcopy.runtime.exported_model import (  # noqa: E402
    ExportedModel,
)
from tfcopy.runtime.signatures import Signature  # noqa: E402
from tfcopy.serving import demo  # noqa: E402
from tfcopy.serving.demo_page.demo_server import Models  # noqa: E402
from tfcopy.serving.http_server import listening  # noqa: E402
from tfcopy.serving.servables.text_model import NUM_SPECIALS  # noqa: E402

pytestmark = pytest.mark.long

WAIT = 250  # seconds: a test has 300, on a machine however busy
NASTY = "<script>hacked=1</script> <img/src=x/onerror=hacked=1> ${1+1} {{a}}"
MODELS = os.environ.get("TFCOPY_DEMO_MODELS")

# What is shown of which model: its texts, and a dictionary.
SCREENSHOTS = {
    "europarl_ps": (
        "demo_page.png",
        [
            "Minister, can Mrs O'Brien-Şahin confirm that nothing has changed "
            "in Łódź since 1997?"
        ],
        (),
    ),
    "squad_definitions": (
        "demo_page_definitions.png",
        [
            "Maria has a zorkle near the bridge . Grace found a wug in the "
            "barn . Aunt Sally bought a flimp on the deck .",
            "Where is a vehicle ?",
        ],
        [("zorkle", "a small vehicle"), ("wug", "a green bird")],
    ),
    "copier": ("demo_page.png", ["the session of Łukasz ."], ()),
}


class Hesitant(Copier):
    """Copies each word; or, less probably, says the first that it knows."""

    def decode_step(self, ids, state, memory):
        distribution, attention, state = super().decode_step(ids, state, memory)
        is_end = distribution.log_generate > -1  # (B, K)
        said = ops.arange(self.vocabulary_size) == NUM_SPECIALS
        distribution = CopyDistribution(
            ops.where(
                is_end[..., None],
                distribution.generate_logits,
                ops.where(said, 0.0, MASKED),
            ),
            ops.where(is_end, 0.0, math.log(0.25)),
            distribution.copy_log_probs + math.log(0.75),
        )
        return distribution, attention, state


class InProcess(ExportedModel):
    """A served model that was never exported, and its function."""

    def __init__(self, name, served, analyse):
        self.name, self.config = name, served.config
        self._analyse = analyse
        inputs = {
            key: 2 if key == "dictionary" else 1
            for key in analyse.structured_input_signature[1]
        }
        names = ("serving_default", "analyse")
        self.signatures = dict.fromkeys(names, Signature(inputs, ()))

    def _ask_batch(self, signature, arrays):
        texts = {name: x.tolist() for name, x in arrays.items()}
        dictionary = texts.pop("dictionary", None)
        return text_models.ask(self._analyse, texts, dictionary)


def hesitant():
    translator = copier().copy(model=Hesitant())

    def analyse(text):
        with eagerly():
            return translator.analyse(text)

    analyse.structured_input_signature = (), {"text": None}
    return InProcess("hesitant", translator, analyse)


def language():
    served, _, _ = text_models.make("language", "mean")
    return InProcess("language", served, served.signature("analyse"))


class TinyModels(Models):
    """Exported ones, and some that are not, as they are asked once or twice."""

    def __init__(self, folder):
        self.others = {x.name: x for x in (hesitant(), language())}
        super().__init__(folder)

    def choices(self):
        return {**super().choices(), **dict.fromkeys(self.others, "here")}

    def load(self, choice):
        if choice in self.others:
            return self.others[choice]
        return super().load(choice)


def make_models(folder, copier_export):
    shutil.copytree(copier_export, folder / "copier" / "1")
    (folder / "damaged" / "7").mkdir(parents=True)
    (folder / "damaged" / "7" / "saved_model.pb").write_bytes(b"oops")
    return TinyModels(folder)


class Page:
    """The page as a reader uses and sees it."""

    def __init__(self, driver, models):
        self.driver, self.models = driver, models

    def __getattr__(self, name):
        return getattr(self.driver, name)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def texts(self, css):
        """Returns the texts of elements, all at once: they may be replaced."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(x => x.textContent)",
            css,
        )

    def wait(self, condition):
        """Until it is so; what it says then."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(
            self.driver, WAIT, 0.05, ignored_exceptions=[WebDriverException]
        ).until(lambda _: condition())

    def click(self, css, number=0):
        """Clicks an element, once it is there and can be clicked."""
        self.wait(lambda: self.all(css)[number].click() is None)

    def insert(self, text):
        """Types any characters; ChromeDriver itself knows few of them."""
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})

    def choose(self, model):
        """Chooses a model by the beginning of its name."""
        from selenium.webdriver import Keys

        self.wait(lambda: self.all("input[aria-label=Model]"))
        (box,) = self.all("input[aria-label=Model]")
        box.send_keys(Keys.CONTROL + "a" + Keys.NULL, model)
        self.wait(lambda: {x.split(",")[0] for x in self.options()} == {model})
        box.send_keys(Keys.ENTER, Keys.ESCAPE)
        self.wait(
            lambda: self.all(f"[data-model^={model}]") or self.texts(ERROR)
        )

    def options(self):
        return [
            x.get_attribute("aria-label") for x in self.all("[role=option]")
        ]

    def type(self, *texts):
        """Types texts into the fields, and Enter."""
        from selenium.webdriver import Keys

        for i, text in enumerate(texts):
            field = f"#tfc-text-{i} textarea"
            self.wait(lambda: self.all(field)[0].clear() is None)
            self.click(field)
            self.insert(text)
        self.all(field)[0].send_keys(Keys.ENTER)

    def define(self, row, *cells):
        """Fills a row of the dictionary; the last cell stays open."""
        from selenium.webdriver import ActionChains

        for column, text in enumerate(cells):
            cell = f"#tfc-dictionary [data-testid=cell-{row}-{column}]"
            self.wait(lambda: self.all(cell))
            (found,) = self.all(cell)
            ActionChains(self.driver).double_click(found).perform()
            self.wait(lambda: self.all(f"{cell} textarea, {cell} input"))
            self.insert(text)

    def answer(self):
        """Clicks the button."""
        self.click("button.primary")

    def is_settled(self):
        """Returns whether the result is there, no longer faint."""
        return self.driver.execute_script(
            "let x = document.querySelector('.tfc-section');"
            "while (x && getComputedStyle(x).opacity == 1) x = x.parentElement;"
            "return x === null"
        )

    def section(self, title):
        """The text of a section; empty if there is none."""
        found = [x for x in self.texts(".tfc-section") if x.startswith(title)]
        return found[0].removeprefix(title) if found else ""


ERROR = ".tfc-error"


@contextlib.contextmanager
def served(models):
    """The address of the page, while a thread serves it."""
    server = demo.serve(models)
    with listening.listen("127.0.0.1", 0) as place:
        thread = threading.Thread(target=server.run, args=([place],))
        thread.start()
        try:
            yield listening.address_of(place)
        finally:
            server.should_exit = True
            thread.join()


def test_the_server_takes_no_files_and_no_strangers(page):
    """The page in its server; `test_demo_server` has the cases."""
    address = urllib.parse.urlsplit(page.driver.current_url)

    def status(method, path, **headers):
        connection = http.client.HTTPConnection(address.hostname, address.port)
        with contextlib.closing(connection):
            connection.request(method, path, b"x", headers)
            return connection.getresponse().status

    assert status("GET", "/") == 200
    assert status("POST", "/gradio_api/upload") == 403
    assert status("GET", "/", Host="evil.example") == 403
    assert status("GET", "/", Origin="http://evil.example") == 403


@pytest.fixture(scope="module")
def connections():
    """Lists other machines to which this process connects."""
    found = []
    connect = socket.socket.connect

    def watched(self, address):
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            found.append(address)
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", watched)
        yield found


LOOPBACK = ("127.0.0.1", "localhost", "::1")


@pytest.fixture(scope="module")
def page(tmp_path_factory, connections, copier_export):
    with browsers.browser(1200, 1000) as driver:
        models = (
            Models(MODELS)
            if MODELS
            else make_models(
                tmp_path_factory.mktemp("savedmodels"), copier_export
            )
        )
        with served(models) as address:
            driver.get(address)
            page = Page(driver, models)
            page.wait(lambda: page.all(".tfc-facts [data-model]"))
            yield page


@pytest.fixture
def tiny(page):
    if MODELS:
        pytest.skip("TFCOPY_DEMO_MODELS names other models.")
    return page


def styles(page, css):
    """Pairs of the text and the style of elements."""
    return [
        tuple(x)
        for x in page.execute_script(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(x => [x.textContent, x.getAttribute('style')])",
            css,
        )
    ]


def test_an_unknown_word_comes_back_in_the_colour_of_its_source(tiny):
    tiny.choose("copier")
    tiny.type("the session of Łukasz .")
    tiny.wait(lambda: "Łukasz" in tiny.section("Answer"))
    source, answer = (
        dict(styles(tiny, f".tfc-pair section:nth-child({i}) mark"))
        for i in (1, 2)
    )
    assert list(answer) == ["the", "session", "of", "Łukasz", "."]
    assert answer == source
    assert len(set(answer.values())) == 5
    colours = tiny.execute_script(
        "return [...document.querySelectorAll('.tfc-pair mark')]"
        ".map(x => getComputedStyle(x).backgroundColor)"
    )
    assert colours[:5] == colours[5:] and len(set(colours)) == 5
    cells = tiny.all(".tfc-map td")
    assert len(cells) == 5 * 6
    assert cells[0].get_attribute("title") == "the → the: 1.000"
    assert len(tiny.all(".tfc-framed")) == 5


def test_an_example_is_asked_by_a_click(tiny):
    tiny.choose("copier")
    tiny.wait(lambda: len(tiny.all(".tfc-examples button")) == 2)
    tiny.click(".tfc-examples button", 1)
    tiny.wait(lambda: "<b>open</b>" in tiny.section("Source"))
    (field,) = tiny.all("#tfc-text-0 textarea")
    assert field.get_attribute("value") == "北京 is <b>open</b> ."


def test_whatever_is_typed_is_text(tiny):
    tiny.choose("hesitant")
    tiny.type(NASTY)
    tiny.wait(lambda: NASTY in tiny.section("Source"))
    assert "< script > hacked=1 </ script >" in tiny.section("Best answers")
    assert tiny.execute_script("return typeof hacked") == "undefined"
    assert not tiny.all(".tfc-result img")
    tiny.type("שלום Łukasz 👩‍👩‍👧")
    tiny.wait(lambda: "שלום" in tiny.section("Answer"))
    directions = tiny.execute_script(
        "return [...document.querySelectorAll('.tfc-text')]"
        ".map(x => getComputedStyle(x).direction)"
    )
    assert directions == ["rtl", "rtl"]


def test_a_definition_changes_the_answer(tiny):
    tiny.choose("language")
    tiny.type("the wug")
    tiny.wait(lambda: "wug" in tiny.section("Text"))
    assert tiny.all(".tfc-defined:not(.tfc-own)")
    before = tiny.section("Next word")
    tiny.define(0, "wug", "big bird, or a person that can mew")
    tiny.answer()
    tiny.wait(lambda: tiny.section("Next word") not in ("", before))
    (own,) = tiny.all(".tfc-section .tfc-own")
    assert own.text == "wug"
    assert own.get_attribute("title") == "defined by your dictionary: wug"
    tiny.define(1, "dog", " ")
    tiny.answer()
    tiny.wait(lambda: tiny.texts(ERROR))
    (error,) = tiny.texts(ERROR)
    assert error == "Dictionary, row 2: there is no definition with 'dog'."


def test_a_model_that_cannot_be_loaded_is_an_error_of_one_line(tiny):
    tiny.choose("damaged")
    tiny.wait(lambda: "cannot be loaded" in tiny.texts(ERROR)[0])
    (error,) = tiny.texts(ERROR)
    assert error.startswith(os.fspath(tiny.models.folder))
    assert "\n" not in error
    tiny.choose("copier")
    tiny.wait(lambda: not tiny.texts(ERROR))


def test_screenshots(page, tmp_path):
    folder = os.environ.get("TFCOPY_SCREENSHOTS", tmp_path)
    page.refresh()
    page.wait(lambda: page.all(".tfc-facts [data-model]"))
    for model, (name, texts, rows) in SCREENSHOTS.items():
        if not any(x.startswith(model) for x in page.models.choices()):
            continue
        page.choose(model)
        for i, row in enumerate(rows):
            page.define(i, *row)
        page.type(*texts)
        page.wait(lambda: page.all(".tfc-section") and page.is_settled())
        page.screenshot(os.path.join(folder, name), full=True)


def test_nobody_else_is_asked_for_anything(page, connections):
    browsers.assert_offline(page)
    assert not connections


def test_what_is_typed_while_a_model_loads_stays(tmp_path):
    """An update with a value would replace it."""
    from tfcopy.serving.demo_page import demo_page

    models = TinyModels(tmp_path)
    handlers = demo_page._Handlers(models)
    for choice in models.others:
        _, *texts, _, _, _, _ = handlers.choose(choice)
        updates = [x.constructor_args for x in texts]
        assert [x["visible"] for x in updates][:2] == [True, False]
        assert not [x for x in updates if "value" in x]
