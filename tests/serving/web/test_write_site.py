"""The command `web`: what it refuses, and where LiteRT.js comes from."""

import gzip
import json
import math
import pathlib
import re
import shutil

import pytest

from tests.serving.web.page import files_of
from tests.serving.web.test_page_texts import UNKNOWN
from tfcopy.runtime.signatures import ModelError
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


DEMO = pathlib.Path(__file__).parents[3] / "docs" / "demo" / "europarl_ps"


@pytest.fixture
def small_litert(monkeypatch):
    """Replaces LiteRT.js by a small file."""
    monkeypatch.setattr(write_site, "litert_files", lambda: {"index.js": b"1"})


def test_a_bad_model_is_left_out_and_named(capsys, tmp_path, small_litert):
    bad = shutil.copytree(DEMO, tmp_path / "bad")
    config = bad / "assets.extra" / "tfcopy.json"
    facts = json.loads(config.read_text())
    config.write_text(json.dumps({**facts, "bleu": math.nan}))
    write_site.write_site([bad], tmp_path / "scored")
    config.write_text(json.dumps({**facts, "pieces": {"source": math.nan}}))
    to = tmp_path / "new" / "site"
    line = error(capsys, bad, "--to", to)
    assert f"{bad}: `pieces` in tfcopy.json has NaN" in line
    assert not to.exists()
    line = error(capsys, DEMO, bad, "--to", to)
    assert f"left out of {to}: {bad}: `pieces`" in line
    (content,) = re.findall('id="site">(.*)</script>', read(to / "index.html"))
    (model,) = json.loads(content)["models"]
    assert model["name"] == "europarl_ps"


def read(path):
    return path.read_text(encoding="utf-8")


def test_names_change_with_the_content(tmp_path, small_litert, monkeypatch):
    write_site.write_site([DEMO], tmp_path / "a")
    monkeypatch.setattr(write_site, "litert_files", lambda: {"index.js": b"2"})
    write_site.write_site([DEMO], tmp_path / "b")
    one, two = ({x.name for x in (tmp_path / y).iterdir()} for y in "ab")
    assert {x.partition("-")[0] for x in one ^ two} == {"page"}
    assert any(x.startswith("model-") for x in one & two)
    worker = read(tmp_path / "a" / "service_worker.js")
    (files,) = re.findall("FILES = (.*);", worker)
    written = {
        x.relative_to(tmp_path / "a").as_posix()
        for x in (tmp_path / "a").rglob("*")
        if x.is_file()
    }
    own = {"index.html", "service_worker.js"}
    assert json.loads(files).keys() == written - own


def test_a_folder_that_cannot_be_written_is_named(
    capsys, tmp_path, small_litert
):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for to in (tmp_path / "file" / "site", tmp_path / "link"):
        line = error(capsys, DEMO, "--to", to)
        assert f"--to: cannot write {to} (Not a directory)" in line
    assert {x.name for x in tmp_path.iterdir()} == {"file", "link"}


def test_what_a_killed_command_left_is_removed(capsys, tmp_path, small_litert):
    (tmp_path / ".site-abcd1234" / "site").mkdir(parents=True)
    to = tmp_path / "a b"
    write_site.write_site([DEMO], to)
    assert [*tmp_path.iterdir()] == [to]
    assert f"http.server --directory '{to}'" in capsys.readouterr().out


def test_no_cache_is_needed(tmp_path, monkeypatch):
    content = b"a package"
    facts = {
        "resolved": "https://registry.npmjs.org/p.tgz",
        "integrity": site.integrity(content, "sha512"),
    }
    monkeypatch.setattr(write_site, "_read_lock", lambda _: facts)
    monkeypatch.setattr(write_site, "_download", lambda _: content)
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert write_site._archive("p") == content


@pytest.mark.parametrize("name", ["NPM_CONFIG_REGISTRY", "npm_config_registry"])
def test_another_registry_may_be_named(
    capsys, tmp_path, no_cache, monkeypatch, name
):
    folder = tmp_path / "registry"
    facts = write_site._read_lock("@litertjs/core")
    path = facts["resolved"].removeprefix("https://registry.npmjs.org/")
    (folder / path).parent.mkdir(parents=True)
    to = tmp_path / "site"
    with files_of(folder) as port:
        address = f"http://127.0.0.1:{port}"
        monkeypatch.setenv(name, f"{address}/")
        line = error(capsys, "export", "--to", to)
        assert f"{address}/{path}: cannot be downloaded (HTTP Error 404" in line
        (folder / path).write_bytes(gzip.compress(b"another package"))
        line = error(capsys, "export", "--to", to)
    assert "is not the package that package-lock.json names" in line
    assert not to.exists() and not [*tmp_path.glob("cache/tfcopy/*")]


@pytest.mark.parametrize("pattern", [r"a\C", "(?iU:a)", "[[:^alpha:]]"])
def test_patterns_that_javascript_lacks_are_refused(pattern):
    with pytest.raises(ModelError, match="e: the regular expression .* has "):
        write_site._check_patterns("e", {"tokenizer": {"cut": [[pattern, ""]]}})
    others = r"\\C [U:^] (?s)\pL(?i:a)(?P<U>b)"
    write_site._check_patterns("e", {"tokenizer": {"span": others}})
    assert pattern.removeprefix("a") in UNKNOWN or "U" in pattern


def test_nothing_ends_the_facts_early():
    model = {"name": "</script><b>"}
    page = site.index([model], site.page_files()).decode()
    assert "</script><b>" not in page
    (content,) = re.findall('id="site">(.*)</script>', page)
    assert json.loads(content)["models"] == [model]
