"""The command `web`: what it refuses, and where LiteRT.js comes from."""

import gzip
import json
import pathlib
import re

import pytest

from tests.serving.web.page import files_of
from tests.serving.web.test_text_programs import UNKNOWN
from tfcopy.runtime.number_operations import OPERATIONS
from tfcopy.runtime.signatures import AskError
from tfcopy.serving.web import site, write_site


@pytest.fixture
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def error(capsys, *arguments):
    assert write_site.main([str(x) for x in arguments]) == 2
    line = capsys.readouterr().err
    assert line.startswith("web: ") and line.count("\n") == 1
    return line


def test_a_folder_is_never_replaced(capsys, tmp_path):
    line = error(capsys, "export", "--to", tmp_path)
    assert f"{tmp_path} exists. Choose another --to" in line


def test_another_registry_may_be_named(capsys, tmp_path, no_cache, monkeypatch):
    folder = tmp_path / "registry"
    facts = write_site._locked("@litertjs/core")
    path = facts["resolved"].removeprefix("https://registry.npmjs.org/")
    (folder / path).parent.mkdir(parents=True)
    to = tmp_path / "site"
    with files_of(folder) as port:
        address = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{address}/")
        line = error(capsys, "export", "--to", to)
        assert f"{address}/{path}: cannot be downloaded (HTTP Error 404" in line
        (folder / path).write_bytes(gzip.compress(b"another package"))
        line = error(capsys, "export", "--to", to)
    assert "is not the package that package-lock.json names" in line
    assert not to.exists() and not [*tmp_path.glob("cache/tfcopy/*")]


@pytest.mark.parametrize("pattern", [r"a\C", "(?iU:a)", "[[:^alpha:]]"])
def test_patterns_that_javascript_lacks_are_refused(pattern):
    step = ["StaticRegexReplace", [0], {"pattern": pattern}, [1]]
    content = {"functions": {"read": {"steps": [step]}}}
    with pytest.raises(AskError, match="e: the regular expression .* has "):
        write_site._check_patterns("e", content)
    step[2]["pattern"] = r"\\C [U:^] (?s)\pL(?i:a)(?P<U>b)"
    write_site._check_patterns("e", content)
    assert pattern.removeprefix("a") in UNKNOWN or "U" in pattern


def test_the_page_has_all_operations():
    page = pathlib.Path(site.PAGE)
    code = "".join(path.read_text() for path in page.glob("*_operations.js"))
    names = set(re.findall(r"^  (\w+): |(?:NUMBERS|TEXTS)\.(\w+)", code, re.M))
    assert OPERATIONS.keys() <= {x for pair in names for x in pair}


def test_nothing_ends_the_facts_early():
    model = {"name": "</script><b>"}
    page = site.index([model], site.page_files()).decode()
    assert "</script><b>" not in page
    (content,) = re.findall('id="site">(.*)</script>', page)
    assert json.loads(content)["models"] == [model]
