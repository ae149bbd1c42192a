"""What layers share: checks of arguments, their config, and masks."""

import keras


def check_choice(argument, value, choices):
    """Raises a ValueError if an argument is none of its choices."""
    if value not in choices:
        raise ValueError(
            f"`{argument}` must be one of {choices}. "
            f"Received: {argument}={value!r}."
        )


def check_positive(argument, value):
    """Raises a ValueError if an argument is no positive integer."""
    if value <= 0:
        raise ValueError(
            f"`{argument}` must be a positive integer. "
            f"Received: {argument}={value}."
        )


class Configured:
    """A layer whose arguments are its attributes and its config.

    It stands before the Keras layer among a class's bases. `__init__` calls
    `keep_arguments(locals())` after that of the base, and may then give some of
    the attributes other values. A subclass may keep arguments of its own in
    another way, and add them to the config in a `get_config`.
    """

    layer_arguments = ()  # names of the arguments that are layers
    _kept = ()

    def keep_arguments(self, arguments, *others):
        """Sets an attribute for each argument that no base has kept.

        Args:
            arguments: `locals()` at the beginning of an `__init__`. What is
                called `..._initializer` may be a name.
            *others: Names of arguments that are not kept here.
        """
        others = {"self", "__class__", "kwargs", *others, *self._kept}
        new = [name for name in arguments if name not in others]
        for name in new:
            value = arguments[name]
            if name.endswith("_initializer"):
                value = keras.initializers.get(value)
            setattr(self, name, value)
        self._kept = (*self._kept, *new)

    def get_config(self):
        config = super().get_config()
        for name in self._kept:
            value = getattr(self, name)
            if name.endswith("_initializer"):
                value = keras.initializers.serialize(value)
            elif name in self.layer_arguments:
                value = keras.saving.serialize_keras_object(value)
            config[name] = value
        return config

    @classmethod
    def from_config(cls, config):
        layers = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in cls.layer_arguments
        }
        return super().from_config({**config, **layers})


class Unmasked(keras.layers.Layer):
    """A layer that takes masks as arguments, and gives no Keras mask."""

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, previous_mask=None):
        """The outputs carry no Keras mask."""
        return None
