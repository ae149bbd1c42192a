"""Pictures of a model's predictions for one example during training.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.

Shapes: N words of a premise, M of a hypothesis.
"""

import numpy as np

from tfcopy.figures.word_grid import (
    Words,
    drawable,
    font_families,
    image_of,
    longest,
    new_figure,
    word_grid,
)

_LEAST = 1e-5  # probabilities below have no bar


def alignment_figure(
    premise, hypothesis, weights, defined, probabilities, truth
):
    """Draws which words of a premise are aligned with a hypothesis's words.

    Args:
        premise: The words along the horizontal axis, N.
        hypothesis: The words along the vertical axis, M.
        weights: `(M, N)`, each row sums to 1.
        defined: Whether the words of the premise, and those of the
            hypothesis, have a definition; these are blue.
        probabilities: Dict from a label to its probability.
        truth: The true label.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    told = ", ".join(f"{x} {100 * p:.0f} %" for x, p in probabilities.items())
    caption = "Darker: compared more with that word."
    if any(map(any, defined)):
        caption += " Blue: has a definition."
    return word_grid(
        np.asarray(weights, np.float32),
        Words(premise, "premise", blue=np.flatnonzero(defined[0])),
        Words(hypothesis, "hypothesis", blue=np.flatnonzero(defined[1])),
        f"{told}\n(truth: {truth})",
        caption,
    )


def next_words_figure(words, probabilities, known, likely):
    """Draws the probability of each word of a text, given those before it.

    Args:
        words: The words, from top to bottom.
        probabilities: The probability of each.
        known: Whether each is in the vocabulary; the probability of others is
            that of any unknown word.
        likely: For each position, a text with the most probable words.

    Returns:
        As in `alignment_figure`.
    """
    figure = new_figure(dpi=100)
    words = [drawable(word) for word in words]
    guesses = ["   ".join(drawable(x, 30) for x in row) for row in likely]
    left, bars = longest(figure, words, bold=True) + 0.2, 1.3
    right = max(longest(figure, guesses), longest(figure, ["likely"])) + 0.25
    top, bottom, rows = 0.55, 0.55, 0.2 * len(words)
    width, height = max(left + bars + right, 3.0), top + rows + bottom
    figure.set_size_inches(width, height)
    axes = figure.add_axes(
        [left / width, bottom / height, bars / width, rows / height]
    )
    places = np.arange(len(words))
    colors = ["C0" if is_known else "C1" for is_known in known]
    axes.barh(places, np.maximum(probabilities, _LEAST), 0.7, color=colors)
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, 1)
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(axis="x", color="0.85")
    axes.set_axisbelow(True)
    families = font_families()
    axes.set_yticks(places, words, family=families, fontsize=10)
    for label, is_known in zip(axes.get_yticklabels(), known):
        if not is_known:
            label.set_fontweight("bold")
    axes.set_xticks([1e-4, 1e-2, 1], ["0.01 %", "1 %", "100 %"], fontsize=8)
    axes.minorticks_off()
    axes.tick_params("both", length=2)

    def write(x, y, text, size, offset=(0, 0), **options):
        axes.annotate(
            text,
            (x, y),
            xycoords=axes.get_yaxis_transform(),
            xytext=offset,
            textcoords="offset points",
            family=families,
            fontsize=size,
            **options,
        )

    for place, text in zip(places, guesses):
        write(1, place, text, 10, (8, 0), va="center", color="0.3")
    write(0, -0.5, "probability", 9, (0, 4))
    write(1, -0.5, "likely", 9, (8, 4))
    title = "Each word after those before it"
    figure.text(0.05 / width, 1 - 0.2 / height, title, fontsize=11)
    if not all(known):
        legend = "Orange, bold: not in the vocabulary."
        figure.text(0.05 / width, 0.1 / height, legend, fontsize=8)
    return image_of(figure)
