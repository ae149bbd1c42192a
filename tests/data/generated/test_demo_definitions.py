import collections
import itertools

import pytest

from tfcopy.data.corpora.corpus import SPLITS
from tfcopy.data.generated import demo_definitions as demo
from tfcopy.data.generated import demo_definitions_lexicon as lexicon

LOADERS = (demo.questions, demo.entailments, demo.sentences)
PLAIN = frozenset(lexicon.plain_words())


@pytest.fixture(scope="module")
def definitions():
    """Of each headword."""
    found = demo.dictionary()
    return {
        word: [" ".join(tokens) for tokens in senses]
        for word, senses in zip(found.headwords, found.definitions)
    }


def text_of(example):
    """All that a model reads of an example."""
    if isinstance(example, str):
        return example
    if hasattr(example, "context"):
        return f"{example.context} {example.question}"
    return f"{example.premise} {example.hypothesis}"


def invented(split):
    """The invented words of each example."""
    return [
        {word for word in text_of(x).split() if word not in PLAIN}
        for x in split
    ]


# === The three corpora ===


@pytest.mark.long
@pytest.mark.parametrize("load", LOADERS)
def test_half_of_the_held_out_words_are_seen_in_training(load):
    corpus = load(num_validation=400, num_test=400)
    of_examples = invented(corpus.train)
    assert sum(not words for words in of_examples) == 5_000
    train = set().union(*of_examples)
    own, validation = demo.unseen_words(), invented(corpus.validation)
    for split in (invented(corpus.test), validation):
        counts = collections.Counter()
        for words in split:
            source = "seen" if words <= train else "unseen"
            counts[source if words else "plain"] += 1
        assert counts == {"plain": 100, "seen": 150, "unseen": 150}
    assert not own & train.union(*validation)
    assert own.union(train) >= set().union(*invented(corpus.test))


# === The dictionary ===


@pytest.mark.long
def test_every_invented_word_is_defined_in_plain_words(definitions):
    assert len(definitions) > 432 and len(PLAIN) < 300
    texts = list(itertools.chain.from_iterable(definitions.values()))
    assert {word for text in texts for word in text.split()} <= PLAIN
    assert max(len(text.split()) for text in texts) <= 20
    for load, name in itertools.product(LOADERS, SPLITS):
        for words in invented(load(num_train=5_000).splits[name]):
            assert all(word in definitions for word in words)
    assert len(set(definitions) - PLAIN) == 432
