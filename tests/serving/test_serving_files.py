"""The files of TensorFlow Serving, written where nothing else is.

Settings are checked against the real protocol buffers, where TensorFlow Serving
has them.
"""

import os
import re

import pytest
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

from tfcopy.serving import serving_files
from tfcopy.serving.serving_files import FILES

NAMES = {
    *("compose.yaml", "batching.config", "monitoring.config"),
    "c/search_litert.c",
}


def content(folder):
    """Returns the contents of a folder's files, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ["serving", "we ird\n\udcff;rm $(id)/x"])
def test_all_files_are_written_and_told(tmp_path, capsys, name):
    folder = tmp_path / name
    assert serving_files.main(["--to", str(folder)]) == 0
    found = content(folder)
    assert NAMES < found.keys() <= content(FILES).keys()
    assert found.items() <= content(FILES).items()
    printed = capsys.readouterr().out
    assert printed.count(": written\n") == len(found)
    assert f"docker compose -f {str(folder)[:9]}" in printed.replace("'", "")
    assert serving_files.main(["--to", str(folder)]) == 0
    assert capsys.readouterr().out.count(": is there\n") == len(found)
    assert content(folder) == found


@pytest.mark.parametrize(
    "occupy, name, message",
    [
        (lambda x: x.write_text("{}"), "compose.yaml", "something else is"),
        (lambda x: x.mkdir(), "compose.yaml", "something else is there"),
        (os.mkfifo, "prometheus.yml", "something else is there"),
        (lambda x: x.symlink_to("nowhere"), "compose.yaml", "something else"),
        (lambda x: x.write_text("mine\n"), "c", "File exists"),
    ],
    ids="edited folder pipe link file".split(),
)
def test_what_is_there_stays_and_nothing_is_written(
    tmp_path, capsys, occupy, name, message
):
    occupy(tmp_path / name)
    before = content(tmp_path), sorted(os.listdir(tmp_path))
    assert serving_files.main(["--to", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(f"serving_files: .*/{name}: {message}", line), line
    assert (content(tmp_path), sorted(os.listdir(tmp_path))) == before


def test_a_folder_without_permission_is_named(tmp_path, capsys, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "makedirs", refuse)  # Root may write anywhere.
    assert serving_files.main(["--to", str(tmp_path / "serving")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search("serving.*: Permission denied", line)


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("europarl_ps/1", "europarl_ps/3", "europarl_ps/012", "wmt/2"):
        os.makedirs(tmp_path / "savedmodels" / name)
        (tmp_path / "savedmodels" / name / "saved_model.pb").write_bytes(b"")
    os.makedirs(tmp_path / "savedmodels" / "no_model" / "7")
    return tmp_path / "savedmodels"


def config():
    message = model_server_config_pb2.ModelServerConfig()
    with open("serving/models.config", encoding="utf-8") as file:
        text_format.Parse(file.read(), message)
    return {x.name: x for x in message.model_config_list.config}


def test_all_models_are_served_in_their_highest_versions(models, capsys):
    assert serving_files.main([]) == 0
    assert "To serve europarl_ps, wmt:" in capsys.readouterr().out
    found = config()
    assert list(found) == ["europarl_ps", "wmt"]
    assert found["europarl_ps"].base_path == "/models/europarl_ps"
    assert found["europarl_ps"].model_platform == "tensorflow"
    assert found["europarl_ps"].model_version_policy.latest.num_versions == 1
    assert serving_files.main(["savedmodels", "--latest", "2"]) == 0
    found = config()["europarl_ps"]
    assert found.model_version_policy.latest.num_versions == 2


def test_a_list_of_models_that_was_edited_stays(models, capsys):
    assert serving_files.main([]) == 0
    with open("serving/models.config", "rb") as file:
        edited = file.read().partition(b"\n")[2]
    with open("serving/models.config", "wb") as file:
        file.write(edited)
    assert serving_files.main(["--latest", "2"]) == 2
    assert "models.config: something else is there" in capsys.readouterr().err
    with open("serving/models.config", "rb") as file:
        assert file.read() == edited


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--to", "savedmodels/wmt/2/saved_model.pb/x"], "Not a directory"),
        (["nowhere"], "serving_files: nowhere: no such folder."),
        (["savedmodels/wmt/2/saved_model.pb"], "saved_model.pb: no such fold"),
    ],
)
def test_errors_say_what_is_wrong(models, capsys, flags, message):
    assert serving_files.main(flags) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not os.path.exists("serving")


def test_names_that_are_no_part_of_an_address_are_refused(models, capsys):
    os.rename(models / "wmt", models / "my model")
    assert serving_files.main([]) == 2
    assert "'my model': the name of a model" in capsys.readouterr().err


def test_two_folders_of_the_same_version_are_refused(models, capsys):
    os.makedirs(models / "europarl_ps" / "12")
    assert serving_files.main([]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "are the same version" in line


@pytest.mark.parametrize("flag", ["--latest=x", "--latest=0"])
def test_flags_of_another_form_are_refused(flag, capsys):
    with pytest.raises(SystemExit):
        serving_files.main([flag])
    assert flag.split("=")[0] in capsys.readouterr().err


def message_of(name, fields):
    """A message type of optional and repeated scalars, and of wrappers."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{name}.proto",
        package="tests",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    message = file.message_type.add(name=name)
    kinds = descriptor_pb2.FieldDescriptorProto
    for number, (field, kind) in enumerate(fields.items(), 1):
        is_wrapper = kind.endswith("Value")
        added = message.field.add(
            name=field,
            number=number,
            label=kinds.LABEL_REPEATED
            if kind == "repeated"
            else kinds.LABEL_OPTIONAL,
            type=kinds.TYPE_MESSAGE
            if is_wrapper
            else kinds.TYPE_BOOL
            if kind == "bool"
            else kinds.TYPE_INT64,
        )
        if is_wrapper:
            added.type_name = f".google.protobuf.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"tests.{name}")
    return message_factory.GetMessageClass(found)()


def test_batching_parameters_are_what_the_server_accepts():
    # Reference: session_bundle_config.proto of TensorFlow Serving, which its
    # package does not bring.
    message = message_of(
        "BatchingParameters",
        {
            "max_batch_size": "Int64Value",
            "batch_timeout_micros": "Int64Value",
            "max_enqueued_batches": "Int64Value",
            "num_batch_threads": "Int64Value",
            "allowed_batch_sizes": "repeated",
            "pad_variable_length_inputs": "bool",
        },
    )
    text_format.Parse((FILES / "batching.config").read_text(), message)
    sizes = list(message.allowed_batch_sizes)
    assert sizes == sorted(sizes)
    # The server refuses any other last size.
    assert sizes[-1] == message.max_batch_size.value
    assert message.pad_variable_length_inputs


def test_compose_serves_this_machine_with_files_that_are_there():
    import yaml

    compose = yaml.safe_load((FILES / "compose.yaml").read_text())
    for service in compose["services"].values():
        for port in service["ports"]:
            assert port.startswith("${ADDRESS:-127.0.0.1}:")
        version = service["image"].partition(":")[2]
        assert re.fullmatch(r"(\$\{TAG:-)?v?\d+\.\d+\.\d+\}?", version)
    flags = dict(
        flag.removeprefix("--").split("=")
        for flag in compose["services"]["serving"]["command"]
    )
    for flag, value in flags.items():
        name = value.removeprefix("/config/")
        if name not in (value, serving_files.CONFIG):
            assert (FILES / name).exists(), flag
    assert flags["model_config_file"] == "/config/models.config"
    monitoring = (FILES / "monitoring.config").read_text()
    jobs = yaml.safe_load((FILES / "prometheus.yml").read_text())
    (job,) = jobs["scrape_configs"]
    assert f'path: "{job["metrics_path"]}"' in monitoring
