"""The outputs of a decoder, for the layers after it.

A dict of float32 tensors, since that is what a saved functional model gives
back to its layers:

    hidden     (B, T, D)  the hidden state; words are read from it
    state      (B, T, *)  the whole state, which switches read: `hidden` of a
                          GRU; cell and hidden state of an LSTM, side by side
    inputs     (B, T, E)  what the recurrence read: the word before, embedded;
                          with input feeding merged with the last context
    context    (B, T, C)
    attention  (B, T, S)  logs of the attention weights
    copy_scores (B, T, S) of cells that score copying themselves: the scores,
                          not normalised, about `MASKED` on padding

Shapes: B batch, T target steps, S source steps, D units, E input size, C
value size.
"""

from keras import ops


def decoder_outputs(outputs, embeddings):
    """Completes the outputs of a cell's steps, batch first.

    Args:
        outputs: Dict of `hidden`, `context` and `attention`; of `cell` for an
            LSTM, of `inputs` if the cell changes them, and of `copy_scores` if
            it has them.
        embeddings: The previous words, embedded, `(B, T, E)`.
    """
    outputs = {"inputs": embeddings, "state": outputs["hidden"], **outputs}
    if "cell" in outputs:
        both = [outputs.pop("cell"), outputs["hidden"]]
        outputs["state"] = ops.concatenate(both, axis=-1)
    return outputs
