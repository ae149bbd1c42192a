"""What a GPU makes of layers, training and search: one command, ten minutes.

    python -m benchmarks.gpu --out gpu.json
    KERAS_BACKEND=jax python -m benchmarks.gpu --minutes 5

Runs with TensorFlow or, where that is missing, with JAX, whose programs the
same compiler makes. On one GPU, or on the CPU where there is none, it measures

- every layer and head, outputs and gradients, against the CPU;
- training of the paper-size systems of the pointer softmax, the
  pointer-generator and the planner, in target tokens a second, in float32, in
  TF32 and in bfloat16;
- their beam search, in sentences a second;
- seconds to compile each program, how many kernels a step starts, and memory;
- where OpenNMT-py can be imported and torch sees the GPU, its training on
  Multi30k (--data_dir), beside the pointer softmax system at the same sizes.

Batches are random words of one shape. What does not fit into --minutes is left
out and said. Prints a table; --out writes JSON.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import sys
import time

if importlib.util.find_spec("tensorflow") is None:
    os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

from benchmarks import compiled_functions, flags
from tfcopy import losses, tokens
from tfcopy.decoding import SearchOptions
from tfcopy.models import planner, pointer_generator, translator

# Of each system: how to make it, its loss, and at each size the lengths of
# source and target, examples of a training batch, beams and the search's batch.
SYSTEMS = {
    "europarl_ps": {
        "loss": losses.observed_copy_loss,
        "paper": ((30_000, 30_000), {"embedding_dim": 512, "units": 1024}),
        "paper_shape": (32, 32, 128, 10, 32),
        "multi30k": (
            (10_000, 10_000),
            {
                "embedding_dim": 256,
                "units": 512,
                "encoder_units": 256,
                "output_units": 512,
            },
        ),
        "multi30k_shape": (16, 16, 64, 5, 32),
        "tiny": ((20, 20), {"embedding_dim": 4, "units": 5}),
    },
    "cnn_dailymail_pg": {
        "loss": losses.marginal_copy_loss,
        "paper": ((50_000,), {"coverage": True}),
        "paper_shape": (400, 100, 16, 4, 16),
        "tiny": ((20,), {"embedding_dim": 4, "units": 5, "coverage": True}),
    },
    "wmt15_pag": {
        "loss": losses.generation_loss,
        "paper": ((30_000, 304), {"embedding_dim": 512, "units": 1024}),
        "paper_shape": (50, 150, 32, 15, 16),
        "tiny": (
            (20, 20),
            {
                "embedding_dim": 4,
                "units": 5,
                "plan_steps": 3,
                "summary_units": 4,
            },
        ),
    },
}
MAKERS = {
    "europarl_ps": translator,
    "cnn_dailymail_pg": pointer_generator,
    "wmt15_pag": planner,
}
TINY_SHAPE = (5, 4, 3, 2, 2)
PRECISIONS = ("float32", "tf32", "mixed_bfloat16")


def main(arguments=None):
    options = _parser().parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    has_gpu = bool(compiled_functions.devices("gpu"))
    kind = "gpu" if has_gpu else "cpu"
    report = {
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
        "device": compiled_functions.devices(kind)[0],
        "layers": {},
        "training": {},
        "search": {},
        "left_out": [],
    }
    print(f"{report['backend']} on {report['device']}", flush=True)

    def measure(part, name, function):
        if time.monotonic() > end:
            report["left_out"].append(f"{part}: {name}")
            return
        try:
            report[part][name] = function()
        except Exception as error:  # The others are worth having.
            report[part][name] = {"error": _first_line(error)}
        print(f"{part}: {name}: {_shown(report[part][name])}", flush=True)
        _write(report, options.out)

    for name in options.systems or SYSTEMS:
        for precision in options.precisions:
            measure(
                "training",
                f"{name}, {precision}",
                lambda: time_training(name, precision, options, kind),
            )
        for precision in options.precisions:
            measure(
                "search",
                f"{name}, {precision}",
                lambda: time_search(name, precision, options, kind),
            )
    for name in _layers() if options.layers else ():
        measure("layers", name, lambda: compare_layer(name, kind))
    if options.data_dir:
        measure("training", "OpenNMT-py", lambda: time_peer(options))
    if report["left_out"]:
        print(f"left out for lack of time: {', '.join(report['left_out'])}")
    _write(report, options.out)
    failed = [
        x
        for part in ("layers", "training", "search")
        for x in report[part].values()
        if "error" in x or x.get("differs")
    ]
    return int(bool(failed))


def _parser():
    parser = flags.make_parser(
        __doc__,
        ("out", None, "JSON file to write"),
        ("minutes", 9.0, "when to stop"),
        ("size", ("paper", "tiny"), "of models"),
        ("steps", 10, "timed, of each"),
        ("data_dir", None, "Multi30k files, for OpenNMT-py"),
        ("workdir", "/tmp/opennmt", "of OpenNMT-py"),
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS)
    parser.add_argument(
        "--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS
    )
    for name, what in (
        ("layers", "compare all layers with the CPU"),
        ("kernels", "count the kernels of a step"),
    ):
        parser.add_argument(
            f"--{name}",
            action=argparse.BooleanOptionalAction,
            default=True,
            help=f"whether to {what}",
        )
    return parser


def make(name, precision, size):
    """A system's model, and the shape of its batches."""
    compiled_functions.set_tensor_float(precision == "tf32")
    policy = "float32" if precision == "tf32" else precision
    keras.config.set_dtype_policy(policy)
    try:
        sizes, more = SYSTEMS[name][size]
        model = MAKERS[name](*sizes, **more)
    finally:
        keras.config.set_dtype_policy("float32")
    return model, SYSTEMS[name].get(f"{size}_shape", TINY_SHAPE)


def random_batch(model, source_length, target_length, examples):
    """Words that are neither special nor unknown, and EOS at the end."""
    rng = np.random.default_rng(0)
    words = min(model.source_embedding.input_dim, model.vocabulary_size)

    def ids(length):
        found = rng.integers(
            len(tokens.SPECIAL_TOKENS), words, (examples, length)
        )
        found[:, -1] = tokens.EOS
        return found.astype("int32")

    source = ids(source_length)
    return {
        "source_ids": source,
        "source_copy_ids": np.where(
            source == tokens.EOS, tokens.NO_COPY, source
        ).astype("int32"),
        "target_ids": ids(target_length),
        "pointers": np.full(
            (examples, target_length), tokens.GENERATE, "int32"
        ),
    }


def time_training(name, precision, options, kind):
    """Target tokens a second of whole updates of one shape."""
    model, (source, target, examples, _, _) = make(
        name, precision, options.size
    )
    batch = random_batch(model, source, target, examples)
    start = time.perf_counter()
    training = compiled_functions.Training(model, SYSTEMS[name]["loss"], batch)
    first = training()
    compiling = time.perf_counter() - start
    seconds = _times(training, options.steps)
    return {
        "target_tokens_per_second": examples * target / seconds["median"],
        "seconds": seconds,
        "seconds_to_compile": compiling,
        "peak_bytes": compiled_functions.peak_bytes(kind),
        "parameters": model.count_params(),
        "loss": [first, training()],
        "shape": [examples, source, target],
        **_kernels(training, options),
    }


def _kernels(training, options):
    """The number of kernels, for which TensorFlow compiles once more."""
    if not options.kernels:
        return {}
    return {"kernels": compiled_functions.kernels(training.program())}


def time_search(name, precision, options, kind):
    """Sentences a second; random weights hardly ever say the end."""
    model, (source, target, _, beams, examples) = make(
        name, precision, options.size
    )
    batch = random_batch(model, source, target, examples)
    search_options = SearchOptions(
        num_beams=beams, max_length=target, static_shapes=True
    )
    start = time.perf_counter()
    search = compiled_functions.Search(model, search_options, batch)
    search()
    compiling = time.perf_counter() - start
    seconds = _times(search, max(1, options.steps // 3))
    return {
        "sentences_per_second": examples / seconds["median"],
        "seconds": seconds,
        "seconds_to_compile": compiling,
        "peak_bytes": compiled_functions.peak_bytes(kind),
        "shape": [examples, source, target],
        "beams": beams,
    }


def _times(function, number):
    seconds = []
    for _ in range(number):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.percentile(seconds, [25, 50, 75]).tolist()
    return {"median": median, "quartiles": [low, high]}


def _layers():
    from tests.layers.layer_cases import LAYERS

    return tuple(LAYERS)


def compare_layer(name, kind):
    """The greatest difference of outputs and gradients from the CPU's."""
    from tests.layers.test_backend_parity import outputs_and_gradients

    compiled_functions.set_tensor_float(False)
    with compiled_functions.on("cpu"):
        weights, expected = outputs_and_gradients(name, None)
    with compiled_functions.on(kind):
        _, found = outputs_and_gradients(name, weights)
    gaps = [
        float(np.max(np.abs(gap) / np.maximum(1, np.abs(x)), initial=0))
        for x, y in zip(expected, found)
        # Of masks, too.
        for gap in [np.subtract(x, y, dtype="float64")]
    ]
    greatest = max(gaps, default=0.0)
    return {"greatest_difference": greatest, "differs": not greatest < 1e-4}


def time_peer(options):
    """OpenNMT-py's training on the GPU, and ours at the same sizes."""
    if importlib.util.find_spec("onmt") is None:
        raise ImportError("OpenNMT-py is not installed here.")
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU.")
    from benchmarks import opennmt_peer

    peer = opennmt_peer.open_peer(
        options.workdir,
        options.data_dir,
        None,
        peer_python=sys.executable,
        gpu=True,
    )
    found = peer.time_training()
    ours = {}
    for precision in options.precisions:
        model, _ = make("europarl_ps", precision, "multi30k")
        loss, batch = losses.observed_copy_loss, random_batch(model, 16, 16, 64)
        training = compiled_functions.Training(model, loss, batch)
        training()
        ours[precision] = 64 * 16 / _times(training, options.steps)["median"]
    rate = found["target_tokens_per_second"]
    return {
        "target_tokens_per_second": rate,
        "ours": ours,
        "ratios": {name: x / rate for name, x in ours.items()},
    }


def _first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _shown(result):
    if "error" in result:
        return f"failed: {result['error']}"
    if "greatest_difference" in result:
        return f"differs by {result['greatest_difference']:.1e} at most"
    parts = []
    for key, unit in (
        ("target_tokens_per_second", "target tokens/s"),
        ("sentences_per_second", "sentences/s"),
        ("seconds_to_compile", "s to compile"),
        ("kernels", "kernels"),
    ):
        if key in result:
            parts.append(f"{result[key]:,.1f} {unit}".replace(".0 k", " k"))
    if result.get("peak_bytes"):
        parts.append(f"{result['peak_bytes'] / 2**20:,.0f} MiB")
    return ", ".join(parts)


def _write(report, path):
    if path:
        pathlib.Path(path).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
