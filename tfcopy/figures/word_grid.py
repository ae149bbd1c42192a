"""Plots of weights as a grid, with words along both axes.

They need matplotlib (the extra `figures`), but no display; without
matplotlib the import fails.

Sizes are in inches. At 100 dots per inch, words have the size of other text
when TensorBoard shows a plot at full size. In its cards, they stay legible up
to about twenty words.
"""

import dataclasses
import functools
import textwrap
import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tfcopy.tokens import BLANK, EOS, SPECIAL_TOKENS, START

_END = SPECIAL_TOKENS[EOS]

# Tried in this order, for characters that the earlier fonts lack.
_FALLBACK_FAMILIES = (
    "DejaVu Sans, Noto Sans, Noto Sans CJK SC, Noto Sans CJK JP, Source Han "
    "Sans SC, WenQuanYi Zen Hei, WenQuanYi Micro Hei, Droid Sans Fallback, "
    "Microsoft YaHei, SimHei, PingFang SC, Hiragino Sans GB, Arial Unicode "
    "MS, Noto Sans Arabic, Noto Sans Hebrew, Noto Sans Devanagari, Noto "
    "Sans Thai, Unifont"
).split(", ")


@functools.cache
def font_families():
    """Returns the installed font families that together cover most scripts."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _FALLBACK_FAMILIES if name in installed]


@functools.cache
def _list_characters():
    """Returns the code points that some font of `font_families` can draw."""
    known = set()
    for family in font_families():
        path = font_manager.findfont(family)
        known.update(font_manager.get_font(path).get_charmap())
    return known


def drawable(word, max_length=24):
    """Replaces characters that no font can draw with their codes."""
    known = _list_characters()
    characters, length = [], 0
    for character in unicodedata.normalize("NFC", word):
        if ord(character) not in known or not character.isprintable():
            character = f"<{ord(character):X}>"
        length += len(character)
        # Escaped, since a dollar starts a formula.
        characters.append("\\$" if character == "$" else character)
    if length <= max_length:
        return "".join(characters)
    kept, room = [], max_length - 1
    for character in characters:
        room -= len(character.removeprefix("\\"))
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…"


def inches(labels):
    """Returns the size of the longest text, with margins, in inches."""
    return 0.6 + 0.11 * max(map(_columns, labels), default=0)


def _columns(text):
    """Returns a text's width in columns; Chinese characters count twice."""
    return sum(1 + (unicodedata.east_asian_width(x) in "WF") for x in text)


def new_figure(**options):
    """Makes a `Figure` that needs no display, with options of `Figure`."""
    figure = Figure(**options)
    FigureCanvasAgg(figure)  # becomes `figure.canvas`
    return figure


def image_of(figure):
    """Renders a figure made by `new_figure`.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `save_png`.
    """
    figure.canvas.draw()
    return tf.constant(np.asarray(figure.canvas.buffer_rgba())[None])


def save_png(path, image):
    """Writes an image made by `image_of` to a file."""
    tf.io.write_file(path, tf.io.encode_png(image[0]))


_DOTS = 100
_WORD_SIZE = 10  # points
_MARGIN = 0.08


class DisplayedTranslation(NamedTuple):
    """A translation as it is displayed, with its source.

    Attributes:
        words: Words of the translation.
        source: Words of the source, with `</s>`.
        copied_from: For each word the source word it was copied from; -1 if
            any part of it was generated.
        generate: `(N,)`, probabilities of generating rather than copying,
            averaged over the subwords of a word.
        attention: `(N, M)`, averaged over the subwords of a target word and
            summed over those of a source word.
    """

    words: list[str]
    source: list[str]
    copied_from: list[int]
    generate: np.ndarray
    attention: np.ndarray


def join_pieces(
    answer: DisplayedTranslation, pieces: dict
) -> DisplayedTranslation:
    """Joins subwords to words.

    Args:
        answer: The translation in tokens.
        pieces: Dict of `source` and `target`: whether their tokens are subwords
            that begin with `▁` at the beginning of a word.
    """
    source, target = (
        _starts(tokens, pieces.get(side, False))
        for tokens, side in (
            (answer.source, "source"),
            (answer.words, "target"),
        )
    )
    attention = np.asarray(answer.attention)
    if len(source):
        attention = np.add.reduceat(attention, source, axis=1)
    generate, counts = answer.generate, np.diff([*target, len(answer.words)])
    if len(target):
        attention = np.add.reduceat(attention, target, axis=0)
        attention = attention / counts[:, None]
        generate = np.add.reduceat(np.asarray(generate), target) / counts
    # Index of the word at each source position.
    owners = np.cumsum(np.isin(np.arange(len(answer.source)), source)) - 1
    copied_from = [
        -1 if min(places) < 0 else int(owners[places[0]])
        for places in _parts(answer.copied_from, target)
    ]
    return answer._replace(
        words=_join_tokens(answer.words, target, pieces.get("target", False)),
        source=_join_tokens(answer.source, source, pieces.get("source", False)),
        copied_from=copied_from,
        generate=generate,
        attention=attention,
    )


def _starts(tokens, are_pieces):
    """Returns the positions where words begin."""
    return [
        i
        for i, token in enumerate(tokens)
        if not are_pieces
        or i == 0
        or token.startswith(BLANK)
        or _END in (token, tokens[i - 1])
    ]


def _parts(values, starts):
    ends = [*starts[1:], len(values)]
    return [values[start:end] for start, end in zip(starts, ends)]


def _join_tokens(tokens, starts, are_pieces):
    if not are_pieces:
        return tokens
    # The start symbol is no text, and counts as part of the first word.
    words = ["".join(part) for part in _parts(tokens, starts)]
    return [x.replace(START, "").replace(BLANK, " ").strip() for x in words]


@dataclasses.dataclass(frozen=True)
class Words:
    """Words along an axis.

    Attributes:
        words: The words.
        label: Label of the axis.
        bold: Positions of words in bold.
        blue: Positions of words in blue.
    """

    words: Sequence[str]
    label: str
    bold: Collection[int] = ()
    blue: Collection[int] = ()


def word_grid(
    weights, columns, rows, title="", caption="", frames=(), gaps=(), side=None
):
    """Plots weights as a grid, from 0 (white) to 1 (black).

    Args:
        weights: Array of shape `(number of rows, number of columns)`.
        columns: `Words` along the horizontal axis.
        rows: `Words` along the vertical axis.
        title: Text above.
        caption: Small text below.
        frames: Pairs of a row and a column for red frames.
        gaps: Columns before which a line marks columns that were left out.
        side: Optional `(label, values)`, a blue column at the left of the
            grid: a value from 0 to 1 for each row.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`.
    """
    height, width = len(rows.words), len(columns.words)
    figure = new_figure(dpi=_DOTS)
    across, down = (
        [drawable(word) for word in axis.words] for axis in (columns, rows)
    )
    # With few words, each gets more room, so that the plot is not tiny.
    pitch = max(0.2, min(0.3, 2.4 / max(width, 1)))
    left = longest(figure, down, bool(rows.bold)) + 0.35
    below = across if side is None else [*across, side[0]]
    bottom = longest(figure, below, bool(columns.bold)) + 0.3
    start = left if side is None else left + pitch + _MARGIN
    total = max(start + pitch * width + _MARGIN, 2.8)
    title = _wrap(title, total, 11)
    caption = _wrap(caption, total, 8)
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
        add_frame(axes, (column - 0.5, row - 0.5), 1, 1)
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


def add_frame(axes, corner, width, height, **options):
    """Adds a red frame, which may extend beyond the axes."""
    style = {"fill": False, "edgecolor": "C3", "linewidth": 2}
    axes.add_patch(
        Rectangle(corner, width, height, clip_on=False, **style, **options)
    )


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
    """Returns the width in inches of the longest text, at the size of words."""
    text = figure.text(0, 0, "", fontsize=_WORD_SIZE, family=font_families())
    if bold:
        text.set_fontweight("bold")
    widths = [0]
    for content in texts:
        text.set_text(content)
        widths.append(text.get_window_extent().width)
    text.remove()
    return max(widths) / _DOTS


def _wrap(text, width, size):
    """Wraps a text into lines of a width in inches, at a size in points."""
    characters = int(width * 120 / size)
    return "\n".join(
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, characters)
    )
