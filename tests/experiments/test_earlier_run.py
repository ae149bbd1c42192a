"""A run's folder: its lock, what is refused, what is removed."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

from tests.experiments.test_run import make_run
from tests.recipes.starting import files
from tests.serving import test_export_command
from tests.serving.servables.translators import SOURCE, random_translator
from tfcopy import atomic_files
from tfcopy.checked_files import read_json, write_json
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import config, earlier_run
from tfcopy.experiments import run as run_module
from tfcopy.serving.run_folder import RunError
from tfcopy.serving.servables import storage
from tfcopy.training.checkpoints import CheckpointError, Checkpoints

DATA = {"training data": "1"}
# A process that locks the path that it is given, and waits to be killed.
HOLDER = """
import signal, sys
from tfcopy import atomic_files
atomic_files.lock(sys.argv[1], make=True)
print("locked", flush=True)
signal.pause()
"""


@pytest.fixture
def hold():
    """Function that has another process lock a path, and gives the process."""
    processes = []

    def start(path):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE
        )
        processes.append(process)
        assert process.stdout.readline() == b"locked\n"
        return process

    yield start
    for process in processes:
        kill(process)


def kill(process):
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()


def begin(folder, data=DATA, part="", **flags):
    """A run that is ready to train."""
    run = make_run(folder, **flags)
    next(run.each(data, part))
    return run


def train(run, name="a", part=""):
    """A system's checkpoint, without any training."""
    path = f"{run.folder}/{part}/{name}/checkpoints"
    identity = {**run._data_identity, **config.identity(run.config)}
    Checkpoints(path).save(1, {"identity": identity, "state": {}}, {})
    return path


# === The lock ===


def test_one_process_has_the_folder_and_its_death_ends_that(tmp_path, hold):
    path = tmp_path / "logs" / "demo" / atomic_files.LOCK_NAME
    path.parent.mkdir(parents=True)
    process = hold(path)
    path.write_text("process 3 of a host")
    before = files(tmp_path)
    with pytest.raises(RunError) as refused:
        make_run(tmp_path)
    message = str(refused.value)
    assert f"{path.parent}: process 3 of a host is training" in message
    assert "\n" not in message and files(tmp_path) == before
    kill(process)
    make_run(tmp_path)
    # In one process a run follows another, which may have failed.
    make_run(tmp_path)
    assert path.read_text().startswith("process ")


def test_the_lock_ends_with_the_run(tmp_path, hold):
    run = begin(tmp_path)
    path = tmp_path / "logs" / "demo" / atomic_files.LOCK_NAME
    with pytest.raises(BlockingIOError):
        atomic_files.lock(path)
    run.finish(paper={})
    os.close(atomic_files.lock(path))


def test_only_the_first_worker_locks_and_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "worker_position", lambda _: (1, 2))
    chief = tmp_path / "logs" / "demo" / atomic_files.LOCK_NAME
    begin(tmp_path)
    assert not chief.exists() and not files(tmp_path)
    # It refuses what the first worker refuses.
    monkeypatch.undo()
    train(begin(tmp_path))
    monkeypatch.setattr(run_module, "worker_position", lambda _: (1, 2))
    with pytest.raises(CheckpointError, match="--seed is 0 there and 1 here"):
        make_run(tmp_path, seed=1)
    # The first worker may have begun before it.
    run = make_run(tmp_path)
    write(tmp_path / "logs" / "demo" / "b" / "events.out.tfevents.1")
    next(run.each(DATA))


# === What is refused ===


def test_other_flags_are_refused_before_anything_is_written(tmp_path):
    train(begin(tmp_path), "b")
    before = files(tmp_path)
    with pytest.raises(CheckpointError, match="--seed is 0 there and 1 here"):
        make_run(tmp_path, seed=1)  # Even if a new system were the first.
    assert files(tmp_path) == before
    begin(tmp_path, patience=3, eval_every=2)


def test_other_data_are_refused_before_anything_is_written(tmp_path):
    train(begin(tmp_path, part="words"), "b", "words")
    before = files(tmp_path)
    message = "training data is '1' there .*, or choose another --run"
    with pytest.raises(CheckpointError, match=message):
        begin(tmp_path, {"training data": "2"}, "words", patience=3)
    assert files(tmp_path) == before
    begin(tmp_path, {"training data": "2"}, "characters")


def test_a_system_that_reads_other_words_is_not_stored(tmp_path, monkeypatch):
    stored = []
    monkeypatch.setattr(
        run_module.storage, "save", lambda *_, **__: stored.append(1)
    )
    run = begin(tmp_path, DATA | {"vocabulary": "1"})
    train(run)
    make_model = keras.Sequential
    with pytest.raises(CheckpointError, match="vocabulary is '1' there"):
        run.build(
            *("a", make_model, str, []), more_identity={"vocabulary": "2"}
        )
    assert not stored


@pytest.mark.parametrize(
    ("change", "message", "fresh"),
    [
        ({"format": 7}, "format 7; this one reads format 1.. Update", False),
        ({"format": 7}, "format 7; this one reads format 1.. Update", True),
        ({"recipe": "x"}, "a run of x, not of my_recipe.*--log_dir", False),
    ],
)
def test_the_folder_of_another_release_or_recipe_is_refused(
    tmp_path, change, message, fresh
):
    begin(tmp_path)
    path = tmp_path / "logs" / "demo" / "config.json"
    path.write_text(json.dumps(read_json(path) | change))
    before = files(tmp_path)
    with pytest.raises(RunError, match=message):
        make_run(tmp_path, fresh=fresh)
    assert files(tmp_path) == before


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_config_that_is_lost_is_written_again(tmp_path, content):
    path = tmp_path / "logs" / "demo" / "config.json"
    train(begin(tmp_path))
    expected = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(CheckpointError, match="--seed"):
        make_run(tmp_path, seed=1)
    begin(tmp_path)
    assert path.read_bytes() == expected


# === --fresh ===


def write(path, content="earlier"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_fresh_removes_an_earlier_run_once_the_data_are_there(tmp_path):
    checkpoints = [train(begin(tmp_path, systems=["c"]), "c")]
    run = begin(tmp_path)
    checkpoints += [train(run)]
    next(run.each(DATA, "words"))
    checkpoints += [train(run, "a", "words")]
    run.finish(paper={})
    logs = tmp_path / "logs" / "demo"
    for name in (
        "a/events.out.tfevents.1",
        "a/servable.json",
        "c/history.json",
    ):
        write(logs / name)
    before = files(tmp_path)
    run = make_run(tmp_path, fresh=True, seed=1)
    assert files(tmp_path) == before
    next(run.each({"training data": "2"}))
    assert not any(Checkpoints(path).paths() for path in checkpoints)
    kept = {name for name in files(logs) if "all_systems" not in name}
    assert kept == {"config.json"}


# Of others, although runs have files of such names.
FOREIGN = """results.json data/config.json data/best.npz notes/results.json
    notes/checkpoints/best.npz notes/events.out.tfevents.1 a/results.json
    a/checkpoints/mine.npz a/.writing-mine words/servable.json
    words/events.out.tfevents.1 old-a/checkpoints/best.npz
    old-a/servable.json""".split()


@pytest.mark.parametrize("system", ["", "/a"])
def test_fresh_keeps_the_run_whose_weights_it_takes(tmp_path, system):
    run = begin(tmp_path)
    train(run)
    own = f"{run.folder}{system}"
    before = files(tmp_path)
    with pytest.raises(RunError, match="--init_from .*--fresh would remove"):
        begin(tmp_path, fresh=True, seed=1, init_from=own)
    assert files(tmp_path) == before


def test_fresh_leaves_what_the_run_has_not_written(tmp_path):
    path = train(begin(tmp_path))
    train(begin(tmp_path, run="demo/more/c"), "a")  # A run within.
    logs = tmp_path / "logs" / "demo"
    for name in FOREIGN:
        if name != "results.json":
            write(logs / name)
    before = files(tmp_path)
    begin(tmp_path, fresh=True, seed=1)
    assert not Checkpoints(path).paths()
    after = files(tmp_path)
    removed = before.keys() - after.keys()
    assert removed == {"logs/demo/a/checkpoints/checkpoint-000000001.npz"}
    changed = {x for x in after if before.get(x) != after[x]}
    assert changed == {"logs/demo/config.json"}
    # The run within is another, and not mixed with this one.
    begin(tmp_path, seed=1)
    begin(tmp_path, run="demo/more/c")


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "name", [".", "..", "a/..", "../other", "/other", "link", "link/x", "up"]
)
def test_a_run_is_within_the_folder_of_logs(tmp_path, name, fresh):
    logs = tmp_path / "logs"
    for path in ("a/config.json", "../other/checkpoints/best.npz"):
        write(logs / path)
    (logs / "link").symlink_to(tmp_path / "other")
    (logs / "up").symlink_to(logs)
    before = files(tmp_path)
    with pytest.raises(RunError, match="not a folder within --log_dir") as told:
        make_run(tmp_path, run=name, fresh=fresh)
    assert "\n" not in str(told.value) and files(tmp_path) == before


def test_a_run_in_a_store_is_within_the_folder_of_logs():
    for name in ("..", ".", "../x", "/x"):
        with pytest.raises(RunError, match="not a folder within --log_dir"):
            make_run("ram://of-runs/", run=name)
    make_run("ram://of-runs/", run="a")


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("config.json", '{"compilerOptions": {}}'),
        ("config.json", "[1]"),
        ("results.json", '{"passed": 3}'),
        ("results.json", "not JSON"),
        ("a/servable.json", "{}"),
        ("a/config.json", "{}"),
        ("a/history.json", "{}"),
        ("b/events.out.tfevents.1", ""),
        ("b/checkpoints", "best.npz"),
        ("words/a/history.json", ""),
        ("words/config.json", ""),
    ],
)
def test_what_no_run_has_written_is_not_overwritten(
    tmp_path, path, content, fresh
):
    logs = tmp_path / "logs" / "demo"
    write(logs / path / content if path.endswith("s") else logs / path, content)
    before = files(tmp_path)
    with pytest.raises(RunError, match=f"{path.split('/')[-1]}.*--run") as told:
        begin(tmp_path, part="words" * ("words" in path), fresh=fresh)
    assert "\n" not in str(told.value)
    assert files(tmp_path) == before


@pytest.mark.parametrize("link", ["a", "a/checkpoints", "all_systems"])
def test_fresh_follows_no_link(tmp_path, link):
    train(begin(tmp_path, run="other"))
    run = begin(tmp_path)
    path = tmp_path / "logs" / "demo" / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(tmp_path / "logs" / "other" / link)
    before = files(tmp_path)
    with pytest.raises(RunError, match="a? is behind a symbolic link"):
        begin(tmp_path, fresh=True, patience=1)
    assert files(tmp_path) == before and run


@pytest.mark.parametrize("name", ["demo/a", "demo/words", "demo/words/a/x"])
def test_a_run_is_not_in_the_systems_of_another(tmp_path, name):
    train(begin(tmp_path))
    train(begin(tmp_path, part="words"), part="words")
    before = files(tmp_path)
    with pytest.raises(RunError, match="of the run in .*demo. Choose another"):
        make_run(tmp_path, run=name)
    assert files(tmp_path) == before


def test_fresh_starts_over_where_the_config_is_lost(tmp_path):
    path = train(begin(tmp_path))
    (tmp_path / "logs" / "demo" / "config.json").unlink()
    begin(tmp_path, fresh=True, seed=1)
    assert not Checkpoints(path).paths()


def test_fresh_repeated_after_an_interruption_goes_on(tmp_path):
    train(begin(tmp_path))
    path = train(begin(tmp_path, fresh=True))
    config = tmp_path / "logs" / "demo" / "config.json"
    content = read_json(config)
    content["config"]["gone"] = "a flag of another release"
    write_json(config, content)
    again = begin(tmp_path, fresh=True)
    assert Checkpoints(path).paths()
    # Another command, or a run that has finished, is started anew.
    begin(tmp_path, fresh=True, patience=3)
    assert not Checkpoints(path).paths()
    train(again)
    again.finish(paper={})
    begin(tmp_path, fresh=True, patience=3)
    assert not Checkpoints(path).paths()


def test_fresh_killed_while_it_removes_starts_anew(tmp_path, monkeypatch):
    run = begin(tmp_path, fresh=True)
    path = train(run)
    run.finish(paper={})

    def killed(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "clear", killed)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path, fresh=True)
    assert Checkpoints(path).paths()
    begin(tmp_path, fresh=True)
    assert not Checkpoints(path).paths()


# === Leftovers ===


def test_what_killed_processes_left_is_removed(tmp_path, hold):
    folder = tmp_path / "logs" / "demo" / "data"
    begin(tmp_path)
    folder.mkdir()
    dead, living, other = (
        folder / f".writing-{x}-a.txt" for x in ("0a1b2c3d", "00000002", "mine")
    )
    other.touch()
    process = hold(living)
    dead.write_text("half")
    make_run(tmp_path)
    assert dead.exists()  # Nothing is written before all is checked.
    begin(tmp_path)
    assert not dead.exists() and living.exists()
    kill(process)
    begin(tmp_path)
    assert not living.exists() and other.exists()


def test_a_file_that_is_being_written_is_no_leftover(tmp_path):
    def write(file):
        file.write(b"a")
        (tmp_path / ".writing-00000001-c.txt").touch()
        atomic_files.write_atomically(tmp_path / "b.txt", lambda _: None)

    atomic_files.write_atomically(tmp_path / "a.txt", write)
    assert (tmp_path / "a.txt").read_text() == "a"
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.txt"}


# === Weights of another run ===


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The folder of a run with one system, and its translator."""
    run = test_export_command.make_run(
        tmp_path_factory.mktemp("earlier") / "own"
    )
    translator = random_translator()
    folder = run / "pointer_softmax"
    storage.save(translator, folder, warmup_texts=["x"], details={})
    weights = translator.model.get_weights()
    Checkpoints(folder / "checkpoints").save_best(weights, {})
    return run, translator


class Served:
    """The vocabularies of a servable."""

    def __init__(self, source, target):
        self.source_vocabulary, self.target_vocabulary = source, target


def test_all_is_taken_by_a_model_of_the_same_words(earlier):
    run, translator = earlier
    for folder in (run, run / "pointer_softmax"):
        other = random_translator()
        for weight in other.model.weights:
            weight.assign(np.zeros(weight.shape))
        line = earlier_run.take_weights(
            str(folder), "pointer_softmax", other.model, other
        )
        count = len(other.model.weights)
        assert line.endswith(f"pointer_softmax: {count} of {count} taken.")
        for one, expected in zip(
            other.model.get_weights(), translator.model.get_weights()
        ):
            np.testing.assert_array_equal(one, expected)


def test_new_words_are_new_and_others_keep_their_vectors(earlier):
    run, translator = earlier
    # The same number of words, one of them another, in another order.
    words = (*SOURCE.words[:4], SOURCE.words[-1], "wug", *SOURCE.words[4:-2])
    served = Served(Vocabulary(words), translator.target_vocabulary)
    other = random_translator()
    table = other.model.source_embedding.embeddings
    table.assign(np.full(table.shape, 7.0))
    line = earlier_run.take_weights(str(run), "nmt", other.model, served)
    assert f"1 of {len(words)} words new in {table.path}" in line
    known = translator.model.source_embedding.embeddings.numpy()
    for i, word in enumerate(words):
        expected = np.full(known.shape[1], 7.0)
        if word != "wug":
            expected = known[SOURCE.words.index(word)]
        np.testing.assert_array_equal(table.numpy()[i], expected)


def test_flags_of_other_sizes_are_named_at_once(tmp_path):
    @dataclasses.dataclass
    class Flags:
        recipe = "mine"
        units: int = 8
        embedding_dim: int = 4
        decoder: str = "gru"

    details = {"recipe": "mine", "flags": {"units": 16}}
    write_json(tmp_path / "servable.json", {"details": details})
    with pytest.raises(ValueError, match="--units 16, not 8. Give the same"):
        earlier_run.check_sizes(str(tmp_path), "a", Flags())
    earlier_run.check_sizes(str(tmp_path), "a", Flags(units=16))
    # Other layers have other weights, which are new.
    earlier_run.check_sizes(str(tmp_path), "a", Flags(decoder="lstm"))


def test_what_does_not_fit_is_told(earlier, tmp_path):
    run, translator = earlier
    model = translator.model
    with pytest.raises(ValueError, match="--init_from .*no such folder"):
        earlier_run.take_weights(str(tmp_path / "none"), "a", model, translator)
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="--init_from .*no weight in common"):
        earlier_run.take_weights(str(run), "pointer_softmax", other, None)
