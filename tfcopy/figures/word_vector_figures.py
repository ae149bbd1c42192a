"""A picture of words as points in the plane.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.
"""

import numpy as np
from matplotlib.transforms import Bbox

from tfcopy.figures.word_grid import (
    drawable,
    font_families,
    image_of,
    new_figure,
)

_MARKERS = "osD^vPX"  # with ten colours, 70 different combinations

# Where a word may stand beside its point: offset, alignment.
_PLACES = (
    ((5, 0), "left", "center"),
    ((-5, 0), "right", "center"),
    ((0, 5), "center", "bottom"),
    ((0, -5), "center", "top"),
    ((4, 4), "left", "bottom"),
    ((4, -4), "left", "top"),
    ((-4, 4), "right", "bottom"),
    ((-4, -4), "right", "top"),
)


def categories_figure(points, words, categories):
    """Draws words as points in the plane, a colour for each category.

    Args:
        points: `(N, 2)`, such as `evaluation.categories.project` gives.
        words: The word beside each point.
        categories: The category of each.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `figures.save_png`.
    """
    points = np.asarray(points, np.float64)
    if points.shape != (len(words), 2) or len(categories) != len(words):
        raise ValueError(
            "Expected two coordinates and a category for each word. Received: "
            f"points.shape={points.shape} and {len(categories)} categories "
            f"for {len(words)} words."
        )
    figure = new_figure(figsize=(9, 7), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    colors = {}
    for i, name in enumerate(dict.fromkeys(categories)):
        colors[name] = f"C{i % 10}"
        axes.scatter(
            *points[[other == name for other in categories]].T,
            s=22,
            color=colors[name],
            marker=_MARKERS[i % len(_MARKERS)],
            label=drawable(name),
        )
    # Only distances have a meaning, so the axes have no numbers.
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
    if colors:
        figure.legend(
            loc="outside upper center",
            ncols=6,
            frameon=False,
            prop={"family": font_families()},
        )
    figure.canvas.draw()  # settles the positions of the points
    _write_words(axes, points, words, [colors[name] for name in categories])
    return image_of(figure)


def _write_words(axes, points, words, colors):
    """Writes each word where it covers no other, if possible."""
    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8)
        for x, y in axes.transData.transform(points)
    ]
    families = font_families()
    for i, (word, color) in enumerate(zip(words, colors)):
        label = axes.annotate(
            drawable(word),
            points[i],
            xytext=(0, 0),
            textcoords="offset points",
            in_layout=False,  # otherwise the points would move
            fontsize=9,
            color=color,
            family=families,
        )
        others = taken[:i] + taken[i + 1 :]
        boxes = []
        for offset, across, down in _PLACES:
            label.set(position=offset, ha=across, va=down)
            boxes.append(label.get_window_extent())
        # Cutting off a word is worst.
        clashes = [
            box.count_overlaps(others)
            + len(words) * _sticks_out(box, axes.bbox)
            for box in boxes
        ]
        best = int(np.argmin(clashes))
        offset, across, down = _PLACES[best]
        label.set(position=offset, ha=across, va=down)
        taken.append(boxes[best])


def _sticks_out(box, frame):
    return not (
        frame.x0 <= box.x0 <= box.x1 <= frame.x1
        and frame.y0 <= box.y0 <= box.y1 <= frame.y1
    )
