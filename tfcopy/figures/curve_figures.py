"""Pictures of curves, such as learning curves.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tfcopy.figures.word_grid import image_of, new_figure


@dataclasses.dataclass(frozen=True)
class Panel:
    """One pair of axes, and the curves on them.

    Attributes:
        curves: Name to `(x, y)`, sequences of equal length, or to
            `(x, y, low, high)` for a shaded band around the curve. They keep
            their order and colours; one without points is in the legend only.
        title: Text above the axes.
        x_label: Text below them.
        y_label: Text at their left.
        log_x: Whether the horizontal axis is logarithmic; points at 0 and
            below are then left out.
        log_y: Whether the vertical axis is logarithmic; likewise.
        levels: Name to a value of y, such as the paper's, drawn as a dashed
            line; in the colour of the curve of that name, if there is one.
    """

    curves: Mapping[str, Sequence[Sequence[float]]]
    title: str
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    levels: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        for name, arrays in self.curves.items():
            sizes = [np.shape(array) for array in arrays]
            plain = all(len(size) == 1 for size in sizes)
            if len(sizes) not in (2, 4) or not plain or len(set(sizes)) > 1:
                raise ValueError(
                    "A curve must be two or four sequences of equal length. "
                    f"Received: shapes {sizes} for {name!r}."
                )


def curves_figure(curves, title, x_label, y_label, **options):
    """Draws curves on one pair of axes.

    Args:
        curves, title, x_label, y_label: As in `Panel`.
        options: Its other attributes.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `figures.save_png`.
    """
    return panels_figure([Panel(curves, title, x_label, y_label, **options)])


def rarity_figure(curves):
    """Draws the accuracy of systems against the rarity of an example's words.

    Args:
        curves: System to `(x, accuracy)`, for each bin the mean log rank of its
            words and the accuracy in percent, as
            `evaluation.rarity.accuracy_by_quantile` gives them; or to
            `(x, accuracy, low, high)` with an interval, drawn as a band.

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
    """Draws several pairs of axes side by side.

    Args:
        panels: Sequence of `Panel`s, at least one.

    Returns:
        As in `curves_figure`.
    """
    if not panels:
        raise ValueError("`panels` must have at least one. Received none.")
    figure = new_figure(
        figsize=(5 * len(panels), 4), dpi=100, layout="constrained"
    )
    for axes, panel in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels
    ):
        _draw(axes, panel)
    return image_of(figure)


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
        if np.isfinite(value) and (value > 0 or not panel.log_y):
            line = axes.axhline(value, color=color, linestyle="--", linewidth=1)
            lines.setdefault(name, line)
    # Matplotlib cannot scale an axis without points.
    if panel.log_x and places:
        axes.set_xscale("log")
        ticks = _thin(places)
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.minorticks_off()
    if panel.log_y and places:
        axes.set_yscale("log")
    axes.set_title(_plain(panel.title))
    axes.set_xlabel(_plain(panel.x_label))
    axes.set_ylabel(_plain(panel.y_label))
    axes.grid(color="0.9")
    if lines:
        axes.legend(list(lines.values()), list(map(_plain, lines)))


def _thin(places):
    """The points of a logarithmic axis that have room for a label."""
    least = (max(places) / min(places)) ** (1 / 8)
    chosen = []
    for place in sorted(places):
        if not chosen or place >= least * chosen[-1]:
            chosen.append(place)
    return chosen


def _drawable(arrays, panel):
    """The points that are numbers and, on a logarithmic axis, above 0."""
    arrays = [np.asarray(array, np.float64) for array in arrays]
    kept = np.all(np.isfinite(arrays), axis=0)
    if panel.log_x:
        kept &= arrays[0] > 0
    if panel.log_y:
        kept &= np.all(np.asarray(arrays[1:]) > 0, axis=0)
    return [array[kept] for array in arrays]


def _plain(text):
    # A dollar would start a formula.
    return text.replace("$", r"\$")
