"""The decoder in training: teacher forcing over the whole target sentence.

Shapes: B batch, T target steps, S source steps, D units, E input size, C value
size.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers import copying
from tfcopy.layers.configured import Configured


@keras.saving.register_keras_serializable(package="tfcopy")
class TeacherForcing(Configured, keras.layers.Layer):
    """Layer that shifts the target by one step: BOS first, OOV words as UNK.

    Args:
        vocabulary_size: Size of the target vocabulary.

    Call arguments:
        target_ids: Extended ids, `(B, T)`.
        source_copy_ids: `(B, S)`.

    Returns:
        `(ids, matches)`: ids of the target vocabulary, `(B, T)`, and 1.0 where
        the source holds the previous token, `(B, T, S)`.
    """

    def __init__(self, vocabulary_size: int, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def call(self, target_ids, source_copy_ids):
        first = ops.full_like(target_ids[:, :1], tokens.BOS)
        shifted = ops.concatenate([first, target_ids[:, :-1]], axis=1)
        return (
            copying.generation_ids(shifted, self.vocabulary_size),
            ops.cast(copying.matches(shifted, source_copy_ids), "float32"),
        )


def decoder_outputs(outputs, embeddings):
    """Returns the outputs of a decoder for the layers after it.

    They are a dict of float32 tensors, which a saved functional model can pass
    between its layers:

        hidden     (B, T, D)  hidden state, from which tokens are predicted
        state      (B, T, *)  whole state, the input of switches: `hidden` for a
                              GRU, `[cell ; hidden]` for an LSTM
        inputs     (B, T, E)  input of the recurrence: embedding of the previous
                              token; with input feeding, merged with the last
                              context
        context    (B, T, C)
        attention  (B, T, S)  logs of the attention weights
        copy_scores (B, T, S) from cells that score copying themselves: the
                              scores, not normalised, about `MASKED` on padding

    Args:
        outputs: Outputs of a cell's steps, batch first: dict of `hidden`,
            `context` and `attention`; of `cell` for an LSTM, of `inputs` if the
            cell changes them, and of `copy_scores` if it has them.
        embeddings: Embeddings of the previous tokens, `(B, T, E)`.
    """
    outputs = {"inputs": embeddings, "state": outputs["hidden"], **outputs}
    if "cell" in outputs:
        both = [outputs.pop("cell"), outputs["hidden"]]
        outputs["state"] = ops.concatenate(both, axis=-1)
    return outputs


@keras.saving.register_keras_serializable(package="tfcopy")
class Decoder(Configured, keras.layers.Layer):
    """Layer that runs all steps of a decoder cell with teacher forcing.

    ```python
    cell = layers.ConditionalGRUCell(5, layers.BahdanauAttention(4))
    decoded = layers.Decoder(cell)(targets, annotations, mask, matches, state)
    {name: x.shape for name, x in decoded.items()}
    ```

    Args:
        cell: A decoder cell, such as `ConditionalGRUCell`.

    Call arguments:
        embeddings: Embeddings of the previous tokens, `(B, T, E)`.
        annotations: Encoder states, `(B, S, C)`.
        source_mask: Boolean, `(B, S)`.
        matches: 1.0 where the source holds the previous token, `(B, T, S)`;
            for cells with selective read.
        initial_state: `(B, D)`; `None` for a cell that needs none.

    Returns:
        Dict of `decoder_outputs`.
    """

    layer_arguments = ("cell",)

    def __init__(self, cell: keras.Layer, **kwargs):
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
