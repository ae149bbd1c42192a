import pytest
import tensorflow_datasets as tfds

from tfcopy.data.corpora import tfds_builders, tfds_texts
from tfcopy.data.corpora.corpus import CorpusError


class TinyQuestions(tfds.core.GeneratorBasedBuilder):
    """As `squad` has it: two texts beside other features."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        text = tfds.features.Text()
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(
                {
                    "title": text,
                    "context": text,
                    "question": text,
                    "answers": tfds.features.Sequence({"text": text}),
                }
            ),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        return {
            split: self._generate_examples()
            for split in ("train", "validation")
        }

    def _generate_examples(self):
        for i, context in enumerate(["Łukasz sang .", " ", "It rained ."]):
            yield (
                i,
                {
                    "title": "t",
                    "context": context,
                    "question": f"what {i} ?",
                    "answers": {"text": ["a", "b"]},
                },
            )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tfds")


def test_what_a_killed_preparation_left_is_removed(tmp_path, monkeypatch):
    """Another preparation is under way, and done first."""
    (tmp_path / ".preparing-0000dead" / "tiny_questions").mkdir(parents=True)
    place = tmp_path / "tiny_questions" / "1.0.0"
    prepare = TinyQuestions.download_and_prepare

    def slow(builder, **options):
        with monkeypatch.context() as patch:
            patch.setattr(TinyQuestions, "download_and_prepare", prepare)
            tfds_builders.load("tiny_questions", tmp_path)
        assert builder.data_dir.startswith(f"{tmp_path}/.preparing-")
        assert place.is_dir()
        prepare(builder, **options)

    monkeypatch.setattr(TinyQuestions, "download_and_prepare", slow)
    builder = tfds_builders.load("tiny_questions", tmp_path)
    assert builder.data_dir == str(place) and builder.is_prepared()
    assert [x.name for x in tmp_path.glob(".*")] == []


def test_any_two_texts_are_a_corpus(data_dir):
    corpus = tfds_texts.load(
        "tiny_questions",
        data_dir,
        source_feature="context",
        target_feature="question",
        splits={"validation": "train[2:]", "test": "validation"},
    )
    pairs = [("Łukasz sang .", "what 0 ?"), ("It rained .", "what 2 ?")]
    assert list(corpus.train) == list(corpus.test) == pairs
    assert list(corpus.validation) == pairs[1:]
    assert (corpus.source_language, corpus.target_language) == ("en", "en")


def test_features_that_are_no_text_are_named(data_dir):
    splits = {"test": "validation"}
    for feature in ("answers", "summary"):
        with pytest.raises(CorpusError) as caught:
            tfds_texts.load(
                "tiny_questions",
                data_dir,
                source_feature="context",
                target_feature=feature,
                splits=splits,
            )
        assert repr(feature) in str(caught.value)
        assert "title, context, question" in str(caught.value)
    with pytest.raises(CorpusError, match="Cannot tell which two texts"):
        tfds_texts.load("tiny_questions", data_dir, splits=splits)
