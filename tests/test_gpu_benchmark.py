"""What the benchmark of GPUs compares and counts."""

import numpy as np

from benchmarks import compiled_functions, gpu
from tests.layers import layer_cases


def test_a_layer_that_differs_is_found(monkeypatch):
    name = "bahdanau_attention"
    assert name in layer_cases.LAYERS
    assert not gpu.compare_layer(name, "cpu")["differs"]
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
