"""Pictures of where a model looked and what it copied.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.
"""

import numpy as np

from tfcopy.figures.word_grid import (
    Words,
    drawable,
    font_families,
    image_of,
    inches,
    new_figure,
    word_grid,
)


def attention_figure(
    source_words,
    target_words,
    weights,
    copied=None,
    max_columns=80,
    generate_probability=None,
    title="Attention of the output to the source",
):
    """Draws attention weights with the words on the axes.

    A word that was copied is bold, and its position in the source is framed.
    Of a long source, only the words with the most attention are drawn; a line
    shows where some were left out.

    Args:
        source_words: The words along the horizontal axis.
        target_words: The words along the vertical axis.
        weights: Array of shape `(T, S)`, one row for each target word. What
            lies beyond the words, such as padding, is cut off.
        copied: Optional sequence of `T` source positions that the target
            words were copied from, -1 for a generated word.
        max_columns: Most source words that are drawn.
        generate_probability: Optional sequence of `T` probabilities that each
            word would be generated rather than copied, drawn as an extra
            column.
        title: Text above.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    rows, columns = len(target_words), len(source_words)
    weights = np.asarray(weights, np.float32)
    if weights.shape[0] < rows or weights.shape[1] < columns:
        raise ValueError(
            "`weights` must have a row for each target word and a column for "
            f"each source word. Received: weights.shape={weights.shape} for "
            f"{rows} and {columns} words."
        )
    copied = [-1] * rows if copied is None else list(copied)[:rows]
    weights = weights[:rows, :columns]
    kept = _most_seen(weights, copied, max_columns)
    places = {position: column for column, position in enumerate(kept)}
    frames = [
        (row, places[position])
        for row, position in enumerate(copied)
        if position in places
    ]
    gaps = [i for i, step in enumerate(np.diff(kept), 1) if step > 1]
    legend, side = ["Darker: more attention."], None
    if frames:
        legend.append("Red frame, bold: copied from there.")
    if generate_probability is not None:
        side = "generate", np.asarray(generate_probability)[:rows]
        legend.append("Blue: probability to generate, not copy.")
    if gaps:
        legend.append("Blue line: words left out.")
    return word_grid(
        weights[:, kept],
        Words([source_words[i] for i in kept], "source"),
        Words(target_words, "output", bold={row for row, _ in frames}),
        title,
        " ".join(legend),
        frames,
        gaps,
        side,
    )


def plans_figure(panels, max_columns=80):
    """Draws where several systems looked as they wrote the same words.

    Words at which a planner replanned have an arrow, and a line above them.

    Args:
        panels: System to `(source_words, target_words, weights, replan)`:
            the words on the axes, weights `(T, S)`, and booleans `(T,)`, or
            `None` for a system that does not plan. All have the same words.
        max_columns: Most source words that are drawn.

    Returns:
        As in `attention_figure`.
    """
    source, target, *_ = next(iter(panels.values()))
    rows, families = len(target), font_families()
    most = np.max([weights for _, _, weights, _ in panels.values()], axis=0)
    kept = _most_seen(most[:rows, : len(source)], [], max_columns)
    across = [drawable(source[i]) for i in kept]
    down = [drawable(word) for word in target]
    # Wide panels are stacked.
    grid = (len(panels), 1) if len(kept) > 3 * rows else (1, len(panels))
    width = (inches(down) + 0.2 * len(kept)) * grid[1]
    height = inches(across) + (0.4 + 0.2 * rows) * grid[0]
    figure = new_figure(figsize=(width, height), dpi=80, layout="constrained")
    several = figure.subplots(*grid, sharex=True, sharey=True, squeeze=False)
    several = several.flatten()
    for axes, (system, panel) in zip(several, panels.items()):
        weights, replan = panel[2][:rows][:, kept], panel[3]
        axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(
            range(len(kept)), across, rotation=90, family=families, fontsize=8
        )
        title = system
        if replan is not None:
            steps = np.flatnonzero(replan[:rows])
            title = f"{system}: plans at {len(steps)} of {rows} steps"
            axes.plot(
                np.full(len(steps), -0.5), steps, ">", color="C3", clip_on=False
            )
            axes.hlines(
                steps - 0.5, -0.5, len(kept) - 0.5, color="C3", linewidth=0.6
            )
        axes.set_title(title)
    several[0].set_yticks(range(rows), down, family=families, fontsize=8)
    return image_of(figure)


def _most_seen(weights, copied, count):
    """The source positions to draw, in their order."""
    if weights.shape[1] <= count:
        return list(range(weights.shape[1]))
    seen = weights.max(axis=0, initial=0)
    seen[[i for i in copied if 0 <= i < len(seen)]] += 1
    return sorted(np.argsort(-seen, kind="stable")[:count].tolist())
