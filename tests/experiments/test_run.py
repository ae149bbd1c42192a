"""A run without any training: its folder, its systems, its results."""

import json
import shlex
import time
import types
import typing

import keras
import pytest

from tfcopy.checked_files import read_json
from tfcopy.experiments import config, earlier_run, reporting
from tfcopy.experiments import run as run_module
from tfcopy.experiments.run import Run
from tfcopy.serving import model_card
from tfcopy.training.checkpoints import Checkpoints


@config.configuration(
    "my_recipe", claims={"a translates better than b": "bleu"}
)
class Config(config.TrainingConfig, config.RunConfig):
    """The flags of a recipe with two systems."""

    systems: list[str] = config.training(
        ["a", "b"], "Systems to train.", fixed=False
    )


class Served(typing.NamedTuple):
    """Stands for a `Translator`."""

    litert: str = "int8"

    def with_files(self, folder):
        return self

    def copy(self, litert):
        return Served(litert)


@pytest.fixture
def saved(monkeypatch):
    """Lists what would be stored and exported."""
    calls = []

    def save(served, folder, **options):
        calls.append(("save", served, folder, options))

    def export(served, folder, **options):
        calls.append(("export", served, folder, options))
        return f"{folder}/1"

    monkeypatch.setattr(run_module.storage, "save", save)
    monkeypatch.setattr(run_module, "export", export)
    return calls


def make_run(folder, **options):
    return Run(
        Config(
            log_dir=f"{folder}/logs", savedmodel_dir=f"{folder}/out", **options
        )
    )


@config.configuration("my_recipe", systems=["plain", "ours"])
class Parted(config.RunConfig, config.TrainingConfig):
    """A recipe with systems that are made of parts."""

    plain = ("plain",)
    head: config.PointingHead = config.variant_flag("copynet", "Output head.")
    decoder: str = config.variant_flag("gru", "Decoder.")


def make_parted(folder, **options):
    folders = {"log_dir": f"{folder}/logs", "savedmodel_dir": f"{folder}/out"}
    return Run(Parted(**folders, **options))


def make_model():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])


def test_devices_share_a_batch_evenly(tmp_path, monkeypatch):
    strategy = types.SimpleNamespace(
        num_replicas_in_sync=3, cluster_resolver=None
    )
    monkeypatch.setattr(
        run_module.training, "choose_strategy", lambda _: strategy
    )
    with pytest.raises(
        ValueError, match="^--batch_size must be a multiple of 3"
    ):
        make_run(tmp_path, batch_size=8)
    assert not list(tmp_path.iterdir())
    # Of a batch of tokens one may get a pair more.
    assert (
        make_run(tmp_path, batch_size=8, batch_tokens=50).strategy is strategy
    )


@pytest.mark.parametrize(
    "flags, message",
    [
        ({"schedule": "inverse_sqrt"}, "--schedule inverse_sqrt needs --warm"),
        ({"warmup": 9, "updates": 9}, "--warmup must be below --updates, 9."),
        ({"schedule": "cosine", "updates": None}, "cosine needs --updates"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(tmp_path, flags, message):
    with pytest.raises(ValueError, match=message):
        make_run(tmp_path, **flags)
    assert not list(tmp_path.iterdir())


def test_the_folder_tells_recipe_and_flags(tmp_path):
    run = make_run(tmp_path, run="first", seed=3)
    assert run.folder == f"{tmp_path}/logs/first"
    next(run.each({}))
    content = json.loads((tmp_path / "logs/first/config.json").read_text())
    assert content["format"] == 1 and content["recipe"] == "my_recipe"
    assert content["config"]["seed"] == 3


def test_printed_commands_quote_their_paths(tmp_path, saved, capsys):
    """They are pasted into a shell."""
    folder = tmp_path / "it's $(touch x) here"
    run = make_run(folder, run="first")
    system = types.SimpleNamespace(
        served=None, details={"system": "a"}, warmup_texts=["it's"]
    )
    run._print_next_steps(system, f"{folder}/out/1", 60)
    output = capsys.readouterr().out.replace("\\\n", " ")
    commands = dict(
        line.split(":", 1) for line in output.splitlines()[5:] if ": " in line
    )
    ask, _, look, serve = map(shlex.split, list(commands.values())[:4])
    assert ask == ["python", "-m", "tfcopy.serving.ask", f"{folder}/out"]
    assert look == ["tensorboard", "--logdir", f"{folder}/logs/first"]
    assert f"{folder}/out:/models/my_recipe" in serve
    assert "127.0.0.1:8501:8501" in serve
    (curl,) = [x for x in output.splitlines() if "curl" in x]
    assert shlex.split(curl)[2] == '{"instances": ["it\'s"]}'


@pytest.mark.parametrize("flag", ["log_dir", "savedmodel_dir"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path, flag):
    folders = {"log_dir": f"{tmp_path}", "savedmodel_dir": f"{tmp_path}"}
    with pytest.raises(OSError, match=f"--{flag}: cannot write to /proc/x"):
        Run(Config(**folders | {flag: "/proc/x"}))
    with pytest.raises(OSError, match=f"--{flag}: .* .its name is not UTF-8"):
        Run(Config(**folders | {flag: f"{tmp_path}/a\udcff"}))


def test_systems_are_announced(tmp_path, capsys):
    run = make_run(tmp_path)
    assert capsys.readouterr().out == "2 systems\n"
    assert list(run.each({})) == list(run.each({}, "words")) == ["a", "b"]
    assert capsys.readouterr().out.split("\n") == [
        *("", "[1/2] a", "", "[2/2] b"),
        *("", "[words 1/2] a", "", "[words 2/2] b", ""),
    ]


def test_minutes_are_announced(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Config, "minutes", {"demo": 3.4})
    run = make_run(tmp_path)
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for _ in run.each({}):
        now += 89
    assert capsys.readouterr().out.split("\n") == [
        "2 systems, about 3 minutes on two cores",
        *("", "[1/2] a", "", "[2/2] b (about 1 minute left)", ""),
    ]


def test_a_system_starts_with_the_same_weights(tmp_path, saved, capsys):
    run = make_run(tmp_path)
    systems = [
        run.build(name, make_model, lambda model: Served(), ["text"])
        for name in ("a", "b")
    ]
    first, second = (system.model.get_weights()[0] for system in systems)
    assert (first == second).all() and first.any()
    assert systems[0].num_parameters == 9
    assert "9 parameters" in capsys.readouterr().out
    assert systems[0].trained is systems[0].model
    assert list(run.systems) == ["a", "b"]


@pytest.mark.parametrize(
    ("written", "is_taken"), [("best", True), ("checkpoint", False)]
)
def test_without_a_checkpoint_a_base_is_taken_again(
    tmp_path, saved, monkeypatch, written, is_taken
):
    run = make_run(tmp_path, init_from=str(tmp_path))
    checkpoints = Checkpoints(f"{run.folder}/a/checkpoints")
    if written == "best":
        checkpoints.save_best(make_model().get_weights(), {})
    else:
        checkpoints.save(1, {"identity": {}, "state": {}}, {})
    taken = []
    monkeypatch.setattr(earlier_run, "take_weights", lambda *x: taken.append(x))
    run.build("a", make_model, lambda model: Served(), ["text"])
    assert bool(taken) == is_taken


def test_a_system_is_stored_before_it_is_trained(tmp_path, saved):
    run = make_run(tmp_path)
    system = run.build(
        "a", make_model, lambda model: Served(), ["text"], part="x", dataset="x"
    )
    ((kind, served, folder, options),) = saved
    assert (kind, served, folder) == ("save", Served(), f"{run.folder}/x/a")
    assert options["warmup_texts"] == ["text"]
    assert options["details"] == {
        "recipe": "my_recipe",
        "system": "a",
        "flags": options["details"]["flags"],
        "origin": config.origin(run.config),
        "dataset": "x",
    }
    flags = options["details"]["flags"]
    assert flags["log_dir"] == run.config.log_dir and "updates" not in flags
    assert run.systems == {"x/a": system}


def test_the_results_tell_what_was_exported(tmp_path, saved, capsys):
    run = make_run(tmp_path)
    run.build("a", make_model, lambda model: Served(), ["it's a text"])
    run.results["a"] = {"bleu": 1.5, "updates": 2}
    choice = reporting.best("bleu", {"a": 2.5, "b": 1.0})
    report = run.finish(choice, paper={"a": {"bleu": 2}}, more=3)
    keys = """recipe preset seed seconds config systems paper claims
        savedmodel""".split()
    assert list(report) == [*keys, "exported", "exported_by", "more"]
    assert report["exported"] == "a" and report["more"] == 3
    assert report["exported_by"] == {
        "split": "validation",
        "metric": "bleu",
        "scores": {"a": 2.5, "b": 1.0},
    }
    assert saved[-1][0] == "export"
    details = saved[-1][3]["details"]
    assert details.pop("flags")["log_dir"] == run.config.log_dir
    assert details.pop("origin")["aside"]["log_dir"] == run.config.log_dir
    assert details == {
        "recipe": run.config.recipe,
        "system": "a",
        "bleu": 1.5,
        "parameters": 9,
        "scores": {"bleu": 1.5, "updates": 2},
    }
    assert read_json(f"{run.folder}/results.json") == report
    (claim,) = report["claims"]
    assert claim["figures"] == {"a": 1.5, "b": None} and not claim["seen"]
    out = capsys.readouterr().out
    assert out.endswith(f"\n\n{claim['sentence']}\n")
    assert "python -m tfcopy.serving.ask" in out
    # Within single quotes of the shell.
    assert shlex.quote('{"instances": ["it\'s a text"]}') in out


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_a_run_remembers_the_precision_of_its_export(
    precision, tmp_path, saved, capsys, monkeypatch
):
    run = make_run(tmp_path)
    pairs = [("a", "b")]
    system = run.build(
        "a", make_model, lambda model: Served(), [""], pairs=pairs
    )
    run.results["a"] = {"bleu": 1.5}
    found = {"litert": {"precision": precision}, "engines": "This and that."}
    monkeypatch.setattr(run_module, "read_config", lambda _: found)
    run.finish(reporting.ExportChoice("a", "bleu", {}), paper={})
    assert "Engines: This and that.\n" in capsys.readouterr().out
    (_, _, _, first), (*_, exported), *again = saved
    assert exported["pairs"] == pairs
    stored = ("save", Served("float32"), system.folder, first)
    assert again == ([stored] if precision == "float32" else [])


def test_a_result_has_the_name_of_what_it_is_of(tmp_path, saved, capsys):
    run = make_parted(tmp_path, head="pointer_generator")
    names = ["plain", "ours_pointer_generator_head"]
    assert list(run.each({})) == names
    for name in names:
        run.build(name, make_model, lambda model: Served(), ["text"])
        run.results[name] = {"bleu": 1.5}
    for name, (*_, folder, options) in zip(names, saved, strict=True):
        assert folder == f"{run.folder}/{name}"
        assert options["details"]["system"] == name
    choice = reporting.ExportChoice(names[1], "bleu", {})
    assert list(run.finish(choice, paper={})["systems"]) == names
    *_, options = saved[-1]
    card = model_card.card(
        dict.fromkeys(("tensorflow", "keras", "created"), "x")
        | options["details"]
    )
    title = f"{run.config.recipe}: ours_pointer_generator_head"
    assert card.startswith(f"# {title}\n")
    assert "[2/2] ours_pointer_generator_head" in capsys.readouterr().out


def test_nothing_to_export_is_said_by_nothing(tmp_path, saved):
    assert "savedmodel" not in make_run(tmp_path).finish(paper={}) and not saved


def test_paths_are_shown_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_module.shorten_path(str(tmp_path / "a" / "b")) == "a/b"
    assert run_module.shorten_path("/elsewhere") == "/elsewhere"


def test_work_is_timed(monkeypatch):
    times = iter([10.0, 12.34])
    clock = types.SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr(run_module, "time", clock)
    assert run_module.measure_time(max, 1, 2) == (2, 2.3)
