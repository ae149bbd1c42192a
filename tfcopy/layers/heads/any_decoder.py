"""What heads read of a decoder, from the tensors that any decoder has.

Shapes: B batch, T target steps, S source steps, H attention heads, D size of
the features, C value size.
"""

from keras import ops

from tfcopy.layers.attention.pointing_attention import masked_log_softmax
from tfcopy.layers.copying import MASKED


def decoded_by_any(
    features,
    annotations,
    source_mask,
    attention=None,
    attention_logits=None,
    context=None,
    inputs=None,
):
    """The dict of `decoder_outputs` of a decoder that is not ours.

    Args:
        features: Its outputs, `(B, T, D)`; they stand for its state, too.
        annotations: `(B, S, C)`.
        source_mask: Boolean, `(B, S)`.
        attention: Probabilities of its attention, `(B, T, S)`, or of several
            heads, `(B, H, T, S)`, whose mean is taken.
        attention_logits: Instead, the scores before the softmax, `(B, T, S)`.
        context: `(B, T, C)`; the annotations weighed by the attention if it is
            `None`.
        inputs: What the decoder read, `(B, T, E)`; the features if `None`.

    Raises:
        ValueError: If not one of the attentions is given.
    """
    if (attention is None) == (attention_logits is None):
        raise ValueError(
            "A head needs `decoded`, or one of `attention` (probabilities) and "
            "`attention_logits`. Received: "
            + ("neither." if attention is None else "both.")
        )
    hides = ops.expand_dims(ops.logical_not(source_mask), 1)
    if attention is None:
        logits = ops.cast(attention_logits, "float32")
        log_weights = masked_log_softmax(logits, ops.where(hides, MASKED, 0.0))
    else:
        attention = ops.cast(attention, "float32")
        if len(attention.shape) == 4:
            attention = ops.mean(attention, axis=1)
        is_seen = ops.logical_and(ops.logical_not(hides), attention > 0.0)
        # A weight of 0 has no log, and no gradient.
        log_weights = ops.log(ops.where(is_seen, attention, 1.0))
        log_weights = ops.where(is_seen, log_weights, MASKED)
    if context is None:
        weights = ops.exp(log_weights)
        context = ops.matmul(weights, ops.cast(annotations, "float32"))
    features = ops.cast(features, "float32")
    return {
        "hidden": features,
        "state": features,
        "inputs": features if inputs is None else inputs,
        "context": context,
        "attention": log_weights,
    }
