"""A real browser without a window, for tests of pages.

with browser() as page:
    page.get("http://127.0.0.1:7860")
    page.screenshot("page.png")
    assert_offline(page)
"""

import contextlib
import importlib.util
import json
import os
import shutil
import tempfile
from urllib.parse import urlsplit

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which root may not have
    *("--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--no-default-browser-check"),
    # It asks its maker's servers for nothing.
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-default-apps", "--disable-sync", "--hide-scrollbars"),
    "--force-device-scale-factor=1",
)
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_LOCAL_SCHEMES = ("data", "blob", "about", "chrome", "devtools")


@contextlib.contextmanager
def browser(width=1280, height=900, dark=False):
    """A headless Chromium, driven by Selenium; closed at the end.

    The test is skipped where Selenium, Chromium or ChromeDriver is missing.

    Args:
        width: Of the window, in pixels.
        height: Of the window, in pixels.
        dark: Whether it asks pages for their dark colours.

    Yields:
        A Selenium WebDriver, with two methods more: `screenshot(path)` saves
        what the window shows as PNG, or with `full=True` the whole page;
        `requests()` lists the addresses asked for since it was last called.
    """
    chromium, driver = _programs()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for option in (
            *_OPTIONS,
            f"--window-size={width},{height}",
            f"--user-data-dir={folder}",
        ):
            options.add_argument(option)
        page = webdriver.Chrome(options, Service(driver))
        try:
            set_color_scheme(page, "dark" if dark else "light")
            page.screenshot = lambda path, **options: _screenshot(
                page, path, **options
            )
            page.requests = lambda: _requests(page)
            page.get("about:blank")
            page.requests()  # Forget those of the tab it opened with.
            yield page
        finally:
            page.quit()


def set_color_scheme(page, scheme):
    """Lets pages know whether the reader prefers `light` or `dark`."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def assert_offline(page):
    """All that was asked for since the last call came from this machine."""
    addresses = page.requests()
    assert addresses, "The browser has asked for nothing."
    elsewhere = [address for address in addresses if not _is_local(address)]
    # The browser connects for these before it asks for anything.
    links = page.execute_script(
        "return [...document.querySelectorAll("
        "'link[rel=preconnect], link[rel=dns-prefetch]')].map(x => x.href)"
    )
    elsewhere += [address for address in links if not _is_local(address)]
    assert not elsewhere, f"Requests to other hosts: {elsewhere}"


def _programs():
    """Paths of Chromium and ChromeDriver."""
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("Selenium is not installed: pip install selenium")
    chromium = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    for name, path in (("Chromium", chromium), ("ChromeDriver", driver)):
        if path is None:
            pytest.skip(f"{name} is not installed (as on PATH).")
    return chromium, driver


def _screenshot(page, path, full=False):
    size = page.get_window_size()
    if full:
        height = page.execute_script(
            "return document.documentElement.scrollHeight"
        )
        page.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {
                "width": size["width"],
                "height": height,
                "deviceScaleFactor": 1,
                "mobile": False,
            },
        )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    assert page.save_screenshot(str(path)), f"Cannot write {path}."
    if full:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _requests(page):
    addresses = []
    for entry in page.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            addresses.append(message["params"]["request"]["url"])
        elif message["method"] == "Network.webSocketCreated":
            addresses.append(message["params"]["url"])
    return addresses


def _is_local(address):
    parts = urlsplit(address)
    return parts.scheme in _LOCAL_SCHEMES or parts.hostname in _LOCAL_HOSTS
