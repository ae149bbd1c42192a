"""A value that `tf.Module` does not see."""


class Untracked:
    """Hides a value from the tracking of `tf.Module`."""

    def __init__(self, value):
        self.value = value
