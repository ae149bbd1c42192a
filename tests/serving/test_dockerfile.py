"""The steps of the Dockerfile, in a folder instead of a container."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tfcopy.serving.serving_files import FILES

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
# Megabytes, at most.
BASE, IMAGE = 250, 180


def steps(folder):
    """Lists of an instruction and its text, with paths in a folder."""
    text = (FILES / "Dockerfile").read_text()
    text = re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("\\\n", "").replace("/venv", f"{folder}/venv")
    text = text.replace("/wheels", f"{folder}/wheels")
    return [line.split(maxsplit=1) for line in text.splitlines() if line]


def megabytes(folder):
    done = subprocess.run(
        ["du", "-sm", folder], stdout=subprocess.PIPE, check=True
    )
    return int(done.stdout.split()[0])


def pip(environment, *arguments):
    program = [environment / "bin/python", "-m", "pip", "--quiet", *arguments]
    subprocess.run(program, check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    copy = tmp_path_factory.mktemp("wheel") / "copy"
    copy.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "tfcopy", copy / "tfcopy")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", copy]
    subprocess.run(build, check=True, stdout=subprocess.PIPE)
    (path,) = copy.glob("dist/*.whl")
    return path


def test_the_base_is_small_and_answers(wheel, int8_export, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    pip(tmp_path, "install", wheel)
    assert megabytes(next(tmp_path.glob("lib/*/site-packages"))) <= BASE
    done = subprocess.run(
        [tmp_path / "bin/tfcopy", "ask", int8_export],
        input=b"a %s\n",
        capture_output=True,
        env={},
    )
    assert (done.stdout, done.stderr) == (b"a %s\n", b"")


def test_the_image_serves(wheel, int8_export, tmp_path):
    (tmp_path / "wheels").mkdir()
    shutil.copy(wheel, tmp_path / "wheels")
    instructions = steps(tmp_path)
    words = {name: text for name, text in instructions}
    assert words["COPY"].startswith("--from=build ")
    assert words["USER"] == "nobody"
    subprocess.run(["bash", "-ec", words["RUN"]], check=True)
    assert megabytes(tmp_path / "venv") <= IMAGE
    port = ["--port", "0"]
    command = [*json.loads(words["ENTRYPOINT"]), int8_export, *port]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={}
    )
    with process:
        try:
            process.stdout.readline()
            address = process.stdout.readline().split()[3]
            health = words["HEALTHCHECK"].partition("CMD ")[2]
            health = health.replace("http://127.0.0.1:5000", address)
            subprocess.run(json.loads(health), check=True)
            request = urllib.request.Request(
                f"{address}/translate",
                b'{"q": "a %s", "source": "en", "target": "fr"}',
                {"content-type": "application/json"},
            )
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)["translatedText"] == "a %s"
        finally:
            process.terminate()
    assert process.returncode == 0
    # The server is gone.
    done = subprocess.run(json.loads(health), stderr=subprocess.PIPE)
    assert done.returncode == 1
