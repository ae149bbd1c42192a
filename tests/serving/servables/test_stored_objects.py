import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables import text_models
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
)
from tfcopy.serving.run_folder import RunError
from tfcopy.serving.servables.storage import Decoder, Encoder, StoredFiles


@pytest.fixture
def files(tmp_path):
    return StoredFiles(tmp_path / "run" / "system")


def features():
    """Features with no argument as it is by default."""
    definitions = text_models.make_definitions()
    return DefinitionFeatures(
        text_models.TEXT,
        lookup=DefinitionLookup(definitions, lemmas=False),
        packer=DefinitionPacker(
            definitions,
            text_models.GLOSSES,
            layout="padded",
            max_definitions=3,
            max_length=5,
            exclude_top_k=2,
        ),
        characters=text_models.CHARACTERS,
        exclude_top_k=1,
        begin=True,
        end=True,
    )


def test_features_come_back_with_all_they_were_made_with(files):
    before = features()
    content = json.loads(json.dumps(Encoder(files)(before)))
    after = Decoder(files, model=None)(content)
    assert Encoder(files)(after) == content
    # What was one object is one again: tables may be large.
    assert after.lookup.definitions is after.packer.definitions
    assert sorted(name.split(".")[0] for name in os.listdir(files.shared)) == [
        *("definitions", "vocabulary", "vocabulary", "vocabulary")
    ]
    words = tf.ragged.constant([["the", "zebra", "runs"], ["wug"]])
    for x, y in zip(
        tf.nest.flatten(after.inputs({"text": words})),
        tf.nest.flatten(before.inputs({"text": words})),
        strict=True,
    ):
        np.testing.assert_array_equal(x, y)


def test_a_file_is_kept_once_and_checked(files):
    first = files.write(b"a", "x.{}.txt")
    assert first == files.write(b"a", "x.{}.txt")
    assert first != files.write(b"b", "x.{}.txt")
    path = files.path(first)
    assert first["file"].startswith("../data/x.")
    with open(path, "wb") as file:
        file.write(b"b")
    with pytest.raises(RunError, match=f"^{path} is damaged or has ch"):
        files.path(first)
    # It is mended by the next run, whose content it is.
    files.write(b"a", "x.{}.txt")
    assert files.path(first) == path
    os.remove(path)
    with pytest.raises(RunError, match=f"^{path}: no such file"):
        files.path(first)


def test_a_file_of_the_run_is_used_where_it_lies(files, tmp_path):
    own = os.path.join(files.shared, "words.txt")
    os.makedirs(files.shared)
    with open(own, "wb") as file:
        file.write(b"a")
    outside = tmp_path / "words.txt"
    outside.write_bytes(b"a")
    assert files.write(b"a", "x.{}", own)["file"] == "../data/words.txt"
    # One that lies elsewhere, or holds something else, is copied.
    assert files.write(b"a", "x.{}", outside)["file"].startswith("../data/x.")
    assert files.write(b"b", "x.{}", own)["file"].startswith("../data/x.")
