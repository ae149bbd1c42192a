"""LSTM language model.

Shapes: B batch, T words, V output vocabulary.
"""

import keras

from tfcopy.layers import ForwardLSTM
from tfcopy.layers.configured import Initializer, clone_initializer
from tfcopy.models.definition_inputs import definition_inputs


def lstm_language_model(
    embedding: keras.Layer,
    vocabulary_size: int,
    *,
    units: int = 500,
    lstm: keras.Layer | None = None,
    dropout: float = 0.0,
    kernel_initializer: Initializer = "uniform",
    recurrent_initializer: Initializer = "uniform",
    unit_forget_bias: bool = False,
    seed: int | None = None,
) -> keras.Model:
    """Builds a model that scores the next word after each word of a text.

    The input of a text begins with `BOS` and does not include its last word.

    The LSTM may also read the definitions ("dict1" in the paper):

    ```python
    lstm = layers.ForwardLSTM(4, "uniform", "uniform", name="lstm")
    reader = layers.RecurrentReader(lstm)
    embedding = layers.DefinitionEmbedding(9, 4, reader=reader)
    model = models.lstm_language_model(embedding, 9, lstm=lstm)
    ```

    Args:
        embedding: A `DefinitionEmbedding`, or any layer from ids to vectors.
        vocabulary_size: Positive integer, V.
        units: Positive integer, of the LSTM.
        lstm: A layer to use instead of a new LSTM. Called with vectors and a
            `mask`, it returns a state for each word. `units`,
            `recurrent_initializer` and `unit_forget_bias` are then ignored.
        dropout: Dropout rate of the states.
        kernel_initializer: Initializer of both kernels; `"uniform"` is between
            -0.05 and 0.05, as in the authors' code.
        recurrent_initializer: Initializer of the recurrent kernel.
        unit_forget_bias: Whether the bias of the forget gate starts at 1.
        seed: Optional integer, of the dropout.

    Returns:
        A functional model of the inputs of `definition_inputs` for the text
        `"text"`. It returns the logits of the next words, `(B, T, V)`, in the
        compute dtype. See `losses.next_word`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.3.
    """
    # === Layers ===
    if lstm is None:
        lstm = ForwardLSTM(
            units,
            keras.initializers.get(kernel_initializer),
            keras.initializers.get(recurrent_initializer),
            unit_forget_bias=unit_forget_bias,
            name="lstm",
        )
    drop = keras.layers.Dropout(dropout, seed=seed, name="dropout")
    kernel = clone_initializer(kernel_initializer)
    output = keras.layers.Dense(
        vocabulary_size, kernel_initializer=kernel, name="output"
    )

    # === Functional Model ===
    inputs, vectors, masks = definition_inputs(("text",), embedding)
    states = lstm(vectors["text"], mask=masks["text"])
    return keras.Model(inputs, output(drop(states)), name="lstm_language_model")
