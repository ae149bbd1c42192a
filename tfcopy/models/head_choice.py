"""The heads that can be chosen by name."""

import importlib

import keras

from tfcopy import layers
from tfcopy.head_names import HEADS


def head_class(head: str):
    """The class of a head.

    Args:
        head: One of `HEADS`, or `MODULE:CLASS`, a registered subclass of
            `SoftmaxHead` that can be imported.

    Raises:
        ValueError: If there is none.
    """
    if head in HEADS:
        return getattr(layers, HEADS[head])
    module, colon, name = head.partition(":")
    if not colon:
        raise ValueError(
            f"`head` must be one of {sorted(HEADS)}, or MODULE:CLASS. "
            f"Received: {head!r}."
        )
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever its code does
        raise ValueError(
            f"{head}: cannot be imported ({type(error).__name__}: {error})."
        ) from error
    is_class = isinstance(found, type)
    if not is_class or not issubclass(found, layers.SoftmaxHead):
        raise ValueError(
            f"{head}: no head; it must be a subclass of "
            "tfcopy.layers.SoftmaxHead."
        )
    registered = keras.saving.get_registered_name(found)
    if keras.saving.get_registered_object(registered) is not found:
        raise ValueError(
            f"{head}: it must be registered, or its runs could not be read "
            "again: @keras.saving.register_keras_serializable(package=...)."
        )
    return found


def make_head(head, vocabulary_size, **options):
    """Makes a head by its name; a layer is returned unchanged.

    Args:
        head: What `head_class` takes, or a head layer.
        vocabulary_size: Positive integer.
        options: Arguments of the head. An option that is `None` keeps the
            head's default.
    """
    if not isinstance(head, str):
        return head
    options = {k: v for k, v in options.items() if v is not None}
    return head_class(head)(vocabulary_size, name="head", **options)
