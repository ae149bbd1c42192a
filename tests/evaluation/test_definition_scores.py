import numpy as np
import pytest

from tfcopy.evaluation import definition_scores
from tfcopy.evaluation.definition_scores import category_scores, project
from tfcopy.terminal import one_line


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
    assert definition_scores.normalize(text) == expected


def test_exact_match_takes_any_reference():
    references = [["Denver Broncos", "The Denver Broncos"], ["308"], ["Oslo"]]
    assert definition_scores.exact_match(
        ["the denver broncos.", "309", ""], references
    ) == pytest.approx(100 / 3)


def test_f1_follows_its_definition():
    # Two of three words are right, and two of four are found.
    precision, recall = 2 / 3, 2 / 4
    expected = 2 * precision * recall / (precision + recall)
    assert definition_scores.f1(
        ["in New York"], [["New York City, USA"]]
    ) == pytest.approx(100 * expected)


def test_f1_counts_words_as_often_as_they_stand_in_both():
    # "no" is shared twice, "yes" not at all.
    found = definition_scores.f1(["no no no"], [["no no yes"]])
    assert found == pytest.approx(100 * 2 / 3)


def test_f1_takes_the_best_reference_and_averages():
    references = [["x", "a b c d", "b c"], ["nothing"]]
    expected = (2 * (2 / 3) * 1 / (2 / 3 + 1) + 0) / 2
    found = definition_scores.f1(["b c e", "something"], references)
    assert found == pytest.approx(100 * expected)


def test_texts_of_articles_alone_are_as_the_script_has_them():
    assert definition_scores.exact_match(["the"], [["a"]]) == 100
    assert definition_scores.f1(["the"], [["a"]]) == 0


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    categories = np.array(["fruit", "tool", "vehicle", "tool"] * 5)
    vectors = rng.normal(size=(20, 8))
    vectors[:, 0] += 2 * (categories == "tool")
    return vectors, categories


def clusters():
    """Three far apart, of 12 words each, and their categories."""
    rng = np.random.default_rng(0)
    numbers = np.repeat([0, 1, 2], 12)
    return 5 * np.eye(3, 6)[numbers] + rng.normal(size=(36, 6)) / 5, numbers


def test_cosine_ignores_lengths():
    vectors = np.array([[1.0, 0], [9, 0], [0, 1], [0, 9]])
    scores = category_scores(vectors, list("aabb"))
    assert scores == {"silhouette": 1, "nearest_neighbour_accuracy": 100}
    wrong = category_scores(vectors, list("abab"))
    assert wrong["nearest_neighbour_accuracy"] == 0
    # a = 1 to the other of its category, b = (0 + 1) / 2.
    assert wrong["silhouette"] == pytest.approx(-0.5)


def test_a_word_alone_in_its_category_counts_zero():
    # The distances from a to a, and from both to b: 0.2, 1 and 0.4.
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    scores = category_scores(vectors, list("aab"))
    assert scores["silhouette"] == pytest.approx((0.8 / 1 + 0.2 / 0.4) / 3)
    assert scores["nearest_neighbour_accuracy"] == pytest.approx(200 / 3)


def test_nearest_neighbours_agree_with_brute_force(words):
    vectors, categories = words
    right = 0
    for i, one in enumerate(vectors):
        best, nearest = np.inf, None
        for j, other in enumerate(vectors):
            lengths = np.sqrt(np.sum(one**2) * np.sum(other**2))
            distance = 1 - np.sum(one * other) / lengths
            if j != i and distance < best:
                best, nearest = distance, j
        right += categories[i] == categories[nearest]
    assert 0 < right < 20
    score = category_scores(vectors, categories)
    assert score["nearest_neighbour_accuracy"] == pytest.approx(5 * right)


def test_silhouette_agrees_with_scikit_learn(words):
    metrics = pytest.importorskip("sklearn.metrics")
    expected = metrics.silhouette_score(*words, metric="cosine")
    assert category_scores(*words)["silhouette"] == pytest.approx(expected)


def test_vectors_of_zeros_are_told_apart_by_nothing():
    assert category_scores(np.zeros((6, 3)), list("aabbcc"))["silhouette"] == 0


def test_projection_keeps_clusters():
    metrics = pytest.importorskip("sklearn.metrics")
    vectors, numbers = clusters()
    points = project(vectors)
    assert points.shape == (36, 2)
    assert metrics.silhouette_score(points, numbers) > 0.5


def test_projection_depends_on_the_seed_only():
    pytest.importorskip("sklearn")
    vectors = np.random.default_rng(0).normal(size=(20, 4))
    one, again, other = (project(vectors, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    # Vectors of one number each start at random.
    one, other = (project(vectors[:, :1], seed) for seed in (1, 2))
    assert np.abs(one - other).max() > 0.1


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", [(4, 9), (5, 1), (12, 3)])
def test_few_or_equal_vectors_can_be_projected(shape):
    """Warnings fail here."""
    pytest.importorskip("sklearn")
    vectors = np.random.default_rng(0).normal(size=shape)
    for some in (vectors, np.zeros(shape), np.ones(shape)):
        points = project(some)
        assert points.shape == (shape[0], 2) and np.isfinite(points).all()


def test_the_missing_extra_is_named(without):
    without("sklearn")
    with pytest.raises(ImportError) as told:
        project(np.eye(5))
    assert '-e ".[projection]"' in one_line(told.value)
