import pytest

from tfcopy.evaluation import questions


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The Normans", "normans"),
        ("  a 5-cylinder\tengine\n", "5cylinder engine"),
        ("an apple, the pear; A plum!", "apple pear plum"),
        ("Theatre and another", "theatre and another"),
        # Punctuation is dropped first, and is that of ASCII.
        ("the-theatre", "thetheatre"),
        ("“a” — ‘the’", "“ ” — ‘ ’"),
        ("$1,000.50", "100050"),
        ("北京 Łukasz É", "北京 łukasz é"),
        ("The.", ""),
    ],
)
def test_normalize(text, expected):
    assert questions.normalize(text) == expected


def test_exact_match_takes_any_reference():
    references = [["Denver Broncos", "The Denver Broncos"], ["308"], ["Oslo"]]
    answers = ["the denver broncos.", "309", ""]
    assert questions.exact_match(answers, references) == (
        pytest.approx(100 / 3)
    )


def test_f1_follows_its_definition():
    # Two of three words are right, and two of four are found.
    precision, recall = 2 / 3, 2 / 4
    expected = 2 * precision * recall / (precision + recall)
    assert questions.f1(
        ["in New York"], [["New York City, USA"]]
    ) == pytest.approx(100 * expected)


def test_f1_counts_words_as_often_as_they_stand_in_both():
    # "no" is shared twice, "yes" not at all.
    found = questions.f1(["no no no"], [["no no yes"]])
    assert found == pytest.approx(100 * 2 / 3)


def test_f1_takes_the_best_reference_and_averages():
    references = [["x", "a b c d", "b c"], ["nothing"]]
    expected = (2 * (2 / 3) * 1 / (2 / 3 + 1) + 0) / 2
    found = questions.f1(["b c e", "something"], references)
    assert found == pytest.approx(100 * expected)


def test_texts_of_articles_alone_are_as_the_script_has_them():
    assert questions.exact_match(["the"], [["a"]]) == 100
    assert questions.f1(["the"], [["a"]]) == 0


def test_mismatched_arguments_are_named():
    for score in (questions.exact_match, questions.f1):
        with pytest.raises(ValueError, match="2 answers and 1 lists"):
            score(["a", "b"], [["a"]])
        with pytest.raises(ValueError, match="at least one answer"):
            score([], [])
        with pytest.raises(ValueError, match="'ab' for answer 0"):
            score(["a"], ["ab"])
        with pytest.raises(ValueError, match="one or more references"):
            score(["a", "b"], [["a"], []])
