import math
import subprocess
import sys

import pytest

from tfcopy.evaluation import translations

TEXTS = ["the session of Łukasz is open .", "北京 has the floor now , again ."]


def test_a_perfect_answer_scores_100():
    result = translations.bleu(TEXTS, TEXTS)
    assert result["score"] == pytest.approx(100)
    assert "tok:13a" in result["signature"]
    assert translations.chrf(TEXTS, TEXTS)["score"] == pytest.approx(100)
    assert translations.exact_match(TEXTS, TEXTS) == 100


def test_bleu_follows_its_definition():
    hypothesis, reference = "a b c d e f", "a b c d e g h"
    # Matching n-grams: 5 of 6, 4 of 5, 3 of 4, 2 of 3; brevity exp(1 - 7/6).
    expected = 100 * math.exp(-1 / 6) * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25
    result = translations.bleu([hypothesis], [reference], tokenize="none")
    assert result["score"] == pytest.approx(expected)
    assert "tok:none" in result["signature"]


def test_tokenisation_matters():
    hypotheses, references = ["the session, is open"], ["the session , is open"]
    assert translations.bleu(hypotheses, references)["score"] > 99
    assert translations.bleu(hypotheses, references, "none")["score"] < 50


def test_several_references():
    hypotheses = ["a b c d", "e f g h"]
    lists = [["x", "e f g h"], ["a b c d", "y"]]
    assert translations.bleu(hypotheses, lists)["score"] == pytest.approx(100)
    assert translations.exact_match(hypotheses, lists) == 100


def test_exact_match_is_a_percentage():
    assert translations.exact_match(["a ", "b", "c", "d"], list("axyz")) == 25


def test_top_n_accuracy_looks_at_the_n_best():
    candidates = [["a", " b "], ["b", "c", "a"], [], ["d"]]
    references = ["b", "a", "", "d "]
    accuracies = [
        translations.top_n_accuracy(candidates, references, n)
        for n in (1, 2, 3)
    ]
    assert accuracies == [25, 50, 75]
    several = [["x"] * 4, ["y", "c", "z", "w"]]
    assert translations.top_n_accuracy(candidates, several, 2) == 25
    # Words are not compared with parts of candidates.
    assert translations.top_n_accuracy([["a b"]], ["a"], 5) == 0
    with pytest.raises(ValueError, match="`n` must be positive"):
        translations.top_n_accuracy(candidates, references, 0)
    with pytest.raises(ValueError, match="4 hypotheses and 1 references"):
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


def test_interval_of_4000_is_a_point_and_a_half_each_side():
    low, high = translations.interval(50, 4000)
    assert (
        high - 50 == pytest.approx(50 - low) == pytest.approx(1.549, abs=2e-3)
    )


@pytest.mark.parametrize("percent, number", [(101, 5), (-1, 5), (50, 0)])
def test_interval_needs_a_percentage_and_a_number(percent, number):
    with pytest.raises(ValueError, match=f"number={number}"):
        translations.interval(percent, number)


def test_lengths_must_agree():
    for metric in (
        translations.bleu,
        translations.chrf,
        translations.exact_match,
    ):
        with pytest.raises(ValueError, match="2 hypotheses and 1 references"):
            metric(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="0 hypotheses"):
            metric([], [])


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
    with pytest.raises(ValueError, match="2 hypotheses and 1 references"):
        translations.error_rate(["a", "b"], ["a"])


def test_other_scores_need_no_tensorflow():
    code = (
        "import sys; from tfcopy.evaluation import translations;"
        "translations.bleu('a', 'a');"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_perplexity():
    assert translations.perplexity(4 * math.log(3), 4) == pytest.approx(3)
    assert translations.perplexity(1e6, 1) == math.inf
    with pytest.raises(ValueError, match="num_tokens"):
        translations.perplexity(1.0, 0)


def test_rates_are_of_words():
    assert translations.unk_rate([["a", "<unk>"], [], ["b", "c"]]) == 25
    assert translations.copy_rate([[-1, 3], [], [0, -1]]) == 50
    assert translations.unk_rate([]) == translations.copy_rate([[]]) == 0
