"""Runs a decoder cell over all steps of the known target.

Shapes: B batch, T target steps, S source steps, D first state.
"""

import keras

from tfcopy.layers.configured import Configured
from tfcopy.layers.decoder_outputs import decoder_outputs


@keras.saving.register_keras_serializable(package="tfcopy")
class Decoder(Configured, keras.layers.Layer):
    """Teacher forcing: runs the cell's steps with the previous words given.

    Args:
        cell: A decoder cell, such as `ConditionalGRUCell`.

    Call arguments:
        embeddings: The previous words, embedded, `(B, T, E)`.
        annotations: Encoder states, `(B, S, C)`.
        source_mask: Boolean, `(B, S)`.
        matches: 1.0 where the source holds the previous word, `(B, T, S)`;
            for cells with selective read.
        initial_state: `(B, D)`; `None` for a cell that needs none.

    Returns:
        dict of `decoder_outputs`.
    """

    layer_arguments = ("cell",)

    def __init__(self, cell, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())

    def build(
        self,
        embeddings_shape,
        annotations_shape,
        source_mask_shape=None,
        matches_shape=None,
        initial_state_shape=None,
    ):
        if not self.cell.built:
            self.cell.build(embeddings_shape, annotations_shape)

    def call(
        self,
        embeddings,
        annotations,
        source_mask,
        matches,
        initial_state=None,
        training=False,
    ):
        memory = self.cell.prepare(annotations, source_mask)
        outputs = self.cell.unroll(
            embeddings, matches, initial_state, memory, training
        )
        return decoder_outputs(outputs, embeddings)

    def compute_output_spec(
        self,
        embeddings,
        annotations,
        source_mask,
        matches,
        initial_state=None,
        training=False,
    ):
        embeddings_shape = embeddings.shape
        leading = embeddings_shape[:2]
        cell = self.cell
        sizes = {
            "hidden": cell.hidden_size,
            "state": cell.state_size,
            "context": annotations.shape[-1],
            "attention": annotations.shape[1],
            **cell.attention.output_sizes,
        }
        if cell.emits_copy_scores:
            sizes["copy_scores"] = annotations.shape[1]
        dtype = embeddings.dtype
        if cell.input_units:
            embeddings_shape, dtype = (*leading, cell.input_units), "float32"
        return {
            "inputs": keras.KerasTensor(embeddings_shape, dtype),
            **{
                name: keras.KerasTensor((*leading, size), "float32")
                for name, size in sizes.items()
            },
        }
