import string
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from tests.evaluation.test_translations import check_lengths
from tests.growth import check_linear
from tfcopy.evaluation import summaries as evaluation

ENGLISH = st.text(string.printable, max_size=80)


# === Sentences ===


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        (" \n ", []),
        ("one two", ["one two"]),
        ("a . b c ! d ? e", ["a .", "b c !", "d ?", "e"]),
        ("a . . .", ["a . . ."]),
        ("a b .\n\n c . d .\n", ["a b .", "c . d ."]),
        ("`` a . '' b .", ["`` a . ''", "b ."]),
        ("( a . ) b .", ["( a . )", "b ."]),
        ("-lrb- a . -rrb- b .", ["-lrb- a . -rrb-", "b ."]),
        ('he said " a . " b .', ['he said " a . "', "b ."]),
        ('a . " b . " c .', ["a .", '" b . "', "c ."]),
        ("北 京 。 好 ！", ["北 京 。", "好 ！"]),
        ("mr. a lost 2.5 . b won .", ["mr. a lost 2.5 .", "b won ."]),
        # Not tokenised.
        ("A bit. C did! E?", ["A bit.", "C did!", "E?"]),
        ('"A b." C 2.5 d.', ['"A b."', "C 2.5 d."]),
        ("Mr. A of the U.S. won. B.", ["Mr. A of the U.S. won.", "B."]),
        ("It fell by 5. It is 2.5. So", ["It fell by 5.", "It is 2.5.", "So"]),
    ],
)
def test_sentences(text, expected):
    assert evaluation.sentences(text) == expected


@given(st.text("ab.!?\"')( \n", max_size=40))
def test_sentences_hold_every_word_in_order(text):
    assert " ".join(evaluation.sentences(text)).split() == text.split()


def test_many_marks_take_no_longer_than_they_are():
    check_linear(evaluation.sentences, lambda size: "a ." + " )" * (size // 2))


def test_lead_is_the_first_sentences():
    text = "a b . c . d ! e f ."
    assert evaluation.lead(text) == "a b .\nc .\nd !"
    assert evaluation.lead(text, 1) == "a b ."
    assert evaluation.lead("a b .") == "a b ."
    assert evaluation.lead(evaluation.lead(text)) == evaluation.lead(text)


# === ROUGE ===


def test_rouge_by_hand():
    # Unigrams: 3 match, of 4 and 6. Bigrams: "a b" matches, of 3 and 5.
    # Sentence by sentence the longest common parts are "a b" and "e".
    scores = evaluation.rouge(["a b x . e ."], ["a b c . d e f ."])
    expected = {
        "rouge1": 2 * (3 / 4) * (3 / 6) / (3 / 4 + 3 / 6),
        "rouge1_recall": 3 / 6,
        "rouge2": 2 * (1 / 3) * (1 / 5) / (1 / 3 + 1 / 5),
        "rouge2_recall": 1 / 5,
        "rougeL": 2 * (3 / 4) * (3 / 6) / (3 / 4 + 3 / 6),
        "rougeL_recall": 3 / 6,
    }
    assert scores == pytest.approx(
        {name: 100 * score for name, score in expected.items()}
    )


def test_rouge_l_is_the_summary_level_one():
    hypothesis, reference = "c d . a b .", "a b . c d ."
    assert evaluation.rouge([hypothesis], [reference])[
        "rougeL"
    ] == pytest.approx(100)
    whole_text = RougeScorer(["rougeL"]).score(reference, hypothesis)
    assert whole_text["rougeL"].fmeasure == pytest.approx(0.5)


def test_a_headline_is_one_sentence():
    scores = evaluation.rouge(["c d . a\nb ."], ["a b . c d ."], split=False)
    assert scores["rougeL"] == pytest.approx(50)
    assert scores["rouge1"] == pytest.approx(100)


def test_rouge_is_the_mean_over_texts():
    scores = evaluation.rouge(["a b", "x y", "c"], ["a b", "c d", "c d"])
    assert scores["rouge1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)
    assert scores["rouge1_recall"] == pytest.approx(100 * (1 + 0 + 1 / 2) / 3)


def test_endings_count_only_without_the_stemmer():
    texts = ["winning mayors"], ["wins the mayor"]
    assert evaluation.rouge(*texts)["rouge1_recall"] == pytest.approx(200 / 3)
    assert evaluation.rouge(*texts, use_stemmer=False)["rouge1"] == 0


@pytest.mark.parametrize(
    "hypothesis, reference, recall",
    [
        ("Łukasz", "łukasz Özgür", 1 / 2),
        ("Владимир", "владимир !", 1),
        ("北方", "北京 。", 1 / 2),
        ("e\u0301t\u00e9", "\u00e9te\u0301", 1),  # accents of their own
        ("हिन्दी", "हिन्दी है", 1 / 2),
        ("снег_дождь", "снег", 1),
    ],
)
def test_every_script_counts(hypothesis, reference, recall):
    scores = evaluation.rouge([hypothesis], [reference])
    assert scores["rouge1_recall"] == pytest.approx(100 * recall)


@given(ENGLISH, st.booleans())
def test_tokens_of_english_are_those_of_rouge_score(text, use_stemmer):
    ours = evaluation.RougeTokenizer(use_stemmer).tokenize(text)
    assert ours == DefaultTokenizer(use_stemmer).tokenize(text)


def test_an_empty_summary_scores_0():
    assert set(evaluation.rouge([""], ["a b"]).values()) == {0}


# === ROUGE of characters ===


def f_score(matches, num_ours, num_theirs):
    return 200 * matches / (num_ours + num_theirs)


def test_character_rouge_by_hand():
    # Unigrams: 北 京 ， a a match, of 6 and 7; bigrams: 北京 京， aa, of 5, 6.
    # In order: 北 京 ， a a.
    scores = evaluation.character_rouge(["北京 ，a aB"], ["北京，b a a。"])
    expected = {
        "rouge1": f_score(5, 6, 7),
        "rouge2": f_score(3, 5, 6),
        "rougeL": f_score(5, 6, 7),
    }
    assert scores == pytest.approx(expected)


def test_character_rouge_keeps_the_order_only_for_pairs_and_in_l():
    assert evaluation.character_rouge(["大北京"], ["京北大"]) == pytest.approx(
        {"rouge1": 100, "rouge2": 0, "rougeL": f_score(1, 3, 3)}
    )


def test_character_rouge_is_the_mean_over_texts_up_to_a_limit():
    texts = ["北 " * 39 + "京 大", "a", ""]
    references = ["北" * 39 + "京" + "海" * 9, "b", "a"]
    scores = evaluation.character_rouge(texts, references)
    assert scores["rouge1"] == pytest.approx(100 / 3)
    cut = evaluation.character_rouge(["abcd"], ["abef"], limit=2)
    assert set(cut.values()) == {100}
    longer = evaluation.character_rouge(texts, references, limit=60)
    assert longer["rouge1"] == pytest.approx(f_score(40, 41, 49) / 3)


def as_words(text):
    """A word of letters for each character, which `rouge_score` knows."""
    letters = "abcdefghij"
    return " ".join(
        "".join(letters[int(x)] for x in str(ord(c)))
        for c in text
        if not c.isspace()
    )


@given(st.text("北京，a ", max_size=30), st.text("北京，a ", max_size=30))
@settings(max_examples=50)
def test_character_rouge_is_that_of_one_word_a_character(text, reference):
    names = ["rouge1", "rouge2", "rougeL"]
    theirs = RougeScorer(names).score(as_words(reference), as_words(text))
    assert evaluation.character_rouge([text], [reference]) == pytest.approx(
        {name: 100 * theirs[name].fmeasure for name in names}
    )


# === Novel and repeated n-grams ===


def test_novel_ngrams_by_hand():
    hypotheses, sources = [list("abca"), ["x"]], [list("zabcz"), ["y"]]
    rates = [
        evaluation.novel_ngram_rate(hypotheses, sources, n) for n in (1, 2, 3)
    ]
    # a b c a x; ab bc ca; abc bca
    assert rates == pytest.approx([100 / 5, 100 / 3, 100 / 2])
    assert evaluation.novel_ngram_rate([["a"]], [["a"]], n=4) == 0


def test_novel_sentences_by_hand():
    rate = evaluation.novel_sentence_rate(
        ["a b .  c . a .", "a b ."], ["c . a b . d .", "x ."]
    )
    assert rate == 50


def test_repeated_ngrams_by_hand():
    hypotheses = [list("ababab"), list("abcd"), []]
    rates = [evaluation.rate_repeated_ngrams(hypotheses, n) for n in (1, 2, 3)]
    # 4 of 10 words, 3 of 8 bigrams, 2 of 6 trigrams
    assert rates == pytest.approx([40, 300 / 8, 200 / 6])
    assert evaluation.rate_repeated_ngrams([], n=1) == 0


def test_repeated_sentences_by_hand():
    texts = ["a b . a  b . c . a b .", "a b ."]
    assert evaluation.rate_repeated_sentences(texts) == pytest.approx(40)


def test_bad_input_gives_clear_messages():
    check_lengths(evaluation.rouge, evaluation.character_rouge)
    check_lengths(evaluation.novel_sentence_rate)


def test_rouge_is_not_imported_unless_asked_for():
    code = (
        "import sys, tfcopy.evaluation.summaries; print('nltk' in sys.modules)"
    )
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output.strip() == "False"
