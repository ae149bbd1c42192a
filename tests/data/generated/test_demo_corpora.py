"""Demo corpora are drawn alike each time, in splits of any size."""

import hashlib

import pytest

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import (
    demo_catalogs,
    demo_definitions,
    demo_news,
    demo_parliament,
    newsgen,
)

DIGESTS = {
    "catalogues": ("04bfbbfd7b290fc2", demo_catalogs.generate, 1000),
    "news": ("ec61e025eab1f460", demo_news.generate, 300),
    "parliament": ("a7042faba9d5c09c", demo_parliament.generate, 1000),
    "small parliament": (
        "2cf5f753daabfec1",
        lambda *x: demo_parliament.generate(*x, size="small"),
        1000,
    ),
    "news in LCSTS's format": ("3c3f1e600931b8f7", newsgen.generate, 300),
}
DEFINITIONS = {
    demo_definitions.questions: "0507c110f9dc57a5",
    demo_definitions.entailments: "1e8343264e772473",
    demo_definitions.sentences: "b8329afd3d2a0022",
}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", DIGESTS)
def test_texts_are_the_same_on_every_machine(name):
    """New digests are due whenever a grammar changes, and only then."""
    expected, generate, size = DIGESTS[name]
    assert digest(repr(list(generate("test", size)))) == expected


@pytest.mark.parametrize("load", DEFINITIONS)
def test_defined_texts_are_the_same_on_every_machine(load):
    texts = map(demo_definitions.text_of, load(num_test=300).test)
    assert digest("\n".join(texts)) == DEFINITIONS[load]


@pytest.mark.parametrize(
    "demo, target",
    [(demo_catalogs, "es"), (demo_news, "en"), (demo_parliament, "fr")],
)
def test_splits_are_read_again_and_again(tmp_path, demo, target):
    sizes = {"num_train": 30, "num_validation": 3, "num_test": 4}
    corpus = demo.load(tmp_path, **sizes)
    for _ in range(2):
        assert list(corpus.train) == list(demo.generate("train", 30))
    assert list(corpus.test) == list(demo.generate("test", 4))
    assert corpus.validation.num_pairs == 3
    assert corpus.generated and not corpus.tokenized
    assert (corpus.source_language, corpus.target_language) == ("en", target)
    again = demo.load(tmp_path, **sizes)
    other = demo.load(tmp_path, **sizes, seed=1)
    assert again.fingerprint == corpus.fingerprint != other.fingerprint
    assert list(other.train) != list(corpus.train)
    if target != "en":
        reverse = demo.load(tmp_path, **sizes, source_language=target)
        assert next(iter(reverse.train)) == next(iter(corpus.train))[::-1]
        assert reverse.fingerprint != corpus.fingerprint
    for name in ("num_train", "num_test"):
        with pytest.raises(CorpusError, match="must be 1 or more"):
            demo.load(tmp_path, **{name: 0})
    (tmp_path / "file").touch()
    with pytest.raises(CorpusError, match="file.*--data_dir"):
        demo.load(tmp_path / "file", **sizes)
