import numpy as np
import pytest

pytest.importorskip("matplotlib")


from tfcopy import figures  # noqa: E402


def scatter(number=30, seed=0):
    rng = np.random.default_rng(seed)
    names = ["fruit", "tool", "$x$"]
    categories = [names[i % 3] for i in range(number)]
    words = [f"word{i}" for i in range(number)]
    return rng.normal(size=(number, 2)), words, categories


def test_words_are_beside_their_points_and_can_be_read(drawn):
    # Near the edges, and some points on each other.
    points, words, categories = scatter(40)
    points[1] = points[0]
    words = [f"marmalade{i}" for i in range(40)]
    figures.categories_figure(points, words, categories)
    (axes,) = drawn[0].axes
    boxes = [text.get_window_extent() for text in axes.texts]
    places = axes.transData.transform(points)
    for i, (box, (x, y)) in enumerate(zip(boxes, places)):
        assert box.count_overlaps(boxes[:i]) == 0
        assert max(box.x0 - x, x - box.x1, box.y0 - y, y - box.y1) < 12
        assert axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
        assert axes.bbox.y0 <= box.y0 and box.y1 <= axes.bbox.y1
