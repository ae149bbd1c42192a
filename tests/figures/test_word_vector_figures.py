import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex  # noqa: E402

from tfcopy import figures  # noqa: E402


def texts(labels):
    return [label.get_text() for label in labels]


def scatter(number=30, seed=0):
    rng = np.random.default_rng(seed)
    names = ["fruit", "tool", "$x$"]
    categories = [names[i % 3] for i in range(number)]
    words = [f"word{i}" for i in range(number)]
    return rng.normal(size=(number, 2)), words, categories


def test_categories_have_colours_and_words(drawn):
    points, words, categories = scatter()
    image = figures.categories_figure(points, words, categories)
    assert image.dtype == tf.uint8 and image.shape == (1, 700, 900, 4)
    (axes,) = drawn[0].axes
    (legend,) = drawn[0].legends
    assert texts(legend.get_texts()) == ["fruit", "tool", "\\$x\\$"]
    for i, dots in enumerate(axes.collections):
        np.testing.assert_array_equal(dots.get_offsets(), points[i::3])
        assert to_hex(dots.get_facecolor()[0]) == to_hex(f"C{i}")
    assert texts(axes.texts) == words
    for i, text in enumerate(axes.texts):
        assert text.xy == tuple(points[i])
        assert to_hex(text.get_color()) == to_hex(f"C{i % 3}")


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
        across = max(box.x0 - x, x - box.x1, 0)
        assert max(across, box.y0 - y, y - box.y1) < 12
        assert axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
        assert axes.bbox.y0 <= box.y0 and box.y1 <= axes.bbox.y1
