import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402

from tfcopy import figures  # noqa: E402

CONTEXT = "They moved overseas , to $ 5 Ωmega <unk> offices . <eos>".split()
QUESTION = "Where did they move ? <eos>".split()
RED, GREEN, BLUE = "C3", "C2", "C0"


def attention(rows=len(CONTEXT), columns=len(QUESTION), seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(columns, 0.3), size=rows)


def read(answers, reference=(2, 3), context=CONTEXT, **options):
    weights = {
        name: attention(len(context), seed=i) for i, name in enumerate(answers)
    }
    image = figures.plot_reading(
        context, QUESTION, weights, answers, reference, **options
    )
    assert image.dtype == tf.uint8 and image.shape[0] == 1
    assert image.shape[3] == 4
    return weights


def texts(labels):
    return [label.get_text() for label in labels]


def panels(figure):
    """Those with words below; the last axes are the colour bar."""
    return figure.axes[:-1]


def frame(axes):
    """First and last row of the answer's frame, `None` if there is none."""
    frames = [x for x in axes.patches if isinstance(x, Rectangle)]
    if not frames:
        return None
    (one,) = frames
    return one.get_y() + 0.5, one.get_y() + one.get_height() - 0.5


def bars(axes):
    """First and last row of the reference."""
    ends = [x.get_ydata() for x in axes.lines if x.get_color() == GREEN]
    return [(y[0] + 0.5, y[1] - 0.5) for y in ends]


def gaps(axes):
    return [x.get_ydata()[0] for x in axes.lines if x.get_color() == BLUE]


def test_systems_stand_side_by_side(drawn):
    weights = read({"SD": (2, 3), "S": (4, 8)})
    for axes, (name, array) in zip(panels(drawn[0]), weights.items()):
        assert texts(axes.get_xticklabels()) == QUESTION
        (image,) = axes.images
        np.testing.assert_allclose(image.get_array(), array, rtol=1e-6)
        assert image.get_clim() == (0, 1)
        # The darker, the more attention.
        assert np.sum(image.cmap(1.0)[:3]) < np.sum(image.cmap(0.0)[:3])
        assert axes.get_title().split("\n")[0] == name
    one, other = panels(drawn[0])
    assert one.get_position().x1 < other.get_position().x0
    assert one.get_title() == "SD\noverseas"
    assert other.get_title() == "S\nto \\$ 5 Ωmega"
    shown = [word.replace("$", "\\$") for word in CONTEXT]
    assert texts(one.get_yticklabels()) == shown


def test_answers_and_the_reference_are_marked(drawn):
    read({"SD": (2, 3), "S": (4, 8)})
    one, other = panels(drawn[0])
    assert frame(one) == (2, 2) and frame(other) == (4, 7)
    assert bars(one) == bars(other) == [(2, 2)]
    bold = [x.get_fontweight() == "bold" for x in one.get_yticklabels()]
    assert np.flatnonzero(bold).tolist() == [2]
    (legend,) = drawn[0].legends
    assert texts(legend.get_texts()) == ["answer", "reference"]
    assert to_hex(legend.get_patches()[0].get_edgecolor()) == to_hex(RED)


@pytest.mark.parametrize("answer", [None, (5, 5), (6, 3)])
def test_a_system_may_have_no_answer(drawn, answer):
    read({"SD": answer}, reference=None)
    (axes,) = panels(drawn[0])
    assert axes.get_title() == "SD\n(no answer)"
    assert frame(axes) is None and bars(axes) == []


def test_padding_is_cut_off(drawn):
    weights = np.pad(attention(), [(0, 3), (0, 2)], constant_values=0.5)
    figures.plot_reading(
        CONTEXT, QUESTION, {"a": weights}, {"a": (99, 120)}, (3, 99)
    )
    (axes,) = panels(drawn[0])
    assert axes.images[0].get_array().shape == (len(CONTEXT), len(QUESTION))
    assert bars(axes) == [(3, len(CONTEXT) - 1)] and frame(axes) is None


def test_of_a_long_context_words_around_the_answers_are_drawn(drawn):
    context = [f"w{i}" for i in range(500)]
    weights = read({"a": (100, 102), "b": (300, 301)}, (101, 102), context)
    one, other = panels(drawn[0])
    rows = [int(word[1:]) for word in texts(one.get_yticklabels())]
    assert len(rows) == 40 and rows == sorted(rows)
    assert {95, 100, 106, 295, 306} < set(rows)
    np.testing.assert_allclose(
        one.images[0].get_array(), weights["a"][rows], rtol=1e-6
    )
    assert frame(one) == (rows.index(100), rows.index(101))
    assert frame(other) == (rows.index(300),) * 2
    assert bars(other) == [(rows.index(101),) * 2]
    # One line, where the second part begins.
    first = next(i for i, row in enumerate(rows) if row > 200)
    assert gaps(one) == gaps(other) == [first - 0.5]
    assert "words left out" in texts(drawn[0].legends[0].get_texts())
