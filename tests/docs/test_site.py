"""The documentation site, built as `.ci/run` builds it."""

import html.parser
import os
import pathlib
import subprocess
import sys
import urllib.parse

import pytest

pytestmark = pytest.mark.long

ROOT = pathlib.Path(__file__).parents[2]


class Page(html.parser.HTMLParser):
    """The links of a page, and the names that links can lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(urllib.parse.urlsplit(value))
            if name == "id":
                self.names.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(
        [*command, "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


def target(site, path, link):
    """The file that a link of a page leads to."""
    address = urllib.parse.unquote(link.path)
    folder = site if address.startswith("/") else path.parent
    found = (folder / address.lstrip("/")).resolve() if address else path
    return found / "index.html" if found.is_dir() else found


def test_no_link_inside_is_dead(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 100
    dead = []
    for path, page in pages.items():
        for link in page.links:
            if link.scheme or link.netloc:
                continue
            found = target(site, path, link)
            name = urllib.parse.unquote(link.fragment)
            # The script of the theme makes this one.
            is_top = name == "__top" or path.name == "404.html"
            known = pages[found].names if found in pages else {name}
            if not found.exists() or not (is_top or name in known):
                dead.append((path.relative_to(site), link.geturl()))
    assert dead == []


def test_links_to_code_lead_to_its_text(site):
    page = site / "training" / "index.html"
    (link, *_) = [x for x in Page(page).links if "training/schedule" in x.path]
    text = target(site, page, link).read_text(encoding="utf-8")
    assert "multiply_rate" in text
    assert not [x for x in site.rglob("*.py*") if x.is_file()]


def test_the_notebook_is_a_page_with_its_picture(site):
    page = site / "tutorials" / "your_own_decoder" / "index.html"
    (link,) = [x for x in Page(page).links if x.path.endswith("copying/")][:1]
    found = target(site, page, link)
    text = found.read_text(encoding="utf-8")
    assert "data:image/png;base64," in text and "unknown words right" in text
    assert any(x.path.endswith(".ipynb") for x in Page(found).links)
