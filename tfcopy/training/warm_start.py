"""Starting from the weights of another model."""

import keras


def warm_start(model, other):
    """Copies the weights that two models share, matched by their paths.

    Args:
        model: Keras model that gets the weights.
        other: Keras model that gives them.

    Returns:
        The paths of the weights of `model` that `other` does not have; they
        keep their values.

    Raises:
        ValueError: If a weight has another shape there, or the models have
            none in common.
    """
    known = {weight.path: weight for weight in other.weights}
    fresh = [w.path for w in model.weights if w.path not in known]
    if len(fresh) == len(model.weights):
        raise ValueError("The two models have no weight in common.")
    for weight in model.weights:
        if weight.path in fresh:
            continue
        value = known[weight.path]
        if value.shape != weight.shape:
            raise ValueError(
                f"The shape of {weight.path} must be {tuple(weight.shape)}. "
                f"Received: {tuple(value.shape)}."
            )
        weight.assign(keras.ops.convert_to_numpy(value))
    return fresh
