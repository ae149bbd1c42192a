"""Files of others name classes, but import nothing and leave no folder.

Each hostile file names `evil.evil`, which lies where Python would find it.
"""

import json
import shutil
import sys
import zipfile

import keras
import keras_hub
import pytest

from tests.models.backbones import QUIET, make_backbone, task_without_tokenizer
from tests.serving.servables.test_storage import store
from tests.serving.servables.translators import random_translator
from tfcopy import models
from tfcopy.checked_files import read_json, write_json
from tfcopy.models.assembly import head_class
from tfcopy.serving.run_folder import RunError, RunFolder
from tfcopy.serving.servables import storage

pytestmark = [
    QUIET,
    pytest.mark.filterwarnings("ignore:.*compile.*was not called"),
]

EVIL = """
import pathlib

import keras

from tfcopy.layers import PointerGeneratorHead

pathlib.Path(__file__).with_suffix(".ran").touch()


@keras.saving.register_keras_serializable(package="{}")
class Evil(PointerGeneratorHead):
    pass
"""
NAMES = ("evil.evil:Evil", "evil>Evil", "evil.evil", "no_head", "os:system")
NAMES += ("", 1, True)


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """The folder of modules of which none may run."""
    before = {*sys.modules}
    registered = {**keras.saving.get_custom_objects()}
    for package in ("evil", "keras_cv", "keras_nlp"):
        (tmp_path / package).mkdir()
        for name in ("__init__", "evil"):
            (tmp_path / package / f"{name}.py").write_text(EVIL.format(package))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in {*sys.modules} - before:
        if name.startswith(("evil", "keras_cv", "keras_nlp")):
            del sys.modules[name]
    keras.saving.get_custom_objects().clear()
    keras.saving.get_custom_objects().update(registered)


def has_run(folder):
    return [x.name for x in folder.rglob("*.ran")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A preset and a file of Keras, whose copies the tests change."""
    folder = tmp_path_factory.mktemp("saved")
    task = task_without_tokenizer("gpt2")
    task.save_to_preset(str(folder / "preset"))
    task.save(folder / "task.keras")
    return folder


def rewritten(config, **values):
    return json.dumps({**config, "config": {**config["config"], **values}})


def change_preset(saved, folder, **values):
    path = shutil.copytree(saved / "preset", folder / "preset") / "task.json"
    path.write_text(rewritten(json.loads(path.read_text()), **values))
    return str(path.parent)


def change_file(saved, folder, change):
    """A `.keras` file with another `config.json`."""
    path = folder / "task.keras"
    with zipfile.ZipFile(saved / "task.keras") as old:
        with zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "config.json":
                    data = change(json.loads(data))
                new.writestr(name, data)
    return path


@pytest.mark.parametrize("head", NAMES)
def test_a_preset_imports_no_head(saved, evil, head):
    preset = change_preset(saved, evil, head=head)
    for cls in (models.CopyCausalLM, models.CopyGPT2CausalLM):
        with pytest.raises(ValueError, match="head. must be one of .*Received"):
            cls.from_preset(preset)
    assert not has_run(evil)
    # What the user says counts.
    task = models.CopyCausalLM.from_preset(preset, head="pointer_generator")
    assert task.get_config()["head"] == "pointer_generator"


@pytest.mark.parametrize("safe_mode", [True, False])
def test_a_file_of_keras_imports_no_head(saved, evil, safe_mode):
    path = change_file(
        saved, evil, lambda config: rewritten(config, head=NAMES[0])
    )
    with pytest.raises(ValueError, match="head. must be one of .*Received"):
        keras.models.load_model(path, safe_mode=safe_mode)
    assert not has_run(evil)


def objects(package):
    """Configs of objects that Keras would import."""
    found = {"module": f"{package}.evil", "class_name": "Evil", "config": {}}
    yield {**found, "registered_name": f"{package}>Other"}
    function = {"class_name": "function", "config": "Evil"}
    yield {**found, **function, "registered_name": "Evil"}


@pytest.mark.few(1)
@pytest.mark.parametrize("package", ["evil", "keras_cv", "keras_nlp"])
def test_no_other_part_of_a_preset_is_imported(saved, evil, package):
    task = task_without_tokenizer("gpt2")
    for i, part in enumerate(objects(package)):
        for name in ("backbone", "preprocessor", "dropout"):
            preset = change_preset(saved, evil / f"{i}-{name}", **{name: part})
            with pytest.raises((TypeError, ValueError, AttributeError)):
                models.CopyCausalLM.from_preset(preset)
            with pytest.raises((TypeError, ValueError, AttributeError)):
                task.from_config({**task.get_config(), name: part})
    assert not has_run(evil)


@pytest.mark.parametrize("name", ["/{}/outside.json", "../../outside.json"])
@pytest.mark.parametrize("inner", [False, True])
def test_a_preset_names_no_file_to_write(evil, name, inner):
    """KerasHub would write it where the task is saved again."""
    tokenizer = keras_hub.models.GPT2Tokenizer(
        {**dict(zip("abcdefghij", range(10))), "ab": 10, "<|endoftext|>": 11},
        ["a b"],
    )
    task = models.CopyGPT2CausalLM(
        make_backbone("gpt2"),
        keras_hub.models.GPT2CausalLMPreprocessor(tokenizer),
    )
    path = evil / "preset" / "task.json"
    task.save_to_preset(str(path.parent))
    content = json.loads(path.read_text())
    part = content["config"]["preprocessor"]["config"]
    if inner:
        part = part["tokenizer"]["config"]
    part["config_file"] = name.format(evil)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="a file name in .*outside.json"):
        models.CopyCausalLM.from_preset(str(path.parent))


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="a servable is a graph"
)
@pytest.mark.parametrize("package", ["evil", "keras_cv", "keras_nlp"])
def test_a_run_imports_nothing(evil, package):
    system = store(random_translator(), evil / "run")
    path = system / storage.FILE_NAME
    content = read_json(path)
    task = keras.saving.serialize_keras_object(task_without_tokenizer("gpt2"))
    task["config"]["head"] = f"{package}.evil:Evil"
    for part in (task, *objects(package)):
        for model in (
            part,
            {**content["model"], "config": {"source_embedding": part}},
        ):
            write_json(path, {**content, "model": model})
            with pytest.raises(RunError, match="is damaged"):
                storage.load(system)
    assert not has_run(evil)


def test_the_users_own_head_is_imported_and_found_again(evil, tmp_path):
    (tmp_path / "mine.py").write_text(EVIL.format("mine"))
    task = task_without_tokenizer("gpt2", head="mine:Evil")
    assert (tmp_path / "mine.ran").exists()
    assert task.get_config()["head"] == "mine>Evil"
    task.save_to_preset(str(tmp_path / "preset"))
    task.save(tmp_path / "task.keras")
    for again in (
        models.CopyCausalLM.from_preset(str(tmp_path / "preset")),
        models.CopyCausalLM.from_preset(
            str(tmp_path / "preset"), head="mine:Evil"
        ),
        keras.models.load_model(tmp_path / "task.keras"),
    ):
        assert type(again.seq2seq.head) is type(task.seq2seq.head)
    with pytest.raises(ValueError, match="imported before the file is read"):
        head_class("mine:Other", may_import=False)
    del sys.modules["mine"]


@pytest.mark.parametrize("name", ["/tmp/x", "..", "../x", "a/../../x"])
def test_a_run_names_no_folder_outside(tmp_path, name):
    run = tmp_path / "run"
    content = {"recipe": "r", "config": {}, "begun": ["a", name]}
    write_json(run / "config.json", content)
    with pytest.raises(RunError, match="config.json is damaged .*not within"):
        RunFolder(run)
