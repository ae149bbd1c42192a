"""The steps of the Dockerfile, in a folder instead of a container."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.serving.http_server.process import Process
from tfcopy.serving.serving_files import FILES

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


# A program in the place of Python and of pip: makes what it would install.
STUB = """#!/bin/bash
set -e
case "$*" in
"-m venv "*)
    mkdir -p "$3/bin" "$3/lib/python3.13/site-packages/pip/tests"
    ln -s "$0" "$3/bin/pip" ;;
"install --no-cache-dir "*)
    echo "$3"
    cd "${0%bin/pip}lib/python3.13/site-packages"
    mkdir -p ai_edge_litert/tests other $FOLDERS
    touch ai_edge_litert/libLiteRt.so $FILES ;;
*) exit 9 ;;
esac
"""
# Parts of the wheels of LiteRT 2.3.0 that the image leaves out.
WHEELS = {
    "x86_64": ("tools vendors", "libLiteRtWebGpuAccelerator.so"),
    "aarch64": ("tools", "libLiteRtWebGpuAccelerator.so"),
    "another": ("", ""),
}


@pytest.mark.parametrize("architecture", WHEELS)
def test_the_steps_of_each_architecture(architecture, tmp_path):
    folders, files = (
        [f"ai_edge_litert/{x}" for x in names.split()]
        for names in WHEELS[architecture]
    )
    program = tmp_path / "bin/python"
    program.parent.mkdir()
    program.write_text(STUB)
    program.chmod(0o755)
    (tmp_path / "wheels").mkdir()
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        (tmp_path / f"wheels/tfcopy-{version}-py3-none-any.whl").touch()
    words = dict(steps(tmp_path))
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "FOLDERS": " ".join(folders),
        "FILES": " ".join(files),
    }
    done = subprocess.run(
        ["sh", "-ec", words["RUN"]], env=environment, stdout=subprocess.PIPE
    )
    assert done.returncode == 0
    assert done.stdout.endswith(b"/tfcopy-0.10.0-py3-none-any.whl[serve]\n")
    (packages,) = tmp_path.glob("venv/lib/*/site-packages")
    left = {str(x.relative_to(packages)) for x in packages.rglob("*")}
    assert left == {"ai_edge_litert", "ai_edge_litert/libLiteRt.so", "other"}


def health_of(process, folder=""):
    """The health check, of a server in the place of a container's."""
    command = dict(steps(folder))["HEALTHCHECK"].partition("CMD ")[2]
    command = command.replace("/proc/1/", f"/proc/{process.pid}/")
    return [sys.executable, *json.loads(command)[1:]]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.mark.long
@pytest.mark.parametrize("flags", [["--port"], ["--host", "::1", "--po"]])
def test_the_health_check_finds_the_server(flags):
    """By its flags, past a proxy."""
    module = "tests.serving.http_server.serve_capitals"
    with Process("serve", *flags, free_port(), module=module) as server:
        health = health_of(server.process)
        proxy = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
        subprocess.run(health, env=proxy, check=True)
        server.process.terminate()
        server.process.wait()
    assert subprocess.run(health, stderr=subprocess.PIPE).returncode == 1


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_image_serves(wheel, int8_export, tmp_path):
    (tmp_path / "wheels").mkdir()
    shutil.copy(wheel, tmp_path / "wheels")
    words = {name: text for name, text in steps(tmp_path)}
    assert words["COPY"].startswith("--from=build ")
    assert words["USER"] == "nobody"
    subprocess.run(["bash", "-ec", words["RUN"]], check=True)
    assert megabytes(tmp_path / "venv") <= IMAGE
    port = str(free_port())
    command = [*json.loads(words["ENTRYPOINT"]), int8_export, "--port", port]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={}
    )
    with process:
        try:
            process.stdout.readline()
            address = process.stdout.readline().split()[3]
            assert address.endswith(f":{port}")
            health = health_of(process)
            subprocess.run(health, check=True)
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
    assert subprocess.run(health, stderr=subprocess.PIPE).returncode == 1
