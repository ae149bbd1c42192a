"""Files, faults and tiny datasets that the tests of all corpora share."""

import gzip

import pytest
import tensorflow_datasets as tfds

from tfcopy.data.corpora.corpus import CorpusError

SPLITS = ("train", "validation", "test")


def write(path, text):
    """Writes a text or bytes, compressed where the name says so."""
    data = text if isinstance(text, bytes) else text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def check_message(load, *parts, error=CorpusError):
    """Checks that a function ends with one line that has these parts."""
    with pytest.raises(error) as caught:
        load()
    message = str(caught.value)
    for part in parts:
        assert str(part) in message
    assert "\n" not in message and len(message) < 700


class TinyDataset(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """A dataset of TFDS, of examples that its subclass lists by split."""

    VERSION = tfds.core.Version("1.0.0")
    supervised_keys = None

    def _info(self):
        return tfds.core.DatasetInfo(
            builder=self,
            features=self.features,
            supervised_keys=self.supervised_keys,
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        return {k: self._generate_examples(x) for k, x in self.splits.items()}

    def _generate_examples(self, examples):
        yield from enumerate(examples)


def texts(*names):
    """Features of TFDS that are texts."""
    return tfds.features.FeaturesDict(
        dict.fromkeys(names, tfds.features.Text())
    )
