"""What the steps of a decoder read but never change."""

from typing import NamedTuple

from keras import ops, tree

from tfcopy.layers.cutting import take
from tfcopy.layers.loop import Product


def beside(x, rows):
    """What a sentence has, with the axis of beams that its rows may have.

    Args:
        x: `(B, ...)`.
        rows: `(B, D)` in training, `(B, K, D)` in a search with K beams.

    Returns:
        `x`, or `x` as `(B, 1, ...)`.
    """
    return ops.expand_dims(x, 1) if len(rows.shape) == 3 else x


class Memory(NamedTuple):
    """What every step of a decoder reads besides its inputs and its state.

    It has two parts, since sentences that are done leave a search, while all
    share the weights. The beams of a sentence share its entries.

    Attributes:
        sentences: Dict of tensors, and of `Product`s without a bias, whose
            first axis is the batch. The entries of a layer inside another
            are a dict in turn, under that layer's name.
        weights: Dict of tensors and `Product`s that do not depend on the
            sentences, nested in the same way.
    """

    sentences: dict
    weights: dict

    def updated(self, sentences=None, weights=None):
        """A memory with these entries added, or replaced."""
        return Memory(
            {**self.sentences, **(sentences or {})},
            {**self.weights, **(weights or {})},
        )

    def nested(self, name):
        """The memory of an outer layer that holds this memory under a name."""
        return Memory({name: self.sentences}, {name: self.weights})

    def part(self, name):
        """The memory of the inner layer of that name."""
        return Memory(self.sentences[name], self.weights[name])

    def take(self, rows):
        """The memory of some sentences, by their numbers."""

        def of_rows(x):
            if isinstance(x, Product):
                return Product(take(x.kernel, rows))
            return take(x, rows)

        return self._replace(
            sentences=tree.map_structure(of_rows, self.sentences)
        )
