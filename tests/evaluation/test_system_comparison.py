import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

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
    """What sacrebleu's own paired bootstrap finds."""
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
    found = system_comparison.compare(
        {"a": WORSE, "b": WORSE}, [REFERENCES], samples=20
    )
    assert all(score["p"] == 1 for score in found["b"].values())


texts = st.text("ab .", max_size=8)


@settings(max_examples=25)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_an_interval_stays_in_the_range_of_its_metric(pairs):
    answers, references = zip(*pairs)
    systems = {"signatures": answers, "right": references}
    found = system_comparison.compare(systems, [references], samples=10)
    assert found.keys() == systems.keys()
    for own in found.values():
        for metric, score in own.items():
            low, high = score["interval"]
            assert 0 <= low <= high
            assert metric == "ter" or high <= 100
    again = system_comparison.compare(systems, [references], samples=10)
    assert found == again


def test_each_text_needs_an_answer():
    with pytest.raises(ValueError, match="b: 59 answers to 60 references"):
        system_comparison.compare(
            {"a": WORSE, "b": ALIKE[1:]}, [REFERENCES], ["bleu"]
        )
