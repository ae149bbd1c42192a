"""Keras inputs of models whose words may have definitions and spellings.

Shapes: B batch, T words of a text, L dictionary entries of a word, E embedding
size. In a batch: U entries with definitions, N definitions, M tokens of
definitions, K tokens of the longest, W words with spellings.
"""

from collections.abc import Sequence

import keras

from tfcopy.layers.definitions.definition_embedding import DefinitionEmbedding
from tfcopy.layers.definitions.definition_readers import MeanReader
from tfcopy.layers.tensors import PaddingMask

_FLOATS = ("definition_weights", "definition_counts")
_DEFINITIONS = ("ids", "owners", "weights", "counts")


def definition_layout(embedding: keras.Layer) -> str | None:
    """Returns the layout of packed definitions that an embedding needs.

    ```python
    embedding = layers.DefinitionEmbedding(9, 4, reader="lstm")
    models.definition_layout(embedding)  # "padded"
    ```

    Returns:
        `"flat"` or `"padded"`, for a `DefinitionPacker`; `None` if the
        embedding does not use definitions.
    """
    is_defined = isinstance(embedding, DefinitionEmbedding)
    if not is_defined or embedding.reader is None:
        return None
    return "flat" if isinstance(embedding.reader, MeanReader) else "padded"


def definition_inputs(names: Sequence[str], embedding: keras.Layer) -> tuple:
    """Makes the Keras inputs of some texts, and embeds the texts.

    Each text NAME has the input `NAME_ids`, `(B, T)`. With a reader of
    definitions, each text also has `NAME_slots`, `(B, T, L)`, and all texts
    share `definition_ids`, `definition_owners`, `definition_weights` and
    `definition_counts`. With a spelling, each text has `NAME_spelling_slots`,
    `(B, T)`, and all share `spelling_ids`, `(W + 1, K)`.
    `tfcopy.data.definitions.features` makes batches with these names.

    ```python
    embedding = layers.DefinitionEmbedding(9, 4)
    inputs, vectors, masks = models.definition_inputs(["text"], embedding)
    model = keras.Model(inputs, vectors["text"])
    ```

    Args:
        names: Names of the texts.
        embedding: A `DefinitionEmbedding`, or any layer from ids, `(B, T)`,
            to `(B, T, E)`.

    Returns:
        `(inputs, vectors, masks)`: a flat dict of integer Keras inputs (weights
        and counts are floats); and the results of `embed_texts`.

    Raises:
        ValueError: If two inputs would have the same name.
    """
    inputs = {}
    for name, rank in _ranks(names, embedding):
        if name in inputs:
            raise ValueError(
                "The inputs of texts must have different names. Received: "
                f"names={tuple(names)}, two of which have an input {name!r}."
            )
        inputs[name] = keras.Input(
            # The first axis of some inputs is not the batch.
            batch_shape=(None,) * rank,
            dtype="float32" if name.startswith(_FLOATS) else "int32",
            name=name,
        )
    return inputs, *embed_texts(names, embedding, inputs)


def _ranks(names, embedding):
    """Yields the name and the number of axes of each input, in order."""
    for name in names:
        yield f"{name}_ids", 2
    if not isinstance(embedding, DefinitionEmbedding):
        return
    layout = definition_layout(embedding)
    if layout is not None:
        for name in names:
            yield f"{name}_slots", 3
        for name in _DEFINITIONS:
            is_row = name == "ids" and layout == "padded"
            yield f"definition_{name}", 1 + is_row
    if embedding.spelling is not None:
        for name in names:
            yield f"{name}_spelling_slots", 2
        yield "spelling_ids", 2


def embed_texts(names, embedding, inputs):
    """Embeds several texts, which share their encoded definitions.

    Args:
        names: Names of the texts.
        embedding: As in `definition_inputs`.
        inputs: Dict of tensors, or of Keras inputs, by the names of
            `definition_inputs`.

    Returns:
        `(vectors, masks)`: dicts from the name of a text to its vectors,
        `(B, T, E)`, and to its mask, boolean, `(B, T)`, `False` for `PAD`.
    """
    ids = {name: inputs[f"{name}_ids"] for name in names}
    masks = {name: PaddingMask(name=f"{name}_mask")(ids[name]) for name in ids}
    if not isinstance(embedding, DefinitionEmbedding):
        return {name: embedding(ids[name]) for name in ids}, masks

    def select_inputs(key):
        return {name: inputs[f"{name}_{key}"] for name in names}

    sources = {}
    if embedding.reader is not None:
        sources["definitions"] = {
            "slots": select_inputs("slots"),
            **{name: inputs[f"definition_{name}"] for name in _DEFINITIONS},
        }
    if embedding.spelling is not None:
        sources["spellings"] = {
            "slots": select_inputs("spelling_slots"),
            "ids": inputs["spelling_ids"],
        }
    return embedding(ids, **sources), masks
