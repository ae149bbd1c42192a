"""From matplotlib's figures to images, as tensors and as files.

Needs matplotlib (`pip install tfcopy[figures]`), without a display; importing
this file fails where it is missing.
"""

import numpy as np
import tensorflow as tf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def new_figure(**options):
    """A figure that needs no display; the options are those of `Figure`."""
    figure = Figure(**options)
    FigureCanvasAgg(figure)  # which the figure keeps
    return figure


def image_of(figure):
    """Draws a figure made by `new_figure`.

    Returns:
        uint8 tensor of shape `(1, height, width, 4)`, for `tf.summary.image`
        and `save_png`.
    """
    figure.canvas.draw()
    return tf.constant(np.asarray(figure.canvas.buffer_rgba())[None])


def save_png(path, image):
    """Writes an image made by `image_of` to a file."""
    tf.io.write_file(path, tf.io.encode_png(image[0]))
