"""The variables of a model and its optimizer as arrays of a checkpoint.

They are numbered in their order: Keras numbers the layers of a process, so the
same model may be `dense` in one run and `dense_1` in the next.
"""

import os

import numpy as np


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read, or used for this model."""


def average_names(model, optimizer, variables):
    """The names of the arrays of averages, by those of a model's weights.

    Args:
        model: Keras model.
        optimizer: Its optimizer.
        variables: The model's weights in their order, some replaced by
            variables of the optimizer that are their averages.
    """
    names = {
        id(variable): name
        for name, variable in _named_variables(model, optimizer)
    }
    pairs = zip(_names("model", variables), map(id, variables))
    return {name: names[key] for name, key in pairs if names[key] != name}


def collect(model, optimizer):
    """Returns the weights and the optimizer's variables as a dict of arrays."""
    return {
        name: _storable(np.asarray(variable.numpy()))
        for name, variable in _named_variables(model, optimizer)
    }


def restore(model, optimizer, arrays, path):
    """Sets weights and optimizer variables to those of a checkpoint.

    Raises:
        CheckpointError: If the checkpoint is from another model or optimizer.
    """
    variables = _named_variables(model, optimizer)
    difference = _difference(variables, arrays)
    if difference:
        raise other_run(path, difference)
    for name, variable in variables:
        variable.assign(_from_array(arrays[name], variable))


def check_identity(path, there, here):
    """Raises an error where a checkpoint's identity and this run's differ.

    A key that only one of them has is from another release of the recipe.

    Raises:
        CheckpointError: naming what differs.
    """
    for name in sorted(there.keys() & here.keys()):
        if there[name] != here[name]:
            raise other_run(
                path, f"{name} is {there[name]!r} there and {here[name]!r} here"
            )


def other_run(path, difference):
    """Returns the error that tells that a checkpoint is from another run."""
    return CheckpointError(
        f"The checkpoint in {os.path.dirname(path)} is from another run: "
        f"{difference}. Pass --fresh to start afresh (which removes it), or "
        "choose another --run, or folder."
    )


def weights_of(model, arrays, path):
    """The weights of a model, as a list, from a file's arrays.

    Raises:
        CheckpointError: If they are of another model.
    """
    variables = _named_variables(model)
    difference = _difference(variables, arrays)
    if difference:
        raise CheckpointError(f"{path} is from another model: {difference}.")
    return [_from_array(arrays[name], variable) for name, variable in variables]


def as_arrays(weights):
    """The arrays of a file from weights in the order of a model's."""
    return dict(zip(_names("model", weights), map(_storable, weights)))


def _names(part, values):
    return [f"{part}/{index:04d}" for index in range(len(values))]


def _named_variables(model, optimizer=None):
    parts = [("model", model.weights)]
    if optimizer is not None:
        parts.append(("optimizer", optimizer.variables))
    return [
        named
        for part, variables in parts
        for named in zip(_names(part, variables), variables)
    ]


def _difference(variables, arrays):
    for name, variable in variables:
        here = tuple(variable.shape)
        if name not in arrays:
            return f"`{variable.path}` is missing there"
        if arrays[name].shape != here:
            there = arrays[name].shape
            return f"`{variable.path}` has shape {there} there and {here} here"
    if len(arrays) != len(variables):
        return f"it has {len(arrays)} variables and not {len(variables)}"
    return None


def _storable(array):
    # NumPy archives do not know bfloat16.
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _from_array(array, variable):
    if variable.dtype == "bfloat16":
        return array.view(variable.numpy().dtype)
    return array
