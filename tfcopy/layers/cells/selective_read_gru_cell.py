"""Decoder cell of CopyNet, with selective read.

Shapes: B batch, S source steps, E embedding size, D units, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.attentional_gru_cell import AttentionalGRUCell
from tfcopy.layers.copying import MASKED
from tfcopy.layers.heads.copynet_head import copy_keys
from tfcopy.layers.loop import Product, expand_beams
from tfcopy.layers.tensors import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class SelectiveReadGRUCell(AttentionalGRUCell):
    """Decoder cell with selective read of the previous token's positions.

    1. Selective read: `zeta = sum_j rho_j h_j`. `rho` is the softmax of the
       last step's copy scores over the positions that hold the previous token,
       from which it may have been copied. Without such a position `zeta` is
       zero.
    2. The last state attends to the source: `c, l = attention(s')`.
    3. The GRU reads all three: `s = GRU([e ; c ; zeta], s')`.
    4. The new state scores each position: `psi_j = tanh(h_j W_c) . s`.

    `CopyNetHead` computes its distribution from these scores.

    ```python
    cell = layers.SelectiveReadGRUCell(5, layers.BahdanauAttention(4))
    decoder = layers.Decoder(cell)
    decoded = decoder(targets, annotations, mask, matches, state)
    decoded["hidden"]  # (2, 3, 5)
    ```

    Args:
        units: As in `AttentionalGRUCell`.
        attention: As in `AttentionalGRUCell`.
        kernel_initializer: As in `AttentionalGRUCell`, and of `W_c`.
        recurrent_initializer: As in `AttentionalGRUCell`.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 3.3 and
        eq. 8 and 9.
    """

    emits_copy_scores = True
    reads = 2

    def build(self, inputs_shape, annotations_shape):
        super().build(inputs_shape, annotations_shape)
        size = annotations_shape[-1]
        self.copy_kernel = self._add_kernel("copy", size, self.units)

    def project(self, inputs, matches, training=False):
        """Projects the previous tokens, and adds `matches` for selective read.

        Args:
            inputs: Embedded tokens, `(..., B, E)`.
            matches: 1.0 where the source holds the token, `(..., B, S)`.
            training: As in `DecoderCell.project`.

        Returns:
            The dict of `DecoderCell.project`, with `matches`.
        """
        projected = super().project(inputs, training=training)
        return {**projected, "matches": matches}

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        keys = copy_keys(self._cast(annotations), self._cast(self.copy_kernel))
        mask = or_all(mask, annotations)
        sentences = {
            "copy": Product(ops.transpose(keys, (0, 2, 1))),
            "copy_mask": ops.cast(mask, "float32"),  # (B, S)
        }
        return super().prepare(annotations, mask).update(sentences)

    def initial_state(self, state, memory):
        return {
            **super().initial_state(state, memory),
            "copy_scores": ops.zeros_like(memory.sentences["copy_mask"]),
        }

    def step(self, inputs, state, memory):
        """Runs one step.

        Args:
            inputs: From `project`.
            state: Dict of `hidden` `(B, units)`, `copy_scores` `(B, S)` and
                the attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`; `outputs` is as in `AttentionalGRUCell`, with
            `copy_scores` `(B, S)`, about `MASKED` on padding.
        """
        mask = expand_beams(memory.sentences["copy_mask"], state["hidden"])
        read = selective_weights(state["copy_scores"], inputs["matches"] * mask)
        outputs, state = self._step(inputs, state, memory, read)
        # The context is `[c ; zeta]`, the input of the GRU.
        context, _ = ops.split(outputs["context"], 2, axis=-1)
        hidden = outputs["hidden"]
        if len(hidden.shape) == 3:
            scores = memory.sentences["copy"](hidden)  # (B, K, S)
        else:
            hidden = ops.expand_dims(hidden, 1)
            scores = ops.squeeze(memory.sentences["copy"](hidden), 1)
        scores = ops.where(mask > 0, scores, MASKED)
        return (
            {**outputs, "context": context, "copy_scores": scores},
            {**state, "copy_scores": scores},
        )


def selective_weights(copy_scores, matches):
    """Computes `rho`, the weights of the selective read, `(B, S)`.

    Args:
        copy_scores: Scores of the step that produced the token, `(B, S)`.
        matches: 1.0 where the source holds the token, `(B, S)`.

    Returns:
        Softmax of the scores over the matches; zeros without a match.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 9, whose
        normaliser cancels.
    """
    # No `ops.where`: without a match, all gradients here are exactly zero.
    return ops.softmax(copy_scores + (1.0 - matches) * MASKED) * matches
