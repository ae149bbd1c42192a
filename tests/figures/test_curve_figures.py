import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("matplotlib")

from tfcopy import figures  # noqa: E402

UPDATES = [100, 200, 400, 800]
CURVES = {
    "softmax": (UPDATES, [90.0, 60.0, 30.0, 10.0]),
    "pointer_softmax": (UPDATES, [80.0, 40.0, 10.0, 1.0]),
}
BLUE, ORANGE = (31, 119, 180), (255, 127, 14)


def draw(some=CURVES, **options):
    return figures.curves_figure(some, "title", "updates", "error", **options)


def count(image, color):
    """Pixels of a colour, without their fading edges."""
    return np.sum(np.all(image[0, ..., :3].numpy() == color, axis=-1))


def test_curves_have_colours_of_their_own():
    image = draw()
    assert image.dtype == tf.uint8 and image.shape == (1, 400, 500, 4)
    assert count(image, BLUE) > 100 and count(image, ORANGE) > 100
    one = draw({"softmax": CURVES["softmax"]})
    assert count(one, BLUE) > 100 and not count(one, ORANGE)


@pytest.mark.parametrize(
    "curve",
    [
        ([], []),
        ([100], [5.0]),
        ([100, 200], [0.0, -1.0]),
        ([0, 0], [1.0, 1.0]),
        ([100, 200], [np.nan, np.inf]),
        ([100, 200], [1.0, 2.0], [0.0, np.nan], [3.0, 3.0]),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_anything_can_be_drawn_without_warnings(curve, log):
    """Warnings fail here."""
    assert draw({"_$x^$": curve}, log_x=log).shape == (1, 400, 500, 4)


def test_nothing_at_all_can_be_drawn():
    assert draw({}, log_x=True, levels={"paper": 0.0}).shape[0] == 1


def test_what_is_no_number_leaves_the_rest():
    points = {"x": ([1, 2, np.nan, 3], [1, 2, 5, np.inf])}
    np.testing.assert_array_equal(draw(points), draw({"x": ([1, 2], [1, 2])}))


def test_what_has_no_logarithm_leaves_the_rest():
    points = {"x": ([0, 1, 3], [5, 1, 3])}
    expected = draw({"x": ([1, 3], [1, 3])}, log_x=True)
    np.testing.assert_array_equal(draw(points, log_x=True), expected)
