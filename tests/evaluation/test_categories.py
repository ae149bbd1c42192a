import sys

import numpy as np
import pytest

from tfcopy.evaluation.categories import category_scores, project

METRICS = ("cosine", "euclidean")


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


def test_silhouette_by_hand():
    # On a line: a at 0 and 1, b at 3 and 7.
    vectors = np.array([[0.0], [1.0], [3.0], [7.0]])
    scores = category_scores(vectors, list("aabb"), "euclidean")
    each = [(5 - 1) / 5, (4 - 1) / 4, (2.5 - 4) / 4, (6.5 - 4) / 6.5]
    assert scores["silhouette"] == pytest.approx(np.mean(each))
    # 3 is nearest to 1, which is an a.
    assert scores["nearest_neighbour_accuracy"] == 75


def test_cosine_ignores_lengths():
    vectors = np.array([[1.0, 0], [9, 0], [0, 1], [0, 9]])
    scores = category_scores(vectors, list("aabb"))
    assert scores == {"silhouette": 1, "nearest_neighbour_accuracy": 100}
    wrong = category_scores(vectors, list("abab"))
    assert wrong["nearest_neighbour_accuracy"] == 0
    # a = 1 to the other of its category, b = (0 + 1) / 2.
    assert wrong["silhouette"] == pytest.approx(-0.5)


def test_a_word_alone_in_its_category_counts_zero():
    vectors = np.array([[0.0], [1.0], [5.0]])
    scores = category_scores(vectors, list("aab"), "euclidean")
    assert scores["silhouette"] == pytest.approx((4 / 5 + 3 / 4 + 0) / 3)
    assert scores["nearest_neighbour_accuracy"] == pytest.approx(200 / 3)


@pytest.mark.parametrize("metric", METRICS)
def test_nearest_neighbours_agree_with_brute_force(words, metric):
    vectors, categories = words
    right = 0
    for i, one in enumerate(vectors):
        best, nearest = np.inf, None
        for j, other in enumerate(vectors):
            distance = np.sqrt(np.sum((one - other) ** 2))
            if metric == "cosine":
                lengths = np.sqrt(np.sum(one**2) * np.sum(other**2))
                distance = 1 - np.sum(one * other) / lengths
            if j != i and distance < best:
                best, nearest = distance, j
        right += categories[i] == categories[nearest]
    assert 0 < right < 20
    score = category_scores(vectors, categories, metric)
    assert score["nearest_neighbour_accuracy"] == pytest.approx(5 * right)


@pytest.mark.parametrize("metric", METRICS)
def test_silhouette_agrees_with_scikit_learn(words, metric):
    metrics = pytest.importorskip("sklearn.metrics")
    vectors, categories = words
    assert category_scores(vectors, categories, metric)[
        "silhouette"
    ] == pytest.approx(
        metrics.silhouette_score(vectors, categories, metric=metric)
    )


@pytest.mark.parametrize("metric", METRICS)
def test_vectors_of_zeros_are_told_apart_by_nothing(metric):
    scores = category_scores(np.zeros((6, 3)), list("aabbcc"), metric)
    assert scores["silhouette"] == 0


def test_wrong_arguments_raise(words):
    vectors, categories = words
    with pytest.raises(ValueError, match="19 categories"):
        category_scores(vectors, categories[1:])
    with pytest.raises(ValueError, match="at least two"):
        category_scores(vectors, ["a"] * 20)
    with pytest.raises(ValueError, match="metric='dot'"):
        category_scores(vectors, categories, "dot")
    with pytest.raises(ValueError, match="1 numbers that are not finite"):
        category_scores([[1.0], [np.nan]], "ab")
    with pytest.raises(ValueError, match=r"Received: 3\."):
        project(vectors[:3])


@pytest.mark.parametrize("metric", METRICS)
def test_projection_keeps_clusters(metric):
    pytest.importorskip("sklearn")
    vectors, numbers = clusters()
    points = project(vectors, metric=metric)
    assert points.shape == (36, 2)
    scores = category_scores(points, numbers, "euclidean")
    assert scores["nearest_neighbour_accuracy"] == 100
    assert scores["silhouette"] > 0.5


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
@pytest.mark.parametrize("metric", METRICS)
def test_few_or_equal_vectors_can_be_projected(shape, metric):
    """Warnings fail here."""
    pytest.importorskip("sklearn")
    vectors = np.random.default_rng(0).normal(size=shape)
    for some in (vectors, np.zeros(shape), np.ones(shape)):
        points = project(some, metric=metric)
        assert points.shape == (shape[0], 2) and np.isfinite(points).all()


def test_the_missing_extra_is_named(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(ImportError, match=r"tfcopy\[projection\]"):
        project(np.eye(5))
