"""The weights of a decoder's step as constants of the graph, for exports."""

import numpy as np
import tensorflow as tf
from keras import tree

from tfcopy.layers.loop import Product

# A graph holds less than 2 GiB, and these weights once for each signature.
_MOST_BYTES = 2**29


class ConstantWeights:
    """A `Seq2Seq` to search with, whose steps read constants.

    TensorFlow's library of products arranges a constant matrix once for its
    processor; one that might change, at each product. The weights are those at
    the time it is made. TensorFlow keeps about 25 copies of a graph's constants
    as it loads it.

    Args:
        model: A `Seq2Seq`.

    Raises:
        ValueError: If no graph can hold the weights.
    """

    def __init__(self, model):
        self.model = model
        self.vocabulary_size = model.vocabulary_size
        self.source_inputs = model.source_inputs
        # In eager mode: the graph has the values, not how they are computed.
        with tf.init_scope():
            self._weights = tree.map_structure(_to_arrays, model.step_weights())
        size = sum(array.nbytes for array in self.arrays())
        if size > _MOST_BYTES:
            raise ValueError(
                f"The weights of a step, {size:,} bytes, are too many for "
                "constants of a graph. Set constants=false."
            )

    def arrays(self) -> list:
        """The constants."""
        parts = tree.flatten(self._weights)
        return [array for part in parts for array in part.arrays]

    @property
    def variables(self) -> list:
        """What is not constant: the weights of the encoder."""
        constant = {id(x) for x in self.model.variables_of_steps()}
        return [x for x in self.model.variables if id(x) not in constant]

    def encode(self, source_ids, source_copy_ids, **source_inputs):
        """As `Seq2Seq.encode`, without the weights."""
        memory, state = self.model.encode_sentences(
            source_ids, source_copy_ids, **source_inputs
        )
        return memory._replace(weights={}), state

    def restrict(self, memory, candidate_ids, log_weights=None):
        """As `Seq2Seq.restrict`; what it computes is kept beside constants."""
        whole = memory._replace(weights=self._constants())
        few = self.model.restrict(whole, candidate_ids, log_weights)
        pairs = zip(whole.weights["layers"], few.weights["layers"])
        changed = {
            str(place): new
            for place, (old, new) in enumerate(pairs)
            if old is not new
        }
        if "candidate_ids" in few.weights:
            changed["candidate_ids"] = few.weights["candidate_ids"]
        return few._replace(weights=changed)

    def decode_step(self, ids, state, memory):
        """As `Seq2Seq.decode_step`."""
        weights = {**self._constants(), **memory.weights}
        layers = [
            memory.weights.get(str(place), x)
            for place, x in enumerate(weights["layers"])
        ]
        memory = memory._replace(weights={**weights, "layers": layers})
        return self.model.decode_step(ids, state, memory)

    def _constants(self):
        """The weights, as constants of the graph that is being made."""
        return tree.map_structure(lambda x: x.constant(), self._weights)


class _Arrays:
    """A tensor, or a `Product`, as arrays."""

    def __init__(self, arrays, is_product):
        self.arrays = arrays
        self._is_product = is_product

    def constant(self):
        tensors = [tf.constant(x) for x in self.arrays]
        return Product(*tensors) if self._is_product else tensors[0]


def _to_arrays(x):
    is_product = isinstance(x, Product)
    tensors = x.tensors() if is_product else [x]
    return _Arrays(
        [np.asarray(tf.convert_to_tensor(x)) for x in tensors], is_product
    )
