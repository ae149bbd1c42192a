import numpy as np
import pytest
import tensorflow_datasets as tfds

from tests.data.corpora.corpus_files import SPLITS, TinyDataset, check_message
from tfcopy.data.corpora import text_pairs, tfds_corpora
from tfcopy.data.corpora.corpus import CorpusError

PAIRS = [
    ("one", "un"),
    ("北京 🙂", "北京 🙂"),
    (" ", "blank"),
    ("a\u2028b", "c\u0085d"),
]


class TinyTranslation(TinyDataset):
    features = tfds.features.Translation(("en", "fr"))
    supervised_keys = ("en", "fr")
    splits = dict.fromkeys(SPLITS, [{"en": en, "fr": fr} for en, fr in PAIRS])


class TinyTexts(TinyDataset):
    features = tfds.features.FeaturesDict(
        {
            "en": tfds.features.Text(),
            "fr": tfds.features.Text(),
            "id": tfds.features.Scalar(np.int32),
        }
    )
    splits = {
        "train": [
            {"en": en, "fr": fr, "id": i} for i, (en, fr) in enumerate(PAIRS)
        ]
    }


class TinyOffline(TinyTranslation):
    def _split_generators(self, dl_manager):
        raise ConnectionError("no route to host\nand more")


class TinyQuestions(TinyDataset):
    """Two texts beside other features, like those of `squad`."""

    text = tfds.features.Text()
    features = tfds.features.FeaturesDict(
        {
            **dict.fromkeys(("title", "context", "question"), text),
            "answers": tfds.features.Sequence({"text": text}),
        }
    )
    splits = dict.fromkeys(
        SPLITS[:2],
        [
            {
                "title": "t",
                "context": context,
                "question": f"what {i} ?",
                "answers": {"text": ["a", "b"]},
            }
            for i, context in enumerate(["Łukasz sang .", " ", "It rained ."])
        ],
    )


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
    again = tfds_corpora.load("tiny_translation", data_dir)
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


@pytest.mark.parametrize(
    "name, options, parts",
    [
        (
            "no_such_pair/xx-yy",
            {},
            ["'no_such_pair/xx-yy'", "{}", "--data_dir"],
        ),
        ("tiny_texts:9.0.0", {}, ["only: 1.0.0", "--data_dir"]),
        ("tiny_offline", {}, ["no route to host", "--data_dir"]),
        ("tiny_texts", {}, ["no split 'validation'", "train"]),
        ("tiny_translation", {"splits": {"dev": "test"}}, ["'dev'"]),
        ("tiny_translation", {"target": "de"}, ["'de'", "en, fr"]),
    ],
)
def test_what_is_not_there_is_named(data_dir, name, options, parts):
    check_message(
        lambda: tfds_corpora.load(name, data_dir, **options),
        *(part.format(data_dir) for part in parts),
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
