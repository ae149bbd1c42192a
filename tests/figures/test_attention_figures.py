import numpy as np
import pytest

pytest.importorskip("matplotlib")

from tfcopy import figures
from tfcopy.figures import word_grid  # noqa: E402

SOURCE = [
    *("le", "prix", "$", "новый", "新しい", "مرحبا", "<unk>", "🙂", "x" * 99),
]
TARGET = ["price", "新", "new", "_", "a$b$c"]


BLUE = (31, 119, 180)
RED = (214, 39, 40)


def count(image, color):
    """The pixels of a colour."""
    return np.sum(np.all(image[0, ..., :3].numpy() == color, axis=-1))


def assert_nothing_is_cut_off(image):
    pixels = image[0, ..., :3].numpy()
    for edge in (pixels[:2], pixels[-2:], pixels[:, :2], pixels[:, -2:]):
        assert (edge == 255).all()


@pytest.fixture
def weights():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(len(SOURCE)), size=len(TARGET))


def test_marks_copied_words(weights):
    plain = figures.attention_figure(SOURCE, TARGET, weights)
    marked = figures.attention_figure(SOURCE, TARGET, weights, [1] * 5)
    assert count(plain, RED) == 0 and count(marked, RED) > 100


def test_probability_to_generate_is_a_column(weights):
    plain = figures.attention_figure(SOURCE, TARGET, weights)
    switch = figures.attention_figure(
        SOURCE, TARGET, weights, generate_probability=[0, 1, 0, 1, 1, 9]
    )
    assert 10 < switch.shape[2] - plain.shape[2] < 50
    # The darkest and the lightest of the blues, as large as a word's place.
    dark, light = (count(switch, x) for x in ((8, 48, 107), (247, 251, 255)))
    assert 0.6 < dark / 3 / (light / 2) < 1.6 and dark > 500
    assert count(plain, (8, 48, 107)) == 0


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (["a"], ["b"]),
        (["W" * 30] * 3, ["W" * 24]),
        (["新" * 30, "</s>"], ["新" * 24]),
        (["🙂" * 9], ["é" * 24, "🙂"]),
        ([f"word{i}" for i in range(120)], list("abc")),
        (["a", "b"], [f"word{i}" for i in range(100)]),
    ],
    ids="tiny long chinese emoji wide tall".split(),
)
def test_all_words_are_within_the_picture(source, target):
    image = figures.attention_figure(
        source,
        target,
        np.full((len(target), len(source)), 1 / len(source)),
        [0] * len(target),
        generate_probability=np.linspace(0, 1, len(target)),
        title="A title that is much longer than the words " * 2,
    )
    assert_nothing_is_cut_off(image)
    height, width = image.shape[1:3]
    # Each word has its own row or column, and they can be read.
    assert width >= 20 * min(len(source), 80) and height >= 20 * len(target)
    assert width <= 20 * min(len(source), 80) + 600


def test_what_no_font_draws_is_as_long_as_a_word():
    assert word_grid.drawable("\U000f0000" * 9) == "<F0000><F0000><F0000>…"
    assert word_grid.drawable("\U000f0000") == "<F0000>"
    assert word_grid.drawable("x" * 25) == "x" * 23 + "…"
    assert word_grid.drawable("$" * 25) == "\\$" * 23 + "…"


def test_padding_is_cut_off(weights):
    padded = np.pad(weights, [(0, 3), (0, 4)], constant_values=0.5)
    one = figures.attention_figure(SOURCE, TARGET, weights)
    other = figures.attention_figure(SOURCE, TARGET, padded)
    np.testing.assert_array_equal(one, other)


def test_of_a_long_source_only_what_was_seen_is_drawn():
    words = [f"w{i}" for i in range(400)]
    weights = np.full((2, 400), 1e-4)
    weights[0, 7] = weights[1, 300] = 0.9
    image = figures.attention_figure(words, ["a", "b"], weights, [-1, 399])
    assert image.shape[2] < 3000
    some = figures.attention_figure(
        ["w7", "w300", "w399"], ["a", "b"], weights[:, [7, 300, 399]], [-1, 2]
    )
    few = figures.attention_figure(
        words, ["a", "b"], weights, [-1, 399], max_columns=3
    )
    # The same words, and lines where others were left out.
    assert few.shape[2] == some.shape[2]
    assert count(some, BLUE) == 0 and count(few, BLUE) > 50


def test_plans_of_several_systems_stand_side_by_side():
    weights = np.eye(3, 4, dtype=np.float32)
    words = ["a", "b", "c", "d"], ["x", "y", "z"]
    plain = figures.plans_figure({"one": (*words, weights, None)})
    planned = np.array([True, False, True])
    both = figures.plans_figure(
        {"one": (*words, weights, None), "two": (*words, weights, planned)}
    )
    assert abs(both.shape[2] - 2 * plain.shape[2]) <= 1
    red = np.all(both[0, ..., :3].numpy() == (214, 39, 40), axis=-1)
    middle = both.shape[2] // 2
    assert red[:, middle:].any() and not red[:, : middle - 20].any()
