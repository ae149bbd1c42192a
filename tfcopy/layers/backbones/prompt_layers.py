"""Encoder and decoder cell made of a decoder-only KerasHub network.

The source is the prompt of the network.

Shapes: B batch, S tokens of the source, T target steps, K beams, D hidden size,
G heads of keys and values, d size of a head.
"""

import keras
from keras import ops

from tfcopy.layers.backbones.hub_backbone import BackboneCell, BackboneEncoder
from tfcopy.layers.loop import first_history


@keras.saving.register_keras_serializable(package="tfcopy")
class PromptEncoder(BackboneEncoder):
    """Encoder that runs a decoder-only KerasHub backbone on the source.

    Args:
        backbone: The backbone.
        start: Row of the backbone's table for the token before each prompt.

    Call arguments:
        inputs: Embedded tokens, `(B, S, D)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, prompt)`: `(B, S, D)`, float32, the hidden state after
        each token; and the first state of a `PromptCell`, a dict from the name
        of a block to its keys and values, `(B, G, S + 1, d)`.
    """

    def __init__(self, backbone, start, **kwargs):
        super().__init__(backbone, **kwargs)
        self.keep_arguments(locals(), "backbone")

    def call(self, inputs, mask, training=False):
        row = ops.full_like(inputs[:, :1, 0], self.start, dtype="int32")
        first = self.parts.backbone.token_embedding(row)
        words = ops.concatenate([ops.cast(first, inputs.dtype), inputs], axis=1)
        hidden, prompt = self.parts.encode(words, prepend_start(mask), training)
        return ops.cast(hidden[:, 1:], "float32"), prompt

    def compute_output_spec(self, inputs, mask, training=False):
        batch, length, size = inputs.shape
        rows = None if length is None else length + 1
        dtype = self.parts.backbone.token_embedding.compute_dtype
        return keras.KerasTensor((batch, length, size), "float32"), {
            name: {
                part: keras.KerasTensor(shape, dtype)
                for part in ("keys", "values")
            }
            for name, shape in self.parts.row_shapes(batch, rows).items()
        }


@keras.saving.register_keras_serializable(package="tfcopy")
class PromptCell(BackboneCell):
    """Decoder cell with a decoder-only KerasHub backbone, and an attention.

    It resembles `BackboneCell`, but its first state is the `prompt` of a
    `PromptEncoder`, and only the attention on top uses the annotations.

    Args:
        backbone: The backbone.
        attention: The attention that points, such as `MultiHeadAttention`;
            not `PlanAttention`.
    """

    def prepare(self, annotations, mask=None):
        memory = super().prepare(annotations, mask)
        mask = memory.sentences["mask"]
        return memory.update({"mask": prepend_start(mask)})

    def prepare_search(self, annotations, mask):
        return self.prepare(annotations, mask)

    def initial_state(self, state, memory):
        """Returns the state before the first step, with the prompt's history.

        Args:
            state: The `prompt` of a `PromptEncoder`.
            memory: From `prepare`.
        """
        return {
            "history": first_history(state, state),
            "attention": self._attention_state(memory),
        }

    def unroll(self, inputs, matches, first_state, memory, training=False):
        """Runs all steps of a known target at once.

        Arguments and results are as in `DecoderCell`.
        """
        memory = memory.update({"prompt": first_state})
        return super().unroll(inputs, matches, None, memory, training)

    def _all_steps(self, words, memory, training):
        sentences = memory.sentences
        hidden = self.parts.decode(
            words, sentences["mask"], sentences["prompt"], training
        )
        return ops.cast(hidden, "float32")

    def _one_step(self, words, memory, history):
        hidden, rows = self.parts.step(words, memory.sentences["mask"], history)
        return ops.cast(hidden, "float32"), rows


def prepend_start(mask):
    """Returns the mask of a prompt with its start token, `(B, S + 1)`."""
    return ops.concatenate([ops.ones_like(mask[:, :1]), mask], axis=1)
