"""A grid of weights with words along both axes, drawn to be read.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.

Sizes are in inches; at 100 dots per inch, words are as large as text on the
screen where TensorBoard shows a picture at full size, and stay legible in its
cards up to about twenty words.
"""

import dataclasses
import textwrap
from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.patches import Rectangle

from tfcopy.figures.fonts import drawable, font_families
from tfcopy.figures.images import image_of, new_figure

_DOTS = 100
_WORD_SIZE = 10  # points
_MARGIN = 0.08


@dataclasses.dataclass(frozen=True)
class Words:
    """The words along one axis.

    Attributes:
        words: The words.
        label: What they are.
        bold: Positions of the words in bold.
        blue: Positions of the words in blue.
    """

    words: Sequence[str]
    label: str
    bold: Collection[int] = ()
    blue: Collection[int] = ()


def word_grid(
    weights, columns, rows, title="", caption="", frames=(), gaps=(), side=None
):
    """Draws weights from 0, white, to 1, black.

    Args:
        weights: Array of shape `(number of rows, number of columns)`.
        columns: `Words` along the horizontal axis.
        rows: `Words` along the vertical axis.
        title: Text above.
        caption: Small text below.
        frames: Pairs of a row and a column that have a red frame.
        gaps: Columns before which a line says that others were left out.
        side: Optional `(label, values)`, a blue column at the left of the
            map: a value from 0 to 1 for each row.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    height, width = len(rows.words), len(columns.words)
    figure = new_figure(dpi=_DOTS)
    across, down = (
        [drawable(word) for word in axis.words] for axis in (columns, rows)
    )
    # Few words get more room, so that the picture is not tiny.
    pitch = max(0.2, min(0.3, 2.4 / max(width, 1)))
    left = longest(figure, down, bool(rows.bold)) + 0.35
    below = across if side is None else [*across, side[0]]
    bottom = longest(figure, below, bool(columns.bold)) + 0.3
    start = left if side is None else left + pitch + _MARGIN
    total = max(start + pitch * width + _MARGIN, 2.8)
    title = _wrapped(title, total, 11)
    caption = _wrapped(caption, total, 8)
    foot = 0.135 * (caption.count("\n") + 1) if caption else 0
    head = 0.2 * (title.count("\n") + 1) if title else 0
    size = total, foot + bottom + pitch * height + head + 2 * _MARGIN
    figure.set_size_inches(size)

    def add_axes(x, columns):
        place = x, foot + bottom + _MARGIN, pitch * columns, pitch * height
        return figure.add_axes(
            [inches / size[i % 2] for i, inches in enumerate(place)]
        )

    axes = words_axes = add_axes(start, width)
    axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    _label(axes.xaxis, columns, across, rotation=90)
    axes.set_xlabel(columns.label, fontsize=9)
    for column in gaps:
        axes.axvline(column - 0.5, color="C0", linewidth=0.8)
    for row, column in frames:
        corner = column - 0.5, row - 0.5
        axes.add_patch(
            Rectangle(
                corner,
                1,
                1,
                fill=False,
                edgecolor="C3",
                linewidth=2,
                clip_on=False,
            )
        )
    if side is not None:
        axes.set_yticks([])
        words_axes = add_axes(left, 1)
        values = np.reshape(side[1], (height, 1))
        words_axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        _label(words_axes.xaxis, Words([side[0]], ""), [side[0]], rotation=90)
    _label(words_axes.yaxis, rows, down)
    figure.text(
        _MARGIN / size[0],
        (foot + bottom + _MARGIN + pitch * height / 2) / size[1],
        rows.label,
        fontsize=9,
        rotation=90,
        va="center",
    )
    families = font_families()
    figure.text(
        0.5, 1 - 0.06 / size[1], title, ha="center", va="top", fontsize=11,
        family=families,
    )  # fmt: skip
    figure.text(
        0.5, 0.05 / size[1], caption, ha="center", va="bottom", fontsize=8,
        family=families,
    )  # fmt: skip
    return image_of(figure)


def _label(axis, words, drawn, **options):
    axis.set_ticks(
        range(len(drawn)),
        drawn,
        family=font_families(),
        fontsize=_WORD_SIZE,
        **options,
    )
    axis.set_tick_params(length=2, pad=2)
    for place, label in enumerate(axis.get_ticklabels()):
        if place in words.bold:
            label.set_fontweight("bold")
        if place in words.blue:
            label.set_color("C0")


def longest(figure, texts, bold=False):
    """The width in inches of the longest text, at the size of words."""
    text = figure.text(0, 0, "", fontsize=_WORD_SIZE, family=font_families())
    if bold:
        text.set_fontweight("bold")
    widths = [0]
    for content in texts:
        text.set_text(content)
        widths.append(text.get_window_extent().width)
    text.remove()
    return max(widths) / _DOTS


def _wrapped(text, width, size):
    """A text wrapped into lines of a width in inches, at a size in points."""
    characters = int(width * 120 / size)
    return "\n".join(
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, characters)
    )
