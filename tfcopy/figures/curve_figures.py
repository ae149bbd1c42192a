"""Plots of curves, such as learning curves, and of words as points.

They need matplotlib (the extra `figures`), but no display; without
matplotlib the import fails.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.transforms import Bbox

from tfcopy.figures import word_grid


@dataclasses.dataclass(frozen=True)
class Panel:
    """Panel of a plot: a pair of axes with curves.

    Attributes:
        curves: Dict from a name to `(x, y)`, sequences of equal length, or to
            `(x, y, low, high)` for a shaded band around the curve. They keep
            their order and colours. A curve without points is only in the
            legend.
        title: Text above the axes.
        x_label: Text below the axes.
        y_label: Text at the left of the axes.
        log_x: Whether the horizontal axis is logarithmic; points at 0 and
            below are then left out.
        levels: Dict from a name to a value of y, such as the paper's, drawn as
            a dashed line, with the colour of a curve of that name.
    """

    curves: Mapping[str, Sequence[Sequence[float]]]
    title: str
    x_label: str
    y_label: str
    log_x: bool = False
    levels: Mapping[str, float] = dataclasses.field(default_factory=dict)


def curves_figure(curves, title, x_label, y_label, **options):
    """Plots curves on one pair of axes.

    Args:
        curves: As in `Panel`.
        title: As in `Panel`.
        x_label: As in `Panel`.
        y_label: As in `Panel`.
        options: Other attributes of `Panel`.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `figures.save_png`.
    """
    return panels_figure([Panel(curves, title, x_label, y_label, **options)])


def rarity_figure(curves):
    """Plots the accuracy of systems against the rarity of an example's words.

    Args:
        curves: Dict from a system to `(x, accuracy)`: for each bin the mean log
            rank of its words, and the accuracy in percent, from
            `translations.accuracy_by_quantile`; or to
            `(x, accuracy, low, high)`, with an interval drawn as a band.

    Returns:
        As in `curves_figure`.
    """
    return curves_figure(
        curves,
        title="Accuracy by rarity of the words",
        x_label="mean log rank of the words (rarer to the right)",
        y_label="accuracy (%)",
    )


def panels_figure(panels):
    """Plots several pairs of axes side by side.

    Args:
        panels: Sequence of `Panel`s, at least one.

    Returns:
        As in `curves_figure`.
    """
    figure = word_grid.new_figure(
        figsize=(5 * len(panels), 4), dpi=100, layout="constrained"
    )
    for axes, panel in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels
    ):
        _draw(axes, panel)
    return word_grid.image_of(figure)


def _draw(axes, panel):
    lines, places = {}, set()
    for name, arrays in panel.curves.items():
        x, y, *band = _drawable(arrays, panel)
        places |= set(x)
        (lines[name],) = axes.plot(x, y, marker="o", markersize=3)
        if band:
            axes.fill_between(
                x, *band, color=lines[name].get_color(), alpha=0.2, linewidth=0
            )
    for name, value in panel.levels.items():
        color = lines[name].get_color() if name in lines else "grey"
        if np.isfinite(value):
            line = axes.axhline(value, color=color, linestyle="--", linewidth=1)
            lines.setdefault(name, line)
    # Matplotlib cannot scale an axis without points.
    if panel.log_x and places:
        axes.set_xscale("log")
        ticks = _thin(places)
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.minorticks_off()
    axes.set_title(_plain(panel.title))
    axes.set_xlabel(_plain(panel.x_label))
    axes.set_ylabel(_plain(panel.y_label))
    axes.grid(color="0.9")
    if lines:
        axes.legend(list(lines.values()), list(map(_plain, lines)))


def _thin(places):
    """Selects points of a logarithmic axis with enough room for labels."""
    least = (max(places) / min(places)) ** (1 / 8)
    chosen = []
    for place in sorted(places):
        if not chosen or place >= least * chosen[-1]:
            chosen.append(place)
    return chosen


def _drawable(arrays, panel):
    """Selects the points that are finite and, on a log axis, right of 0."""
    arrays = [np.asarray(array, np.float64) for array in arrays]
    kept = np.all(np.isfinite(arrays), axis=0)
    if panel.log_x:
        kept &= arrays[0] > 0
    return [array[kept] for array in arrays]


def _plain(text):
    # Escaped, since a dollar starts a formula.
    return text.replace("$", r"\$")


_MARKERS = "osD^vPX"  # with ten colours, 70 different combinations

# Possible places of a word beside its point: offset, alignment.
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
    """Plots words as points in the plane, with a colour for each category.

    Args:
        points: `(N, 2)`, for instance from
            `evaluation.definition_scores.project`.
        words: The word beside each point.
        categories: The category of each word.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `figures.save_png`.
    """
    points = np.asarray(points, np.float64)
    figure = word_grid.new_figure(figsize=(9, 7), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    colors = {}
    for i, name in enumerate(dict.fromkeys(categories)):
        colors[name] = f"C{i % 10}"
        axes.scatter(
            *points[[other == name for other in categories]].T,
            s=22,
            color=colors[name],
            marker=_MARKERS[i % len(_MARKERS)],
            label=word_grid.drawable(name),
        )
    # No numbers on the axes, since only distances have a meaning.
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
    if colors:
        figure.legend(
            loc="outside upper center",
            ncols=6,
            frameon=False,
            prop={"family": word_grid.font_families()},
        )
    figure.canvas.draw()  # fixes the positions of the points
    _write_words(axes, points, words, [colors[name] for name in categories])
    return word_grid.image_of(figure)


def _write_words(axes, points, words, colors):
    """Writes each word where it covers no other one, if possible."""
    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8)
        for x, y in axes.transData.transform(points)
    ]
    families = word_grid.font_families()
    for i, (word, color) in enumerate(zip(words, colors)):
        label = axes.annotate(
            word_grid.drawable(word),
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
        # A word that is cut off is the worst case.
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
