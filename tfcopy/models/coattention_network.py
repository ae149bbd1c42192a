"""Question answering: a simplified coattention network that selects spans.

Shapes: B batch, N words of the context, M words of the question, D size.
"""

import keras

from tfcopy.layers import BidirectionalLSTM, Coattention, ForwardLSTM, SpanHead
from tfcopy.layers.configured import Initializer, clone_initializer
from tfcopy.models.assembly import lstm_maker
from tfcopy.models.definition_inputs import definition_inputs

TEXTS = ("context", "question")


def coattention(
    embedding: keras.Layer,
    *,
    units: int = 200,
    head_units: int | None = None,
    bidirectional_encoder: bool = False,
    dropout: float = 0.2,
    kernel_initializer: Initializer = "uniform",
    recurrent_initializer: Initializer = "uniform",
    unit_forget_bias: bool = False,
    seed: int | None = None,
) -> keras.Model:
    """Builds a model that scores start and end of an answer in a context.

    An LSTM encodes both texts as `C` and `Q_0`, and `Q = tanh(Q_0 W + b)`.
    `Coattention`, a bidirectional LSTM, and a head each for start and end
    follow. There is no iterative decoder.

    Both texts must end with `EOS`. An answer ends before the word that the end
    points at, so that it may include the last word of the context.

    ```python
    model = models.coattention(keras.layers.Embedding(9, 4), units=4)
    scores = model({"context_ids": source_ids, "question_ids": source_ids})
    scores["start"]  # (1, 4)
    ```

    Args:
        embedding: A `DefinitionEmbedding`, or any layer from ids to vectors.
        units: Positive integer, of the encoder and of one direction of the
            bidirectional LSTM.
        head_units: Size of the hidden layer of each head; `units` if `None`.
        bidirectional_encoder: Whether the encoder is bidirectional, with states
            of size `2 * units`; not in the paper.
        dropout: Dropout rate of the heads' inputs, and of their hidden layers.
        kernel_initializer: Initializer of all kernels; `"uniform"` is between
            -0.05 and 0.05, as in the authors' code.
        recurrent_initializer: Initializer of the recurrent kernels.
        unit_forget_bias: Whether the biases of forget gates start at 1.
        seed: Optional integer, of the dropout.

    Returns:
        A functional model of the inputs of `definition_inputs` for the texts
        `"context"` and `"question"`. It returns a dict of `start` and `end`:
        scores of the words of the context, `(B, N)`, float32, not normalised,
        -1e9 on padding. See `losses.span` and `decoding.joint_spans`. The
        output of its layer `"coattention"` has the attention weights.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1, after [Xiong et al., 2017](https://arxiv.org/abs/1611.01604).
    """
    # === Layers ===
    lstm = lstm_maker(
        units, kernel_initializer, recurrent_initializer, unit_forget_bias
    )
    encoder = lstm(
        BidirectionalLSTM if bidirectional_encoder else ForwardLSTM, "encoder"
    )
    projection = keras.layers.Dense(
        2 * units if bidirectional_encoder else units,
        activation="tanh",
        kernel_initializer=clone_initializer(kernel_initializer),
        name="question_projection",
    )
    attend = Coattention(name="coattention")
    fusion = lstm(BidirectionalLSTM, "fusion")
    drop = keras.layers.Dropout(dropout, seed=seed, name="fusion_dropout")
    heads = {
        name: SpanHead(
            head_units or units,
            dropout,
            clone_initializer(kernel_initializer),
            seed=None if seed is None else seed + i,
            name=f"{name}_head",
        )
        for i, name in enumerate(("start", "end"), 1)
    }

    # === Functional Model ===
    inputs, vectors, masks = definition_inputs(TEXTS, embedding)
    states = {}
    for name in TEXTS:
        states[name] = encoder(vectors[name], masks[name])
        if bidirectional_encoder:
            states[name], _ = states[name]
    states["question"] = projection(states["question"])
    both = [x[name] for x in (states, masks) for name in TEXTS]
    annotations, _, _ = attend(*both)
    fused, _ = fusion(annotations, masks["context"])
    fused = drop(fused)
    outputs = {
        name: head(fused, masks["context"]) for name, head in heads.items()
    }
    return keras.Model(inputs, outputs, name="coattention_network")
