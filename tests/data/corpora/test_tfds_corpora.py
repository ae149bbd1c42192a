import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfcopy.data.corpora import text_pairs, tfds_corpora
from tfcopy.data.corpora.corpus import CorpusError

PAIRS = [
    ("one", "un"),
    ("北京 🙂", "北京 🙂"),
    (" ", "blank"),
    ("a\u2028b", "c\u0085d"),
]


class TinyTranslation(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")
    features = tfds.features.Translation(("en", "fr"))
    supervised_keys = ("en", "fr")

    def _info(self):
        return tfds.core.DatasetInfo(
            builder=self,
            features=self.features,
            supervised_keys=self.supervised_keys,
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        return {
            split: self._generate_examples()
            for split in ("train", "validation", "test")
        }

    def _generate_examples(self):
        for i, (en, fr) in enumerate(PAIRS):
            yield i, {"en": en, "fr": fr}


class TinyTexts(TinyTranslation):
    VERSION = tfds.core.Version("1.0.0")
    features = tfds.features.FeaturesDict(
        {
            "en": tfds.features.Text(),
            "fr": tfds.features.Text(),
            "id": tfds.features.Scalar(np.int32),
        }
    )
    supervised_keys = None

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for i, example in super()._generate_examples():
            yield i, {**example, "id": i}


class TinyOffline(TinyTranslation):
    VERSION = tfds.core.Version("1.0.0")

    def _split_generators(self, dl_manager):
        raise ConnectionError("no route to host\nand more")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tfds")


EXPECTED = [pair for pair in PAIRS if pair[0].strip()]


def test_reads_a_translation_dataset_again_and_again(data_dir):
    corpus = tfds_corpora.load("tiny_translation", data_dir)
    for _ in range(2):
        assert list(corpus.train) == EXPECTED
    assert list(corpus.test) == EXPECTED
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert corpus.train.num_pairs == len(PAIRS)
    counts = text_pairs.count_split(corpus.train, len(EXPECTED))
    assert counts["blank"] == len(PAIRS) - len(EXPECTED) > 0
    again = tfds_corpora.load("tiny_translation", data_dir, download=False)
    assert again.fingerprint == corpus.fingerprint


def test_direction_can_be_turned(data_dir):
    forward = tfds_corpora.load("tiny_translation", data_dir)
    for languages in (
        {"source": "fr"},
        {"target": "en"},
        {"source": "fr", "target": "en"},
    ):
        corpus = tfds_corpora.load("tiny_translation", data_dir, **languages)
        assert list(corpus.train) == [pair[::-1] for pair in EXPECTED]
        assert corpus.fingerprint != forward.fingerprint


def test_reads_two_text_features_and_parts_of_splits(data_dir):
    splits = {
        "train": "train[:50%]",
        "validation": "train[2:3]",
        "test": "train[3:]",
    }
    corpus = tfds_corpora.load("tiny_texts", data_dir, splits=splits)
    assert list(corpus.train) == PAIRS[:2]
    assert list(corpus.validation) == []
    assert list(corpus.test) == PAIRS[3:]
    assert corpus.test.num_pairs == 1


def check_message(*parts, **arguments):
    with pytest.raises(CorpusError) as caught:
        tfds_corpora.load(**arguments)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_name(data_dir):
    check_message(
        "'no_such_translation/xx-yy'",
        str(data_dir),
        "--data_dir",
        name="no_such_translation/xx-yy",
        data_dir=data_dir,
    )


def test_unknown_version(data_dir):
    check_message(
        "'tiny_texts:9.0.0'",
        "only: 1.0.0",
        "--data_dir",
        name="tiny_texts:9.0.0",
        data_dir=data_dir,
    )


def test_not_prepared_and_no_network(data_dir, capsys):
    check_message(
        "'tiny_offline'",
        "no route to host",
        "--data_dir",
        name="tiny_offline",
        data_dir=data_dir,
    )
    check_message(
        "not prepared",
        str(data_dir),
        name="tiny_offline",
        data_dir=data_dir,
        download=False,
    )


def test_missing_split(data_dir):
    check_message(
        "no split 'validation'", "train", name="tiny_texts", data_dir=data_dir
    )
    check_message(
        "'dev'",
        name="tiny_translation",
        data_dir=data_dir,
        splits={"dev": "test"},
    )


def test_wrong_language(data_dir):
    check_message(
        "'de'",
        "en, fr",
        name="tiny_translation",
        data_dir=data_dir,
        target="de",
    )


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


def test_what_a_killed_preparation_left_is_removed(tmp_path, monkeypatch):
    """Another preparation is under way, and done first."""
    (tmp_path / ".preparing-0000dead" / "tiny_questions").mkdir(parents=True)
    place = tmp_path / "tiny_questions" / "1.0.0"
    prepare = TinyQuestions.download_and_prepare

    def slow(builder, **options):
        with monkeypatch.context() as patch:
            patch.setattr(TinyQuestions, "download_and_prepare", prepare)
            tfds_corpora.builder_of("tiny_questions", tmp_path)
        assert builder.data_dir.startswith(f"{tmp_path}/.preparing-")
        assert place.is_dir()
        prepare(builder, **options)

    monkeypatch.setattr(TinyQuestions, "download_and_prepare", slow)
    builder = tfds_corpora.builder_of("tiny_questions", tmp_path)
    assert builder.data_dir == str(place) and builder.is_prepared()
    assert [x.name for x in tmp_path.glob(".*")] == []


def test_any_two_texts_are_a_corpus(data_dir):
    corpus = tfds_corpora.load(
        "tiny_questions",
        data_dir,
        source="context",
        target="question",
        languages=("en", "de"),
        splits={"validation": "train[2:]", "test": "validation"},
    )
    pairs = [("Łukasz sang .", "what 0 ?"), ("It rained .", "what 2 ?")]
    assert list(corpus.train) == list(corpus.test) == pairs
    assert list(corpus.validation) == pairs[1:]
    assert (corpus.source_language, corpus.target_language) == ("en", "de")


def test_features_that_are_no_text_are_named(data_dir):
    splits = {"test": "validation"}
    for feature in ("answers", "summary"):
        with pytest.raises(CorpusError) as caught:
            tfds_corpora.load(
                "tiny_questions",
                data_dir,
                source="context",
                target=feature,
                splits=splits,
            )
        assert repr(feature) in str(caught.value)
        assert "title, context, question" in str(caught.value)
    with pytest.raises(CorpusError, match="Cannot choose two texts"):
        tfds_corpora.load("tiny_questions", data_dir, splits=splits)


@pytest.mark.parametrize("name", ["evil.evil.Text", "evil.Text"])
def test_a_prepared_dataset_imports_nothing(tmp_path, monkeypatch, name):
    tfds.builder("tiny_texts", data_dir=tmp_path).download_and_prepare()
    (tmp_path / "tiny_texts").rename(tmp_path / "theirs")
    for file, old, new in (
        ("dataset_info.json", "tiny_texts", "theirs"),
        (
            "features.json",
            "tensorflow_datasets.core.features.text_feature.Text",
            name,
        ),
    ):
        (path,) = tmp_path.rglob(file)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil").mkdir()
    for module in ("__init__", "evil"):
        (tmp_path / "evil" / f"{module}.py").write_text(
            "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()"
        )
    with pytest.raises(CorpusError, match=f"names {name}: import evil.* first"):
        tfds_corpora.load("theirs", tmp_path, "en", "fr")
    assert not [*tmp_path.rglob("*.ran")]
