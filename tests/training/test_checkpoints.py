import errno
import os
import resource
import shutil

import numpy as np
import pytest

from tests.training import standin
from tests.training.running import assert_same_bits, weights_of
from tfcopy import training
from tfcopy.training.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of 6 updates with two checkpoints and the best weights."""
    folder = tmp_path_factory.mktemp("finished")
    options = {"steps": 6, "save_every": 4, "eval_every": 2}
    standin.make_trainer(
        log_dir=folder, identity={"vocabulary": "abc", "old": 1}, **options
    ).fit()
    return folder


@pytest.fixture
def folder(tmp_path, finished):
    """A copy of `finished`, to be damaged or gone on with."""
    return shutil.copytree(finished, tmp_path / "run")


def newest(folder):
    return Checkpoints(folder / "checkpoints").paths()[0]


def damage(path, how):
    data = bytearray(open(path, "rb").read())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "empty":
        data = b""
    else:
        data[len(data) // 2] ^= 1
    open(path, "wb").write(data)


def resume(folder, **options):
    options = {"log_dir": folder, "steps": 8} | options
    return standin.make_trainer(**options).fit()


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["truncated", "empty", "one bit"])
def test_damaged_checkpoint_falls_back_to_the_one_before(folder, capsys, how):
    damage(newest(folder), how)
    result = resume(folder, verbose=True)
    text = capsys.readouterr().err
    assert result.updates == 8
    assert "checkpoint-000000006.npz is damaged" in text
    assert "checkpoint-000000004.npz after update 4" in text
    names = map(os.path.basename, Checkpoints(folder / "checkpoints").paths())
    assert [*names] == ["checkpoint-000000008.npz", "checkpoint-000000004.npz"]


def test_only_damaged_checkpoints_raise(folder):
    for path in Checkpoints(folder / "checkpoints").paths():
        damage(path, "truncated")
    with pytest.raises(training.CheckpointError, match="All .*damaged.*000006"):
        resume(folder)
    assert resume(folder, fresh=True).updates == 8


def test_checkpoint_of_another_vocabulary_raises(folder):
    model = standin.build_model(vocabulary_size=21)
    message = r"shape \(20, 8\) there and \(21, 8\) here.*--fresh"
    with pytest.raises(training.CheckpointError, match=message):
        resume(folder, model=model)


def test_checkpoint_of_another_identity_raises(folder):
    message = "vocabulary is 'abc' there and 'def' here"
    with pytest.raises(training.CheckpointError, match=message):
        resume(folder, identity={"vocabulary": "def"})


def test_what_one_identity_does_not_know_is_not_compared(folder):
    assert resume(folder, identity={"vocabulary": "abc", "new": 1}).updates == 8


def test_checkpoint_of_a_later_release_is_refused(folder):
    checkpoints = Checkpoints(folder / "checkpoints")
    _, info, arrays = checkpoints.load()
    info["state"]["tempo"] = 1.0
    checkpoints.save(7, info, arrays)
    message = r"from another run: its state has unknown fields \['tempo'\]"
    with pytest.raises(training.CheckpointError, match=message):
        resume(folder)


@pytest.mark.parametrize(
    "info, place",
    [
        ([], "info"),
        ({"state": []}, "info.state"),
        ({"identity": "x"}, "info.identity"),
    ],
)
def test_an_info_of_another_type_is_damage(tmp_path, info, place):
    lines = []
    checkpoints = Checkpoints(tmp_path, report=lines.append)
    path = checkpoints.save(1, info, {})
    with pytest.raises(
        training.CheckpointError, match="All checkpoints are damaged"
    ):
        checkpoints.load()
    expected = f'{path} is damaged ("{place}" must be an object. Received: '
    assert lines[0].startswith(expected)


def test_an_array_of_another_shape_is_damage(folder):
    """Its header is no part of the values, but of what has a checksum."""
    path = newest(folder)
    data = bytearray(open(path, "rb").read())
    place = data.rindex(b"'shape': (8,)")
    data[place : place + 13] = b"'shape': (2,)"
    open(path, "wb").write(data)
    assert Checkpoints(folder / "checkpoints").load()[1]["state"]["update"] == 4


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["truncated", "one bit"])
@pytest.mark.parametrize("steps", [6, 8])
def test_damaged_best_weights_are_sought_anew(folder, capsys, steps, how):
    path = Checkpoints(folder / "checkpoints").best_path
    damage(path, how)
    result = resume(folder, steps=steps, verbose=True, eval_every=2)
    assert result.updates == steps and result.best_update >= 6
    assert f"Warning: {path} is damaged" in capsys.readouterr().err
    Checkpoints(folder / "checkpoints").load_weights(standin.build_model())


def test_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch, capsys):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {"a": 1}, {"x": np.zeros(3)})
    fill_disk(monkeypatch)
    with pytest.raises(training.CheckpointError, match="2.npz: the disk is"):
        checkpoints.save(2, {"a": 2}, {"x": np.ones(3)})
    assert os.listdir(tmp_path) == ["checkpoint-000000001.npz"]
    _, info, arrays = checkpoints.load()
    assert info == {"a": 1} and not arrays["x"].any()


def test_training_outlives_a_full_disk(tmp_path, monkeypatch, capsys):
    expected = standin.make_trainer(steps=8, dev_data=None)
    expected.fit()
    trainer = standin.make_trainer(
        log_dir=tmp_path, steps=8, save_every=3, dev_data=None, verbose=True
    )
    save = trainer.checkpoints.save

    def save_once_full(update, *contents):
        with monkeypatch.context() as patch:
            if update < 6:
                fill_disk(patch)
            return save(update, *contents)

    trainer.checkpoints.save = save_once_full
    trainer.fit()
    assert "Warning: Could not write" in capsys.readouterr().err
    assert newest(tmp_path).endswith("checkpoint-000000008.npz")
    assert_same_bits(weights_of(trainer), weights_of(expected))


def test_a_run_does_not_end_well_without_its_last_checkpoint(
    tmp_path, monkeypatch
):
    trainer = standin.make_trainer(log_dir=tmp_path, steps=2, dev_data=None)
    fill_disk(monkeypatch)
    with pytest.raises(training.CheckpointError, match="Free some space, then"):
        trainer.fit()


@pytest.mark.long
def test_no_size_of_a_disk_ends_training(tmp_path, capsys):
    """From one dev score to the next a file may have another size."""
    sizes = [40, 64, 80, 100, 200, 1000]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(update, writer):
        if update > len(sizes):
            size = before[0]
        else:
            size = 1000 * sizes[update - 1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    trainer = standin.make_trainer(
        model=standin.build_model(units=320),
        log_dir=tmp_path,
        steps=len(sizes) + 2,
        eval_every=1,
        save_every=1,
        verbose=True,
        on_eval=limit,
    )
    try:
        trainer.fit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    text = capsys.readouterr().err
    assert text.count("best.npz: File too large") >= 5
    for update in (1, 6):
        assert f"checkpoint-{update:09d}.npz: File too large" in text
    assert newest(tmp_path).endswith("checkpoint-000000008.npz")
    model = standin.build_model(units=320)
    Checkpoints(tmp_path / "checkpoints").load_weights(model)
    assert_same_bits(weights_of(trainer), model.get_weights())


@pytest.mark.long
def test_best_weights_of_another_phase_are_sought_anew(folder, capsys):
    checkpoints = Checkpoints(folder / "checkpoints")
    _, weights = checkpoints.load_best(standin.build_model())
    checkpoints.save_best(weights, {"phase": 1, "update": 6})
    resume(folder, verbose=True)
    assert "best.npz is from another phase. The" in capsys.readouterr().err


def fill_disk(monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)


def test_keeps_the_newest_two(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for update in (1, 20, 3, 10):
        checkpoints.save(update, {}, {})
    names = [os.path.basename(path) for path in checkpoints.paths()]
    assert names == ["checkpoint-000000020.npz", "checkpoint-000000010.npz"]


@pytest.mark.long
def test_best_weights_are_written_once_there_is_room(tmp_path, monkeypatch):
    trainer = standin.make_trainer(
        log_dir=tmp_path, steps=14, eval_every=7, save_every=10
    )
    save_best = trainer.checkpoints.save_best
    failed = []

    def save_best_later(weights, info):
        if trainer.state.update < 8:
            failed.append(trainer.state.update)
            raise training.CheckpointError("full")
        save_best(weights, info)

    trainer.checkpoints.save_best = save_best_later
    trainer.fit()
    assert failed == [7]
    fresh = standin.make_trainer()
    trainer.checkpoints.load_weights(fresh.model)
    assert_same_bits(weights_of(trainer), weights_of(fresh))


def test_weights_are_loaded_without_a_trainer(folder):
    trainer = standin.make_trainer(log_dir=folder, steps=6)
    trainer.fit()  # of a finished run it only loads the best weights
    checkpoints = trainer.checkpoints
    assert checkpoints.newest_info()["state"]["update"] == 6
    _, _, arrays = checkpoints.load()
    names = sorted(name for name in arrays if "model/" in name)
    expected = {
        False: trainer.model.get_weights(),
        True: [arrays[name] for name in names],
    }
    model = standin.build_model()
    for newest, weights in expected.items():
        for weight in model.weights:
            weight.assign(weight + 1)
        checkpoints.load_weights(model, newest=newest)
        assert_same_bits(model.get_weights(), weights)


def test_weights_that_cannot_be_loaded(folder):
    checkpoints = Checkpoints(folder / "checkpoints")
    os.remove(checkpoints.paths()[1])
    model = standin.build_model()
    other = standin.build_model(vocabulary_size=21)
    for newest, path in (
        (True, checkpoints.paths()[0]),
        (False, checkpoints.best_path),
    ):
        message = f"{path} is .*from another model.*21"
        with pytest.raises(training.CheckpointError, match=message):
            checkpoints.load_weights(other, newest=newest)
        damage(path, "truncated")
        with pytest.raises(training.CheckpointError, match=path):
            checkpoints.load_weights(model, newest=newest)
        os.remove(path)
        with pytest.raises(training.CheckpointError, match="no .* yet"):
            checkpoints.load_weights(model, newest=newest)
    assert checkpoints.newest_info() is None
