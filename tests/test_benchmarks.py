"""Every benchmark starts; some run at tiny sizes.

The others, which compile for minutes or need a peer, only read their flags.
"""

import dataclasses
import gzip
import importlib
import pathlib
import subprocess
import sys
from unittest import mock

import pytest

ROOT = pathlib.Path(__file__).parents[1]
DEMO = str(ROOT / "docs/demo/europarl_ps")
SMALL = "--batch_size 2 --source_length 5 --target_length 4 --steps 2 --units 8"
TINY = {
    "large_vocabulary_speed": f"{SMALL} --words 50 --candidates 20 "
    "--embedding_dim 4",
    "serving_latency": f"{DEMO} --batch_sizes 1 2 --requests 2",
    "serving_soak": f"{DEMO} --requests 60 --rounds 3",
    "translation_memory": "--units 50",
}
MODULES = [
    path.stem
    for path in ROOT.glob("benchmarks/*.py")
    if "def main(" in path.read_text("utf-8")
    and path.stem != "ctranslate2_model"
]
pytestmark = pytest.mark.long


def run(name, arguments, monkeypatch):
    """Returns the exit status of a benchmark in this process."""
    module = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", [name, *arguments.split()])
    try:
        return module.main() or 0
    except SystemExit as end:
        return end.code or 0


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_benchmark_reads_its_flags(name, monkeypatch, capsys):
    if name in ("engine_side", "opennmt_worker"):
        pytest.skip("another process starts it")
    assert run(name, "--help", monkeypatch) == 0
    assert capsys.readouterr().out.startswith("usage: ")


@pytest.fixture(autouse=True)
def found_by_processes(monkeypatch):
    """Processes that a test starts import benchmarks from the checkout."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs(name):
    """Its status is 1 if a limit, of the usual size, is exceeded.

    In a process of its own: some set TensorFlow's threads.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}", *TINY[name].split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    assert "Traceback" not in done.stderr


def test_the_engines_are_trained_exported_and_compared(
    tmp_path, monkeypatch, capsys
):
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("en", "fr"):
            path = tmp_path / f"{part}.lc.norm.tok.{language}.gz"
            path.write_bytes(gzip.compress(b"a man is here .\nhe sits .\n" * 4))
    from benchmarks import engines, multi30k_speed

    sizes = {"units": 8, "encoder_units": 4, "feedforward_units": 8}
    sizes |= {"encoder_layers": 1, "decoder_layers": 1, "embedding_dim": 8}
    config = multi30k_speed.recipe_config

    def tiny_config(*arguments):
        return dataclasses.replace(config(*arguments), **sizes)

    monkeypatch.setattr(engines, "recipe_config", tiny_config)
    monkeypatch.setattr(engines, "SETTINGS", {"float32": {"litert": "float32"}})
    monkeypatch.setattr(engines, "WARM_UP", 1)
    flags = f"--multi30k {tmp_path} --workdir {tmp_path / 'work'} --updates 5 "
    flags += "--rounds 1 --batches 2 --models"
    monkeypatch.setattr(
        sys, "argv", ["engines", *flags.split(), "transformer softmax"]
    )
    with mock.patch.object(engines, "find_spec", lambda name: None):
        engines.main()
    printed = capsys.readouterr().out
    assert "CTranslate2 is not installed, and is left out." in printed
    assert "| runtime float32 |" in printed
