"""Runs a decoder cell over all steps of the known target.

Shapes: B batch, T target steps, S source steps, D state, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.loop import scan


@keras.saving.register_keras_serializable(package="tfcopy")
class Decoder(keras.layers.Layer):
    """Teacher forcing: the cell's steps, with the words before them given.

    Args:
        cell: A decoder cell, such as `ConditionalGRUCell`.

    Call arguments:
        embeddings: The previous words, embedded, `(B, T, E)`.
        initial_state: `(B, D)`.
        annotations: Encoder states, `(B, S, C)`.
        source_mask: Boolean, `(B, S)`.

    Returns:
        `(states, contexts, attention)`: `(B, T, D)`, `(B, T, C)` and the logs
        of the attention weights, `(B, T, S)`; all float32.
    """

    def __init__(self, cell, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.cell = cell

    def build(
        self,
        embeddings_shape,
        initial_state_shape,
        annotations_shape,
        source_mask_shape=None,
    ):
        if not self.cell.built:
            self.cell.build(embeddings_shape, annotations_shape)

    def call(
        self,
        embeddings,
        initial_state,
        annotations,
        source_mask,
        training=False,
    ):
        memory = self.cell.prepare(annotations, source_mask)
        state = self.cell.initial_state(initial_state, memory)
        inputs = self.cell.project(ops.transpose(embeddings, (1, 0, 2)))
        outputs, _ = scan(self.cell.step, inputs, state, memory, training)
        return tuple(
            ops.transpose(outputs[name], (1, 0, 2))
            for name in ("hidden", "context", "attention")
        )

    def compute_output_spec(
        self,
        embeddings,
        initial_state,
        annotations,
        source_mask,
        training=False,
    ):
        leading = embeddings.shape[:2]
        return tuple(
            keras.KerasTensor((*leading, size), "float32")
            for size in (
                initial_state.shape[-1],
                annotations.shape[-1],
                annotations.shape[1],
            )
        )

    def get_config(self):
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        config["cell"] = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**config)
