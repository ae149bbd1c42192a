from hypothesis import given
from hypothesis import strategies as st

from tfcopy.evaluation.copied_words import copied_words

VOCABULARY = {"the", "met"}


def test_only_words_that_nothing_else_can_give_count():
    found = copied_words(
        [["Łukasz", "met", "Ana", "Ana"], ["the", "Wug"]],
        [["Łukasz", "met", "Ana", "Bo"], ["the", "Wug", "Wug"]],
        [["Łukasz", "the", "Ana", "Ana", "Bo"], ["the", "Wug"]],
        VOCABULARY,
    )
    # Said: Łukasz, Ana, Wug, Wug; wanted: Łukasz, Ana, Ana, Wug; Bo is in no
    # source.
    assert found == {"precision": 75.0, "recall": 75.0, "f1": 75.0, "number": 4}


def test_without_such_words_there_are_no_shares():
    found = copied_words([["the"]], [["the"]], [["the"]], VOCABULARY)
    assert found == {"precision": None, "recall": None, "f1": None, "number": 0}
    found = copied_words([["Ana"]], [["the"]], [["Ana"]], VOCABULARY)
    assert (found["precision"], found["recall"]) == (None, 0.0)


WORDS = st.lists(st.sampled_from(["the", "Ana", "Bo", "Wug"]), max_size=5)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4))
def test_shares_are_shares_and_references_are_perfect(texts):
    sources, hypotheses, references = zip(*texts)
    found = copied_words(sources, hypotheses, references, VOCABULARY)
    for name in ("precision", "recall", "f1"):
        assert found[name] is None or 0 <= found[name] <= 100
    same = copied_words(sources, references, references, VOCABULARY)
    assert same["precision"] == (100.0 if same["number"] else None)
    turned = copied_words(sources, references, hypotheses, VOCABULARY)
    assert turned["precision"] == found["recall"]
