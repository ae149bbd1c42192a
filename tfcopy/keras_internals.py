"""Access to parts of Keras, KerasHub and TensorFlow without a public API.

Each function names the release that it was written for, and has a test in
`tests/test_keras_internals.py` that fails if a release changes these parts.
"""

import contextlib
import sys
import types

import keras
from keras.src.saving.serialization_lib import ObjectSharingScope

# === Layers and models, seen in Keras 3.15 ===


def get_trained_weights(layers):
    """Returns the trainable weights of layers, and the dtypes of their use.

    The public `trainable_weights` do not name a weight's layer, and so not the
    dtype of its computations.

    Args:
        layers: Layers, including all nested ones.

    Returns:
        List of `(variable, dtype)`, each variable once.
    """
    weights = {
        id(variable): (
            variable,
            part.compute_dtype if variable._autocast else variable.dtype,
        )
        for layer in layers
        for part in all_layers(layer)
        for variable in part._trainable_variables
    }
    return list(weights.values())


def weight_names(model):
    """Returns the weights of a model by the names of their layers and own.

    Variables that layers do not count as weights are included, but the states
    of random generators are not.

    The public `path` of a weight lacks the outer layers if the inner one was
    built on its own, as it is when a model is made from its config.

    Returns:
        Dict from names to weights, each once.
    """
    wanted, names = {id(variable) for variable in model.variables}, {}

    def walk(layers, prefix):
        for layer in layers:
            place = f"{prefix}{layer.name}/"
            trained = layer._trainable_variables
            for weight in (*trained, *layer._non_trainable_variables):
                if id(weight) in wanted:
                    wanted.remove(id(weight))
                    names[f"{place}{weight.name}"] = weight
            walk(layer._layers, place)

    walk(model.layers, "")
    return names


def values_in_scope(variables, values):
    """Returns a scope in which variables have given values, of any dtype.

    The public constructor of `keras.StatelessScope` would cast the values
    back to the dtype of the variables.
    """
    scope = keras.StatelessScope()
    for variable, value in zip(variables, values, strict=True):
        scope.state_mapping[id(variable)] = value
    return scope


def serialize_shared(layer):
    """Serializes a layer that other parts of a model may share.

    Keras writes the id of a shared layer too late for nested configs: the
    loaded model would have two layers.
    """
    config = keras.saving.serialize_keras_object(layer)
    return {**config, "shared_object_id": id(layer)}


def share_layers():
    """Returns a scope in which a layer that a config has twice stays one layer.

    `keras.saving.save_model` and `load_model` open it; serialising a config
    alone does not. It is needed by models whose layers hold other layers of
    the model, such as a language model whose LSTM reads definitions as well.
    """
    return ObjectSharingScope()


@contextlib.contextmanager
def forbid_imports():
    """Keeps Keras from importing packages that a config names.

    Keras 3.15 imports a config's `module` if it is in keras_cv or keras_nlp.
    Where these are not installed, any folder of such a name would do.
    """
    absent = {"keras_cv", "keras_nlp"} - sys.modules.keys()
    sys.modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def keep_own_policy(layer):
    """Gives a loaded quantized layer its policy instead of the model's map.

    Keras 3.15 saves a layer with the map's default, as if it was not quantized,
    so that a loaded model could not be saved again.
    """
    if layer.path and layer.quantization_mode:
        policies = layer.dtype_policy
        if isinstance(policies, keras.dtype_policies.DTypePolicyMap):
            layer._dtype_policy = policies[layer.path]


def get_compiled_metrics(model):
    """Returns the metrics passed to `compile`, and the group that holds them.

    The public `metrics` hold the group, which matches each metric with an
    output of the model, and returns no results before it has.

    Returns:
        `(metrics, group)`; `([], None)` without any.
    """
    group = model._compile_metrics if model.compiled else None
    return (group._user_metrics if group else []), group


# === KerasHub, seen in 0.32 ===


def own_layers(layer):
    """Returns the layers inside a layer, by the names of its attributes.

    Some of the attributes of KerasHub's blocks and attentions have a leading
    underscore; the returned names have none.

    Returns:
        A namespace.
    """
    layers = {
        name.lstrip("_"): value
        for name, value in vars(layer).items()
        if isinstance(value, keras.layers.Layer)
    }
    return types.SimpleNamespace(**layers)


# === Optimizers and events ===


def all_layers(model):
    """Returns a model's layers, including all nested ones.

    Keras 3.15, `Layer._flatten_layers`. The public `Model.layers` leaves out
    the attributes of layers.
    """
    return model._flatten_layers()


def adam_moments(optimizer, variable):
    """Returns Adam's two moments of a variable, as TensorFlow's variables.

    Keras 3.15, `_get_variable_index` (which the docstring of
    `keras.optimizers.Optimizer` recommends to authors of optimizers),
    `_momentums` and `_velocities`.

    Args:
        optimizer: A built `keras.optimizers.Adam`.
        variable: The variable that `update_step` gets, such as one replica's
            part.
    """
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index].value, optimizer._velocities[index].value


def get_moving_averages(optimizer):
    """Returns the moving averages of the model's variables, in their order.

    Keras 3.15, `_model_variables_moving_average`. The public
    `finalize_variable_values` can only write them into the model.

    Args:
        optimizer: A built Keras optimizer; without `use_ema` it has none.
    """
    if not optimizer.use_ema:
        return []
    return list(optimizer._model_variables_moving_average)


def switch_off_reduction(optimizer):
    """Makes an optimizer accept gradients already summed over the replicas.

    Keras 3.15, `_all_reduce_sum_gradients`. Keras reduces after clipping each
    replica's gradients; to clip their sum, they must be reduced before.
    """
    optimizer._all_reduce_sum_gradients = list


def resource_of(writer):
    """Returns the resource of a `tf.summary` writer, for `tf.raw_ops`.

    TensorFlow 2.21, `_resource`. Its public functions write only summaries, not
    a `SessionLog`.
    """
    return writer._resource


@contextlib.contextmanager
def dtype_policy(policy):
    """Sets the global dtype policy, which rebuilt models read."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
