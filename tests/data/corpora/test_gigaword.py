import pytest
import tensorflow_datasets as tfds

from tfcopy.data.corpora import gigaword
from tfcopy.data.corpora.corpus import CorpusError

PAIRS = [
    ("UNK said #.## UNKNOWN of UNK .", "UNK pays"),
    ("x UNK UNK UNK", "JUNK UNK's"),
]
EXPECTED = [
    ("<unk> said #.## UNKNOWN of <unk> .", "<unk> pays"),
    ("x <unk> <unk> <unk>", "JUNK UNK's"),
]


class Gigaword(
    tfds.core.GeneratorBasedBuilder,
    skip_registration=True,  # TFDS has one of this name
):
    VERSION = tfds.core.Version("1.2.0")

    def _info(self):
        text = tfds.features.Text()
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(
                {"document": text, "summary": text}
            ),
            supervised_keys=("document", "summary"),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        return {
            split: self._generate_examples()
            for split in ("train", "validation", "test")
        }

    def _generate_examples(self):
        for i, (document, summary) in enumerate(PAIRS):
            yield i, {"document": document, "summary": summary}


def test_unk_is_the_special_word(tmp_path):
    Gigaword(data_dir=tmp_path).download_and_prepare()
    for options in ({}, {"version": "1.2.0"}):
        corpus = gigaword.load(tmp_path, download=False, **options)
        assert corpus.tokenized
        assert (corpus.source_language, corpus.target_language) == ("en", "en")
        for split in corpus.splits.values():
            assert list(split) == list(split) == EXPECTED


def test_without_a_prepared_copy_it_says_so(tmp_path):
    with pytest.raises(CorpusError, match="gigaword.*--data_dir"):
        gigaword.load(tmp_path, download=False)
