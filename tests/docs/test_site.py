"""The documentation site; MkDocs itself refuses dead links."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.serving.web.page import files_of, need_litert, opened
from tfcopy.runtime.local_model import LocalModel

pytestmark = pytest.mark.long

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    need_litert()
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(
        [*command, "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


def test_links_to_code_lead_to_its_text(site):
    page = site / "training" / "index.html"
    link = re.search(r'href="([^"#]*training/schedule[^"#]*)', page.read_text())
    found = (page.parent / link[1]).resolve()
    found = found / "index.html" if found.is_dir() else found
    assert "multiply_rate" in found.read_text(encoding="utf-8")
    assert not [x for x in site.rglob("*.py*") if x.is_file()]


def test_the_notebook_is_a_page_with_its_picture(site):
    page = site / "tutorials" / "copying" / "index.html"
    text = page.read_text(encoding="utf-8")
    assert "data:image/png;base64," in text and "unknown words right" in text
    assert ".ipynb" in text


def test_the_start_page_translates_when_it_is_asked(site):
    text = "Mr Łukasz, the 🏣 petition is closed."
    (answer,) = LocalModel(ROOT / "docs" / "demo" / "europarl_ps").translate(
        [text]
    )
    with files_of(site) as port, opened(f"http://127.0.0.1:{port}/") as page:
        page.requests()
        page.click(".live-demo summary")
        page.wait(lambda: any("/demo/" in x for x in page.requests()))
        page.switch_to.frame(page.all(".live-demo iframe")[0])
        page.wait(lambda: page.texts("#facts")[0])
        page.type(text)
        page.settle()
        assert page.answer() == answer.text
        assert "Łukasz" in answer.text and "🏣" in answer.text
