import pytest

from tfcopy.evaluation import system_comparison, translations

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
    return system_comparison.compare(
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
    assert "bs:200" in compared["signatures"]["bleu"]
    for own in (compared["worse"], compared["right"]):
        for score in own.values():
            low, high = score["interval"]
            assert low <= score["score"] + 1 and score["score"] - 1 <= high


def test_p_tells_a_difference_from_chance(compared):
    assert compared["worse"]["bleu"]["p"] is None
    assert compared["right"]["bleu"]["p"] < 0.01
    assert compared["alike"]["ter"]["p"] > 0.2


def test_each_text_needs_an_answer():
    with pytest.raises(ValueError, match="b: 59 answers to 60 references"):
        system_comparison.compare(
            {"a": WORSE, "b": ALIKE[1:]}, [REFERENCES], ["bleu"]
        )
