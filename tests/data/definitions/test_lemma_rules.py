import pytest

from tfcopy.data.definitions import lemma_rules

HEADWORDS = {
    "n": "bus wolf box quiz church wish man city bu bos u class horse",
    "v": "run try make mak walk rate rat pass passe use",
    "a": "cold large larg",
}


@pytest.mark.parametrize(
    "form, part, expected",
    [
        ("horses", "n", "horse"),
        ("buses", "n", "bus"),
        ("wolves", "n", "wolf"),
        ("boxes", "n", "box"),
        ("quizes", "n", "quiz"),
        ("churches", "n", "church"),
        ("wishes", "n", "wish"),
        ("firemen", "n", None),
        ("men", "n", "man"),
        ("cities", "n", "city"),
        ("boss", "n", None),  # not of `bos`
        ("us", "n", None),
        ("classes", "n", "class"),
        ("horse", "n", None),
        ("runs", "v", "run"),
        ("tries", "v", "try"),
        ("uses", "v", "use"),
        ("walkes", "v", "walk"),
        ("rated", "v", "rate"),
        ("walked", "v", "walk"),
        ("rating", "v", "rate"),  # not `rat`
        ("walking", "v", "walk"),
        ("horses", "v", None),
        ("colder", "a", "cold"),
        ("coldest", "a", "cold"),
        ("larger", "a", "larg"),
        ("walks", "r", None),
    ],
)
def test_first_rule_that_gives_a_headword(form, part, expected):
    headwords = HEADWORDS.get(part, "").split()
    assert lemma_rules.lemma(form, part, headwords) == expected


def test_silent_e_comes_back():
    for form in ("larger", "largest"):
        assert lemma_rules.lemma(form, "a", {"large"}) == "large"
