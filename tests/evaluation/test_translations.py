import math
import subprocess
import sys

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.evaluation import translations
from tfcopy.evaluation.translations import (
    accuracy_by_quantile,
    mean_log_rank,
    score_copied_words,
)
from tfcopy.tokens import BOS, EOS, PAD, UNK


def test_exact_match_is_a_percentage():
    assert translations.exact_match(["a ", "b", "c", "d"], list("axyz")) == 25
    answers = ["a :", "a\u00a0:", "a\u00a0", "a"]
    assert translations.exact_match(answers, ["a\u00a0:"] * 3 + ["\ta"]) == 50


def test_top_n_accuracy_looks_at_the_n_best():
    candidates = [["a", " b "], ["b", "c", "a"], [], ["d"]]
    references = ["b", "a", "", "d "]
    assert [
        translations.top_n_accuracy(candidates, references, n)
        for n in (1, 2, 3)
    ] == [25, 50, 75]
    # Words are not compared with parts of candidates.
    assert translations.top_n_accuracy([["a b"]], ["a"], 5) == 0
    with pytest.raises(ValueError, match="4 hypotheses, 1 texts"):
        translations.top_n_accuracy(candidates, ["a"], 1)


@pytest.mark.parametrize(
    "percent, number", [(0, 20), (5, 20), (50, 4000), (97.3, 4000), (100, 3)]
)
def test_interval_holds_the_shares_that_a_test_would_not_reject(
    percent, number
):
    """Wilson's ends are where the score test is just at 1.96."""
    low, high = translations.interval(percent, number)
    assert 0 <= low <= percent <= high <= 100 and low < high
    for end in {low, high} - {0.0, 100.0}:
        p = end / 100
        deviation = math.sqrt(p * (1 - p) / number)
        assert abs(percent / 100 - p) / deviation == pytest.approx(1.959964)
    assert (low == 0) == (percent == 0) and (high == 100) == (percent == 100)


def check_lengths(*metrics):
    """Metrics tell numbers of hypotheses and of texts that do not agree."""
    for metric in metrics:
        with pytest.raises(ValueError, match="2 hypotheses, 1 texts"):
            metric(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="0 hypotheses"):
            metric([], [])


def test_lengths_must_agree():
    check_lengths(
        translations.bleu, translations.chrf, translations.exact_match
    )


def test_error_rate_counts_words_to_change():
    references = ["a b c d", "e f", "Łukasz 北京"]
    # One word changed, one missing; one too many; all right.
    hypotheses = ["a x c", " e  f g", "Łukasz 北京"]
    rate = translations.error_rate(hypotheses, references)
    assert rate == pytest.approx(100 * 3 / 8)
    assert translations.error_rate(["", "a"], ["a b", "a"]) == (
        pytest.approx(100 * 2 / 3)
    )
    assert translations.error_rate([""], [""]) == 0
    with pytest.raises(ValueError, match="2 hypotheses, 1 texts"):
        translations.error_rate(["a", "b"], ["a"])


def test_other_scores_need_no_tensorflow():
    code = (
        "import sys; from tfcopy.evaluation import translations;"
        "translations.bleu('a', 'a');"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rates_are_of_words():
    assert translations.unk_rate([["a", "<unk>"], [], ["b", "c"]]) == 25
    assert translations.copy_rate([[-1, 3], [], [0, -1]]) == 50
    assert translations.unk_rate([]) == translations.copy_rate([[]]) == 0


VOCABULARY = {"the", "met"}


def test_only_words_that_nothing_else_can_give_count():
    found = score_copied_words(
        [["Łukasz", "met", "Ana", "Ana"], ["the", "Wug"]],
        [["Łukasz", "met", "Ana", "Bo"], ["the", "Wug", "Wug"]],
        [["Łukasz", "the", "Ana", "Ana", "Bo"], ["the", "Wug"]],
        VOCABULARY,
    )
    # Said: Łukasz, Ana, Wug, Wug; wanted: Łukasz, Ana, Ana, Wug; Bo is in no
    # source.
    assert found == {"precision": 75.0, "recall": 75.0, "f1": 75.0, "number": 4}


def test_without_such_words_there_are_no_shares():
    found = score_copied_words([["the"]], [["the"]], [["the"]], VOCABULARY)
    assert found == {"precision": None, "recall": None, "f1": None, "number": 0}
    found = score_copied_words([["Ana"]], [["the"]], [["Ana"]], VOCABULARY)
    assert (found["precision"], found["recall"]) == (None, 0.0)


WORDS = st.lists(st.sampled_from(["the", "Ana", "Bo", "Wug"]), max_size=5)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4))
def test_shares_are_shares_and_references_are_perfect(texts):
    sources, hypotheses, references = zip(*texts)
    found = score_copied_words(sources, hypotheses, references, VOCABULARY)
    for name in ("precision", "recall", "f1"):
        assert found[name] is None or 0 <= found[name] <= 100
    same = score_copied_words(sources, references, references, VOCABULARY)
    assert same["precision"] == (100.0 if same["number"] else None)
    turned = score_copied_words(sources, references, hypotheses, VOCABULARY)
    assert turned["precision"] == found["recall"]


@pytest.fixture
def vocabulary():
    return Vocabulary.build({"the": 9, "of": 7, "dog": 5, "barks": 3, "ox": 1})


def test_rank_is_the_place_by_frequency(vocabulary):
    ids = [[vocabulary.id(word)] for word in vocabulary.words[4:]]
    np.testing.assert_allclose(
        mean_log_rank(ids, vocabulary), np.log([1, 2, 3, 4, 5])
    )


def test_logarithms_are_averaged(vocabulary):
    the, dog = vocabulary.id("the"), vocabulary.id("dog")
    np.testing.assert_allclose(
        mean_log_rank([[the, dog, dog]], vocabulary), [2 * np.log(3) / 3]
    )


def test_unknown_words_rank_last(vocabulary):
    np.testing.assert_allclose(mean_log_rank([[UNK]], vocabulary), np.log([5]))


def test_padding_and_ends_do_not_count(vocabulary):
    of, ox = vocabulary.id("of"), vocabulary.id("ox")
    plain = mean_log_rank([[of, ox], [ox]], vocabulary)
    padded = np.array([[BOS, of, ox, EOS, PAD], [BOS, ox, EOS, PAD, PAD]])
    np.testing.assert_array_equal(mean_log_rank(padded, vocabulary), plain)


def test_texts_without_words_have_no_rank(vocabulary):
    texts = [[], [BOS, EOS], [4]]
    assert np.isnan(mean_log_rank(texts, vocabulary)).tolist() == [1, 1, 0]


def test_bins_agree_with_sorting():
    rng = np.random.default_rng(0)
    x, right = rng.normal(size=1000), rng.random(1000) < 0.3
    centres, accuracies, sizes = accuracy_by_quantile(x, right)
    order = np.argsort(x).reshape(5, 200)
    np.testing.assert_allclose(centres, x[order].mean(axis=1))
    np.testing.assert_allclose(accuracies, 100 * right[order].mean(axis=1))
    assert sizes.tolist() == [200] * 5


def test_equal_examples_share_a_bin():
    x = [1.0] * 6 + [2.0, 2.0, 3.0]
    right = [True, False] * 3 + [True, True, False]
    for bins in (5, 9):
        centres, accuracies, sizes = accuracy_by_quantile(x, right, bins)
        assert centres.tolist() == [1, 2, 3]
        assert accuracies.tolist() == [50, 100, 0]
        assert sizes.tolist() == [6, 2, 1]
    assert accuracy_by_quantile(x, right, 3)[2].tolist() == [6, 3]


def test_fewer_examples_than_bins_have_one_each():
    centres, accuracies, sizes = accuracy_by_quantile([3, 1], [True, False])
    assert centres.tolist() == [1, 3]
    assert accuracies.tolist() == [0, 100]
    assert sizes.tolist() == [1, 1]


def test_what_has_no_rank_is_left_out():
    _, accuracies, sizes = accuracy_by_quantile(
        [np.nan, 1, 1, np.nan], [False, True, True, False]
    )
    assert accuracies.tolist() == [100] and sizes.tolist() == [2]
    assert [len(x) for x in accuracy_by_quantile([np.nan], [True])] == [0] * 3


REFERENCES = [f"the cat number {i} sat on the mat" for i in range(60)]
WORSE = [
    text.replace("cat", "dog") if i % 2 else text
    for i, text in enumerate(REFERENCES)
]
ALIKE = [
    text if i % 2 else text.replace("cat", "dog")
    for i, text in enumerate(REFERENCES)
]


@pytest.fixture(scope="module")
def compared():
    return translations.compare(
        {"worse": WORSE, "alike": ALIKE, "right": REFERENCES},
        [REFERENCES],
        samples=200,
    )


def test_scores_are_sacrebleus(compared):
    bleu = translations.bleu(WORSE, REFERENCES)
    assert compared["worse"]["bleu"]["score"] == pytest.approx(bleu["score"])
    chrf = translations.chrf(WORSE, REFERENCES)
    assert compared["worse"]["chrf"]["score"] == pytest.approx(chrf["score"])
    assert compared["right"]["ter"]["score"] == 0
    assert "bs:200" in compared["worse"]["bleu"]["signature"]
    for own in (compared["worse"], compared["right"]):
        for score in own.values():
            low, high = score["interval"]
            assert low <= score["score"] + 1 and score["score"] - 1 <= high


def test_p_tells_a_difference_from_chance(compared):
    assert compared["worse"]["bleu"]["p"] is None
    assert compared["right"]["bleu"]["p"] < 0.01
    assert compared["alike"]["ter"]["p"] > 0.2


@pytest.fixture(scope="module")
def libraries_own():
    """Returns the result of sacrebleu's own paired bootstrap."""
    test = PairedTest(
        [("worse", WORSE), ("alike", ALIKE), ("right", REFERENCES)],
        {"ter": sacrebleu.TER()},
        [REFERENCES],
        test_type="bs",
        n_samples=200,
    )
    _, found = test()
    return dict(zip(("worse", "alike", "right"), found["TER"]))


def test_the_bootstrap_is_sacrebleus(compared, libraries_own):
    for name, expected in libraries_own.items():
        found = compared[name]["ter"]
        assert found["score"] == expected.score
        assert found["p"] == expected.p_value
        low, high = found["interval"]
        assert low == pytest.approx(expected.mean - expected.ci, abs=1)
        assert high == pytest.approx(expected.mean + expected.ci, abs=1)


def test_what_is_the_same_is_no_better():
    found = translations.compare(
        {"a": WORSE, "b": WORSE}, [REFERENCES], samples=20
    )
    assert all(score["p"] == 1 for score in found["b"].values())


texts = st.text("ab .", max_size=8)


@settings(max_examples=25)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_an_interval_stays_in_the_range_of_its_metric(pairs):
    answers, references = zip(*pairs)
    systems = {"signatures": answers, "right": references}
    found = translations.compare(systems, [references], samples=10)
    assert found.keys() == systems.keys()
    for own in found.values():
        for metric, score in own.items():
            low, high = score["interval"]
            assert 0 <= low <= high
            assert metric == "ter" or high <= 100
    assert found == translations.compare(systems, [references], samples=10)


def test_each_text_needs_an_answer():
    with pytest.raises(ValueError, match="b: 59 answers to 60 references"):
        translations.compare(
            {"a": WORSE, "b": ALIKE[1:]}, [REFERENCES], ["bleu"]
        )


def test_changed_answers_are_better_or_worse():
    before = ["a dog runs", "two men", "the end", "a cat"]
    after = ["a dog runs", "two red men", "an end", "a bird"]
    references = [["a dog runs", "two red men", "the end", "fox"]]
    assert translations.count_changed_answers(before, after, references) == {
        "answers": 3,
        "better": 1,
        "worse": 1,
    }
