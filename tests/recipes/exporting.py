"""Exporting a run with the command, and comparing what came of it."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes import starting
from tfcopy.serving import export as export_command
from tfcopy.serving import saved_model


def export(run, *arguments):
    """The command; returns its exit status, that of a wrong flag as well."""
    try:
        return export_command.main([str(run), *map(str, arguments)])
    except SystemExit as error:
        return error.code


def check_export(folder, *arguments, run="demo"):
    """The command gives the very model that the recipe has exported.

    Args:
        folder: As of `starting.start`, of a finished run.
        arguments: More of the command.
        run: Name of the run.

    Returns:
        The path of the new SavedModel.
    """
    to = folder / "again"
    assert export(folder / "logs" / run, "--to", to, *arguments) == 0
    path = str(to / str(sorted(map(int, os.listdir(to)))[-1]))
    assert_same(starting.results(folder)["savedmodel"], path)
    return path


def rebuilt(run, *arguments):
    """Returns what the command would export, without writing it.

    Args:
        run: Folder of a run.
        arguments: More of the command.

    Returns:
        `(served, config)`: the servable, and what its export would remember.
    """
    asked = []

    def keep(served, directory, *, warmup_texts, details, version):
        config = json.loads(json.dumps({**served.config, **details}))
        asked.append((served, config))
        return os.path.join(directory, "1")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_model, "export", keep)
        patch.setattr(export_command, "read_config", lambda _: {"engines": ""})
        assert export(run, *arguments) == 0
    return asked[0]


def check_rebuilt(folder, *arguments, run="demo"):
    """The command rebuilds what the recipe has exported.

    The same settings, vocabularies and weights, bit for bit, make the same
    graph; `check_export` makes it and asks it.

    Args:
        folder, *arguments, run: As in `check_export`.

    Returns:
        What the export would remember.
    """
    served, config = rebuilt(folder / "logs" / run, *arguments)
    expected = starting.results(folder)["savedmodel"]
    remembered = config_of(expected)
    for some in (config, remembered):
        for tokenizer in ("source_tokenizer", "target_tokenizer"):
            some.get(tokenizer, {}).pop("model_file", None)
    kept = config.keys() & remembered.keys() - {"recipe"}
    assert {"system", *served.config} <= kept
    assert {k: config[k] for k in kept} == {k: remembered[k] for k in kept}
    stored = tf.train.load_checkpoint(f"{expected}/variables/variables")
    for i, resource in enumerate(served.resources):
        # Others are the states of seed generators, which nothing served draws.
        if isinstance(resource, tf.Variable) and resource.dtype.is_floating:
            name = f"resources/{i}/.ATTRIBUTES/VARIABLE_VALUE"
            np.testing.assert_array_equal(resource, stored.get_tensor(name))
    again = folder / "files"
    again.mkdir()
    served.with_files(again)
    assert _contents(again) == _contents(os.path.join(expected, "assets"))
    return config


def _contents(folder):
    """Returns the contents of a folder's files, each once."""
    contents = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            contents.add(file.read())
    return contents


def check_choice(report, names):
    """The system of the best validation score was exported.

    Args:
        report: What results.json holds.
        names: The systems to choose from.
    """
    by = report["exported_by"]
    assert by["split"] == "validation"
    assert list(by["scores"]) == names
    best = min if by["metric"] == "error_rate" else max
    assert by["scores"][report["exported"]] == best(by["scores"].values())


def assert_same(expected, found):
    """Two SavedModels are alike: bit for bit, and in what they tell."""
    texts = ["the cup 3 went to Łukasz", "", "A wug sat; who? 7 🦄"]
    signatures = [
        tf.saved_model.load(path).signatures for path in (expected, found)
    ]
    names = [sorted(some) for some in signatures]
    assert names[0] == names[1]
    for name in names[0]:
        answers = []
        for some in signatures:
            specs = some[name].structured_input_signature[1]
            inputs = {
                key: tf.constant(texts)
                if spec.shape.rank == 1
                else tf.constant([["wug\ta bird"], [""], ["sat\tran away"]])
                for key, spec in specs.items()
            }
            answers.append(some[name](**inputs))
        assert sorted(answers[0]) == sorted(answers[1])
        for key, value in answers[0].items():
            np.testing.assert_array_equal(value, answers[1][key], key)
    configs = [config_of(path) for path in (expected, found)]
    for config in configs:
        for tokenizer in ("source_tokenizer", "target_tokenizer"):
            config.get(tokenizer, {}).pop("model_file", None)
    # What the run has measured, the command has not.
    kept = configs[0].keys() & configs[1].keys() - {"created", "recipe"}
    assert {"system", "format"} <= kept
    assert {k: configs[0][k] for k in kept} == {k: configs[1][k] for k in kept}


def config_of(path):
    """Reads the settings of a SavedModel."""
    with open(os.path.join(path, "assets.extra", "tfcopy.json")) as file:
        return json.load(file)
