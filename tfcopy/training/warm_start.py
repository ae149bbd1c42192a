"""Warm start: initialisation of a model with the weights of another one."""

from collections.abc import Mapping
from typing import NamedTuple

import keras
import numpy as np

from tfcopy.keras_internals import weight_names


class Words(NamedTuple):
    """Map from the words of a weight to their rows in another model's weight.

    Attributes:
        axis: The axis of the words.
        places: For each word its index in the other weight, or -1.
    """

    axis: int
    places: np.ndarray


def warm_start(model, other, words: Mapping[str, Words] = {}):
    """Copies the weights that two models share, matched by `weight_names`.

    ```python
    other = models.copynet(9, 9, embedding_dim=4, units=4)
    training.warm_start(model, other)  # [], as all weights are copied
    ```

    Args:
        model: Keras model whose weights are set.
        other: Keras model whose weights are copied.
        words: Dict from the name of a weight with a row for each word, to the
            rows of these words in the other model. Words without such a row
            keep their values.

    Returns:
        The names of the weights of `model` that `other` does not have; they
        keep their values.

    Raises:
        ValueError: If the shapes of a weight differ, or if the models have no
            weight in common.
    """
    own, known = weight_names(model), weight_names(other)
    fresh = [name for name in own if name not in known]
    if len(fresh) == len(own):
        raise ValueError("The two models have no weight in common.")
    for name, weight in own.items():
        if name not in known:
            continue
        value = keras.ops.convert_to_numpy(known[name])
        if name in words:
            value = _match_words(weight, value, words[name])
        if value.shape != weight.shape:
            raise ValueError(
                f"The shape of {name} must be {tuple(weight.shape)}. "
                f"Received: {tuple(value.shape)}."
            )
        weight.assign(value)
    return fresh


def _match_words(weight, value, words):
    """Returns the value with its words in the order of the weight."""
    rows = np.moveaxis(keras.ops.convert_to_numpy(weight), words.axis, 0).copy()
    theirs = np.moveaxis(value, words.axis, 0)
    if rows.shape[1:] != theirs.shape[1:] or len(rows) != len(words.places):
        return value  # The caller reports its shape.
    is_known = words.places >= 0
    rows[is_known] = theirs[words.places[is_known]]
    return np.moveaxis(rows, 0, words.axis)
