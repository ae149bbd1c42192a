"""Enhanced sequential inference model (ESIM) for natural language inference.

Shapes: B batch, N words of the premise, M words of the hypothesis, C labels.
"""

import keras

from tfcopy.layers import BidirectionalLSTM, MaskedPooling, SoftAlignment
from tfcopy.layers.configured import Initializer, clone_initializer
from tfcopy.models.assembly import lstm_maker
from tfcopy.models.definition_inputs import definition_inputs

SENTENCES = ("premise", "hypothesis")


def esim(
    embedding: keras.Layer,
    *,
    units: int = 300,
    num_labels: int = 3,
    share_encoders: bool = False,
    dropout: float = 0.5,
    kernel_initializer: Initializer = "glorot_uniform",
    recurrent_initializer: Initializer = "glorot_uniform",
    unit_forget_bias: bool = False,
    seed: int | None = None,
) -> keras.Model:
    """Builds a model that classifies the relation of premise and hypothesis.

    Bidirectional LSTMs encode both texts, `SoftAlignment` compares their words,
    and bidirectional LSTMs encode the comparisons. Their average and maximum
    are the input of a network with one hidden layer.

    ```python
    model = models.esim(keras.layers.Embedding(9, 4), units=4)
    logits = model({"premise_ids": source_ids, "hypothesis_ids": source_ids})
    ```

    Args:
        embedding: A `DefinitionEmbedding`, or any layer from ids to vectors.
            Its dropout is separate.
        units: Positive integer, of one direction of each LSTM and of the
            hidden layer.
        num_labels: Positive integer, C.
        share_encoders: Whether premise and hypothesis share the LSTMs, as in
            the paper of ESIM, but not in the code of Bahdanau et al.
        dropout: Dropout rate of the hidden layer.
        kernel_initializer: Initializer of all kernels.
        recurrent_initializer: Initializer of the recurrent kernels.
        unit_forget_bias: Whether the biases of forget gates start at 1.
        seed: Optional integer, of the dropout.

    Returns:
        A functional model of the inputs of `definition_inputs` for the texts
        `"premise"` and `"hypothesis"`. It returns the logits of the labels,
        `(B, C)`, float32. See `losses.label`.

    Reference:
        [Chen et al., 2017](https://arxiv.org/abs/1609.06038), section 3,
        without the projection before the second LSTMs; as in
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.2.
    """

    def dense(units, name, **options):
        kernel = clone_initializer(kernel_initializer)
        return keras.layers.Dense(
            units, kernel_initializer=kernel, name=name, **options
        )

    def encoders(name):
        """Makes a dict from a sentence to its encoder, perhaps the same one."""
        if share_encoders:
            return dict.fromkeys(SENTENCES, make(BidirectionalLSTM, name))
        return {x: make(BidirectionalLSTM, f"{x}_{name}") for x in SENTENCES}

    # === Layers ===
    make = lstm_maker(
        units, kernel_initializer, recurrent_initializer, unit_forget_bias
    )
    encoder, composition = encoders("encoder"), encoders("composition")
    align = SoftAlignment(name="soft_alignment")
    pool = MaskedPooling(name="pooling")
    hidden = dense(units, "hidden", activation="tanh")
    drop = keras.layers.Dropout(dropout, seed=seed, name="hidden_dropout")
    label = dense(num_labels, "label", dtype="float32")

    # === Functional Model ===
    inputs, vectors, masks = definition_inputs(SENTENCES, embedding)
    read = [encoder[x](vectors[x], masks[x])[0] for x in SENTENCES]
    compared = align(*read, *(masks[x] for x in SENTENCES))
    pooled = []
    for x, words in zip(SENTENCES, compared):
        composed, _ = composition[x](words, masks[x])
        pooled.append(pool(composed, masks[x]))
    pooled = keras.layers.Concatenate(name="both", dtype="float32")(pooled)
    return keras.Model(inputs, label(drop(hidden(pooled))), name="esim")
