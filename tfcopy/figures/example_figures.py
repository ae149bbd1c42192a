"""Plots of one example: attention, plans, question answering, entailment.

They need matplotlib (the extra `figures`), but no display; without
matplotlib the import fails.

Shapes: T words of an output, S of its source; N words of a context or of a
premise, M of a question or of a hypothesis.
"""

import textwrap

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from tfcopy.figures.word_grid import (
    Words,
    add_frame,
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
    """Plots attention weights with the words on the axes.

    Copied words are bold, and their positions in the source have a frame. For a
    long source, only the words with the most attention are drawn. A line marks
    where words were left out.

    Args:
        source_words: The words along the horizontal axis.
        target_words: The words along the vertical axis.
        weights: Array of shape `(T, S)`, one row for each target word. Weights
            beyond the words, for instance at padding, are cut off.
        copied: Optional sequence of `T` source positions that the target
            words were copied from, -1 for a generated word.
        max_columns: Maximum number of source words to draw.
        generate_probability: Optional sequence of `T` probabilities of
            generating instead of copying, drawn as an extra column.
        title: Text above.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    rows, columns = len(target_words), len(source_words)
    weights = np.asarray(weights, np.float32)
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
    """Plots the attention of several systems for the same target words.

    Words at which a planner replanned have an arrow, and a line above them.

    Args:
        panels: Dict from a system to `(source_words, target_words, weights,
            replan)`: the words on the axes, weights `(T, S)`, and booleans
            `(T,)`, or `None` for a system that does not plan. The words of all
            systems are the same.
        max_columns: Maximum number of source words to draw.

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
    """Returns the source positions to draw, in order."""
    if weights.shape[1] <= count:
        return list(range(weights.shape[1]))
    seen = weights.max(axis=0, initial=0)
    seen[[i for i in copied if 0 <= i < len(seen)]] += 1
    return sorted(np.argsort(-seen, kind="stable")[:count].tolist())


def plot_reading(
    context_words, question_words, weights, answers, reference, max_rows=40
):
    """Plots the attention of several systems over a question.

    The attention of each word of the context is a row, from 0 (white) to 1
    (black). The answer of a system has a frame. The reference has a bar at its
    left, and bold words. For a long context, only words around the answers are
    drawn. A line marks where words were left out.

    Args:
        context_words: The words along the vertical axis, N.
        question_words: The words along the horizontal axis, M.
        weights: Dict from a system to its attention from context to question,
            `(N, M)`. Weights beyond the words, for instance at padding, are cut
            off.
        answers: Dict from a system to `(start, end)`, the first word of its
            answer and the one after the last, or `None` for no answer.
        reference: The true answer, in the same form.
        max_rows: Maximum number of words of the context to draw.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `figures.save_png`.
    """
    size = len(context_words), len(question_words)
    spans = {name: _span(answers[name], size[0]) for name in weights}
    truth = _span(reference, size[0])
    rows = _rows_around([truth, *spans.values()], size[0], max_rows)
    down = [drawable(context_words[i]) for i in rows]
    across = [drawable(word) for word in question_words]
    panel = max(2.4, 0.26 * size[1])
    titles = {
        name: _title(name, context_words[start:end], round(11 * panel))
        for name, (start, end) in spans.items()
    }
    lines = max(title.count("\n") for title in titles.values()) + 1
    width = inches(down) + panel * len(titles) + 0.9
    height = inches(across) + 0.22 * len(rows) + 0.2 * lines + 0.6
    figure = new_figure(figsize=(width, height), dpi=100, layout="constrained")
    families = font_families()
    several = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    gaps = [i - 0.5 for i, step in enumerate(np.diff(rows), 1) if step > 1]
    marked = _find_rows(truth, rows)
    for axes, (name, title) in zip(several, titles.items()):
        shown = np.asarray(weights[name], np.float32)[rows, : size[1]]
        image = axes.imshow(shown, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(size[1]), across, rotation=90, family=families)
        axes.set_xlabel("question")
        axes.set_title(title, fontsize=10, family=families)
        for gap in gaps:
            axes.axhline(gap, color="C0", linewidth=0.8)
        _mark(axes, marked, _find_rows(spans[name], rows))
    several[0].set_ylabel("context")
    several[0].set_yticks(range(len(rows)), down, family=families)
    for i in marked:
        several[0].get_yticklabels()[i].set_fontweight("bold")
    figure.colorbar(image, ax=several, label="attention", aspect=30)
    _explain(figure, bool(gaps))
    return image_of(figure)


def _span(span, length):
    """Clips a span to the words; returns an empty one for `None`."""
    start, end = (0, 0) if span is None else map(int, span)
    return max(start, 0), max(min(end, length), start, 0)


def _rows_around(spans, length, count):
    """Returns the rows to draw, in order: the nearest to the ends of spans.

    Only the ends count, since a wrong answer may cover most of the context.
    """
    ends = [i for a, b in spans if b > a for i in (a, b - 1)] or [0]
    rows = np.arange(length)
    away = np.min([np.abs(rows - i) for i in ends], axis=0)
    return sorted(np.argsort(away, kind="stable")[:count].tolist())


def _find_rows(span, drawn):
    """Returns which of the drawn rows belong to a span."""
    return [i for i, row in enumerate(drawn) if span[0] <= row < span[1]]


def _mark(axes, reference, answer):
    left, right = axes.get_xlim()
    if reference:
        axes.plot(
            [left, left],
            (reference[0] - 0.5, reference[-1] + 0.5),
            color="C2",
            linewidth=6,
            solid_capstyle="butt",
            clip_on=False,
            zorder=3,
        )
    if answer:
        corner, height = (left, answer[0] - 0.5), answer[-1] - answer[0] + 1
        add_frame(axes, corner, right - left, height, zorder=4)
    axes.set_xlim(left, right)


def _explain(figure, gaps):
    """Adds a legend of all marks below the panels."""
    handles = {
        "answer": Rectangle((0, 0), 1, 1, fill=False, edgecolor="C3", lw=2),
        "reference": Line2D([], [], color="C2", linewidth=4),
        "words left out": Line2D([], [], color="C0", linewidth=0.8),
    }
    names = list(handles) if gaps else list(handles)[:2]
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=len(names),
        frameon=False,
    )


def _title(name, words, width):
    """Formats a system's name, and its answer wrapped to `width` characters."""
    answer = " ".join(drawable(word) for word in words) or "(no answer)"
    lines = textwrap.wrap(answer, width, max_lines=3, placeholder=" …")
    return "\n".join([drawable(name), *lines])


def alignment_figure(
    premise, hypothesis, weights, defined, probabilities, truth
):
    """Plots the alignment of a premise's words with a hypothesis's words.

    Args:
        premise: The words along the horizontal axis, N.
        hypothesis: The words along the vertical axis, M.
        weights: `(M, N)`, each row sums to 1.
        defined: Pair of sequences for premise and hypothesis: whether each word
            has a definition. These words are blue.
        probabilities: Dict from a label to its probability.
        truth: The true label.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    labels = ", ".join(f"{x} {100 * p:.0f} %" for x, p in probabilities.items())
    caption = "Darker: compared more with that word."
    if any(map(any, defined)):
        caption += " Blue: has a definition."
    return word_grid(
        np.asarray(weights, np.float32),
        Words(premise, "premise", blue=np.flatnonzero(defined[0])),
        Words(hypothesis, "hypothesis", blue=np.flatnonzero(defined[1])),
        f"{labels}\n(truth: {truth})",
        caption,
    )
