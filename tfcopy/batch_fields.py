"""Batches that say what they lack."""


class Batch(dict):
    """A batch, a dict of tensors by name, with an error that names them.

    Raises:
        ValueError: By `batch[name]` of a tensor that it lacks.
    """

    def __missing__(self, name):
        raise ValueError(
            f"A batch lacks {name!r}, which the model or its loss reads. It "
            f"holds: {', '.join(sorted(self))}."
        )
