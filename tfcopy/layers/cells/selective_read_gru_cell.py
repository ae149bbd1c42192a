"""The decoder step of CopyNet.

Shapes: B batch, S source steps, E embedding size, D units, C value size.
"""

import keras
from keras import ops

from tfcopy.layers.cells.attentional_gru_cell import AttentionalGRUCell
from tfcopy.layers.copying import MASKED
from tfcopy.layers.heads.copy_scores import copy_keys
from tfcopy.layers.loop import Product


@keras.saving.register_keras_serializable(package="tfcopy")
class SelectiveReadGRUCell(AttentionalGRUCell):
    """An attentional GRU that reads the places its last word came from.

    1. Selective read: `zeta = sum_j rho_j h_j`; `rho` is the softmax of the
       last step's copy scores over the positions that hold the last word, so
       that it says where that word was copied from. Without such a position
       `zeta` is zero.
    2. The last state attends to the source: `c, l = attention(s')`.
    3. The GRU reads all three: `s = GRU([e ; c ; zeta], s')`.
    4. The new state scores each position: `psi_j = tanh(h_j W_c) . s`.

    `CopyNetHead` makes its distribution of these scores.

    Args:
        units: As in `AttentionalGRUCell`, and so are the three below.
        attention: As there.
        kernel_initializer: As there, and of `W_c`.
        recurrent_initializer: As there.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 3.3 and
        eq. 8 and 9.
    """

    emits_copy_scores = True
    reads = 2

    def build(self, inputs_shape, annotations_shape):
        super().build(inputs_shape, annotations_shape)
        self.copy_kernel = self.add_weight(
            name="copy_kernel",
            shape=(annotations_shape[-1], self.units),
            initializer=self.kernel_initializer,
        )

    def project(self, inputs, matches, training=False):
        """What a step reads of the words before, for all steps at once.

        Args:
            inputs: Embedded words, `(..., B, E)`.
            matches: 1.0 where the source holds the word, `(..., B, S)`.
            training: As in `DecoderCell.project`.

        Returns:
            Dict of that `project`, and of `matches`.
        """
        projected = super().project(inputs, training=training)
        return {**projected, "matches": matches}

    def prepare(self, annotations, mask=None):
        """All that the steps of a sentence share: see `scan`'s memory."""
        keys = copy_keys(self._cast(annotations), self._cast(self.copy_kernel))
        if mask is None:
            mask = ops.ones(ops.shape(annotations)[:2], dtype="bool")
        return {
            **super().prepare(annotations, mask),
            "copy_product": Product(ops.transpose(keys, (0, 2, 1))),
            "copy_mask": ops.cast(mask, "float32"),  # (B, S)
        }

    def initial_state(self, state, memory):
        return {
            **super().initial_state(state, memory),
            "copy_scores": ops.zeros_like(memory["copy_mask"]),
        }

    def step(self, inputs, state, memory):
        """One step.

        Args:
            inputs: From `project`.
            state: Dict of `hidden` `(B, units)`, `copy_scores` `(B, S)` and
                the attention's state.
            memory: From `prepare`.

        Returns:
            `(outputs, state)`; `outputs` is as in `AttentionalGRUCell`, with
            `copy_scores` `(B, S)`, about `MASKED` on padding.
        """
        mask = memory["copy_mask"]
        matches = inputs["matches"] * mask
        weights = selective_weights(state["copy_scores"], matches)
        outputs, state = super().step(
            inputs, {**state, "read": weights}, memory
        )
        context, _ = ops.split(outputs["context"], 2, axis=-1)
        hidden = ops.expand_dims(outputs["hidden"], 1)
        scores = ops.squeeze(memory["copy_product"](hidden), 1)
        scores = ops.where(mask > 0, scores, MASKED)
        return (
            {**outputs, "context": context, "copy_scores": scores},
            {**state, "copy_scores": scores},
        )

    def _attend(self, query, state, memory):
        """The context is `[c ; zeta]`."""
        return self.attention.step(
            query, state["attention"], memory, state["read"]
        )


def selective_weights(copy_scores, matches):
    """`rho`: where the last word was copied from, `(B, S)`.

    Args:
        copy_scores: Of the step that said the word, `(B, S)`.
        matches: 1.0 where the source holds the word, `(B, S)`.

    Returns:
        Softmax of the scores over the matches; zeros where there are none.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 9, whose
        normaliser cancels.
    """
    # Added, not chosen: with no match all gradients are exactly zero.
    return ops.softmax(copy_scores + (1.0 - matches) * MASKED) * matches
