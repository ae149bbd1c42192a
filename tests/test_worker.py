"""One of several workers: what TensorFlow is told, and what is refused."""

import json
import os
import pathlib
import runpy
import socket
import sys

import pytest
import yaml

from tfcopy import worker

CLUSTER = pathlib.Path(__file__).parents[1] / "cluster"


@pytest.fixture
def started(monkeypatch):
    """Lists the recipe that was run, its arguments and TF_CONFIG."""
    found = {}

    def run_module(name, run_name, alter_sys):
        found.update(
            recipe=name.rpartition(".")[2],
            arguments=sys.argv[1:],
            config=json.loads(os.environ["TF_CONFIG"]),
        )

    monkeypatch.setenv("TF_CONFIG", "")
    monkeypatch.delenv("JOB_COMPLETION_INDEX", raising=False)
    monkeypatch.setattr(sys, "argv", ["worker"])
    monkeypatch.setattr(runpy, "run_module", run_module)
    return found


def test_hosts_are_told_and_the_recipe_keeps_its_flags(started):
    line = "--hosts a:1 b:2 --index 1 europarl_ps --index 7 --train x:y z"
    assert worker.main(line.split()) == 0
    assert started == {
        "recipe": "europarl_ps",
        "arguments": ["--index", "7", "--train", "x:y", "z"],
        "config": {
            "cluster": {"worker": ["a:1", "b:2"]},
            "task": {"type": "worker", "index": 1},
        },
    }


def test_help_of_the_recipe_is_its_own(monkeypatch, capsys):
    monkeypatch.setenv("TF_CONFIG", "")
    monkeypatch.setattr(sys, "argv", ["worker"])
    monkeypatch.delitem(sys.modules, "tfcopy.recipes.europarl_ps", False)
    with pytest.raises(SystemExit):
        worker.main("--hosts a:1 b:2 --index 1 europarl_ps --help".split())
    usage, _, title = capsys.readouterr().out.splitlines()[:3]
    assert usage.startswith("usage: tfcopy recipe europarl_ps ")
    assert title.startswith("Pointer softmax on Europarl")


def test_the_manifest_of_kubernetes_names_each_pod(started, monkeypatch):
    service, job = yaml.safe_load_all((CLUSTER / "job.yaml").read_text())
    spec = job["spec"]
    pod = spec["template"]["spec"]
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    worker.main(pod["containers"][0]["args"])
    hosts = started["config"]["cluster"]["worker"]
    assert len(hosts) == spec["completions"] == spec["parallelism"]
    name = job["metadata"]["name"]
    assert hosts[3] == f"{name}-3.{pod['subdomain']}:2222"
    assert pod["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}
    assert started["config"]["task"]["index"] == 3
    assert started["recipe"] == "europarl_ps"


def test_the_workers_of_compose_agree(started):
    services = yaml.safe_load((CLUSTER / "compose.yaml").read_text())
    services = services["services"]
    for i, name in enumerate(services):
        command = services[name]["command"].replace("${RECIPE:-", "")
        worker.main(command.replace("}", "").split())
        config = started["config"]
        assert config["task"]["index"] == i
        names = [x.split(":")[0] for x in config["cluster"]["worker"]]
        assert names == list(services)
        assert services[name]["restart"] == "on-failure"


@pytest.mark.parametrize(
    "line, message",
    [
        (
            "--hosts a:1 b:2 --index 2 europarl_ps",
            "--index must be from 0 to 1",
        ),
        ("--hosts a:1 b:2 europarl_ps", "--index must be given"),
        ("--hosts a:1 b:2 --index 0", "name a recipe"),
        ("--hosts a b:2 --index 1 europarl_ps", "expected host:port"),
        ("--hosts a:70000 --index 0 europarl_ps", "expected host:port"),
        ("--workers 2 --host {x} --index 1 europarl_ps", "expected host:port"),
        ("--workers 0 --index 0 europarl_ps", "--workers must be a positive"),
        ("--workers 1 --index 0 no.recipe", "there is no recipe no.recipe"),
        ("--index 0 europarl_ps", "--hosts or --workers must be given"),
    ],
)
def test_errors_name_the_flag(started, line, message, capsys):
    with pytest.raises(SystemExit) as error:
        worker.main(line.split())
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(started, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host = f"localhost:{taken.getsockname()[1]}"
        line = f"--hosts a:1 {host} --index 1 europarl_ps"
        with pytest.raises(SystemExit):
            worker.main(line.split())
        assert f"the port of {host} is in use" in capsys.readouterr().err
        assert not started
    worker.main(line.split())
    assert started["config"]["task"]["index"] == 1
