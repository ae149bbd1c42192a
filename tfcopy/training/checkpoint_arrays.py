"""Conversion of a model's and an optimizer's variables to checkpoint arrays.

The names of arrays are numbers, in the order of the variables. Keras's names
depend on the process: the same layer may be `dense` in one run and `dense_1` in
the next.
"""

import os

import numpy as np


class CheckpointError(ValueError):
    """Error: a checkpoint cannot be written, read, or used for this model.

    ```python
    try:
        training.Checkpoints("none").load_weights(model)
    except training.CheckpointError as error:
        print(error)
    ```
    """


def get_variables(model):
    """Returns the variables of a model, but not the states of random seeds.

    Unlike `model.weights`, they include what no model counts as a weight, such
    as whether coverage is on.
    """
    seeds = {id(state) for state in seed_states(model)}
    return [x for x in model.variables if id(x) not in seeds]


def get_values(model):
    """Returns the values of `get_variables` as a list of arrays."""
    return [variable.numpy() for variable in get_variables(model)]


def set_values(model, values):
    """Assigns the values of `get_variables`, in their order."""
    for variable, value in zip(get_variables(model), values, strict=True):
        variable.assign(value)


def seed_states(model):
    """Returns the state variables of all seed generators of a model."""
    return [
        variable
        for variable in model.variables
        if variable.path.endswith("seed_generator_state")
    ]


def average_names(model, optimizer, variables):
    """Returns a dict from the names of averaged weights to their averages'.

    Args:
        model: Keras model.
        optimizer: Its optimizer.
        variables: Variables of the model, some replaced by their averages,
            which are variables of the optimizer.
    """
    names = {
        id(variable): name
        for name, variable in _name_variables(model, optimizer)
    }
    pairs = zip(_names("model", variables), map(id, variables))
    return {name: names[key] for name, key in pairs if names[key] != name}


def collect(model, optimizer):
    """Returns the weights and the optimizer's variables as a dict of arrays."""
    return {
        name: _storable(np.asarray(variable.numpy()))
        for name, variable in _name_variables(model, optimizer)
    }


def restore(model, optimizer, arrays, path):
    """Restores weights and optimizer variables from a checkpoint.

    Raises:
        CheckpointError: If the checkpoint is from another model or optimizer.
    """
    variables = _name_variables(model, optimizer)
    difference = _difference(variables, arrays)
    if difference:
        raise other_run(path, difference)
    for name, variable in variables:
        variable.assign(_from_array(arrays[name], variable))


def check_identity(path, there, here):
    """Checks that a checkpoint's identity equals the identity of this run.

    Keys that only one of them has, from another release of the recipe, are
    ignored.

    Raises:
        CheckpointError: If a value differs.
    """
    for name in sorted(there.keys() & here.keys()):
        if there[name] != here[name]:
            raise other_run(
                path, f"{name} is {there[name]!r} there and {here[name]!r} here"
            )


def other_run(path, difference):
    """Returns the error for a checkpoint of another run."""
    return CheckpointError(
        f"The checkpoint in {os.path.dirname(path)} is from another run: "
        f"{difference}. Pass --fresh to start over (which removes it), or "
        "choose another --run or folder."
    )


def weights_of(model, arrays, path):
    """Returns the weights of a model, as a list, from a file's arrays.

    Raises:
        CheckpointError: If the arrays are from another model.
    """
    variables = _name_variables(model)
    difference = _difference(variables, arrays)
    if difference:
        raise CheckpointError(f"{path} is from another model: {difference}.")
    return [_from_array(arrays[name], variable) for name, variable in variables]


def as_arrays(weights):
    """Returns the arrays of a file from a model's weights, in order."""
    return dict(zip(_names("model", weights), map(_storable, weights)))


def _names(part, values):
    return [f"{part}/{index:04d}" for index in range(len(values))]


def _name_variables(model, optimizer=None):
    parts = [("model", get_variables(model))]
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
        return f"it has {len(arrays)} variables, not {len(variables)}"
    return None


def _storable(array):
    # NumPy archives do not support bfloat16.
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _from_array(array, variable):
    if variable.dtype == "bfloat16":
        return array.view(variable.numpy().dtype)
    return array
