"""Commands of each kind of user, word for word as their page has them.

The commands are those of the package as it is installed from its wheel, in a
folder without the repository; trainings get flags that make them tiny.
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.data.generated import demo_catalog_files
from tfcopy.data.generated import demo_parliament

pytestmark = pytest.mark.timeout(1800)

ROOT = pathlib.Path(__file__).parents[2]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What needs a network, a container or a server.
NOT_RUN = ("pip install ", "docker ", "curl ")
NOT_RUN += () if shutil.which("msgfmt") else ("msgfmt ",)
TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --updates 4
--eval_every 2 --batch_size 8 --max_target_length 8 --num_beams 2
--systems pointer_softmax --litert none"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a shell that finds the installed wheel first."""
    folder = tmp_path_factory.mktemp("wheel")
    copy, dist, there = folder / "copy", folder / "dist", folder / "there"
    copy.mkdir()
    names = "setup.py pyproject.toml MANIFEST.in README.md LICENSE tfcopy"
    run(f"cp -r {names} {copy}", ROOT, os.environ)
    run(
        f"{sys.executable} -m build --wheel --no-isolation --outdir {dist} "
        f"{copy} && {sys.executable} -m pip install --quiet --no-index "
        f"--no-deps --target {there} {dist}/*.whl",
        folder,
        os.environ,
    )
    path = [str(there / "bin"), os.path.dirname(sys.executable)]
    env = {
        **os.environ,
        "PATH": os.pathsep.join([*path, os.environ["PATH"]]),
        "PYTHONPATH": str(there),
    }
    assert run(
        "python -c 'import tfcopy; print(tfcopy.__file__)'", folder, env
    ).startswith(str(there))
    return env


def run(command, folder, env):
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def read(page):
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def walk(page, folder, env, tiny=TINY):
    """Types the commands of a page; gives what each printed."""
    blocks = "".join(CONSOLE.findall(read(page)))
    printed = {}
    for command in re.findall(r"^\$ (.*)$", blocks, re.MULTILINE):
        if command.startswith(NOT_RUN):
            continue
        more = tiny.split() if command.startswith("tfcopy recipe ") else []
        printed[command] = run(" ".join([command, *more]), folder, env)
    assert printed
    return printed


def write_pairs(folder, name, count, seed):
    pairs = demo_parliament.generate("train", count, seed)
    for side, lines in zip(("en", "fr"), zip(*itertools.islice(pairs, count))):
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{name}.{side}").write_text(text)


@pytest.mark.slow
def test_from_own_pairs_to_a_served_model(installed, tmp_path):
    write_pairs(tmp_path, "my", 200, 0)
    write_pairs(tmp_path, "test", 20, 1)
    printed = walk("own_data.md", tmp_path, installed)
    assert any("BLEU" in text for text in printed.values())
    compose = tmp_path / "serving" / "compose.yaml"
    server = yaml.safe_load(compose.read_text())["services"]["serving"]
    mounted = [x.rpartition(":")[0].rpartition(":") for x in server["volumes"]]
    places = {there: here for here, _, there in mounted}
    config = compose.parent / places["/config"] / "models.config"
    assert 'base_path: "/models/mine"' in config.read_text()
    for flag in server["command"]:
        name = flag.partition("=/config/")[2]
        assert not name or (compose.parent / places["/config"] / name).exists()


@pytest.mark.slow
def test_a_head_of_ones_own_in_a_recipe(installed, tmp_path):
    head = PROGRAM.search(read("tutorials/a_new_head.md"))[1]
    (tmp_path / "my_heads.py").write_text(head)
    write_pairs(tmp_path, "my", 200, 0)
    walk("tutorials/a_new_head.md", tmp_path, installed)
    run_folder = tmp_path / "tensorboard_logs" / "europarl_ps" / "my"
    assert (run_folder / "PointerSentinelHead" / "servable.json").exists()
    for export in ("europarl_ps", "again"):
        saved = tmp_path / "savedmodels" / export / "1" / "saved_model.pb"
        assert saved.exists()


@pytest.mark.slow
def test_a_gettext_catalogue(installed, tmp_path):
    folder = tmp_path / "locale" / "es"
    folder.mkdir(parents=True)
    demo_catalog_files.write_catalogs(folder, 150)
    new = folder / "new.po"
    new.write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Language: es\\n"\n\nmsgid "See :func:`ast.parse`."\nmsgstr ""\n'
    )
    walk("markup.md", tmp_path, installed, f"{TINY} --pieces 120")
    text = new.read_text()
    assert "#, fuzzy" in text and "# tfcopy: score " in text
    # So little training puts it anywhere, perhaps where reST has no role.
    _, _, answer = text.rpartition("msgstr ")
    assert answer.count(":func:`ast.parse`") == 1


# What a diff may have: an entry's flags, an empty translation, and new ones.
CHANGED = re.compile(
    r'-#, [\w-]+|-msgstr(\[\d\])? ""|\+# tfcopy: .*|\+#, fuzzy.*'
    r'|\+msgstr(\[\d\])? ".*"|\+".*"'
)


@pytest.mark.long
def test_a_projects_catalogues(installed, tmp_path):
    page = "tutorials/a_projects_catalogues.md"
    (tmp_path / "make_project.py").write_text(PROGRAM.search(read(page))[1])
    who = {
        f"GIT_{role}_{key}": "tour@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for key in ("NAME", "EMAIL")
    }
    env = {**installed, **who}
    printed = walk(page, tmp_path, env, f"{TINY} --pieces 120")
    filled = next(x for y, x in printed.items() if "translate_po" in y)
    assert filled.startswith("locale: of 7 catalogues 5 in es.")
    assert "75 entries filled, 20 of them from memory" in filled
    assert "</html>" in (tmp_path / "report.html").read_text()
    diff = run("git show --unified=0 --format= HEAD", tmp_path, env)
    lines = [x for x in diff.splitlines() if x[:1] in ("+", "-")]
    lines = [x for x in lines if x[:4] not in ("--- ", "+++ ")]
    assert len(lines) > 600
    assert [x for x in lines if not CHANGED.fullmatch(x)] == []
    assert "es_MX" not in diff
