import collections

import pytest

from tfcopy.data.generated import demo_definitions as demo
from tfcopy.data.generated import demo_definitions_lexicon as lexicon

LOADERS = (demo.questions, demo.entailments, demo.sentences)
PLAIN = frozenset(lexicon.plain_words())


def text_of(example):
    """All that a model reads of an example."""
    if isinstance(example, str):
        return example
    if hasattr(example, "context"):
        return f"{example.context} {example.question}"
    return f"{example.premise} {example.hypothesis}"


def invented(split):
    """The invented words of each example."""
    return [{w for w in text_of(x).split() if w not in PLAIN} for x in split]


# === The three corpora ===


@pytest.mark.long
@pytest.mark.parametrize("load", LOADERS)
def test_half_of_the_held_out_words_are_seen_in_training(load):
    corpus = load(num_validation=400, num_test=400)
    of_examples = invented(corpus.train)
    assert sum(not words for words in of_examples) == 5_000
    train = set().union(*of_examples)
    own, validation = demo.get_unseen_words(), invented(corpus.validation)
    for split in (invented(corpus.test), validation):
        counts = collections.Counter()
        for words in split:
            source = "seen" if words <= train else "unseen"
            counts[source if words else "plain"] += 1
        assert counts == {"plain": 100, "seen": 150, "unseen": 150}
    assert not own & train.union(*validation)
    assert own.union(train) >= set().union(*invented(corpus.test))
