"""The benchmark of GPUs, in tiny sizes, wherever the tests run."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import compiled_functions, gpu
from tests.layers import layer_cases


def check(report, systems, precisions):
    names = {f"{x}, {y}" for x in systems for y in precisions}
    assert set(report["training"]) == set(report["search"]) == names
    for result in report["training"].values():
        first, later = result["loss"]
        assert np.isfinite(first) and later < first
        assert result["target_tokens_per_second"] > 0
        assert result.get("kernels", 11) > 10
    for result in report["search"].values():
        assert result["sentences_per_second"] > 0
    assert not report["left_out"]


def test_a_layer_that_differs_is_found(monkeypatch):
    name = "bahdanau_attention"
    assert name in layer_cases.LAYERS
    found = gpu.compare_layer(name, "cpu")
    assert not found["differs"]
    results = iter([[np.ones(3)], [np.ones(3) * 1.001]])
    monkeypatch.setattr(
        "tests.layers.test_backend_parity.outputs_and_gradients",
        lambda *_: ([], next(results)),
    )
    assert gpu.compare_layer(name, "cpu")["differs"]


def test_kernels_are_counted():
    program = """
    %a = f32[2]{0} fusion(f32[2]{0} %x), kind=kLoop
    ROOT %b = f32[2]{0} add(f32[2]{0} %a, f32[2]{0} %a)
    %c = (f32[2]{0}, u8[4]{0}) custom-call(%a)
    %d = f32[2,2]{1,0} dot(%a, %a)
    """
    assert compiled_functions.kernels(program) == 3


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_all_systems_and_layers(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    path = tmp_path / "gpu.json"
    command = [sys.executable, "-m", "benchmarks.gpu", "--size", "tiny"]
    command += ["--steps", "2", "--out", str(path)]
    subprocess.run(
        command, env={**os.environ, "KERAS_BACKEND": backend}, check=True
    )
    report = json.loads(path.read_text())
    check(report, gpu.SYSTEMS, gpu.PRECISIONS)
    assert all("kernels" in x for x in report["training"].values())
    assert set(report["layers"]) == set(layer_cases.LAYERS)
