"""Plots drawn with matplotlib, the extra `figures`.

The import fails without matplotlib. A plot is a uint8 tensor of shape
`(1, height, width, 4)`.
"""

from tfcopy.figures.curve_figures import (
    Panel,
    categories_figure,
    curves_figure,
    panels_figure,
    rarity_figure,
)
from tfcopy.figures.example_figures import (
    alignment_figure,
    attention_figure,
    plans_figure,
    plot_reading,
)
from tfcopy.figures.word_grid import DisplayedTranslation, join_pieces, save_png
