"""Every benchmark starts, at tiny sizes, so that none can rot.

Those that need a peer which is not installed end with a line that says so.
What takes seconds at these sizes is compiled: a graph for each system's step,
and one for its search.
"""

import contextlib
import dataclasses
import gzip
import importlib
import io
import json
import pathlib
import sys
from unittest import mock

import pytest

from tests.python_process import run_python

ROOT = pathlib.Path(__file__).parents[1]
DEMO = str(ROOT / "docs/demo/europarl_ps")
SMALL = "--batch_size 2 --source_length 4 --target_length 4 --steps 1 --units 8"
BEAMS = f"{SMALL} --num_beams 2"
BACKBONE = dict(num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=8)
# In this process: flags, and constants that no flag changes. FOLDER is the
# test's, and TEXT a file of lines.
TINY = {
    "backbone_copying": (
        "--kinds bart --most_updates 1 --updates 1",
        {
            **dict(TRAINED=90, HELD_OUT=4, TESTED=2, BATCH_SIZE=4),
            "SIZES": BACKBONE,
        },
    ),
    "compiled_shapes": ("TEXT TEXT --batch_size 2 --epochs 1", {}),
    "copynet_speed": ("--batch_size 2 --steps 1", {"WARM_UP": 1}),
    "copynet_table": ("FOLDER", {}),
    "cost_curves": (
        "--repeats 1 --picture FOLDER/a.png",
        {"CURVES": {"words": (30,)}}
        | dict.fromkeys(("UNITS", "EMBEDDING", "ENCODER", "OUTPUT"), 4),
    ),
    "definition_speed": (
        "--definitions 20 --words 9 --units 4 --batch_size 2 --steps 1 "
        "--context_length 6 --question_length 4",
        {"WARM_UP": 1},
    ),
    "gpu": (
        "--size tiny --systems europarl_ps --precisions float32 --steps 1 "
        "--no-layers --no-kernels --out FOLDER/a.json",
        {},
    ),
    "house": ("FOLDER", {}),
    "large_vocabulary_speed": (
        f"{SMALL} --words 50 --candidates 20 --embedding_dim 4",
        {"WARM_UP": 1},
    ),
    "markup_peers": ("memory FOLDER/run --workdir FOLDER", {}),
    "multi30k_speed": (
        "--data_dir FOLDER --folder FOLDER/own --rounds 1 --steps 1",
        {"WARM_UP": 0, "PRECISIONS": ("float32",)},
    ),
    "planner_memory": (
        "--units 4 --lengths 3 --batch_size 2 --steps 1 --length 3",
        {},
    ),
    "planner_speed": (
        f"{BEAMS} --embedding_dim 4 --plan_steps 2",
        {"WARM_UP": 1, "SOURCE_WORDS": 20, "CHARACTERS": 20},
    ),
    "pointer_generator_memory": (
        "--steps 1 --vocabulary 20",
        {"BATCH": 2, "SOURCE": 4, "TARGET": 3},
    ),
    "pointing_cost": (
        f"{BEAMS} --layers 1 --heads 2 --vocabulary 30",
        {"WARM_UP": 1},
    ),
    "prepare_scale": ("--pairs 50 --words 20 --picture FOLDER/a.png", {}),
    "pretrain_backbone": (
        "bart FOLDER/preset --text TEXT --updates 1 --tokens 240 --pieces 270 "
        "--dtype float32",
        {"HELD_OUT": 4, "SIZES": BACKBONE},
    ),
    "rarest_word_map": (
        "--folder FOLDER/map --q_values 0.1 --train_sizes --pointers dense "
        "--systems [pointer_softmax] --num_words 12 --num_pointed 3 --length 4 "
        "--q 0.1 --units 4 --embedding_dim 4 --batch_size 5 --updates 2 "
        "--eval_every 2 --num_validation 4 --num_test 4",
        {},
    ),
    "serve": (f"{DEMO} --texts TEXT --clients 2 --seconds 1", {"_MANY": 40}),
    "shard_reading": (
        "--pairs 60 --shards 2 --batch_size 4 --batches 3 --rounds 1",
        {},
    ),
    "translation_memory": ("--units 50", {}),
}
# In a process of their own: they set TensorFlow's threads, or start servers.
ALONE = {
    "export_pair": f"{DEMO} {DEMO} --batch_sizes 1 --requests 2",
    "serving_latency": f"{DEMO} --batch_sizes 1 2 --requests 2",
    "serving_soak": f"{DEMO} --requests 60 --rounds 3",
    "attacks": "--kills 1 --disks 0 --pairs 1 --only prepare",
    "batch_throughput": f"{DEMO} --texts 20",
    "serve_under_load": f"{DEMO} --loads nested --seconds 2",
    "shard_training": "--workdir FOLDER --parts speed --pairs 300 --rounds 1 "
    "--steps 1",
    "worker_loss": "--workdir FOLDER",
}
# More than 30 s of a processor, most of it to compile.
SLOW = ("attacks", "backbone_copying", "batch_throughput", "definition_speed")
SLOW += ("planner_speed", "pointing_cost", "serve_under_load")
SLOW += ("shard_training", "worker_loss")
# By the line that names what is missing.
LACKING = {
    "Eole 0.6 is not installed for ": "markup_peers eole FOLDER "
    "--workdir FOLDER --peer_python PYTHON",
    "OpenNMT-py==3.5.1 is not installed for ": "opennmt_peer --workdir FOLDER "
    "--data_dir FOLDER --peer_python PYTHON",
    "Weblate's wheel cannot be fetched": "weblate_client http://[::1]:1 en fr",
}
# Other processes start them, or another test.
OTHERS = {"engine_side", "engines", "opennmt_worker", "worker_growth"}
COPYNET = {
    **dict(rules_per_type=2, instances=12, num_symbols=20, test_pairs=4),
    **dict(longest_filling=3, longest_left=5, longest_right=2),
    **dict(embedding_dim=4, units=6, max_target_length=6, position_one_hot=3),
}
MODULES = {
    path.stem
    for path in ROOT.glob("benchmarks/*.py")
    if "def main(" in path.read_text("utf-8")
}


def marked(name):
    """A case of a test, slow if it is one of `SLOW`."""
    return pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))


@pytest.fixture(autouse=True)
def found_by_processes(monkeypatch):
    """Processes that a test starts import benchmarks from the checkout."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def folder(tmp_path):
    """A folder with texts, a run's results, and a package."""
    lines = "".join(f"a man {i} is here .\n" for i in range(40))
    (tmp_path / "text").write_text(lines)
    (tmp_path / "tfcopy").mkdir()
    (tmp_path / "tfcopy" / "a.py").write_text("def f():\n    return 1\n")
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("en", "fr"):
            path = tmp_path / f"{part}.lc.norm.tok.{language}.gz"
            path.write_bytes(gzip.compress(lines.encode()))
    return tmp_path


@pytest.fixture
def small(folder, monkeypatch):
    """What is large in libraries and in benchmarks that share them."""
    import tensorflow as tf

    from benchmarks import copynet_table, multi30k_speed, timing
    from tfcopy.recipes import copy_rules_copynet, rarest_word_ps

    config = multi30k_speed.recipe_config
    sizes = {"units": 8, "encoder_units": 4, "feedforward_units": 8}
    sizes |= {"encoder_layers": 1, "decoder_layers": 1, "embedding_dim": 8}
    sizes["batch_size"] = 8

    def tiny_config(*arguments):
        return dataclasses.replace(config(*arguments), **sizes)

    def measure(job, options, **more):
        options = mock.Mock(**{**vars(options), **more})
        return getattr(multi30k_speed, f"{job}_job")(options)

    def from_child(module, *flags):
        if flags[-1] in ("D3", "D4"):
            return 0  # One is enough.
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run(module, map(str, flags))
        return json.loads(output.getvalue().splitlines()[-1])

    monkeypatch.setattr(multi30k_speed, "recipe_config", tiny_config)
    monkeypatch.setattr(multi30k_speed, "measure", measure)
    monkeypatch.setattr(timing, "from_child", from_child)
    monkeypatch.setattr(timing, "matrix_rate", lambda *_, **__: 1e9)
    monkeypatch.setattr(copy_rules_copynet, "PRESETS", {"paper": COPYNET})
    # The benchmark changes it.
    monkeypatch.setattr(rarest_word_ps.Config, "presets", {})
    types = dict.fromkeys(copynet_table.TYPES, {"exact_match": 5, "pairs": 4})
    results = {"recipe": copynet_table.RECIPE, "seed": 0, "config": {}}
    results["systems"] = {"copynet": {"types": types}}
    (folder / "results.json").write_text(json.dumps(results))
    pair = [str(folder / "text")] * 2
    results = {"recipe": "europarl_ps", "systems": {"a": {"updates": 1}}}
    results["config"] = {"train": pair, "validation": pair, "test": pair}
    (folder / "run").mkdir()
    (folder / "run" / "results.json").write_text(json.dumps(results))
    # They run once.
    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": True}
    )
    yield tiny_config
    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": False}
    )


def run(name, arguments):
    """Returns the exit status of a benchmark in this process."""
    module = importlib.import_module(f"benchmarks.{name}")
    with mock.patch.object(sys, "argv", [name, *arguments]):
        try:
            return module.main() or 0
        except SystemExit as end:
            return end.code or 0


def arguments_of(flags, folder):
    named = {
        "FOLDER": folder,
        "TEXT": folder / "text",
        "PYTHON": sys.executable,
    }
    for name, value in named.items():
        flags = flags.replace(name, str(value))
    return flags.split()


def start(name, flags, folder):
    """Runs a benchmark in a process of its own."""
    return run_python("-m", f"benchmarks.{name}", *arguments_of(flags, folder))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(MODULES - OTHERS | {"engines"}))
def test_a_benchmark_reads_its_flags(name, capsys):
    assert run(name, ["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: ")


def test_every_benchmark_is_started():
    started = {*TINY, *ALONE, *(x.split()[0] for x in LACKING.values())}
    assert started.isdisjoint(OTHERS) and started | OTHERS == MODULES


@pytest.mark.long
@pytest.mark.parametrize("name", [marked(x) for x in TINY])
def test_a_benchmark_runs(name, folder, small, monkeypatch, capsys):
    """Its status is 1 if a limit, of the usual size, is exceeded."""
    flags, constants = TINY[name]
    for key, value in constants.items():
        monkeypatch.setattr(f"benchmarks.{name}.{key}", value)
    assert run(name, arguments_of(flags, folder)) in (0, 1)
    printed = capsys.readouterr()
    assert printed.out and "Error" not in printed.err, printed.err


@pytest.mark.long
@pytest.mark.parametrize("name", [marked(x) for x in ALONE])
def test_a_benchmark_runs_alone(name, tmp_path):
    done = start(name, ALONE[name], tmp_path)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("reason", LACKING)
def test_a_peer_that_is_missing_is_named(reason, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    name, flags = LACKING[reason].split(" ", 1)
    done = start(name, flags, tmp_path)
    assert done.returncode == 1 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(reason)


@pytest.mark.slow
def test_runs_that_are_too_short_are_not_timed(tmp_path):
    """The figures of `worker_growth` need 20 seconds of training."""
    flags = "--workdir FOLDER --workers 1 --updates 3 --pairs_per_worker 4"
    done = start("worker_growth", flags, tmp_path)
    assert done.returncode == 1
    assert "too short to be timed" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_the_engines_are_trained_exported_and_compared(
    folder, small, monkeypatch, capsys
):
    from benchmarks import engines

    monkeypatch.setattr(engines, "recipe_config", small)
    monkeypatch.setattr(engines, "SETTINGS", {"float32": {"litert": "float32"}})
    monkeypatch.setattr(engines, "WARM_UP", 1)
    flags = f"--multi30k {folder} --workdir {folder / 'work'} --updates 5 "
    flags += "--rounds 1 --batches 2 --models"
    with mock.patch.object(engines, "find_spec", lambda name: None):
        assert run("engines", [*flags.split(), "transformer softmax"]) == 0
    printed = capsys.readouterr().out
    assert "CTranslate2 is not installed, and is left out." in printed
    assert "| runtime float32 |" in printed
