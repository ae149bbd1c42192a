"""Against the real protocol buffers, where TensorFlow Serving has them."""

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

from tfcopy.serving import models_config, serving_files

SERVING = serving_files.FILES


@pytest.fixture
def folder(tmp_path):
    for name in ("europarl_ps/1", "europarl_ps/3", "europarl_ps/12", "wmt/2"):
        os.makedirs(tmp_path / name)
        (tmp_path / name / "saved_model.pb").write_bytes(b"")
    os.makedirs(tmp_path / "no_model" / "7")
    return tmp_path


def parsed(path):
    message = model_server_config_pb2.ModelServerConfig()
    text_format.Parse(path.read_text(), message)
    return {x.name: x for x in message.model_config_list.config}


def test_all_models_are_served_in_their_highest_version(folder, capsys):
    assert models_config.main([str(folder)]) == 0
    assert "europarl_ps, wmt" in capsys.readouterr().out
    found = parsed(folder / "models.config")
    assert list(found) == ["europarl_ps", "wmt"]
    config = found["europarl_ps"]
    assert config.base_path == "/models/europarl_ps"
    assert config.model_platform == "tensorflow"
    assert config.model_version_policy.latest.num_versions == 1


def test_models_and_versions_and_labels_are_chosen(folder):
    path = folder / "my.config"
    status = models_config.main(
        [str(folder), "--output", str(path), "--models", "europarl_ps"]
        + ["--versions", "europarl_ps=3,1", "--base_path", "gs://b"]
        + ["--label", "europarl_ps:stable=1", "europarl_ps:canary=3"]
    )
    assert status == 0
    found = parsed(path)
    assert list(found) == ["europarl_ps"]
    config = found["europarl_ps"]
    assert config.base_path == "gs://b/europarl_ps"
    assert list(config.model_version_policy.specific.versions) == [1, 3]
    assert dict(config.version_labels) == {"stable": 1, "canary": 3}
    models_config.main([str(folder), "--latest", "2"])
    latest = parsed(folder / "models.config")["wmt"].model_version_policy.latest
    assert latest.num_versions == 2


@pytest.mark.parametrize(
    "flags, message",
    [
        (["none"], "none: no such folder"),
        (["no_model"], "no_model: no exported model"),
        ([".", "--models", "x"], "--models: there is no x"),
        ([".", "--versions", "x=1"], "there is no model x"),
        ([".", "--versions", "wmt=1"], "--versions: wmt has no version 1"),
        ([".", "--label", "wmt:a=1"], "--label a: wmt has no version 1"),
        ([".", "--label", "europarl_ps:a=1"], "Available: 12."),
        ([".", "--output", "wmt/2/saved_model.pb/x"], "x: cannot be written"),
    ],
)
def test_errors_say_what_is_wrong(folder, monkeypatch, capsys, flags, message):
    monkeypatch.chdir(folder)
    assert models_config.main(flags) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (folder / "models.config").exists()


def test_paths_are_quoted_as_protocol_buffers_are(folder):
    path = 'a "b"\\\n\x7fŁ" name: "c'
    flags = ["--base_path", path, "--label", "wmt:stäble=2"]
    assert models_config.main([str(folder), *flags]) == 0
    found = parsed(folder / "models.config")
    assert list(found) == ["europarl_ps", "wmt"]
    assert found["wmt"].base_path == f"{path}/wmt"
    assert dict(found["wmt"].version_labels) == {"stäble": 2}


def test_versions_may_begin_with_zeros(folder, capsys):
    os.rename(folder / "wmt" / "2", folder / "wmt" / "002")
    flags = [str(folder), "--versions", "wmt=2"]
    assert models_config.main(flags) == 0
    policy = parsed(folder / "models.config")["wmt"].model_version_policy
    assert list(policy.specific.versions) == [2]
    os.makedirs(folder / "wmt" / "02")
    assert models_config.main(flags) == 2
    error = capsys.readouterr().err
    assert "are the same version" in error and error.count("\n") == 1


def test_names_that_are_no_part_of_an_address_are_refused(folder, capsys):
    os.rename(folder / "wmt", folder / "my model")
    assert models_config.main([str(folder)]) == 2
    assert "'my model': the name of a model" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--versions=a", "--label=a=1", "--latest=0"])
def test_flags_of_another_form_are_refused(flag, capsys):
    with pytest.raises(SystemExit):
        models_config.main([flag])
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
    text_format.Parse((SERVING / "batching.config").read_text(), message)
    sizes = list(message.allowed_batch_sizes)
    assert sizes == sorted(sizes)
    # The server refuses any other last size.
    assert sizes[-1] == message.max_batch_size.value
    assert message.pad_variable_length_inputs


def test_compose_serves_this_machine_in_known_versions():
    import yaml

    compose = yaml.safe_load((SERVING / "compose.yaml").read_text())
    for service in compose["services"].values():
        for port in service["ports"]:
            assert port.startswith("${ADDRESS:-127.0.0.1}:")
        version = service["image"].partition(":")[2]
        assert re.fullmatch(r"(\$\{TAG:-)?v?\d+\.\d+\.\d+\}?", version)


def test_compose_names_files_that_are_there():
    import yaml

    compose = yaml.safe_load((SERVING / "compose.yaml").read_text())
    flags = dict(
        flag.removeprefix("--").split("=")
        for flag in compose["services"]["serving"]["command"]
    )
    for flag, value in flags.items():
        if value.startswith("/config/"):
            assert (SERVING / value.removeprefix("/config/")).exists(), flag
    assert flags["model_config_file"] == "/models/models.config"
    monitoring = (SERVING / "monitoring.config").read_text()
    jobs = yaml.safe_load((SERVING / "prometheus.yml").read_text())
    (job,) = jobs["scrape_configs"]
    assert f'path: "{job["metrics_path"]}"' in monitoring
