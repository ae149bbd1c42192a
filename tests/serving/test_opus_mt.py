"""Checkpoints of OPUS-MT's own format are those of Hugging Face, or refused."""

import shutil
import zipfile

import numpy as np
import pytest

from tests.serving import checkpoints
from tfcopy.checked_files import read_json
from tfcopy.serving import opus_mt, published_network

LINK = zipfile.ZipInfo("link")
LINK.external_attr = 0o120777 << 16


def read(folder):
    backbone, bias, _ = published_network.load(folder)
    weights = backbone.trainable_weights
    return [read_json(folder / "vocab.json"), bias, *weights]


def test_network_and_tokens_are_those_of_hugging_face(tmp_path):
    hub, opus = checkpoints.write_opus(tmp_path)
    archive = shutil.make_archive(tmp_path / "x", "zip", tmp_path, "opus")
    for model in (opus, archive):
        found = read(opus_mt.convert(model, tmp_path / "made"))
        assert all(map(np.array_equal, found, read(hub)))


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("transformer\n", "s2s\n", "a.npz .*type: 's2s' is not"),
        ("swish", "gelu", "transformer-ffn-activation: 'gelu' is not"),
        ("postprocess: dan", "postprocess: da", "postprocess-top: ' da ' is"),
        ("- a.npz", "- ../a.npz", "decoder.yml .*models: "),
        ("- a.npz", '- "a\\0.npz"', "decoder.yml .*models: "),
        ("normalize: 1", "normalize: &a [*a]", "decoder.yml cannot be read"),
        ("enc-depth: 2", "enc-depth: 90000", "expected at least"),
        ('"<unk>": 1', '"<unk>": 2', "a.yml .*each id once"),
    ],
)
def test_fields_that_do_not_fit_are_named(old, new, reason, tmp_path):
    _, folder = checkpoints.write_opus(tmp_path, old, new)
    with pytest.raises(ValueError, match=reason) as error:
        published_network.load(opus_mt.convert(folder, tmp_path / "made"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["../x", "/x", "a/b/x", "a", LINK, "bomb"])
def test_archives_are_not_believed(name, tmp_path):
    path = tmp_path / "opus.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", "")
        archive.NameToInfo.clear()
        archive.writestr(name, bytes((1 << 24) * (name == "bomb")))
    with pytest.raises(
        ValueError, match="opus.zip cannot be read .*' (is|has)"
    ):
        opus_mt.convert(path, tmp_path / "made")
    assert [*tmp_path.iterdir()] == [path]
