"""Demo corpora are drawn alike each time, in splits of any size."""

import hashlib

import pytest

from tfcopy.data.generated import (
    demo_catalogs,
    demo_definitions,
    demo_news,
    demo_parliament,
    eulerian,
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
def test_splits_are_read_again_and_again(demo, target):
    sizes = {"num_train": 30, "num_validation": 3, "num_test": 4}
    corpus = demo.load(**sizes)
    for _ in range(2):
        assert list(corpus.train) == list(demo.generate("train", 30))
    assert list(corpus.test) == list(demo.generate("test", 4))
    assert corpus.validation.num_pairs == 3
    assert corpus.generated and not corpus.tokenized
    assert (corpus.source_language, corpus.target_language) == ("en", target)
    again = demo.load(**sizes)
    other = demo.load(**sizes, seed=1)
    assert again.fingerprint == corpus.fingerprint != other.fingerprint
    assert list(other.train) != list(corpus.train)
    if target != "en":
        reverse = demo.load(**sizes, source_language=target)
        assert next(iter(reverse.train)) == next(iter(corpus.train))[::-1]
        assert reverse.fingerprint != corpus.fingerprint


LOADERS = [*DEFINITIONS, newsgen.load, eulerian.load]


@pytest.mark.parametrize("load", LOADERS)
def test_splits_have_their_sizes_and_fingerprints(load):
    sizes = {"num_train": 40, "num_validation": 16, "num_test": 24}
    corpus, again = load(**sizes), load(**sizes)
    for name, split in corpus.splits.items():
        examples = list(split)
        assert len(examples) == split.num_pairs == sizes[f"num_{name}"]
        assert examples == list(split) == list(again.splits[name])
    assert corpus.generated and corpus.fingerprint == again.fingerprint
    assert len({x.fingerprint for x in corpus.splits.values()}) == 3
    for name, size in sizes.items():
        longer = load(**{**sizes, name: size + 1})
        assert longer.fingerprint != corpus.fingerprint
    if load in DEFINITIONS:
        assert corpus.tokenized
        assert list(longer.test)[:24] == list(corpus.test)


@pytest.mark.parametrize("load", [newsgen.load, eulerian.load])
def test_seeds_differ(load):
    first, other = load(num_train=40), load(num_train=40, seed=1)
    assert first.fingerprint != other.fingerprint
    assert not {*first.train} & {*other.train}
