import pytest

from tfcopy.data.generated import demo_headlines

SIZES = {"num_train": 40, "num_validation": 30, "num_test": 50}


def test_sizes_and_order():
    corpus = demo_headlines.load(**SIZES)
    again = demo_headlines.load(**SIZES)
    assert corpus.generated
    for name in ("train", "validation", "test"):
        pairs = list(corpus.splits[name])
        assert len(pairs) == corpus.splits[name].num_pairs
        assert len(pairs) == SIZES[f"num_{name}"]
        assert pairs == list(corpus.splits[name]) == list(again.splits[name])
    assert corpus.fingerprint == again.fingerprint
    other = demo_headlines.load(**SIZES, seed=1)
    assert other.fingerprint != corpus.fingerprint
    assert list(other.train) != list(corpus.train)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_headlines_are_those_of_their_texts(split):
    """A headline has a name or a figure of its own text."""
    for text, headline in demo_headlines.generate(split, 60):
        words = [x.strip(".,:\"'") for x in headline.split()]
        named = [w for w in words if w[0].isupper() or w[0].isdigit()]
        assert any(word in text for word in named), headline
