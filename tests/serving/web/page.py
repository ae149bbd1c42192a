"""The page as a visitor uses and sees it, for tests."""

import contextlib
import functools
import http.server
import threading

import pytest

from tests.serving.web.browser import browser
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.web import write_site

WAIT = 200  # seconds: a test has 300, on a machine however busy
RESULT = "#result section"


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments, types, more_headers, **options):
        self.types, self.more_headers = types, more_headers
        super().__init__(*arguments, **options)

    def log_message(self, *_):
        pass

    def guess_type(self, path):
        return self.types.get(path[-3:]) or super().guess_type(path)

    def end_headers(self):
        for name, value in self.more_headers.items():
            self.send_header(name, value)
        super().end_headers()

    def do_GET(self):
        if "Range" not in self.headers:
            return super().do_GET()
        self.send_response(206)
        self.send_header("Content-Range", "bytes 0-2/9")
        self.send_header("Content-Length", "3")
        self.end_headers()
        return self.wfile.write(b"par")


class _Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = True


def need_litert():
    """Skips a test where LiteRT.js cannot be had."""
    try:
        write_site.litert_files()
    except ModelError as error:
        pytest.skip(str(error))


@contextlib.contextmanager
def files_of(folder, types=None, **headers):
    """The port of a file server on this machine, until the end.

    It may send other types of files by their suffix, and more headers; of a
    range it sends `par`.
    """
    handler = functools.partial(
        _Handler, directory=str(folder), types=types or {}, more_headers=headers
    )
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class Page:
    """A browser that shows the page."""

    def __init__(self, driver):
        self.driver = driver

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
        """Waits until it is so, and returns what it says then."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(
            self.driver, WAIT, 0.05, ignored_exceptions=[WebDriverException]
        ).until(lambda _: condition())

    def click(self, css, number=0):
        """Clicks an element, once it is there and can be clicked."""
        self.wait(lambda: self.all(css)[number].click() is None)

    def choose(self, name):
        """Chooses a model by its name, and waits for its fields."""
        from selenium.webdriver.support.ui import Select

        self.wait(lambda: self.all("#model option"))
        Select(self.all("#model")[0]).select_by_visible_text(name)
        self.wait(lambda: self.texts("#facts")[0] or self.error())

    def insert(self, css, text):
        """Types any characters into a field, which it empties first."""
        self.wait(lambda: self.all(css)[0].clear() is None)
        self.click(css)
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})

    def type(self, *texts):
        """Types texts into the fields, and Enter."""
        from selenium.webdriver import Keys

        for name, text in zip(self.texts("#texts label"), texts, strict=True):
            field = f"#text-{name.lower()}"
            self.insert(field, text)
        self.all(field)[0].send_keys(Keys.ENTER)

    def settle(self):
        """Waits until an answer or an error is there."""
        self.wait(
            lambda: (
                (self.all(RESULT) or self.error())
                and not self.all("[aria-busy]")
            )
        )

    def error(self):
        """The error that the page shows; empty if there is none."""
        return "".join(self.texts("#status.error"))

    def shown(self):
        """The text that a visitor sees."""
        return self.all("main")[0].text

    def section(self, title):
        """The text of a section; empty if there is none."""
        found = [x for x in self.texts(RESULT) if x.startswith(title)]
        return found[0].removeprefix(title) if found else ""

    def answer(self):
        """The answer itself."""
        return "".join(self.texts("#result section:nth-child(2) p.text"))


@contextlib.contextmanager
def opened(address, **options):
    """A page at an address, in a browser of its own."""
    with browser(**options) as driver:
        driver.get(address)
        yield Page(driver)
