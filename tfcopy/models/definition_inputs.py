"""The inputs of models whose words may have definitions, by name.

Shapes: B batch, T words of a text, L entries of a word, E embedding size; U
entries that are defined, N definitions and M tokens of definitions of the
batch, K the longest, W words that are spelt.
"""

import keras

from tfcopy.layers.definitions.definition_embedding import DefinitionEmbedding
from tfcopy.layers.definitions.definition_levels import level_names
from tfcopy.layers.definitions.definition_readers import MeanReader
from tfcopy.layers.padding_mask import PaddingMask

_DTYPES = {"weights": "float32", "counts": "float32"}


def definition_layout(embedding):
    """How definitions must be packed for an embedding.

    Returns:
        `"flat"` or `"padded"`, for a `DefinitionPacker`; `None` if the
        embedding reads no definitions.
    """
    reader = getattr(embedding, "reader", None)
    if reader is None:
        return None
    return "flat" if isinstance(reader, MeanReader) else "padded"


def definition_inputs(names, embedding):
    """The inputs of texts, and the texts embedded.

    Each text NAME has `NAME_ids`, `(B, T)`. With a reader of definitions it
    has `NAME_slots`, `(B, T, L)`, too, and all texts together
    `definition_ids`, `definition_owners`, `definition_weights` and
    `definition_counts`; with a depth also those of deeper levels,
    `definition_ids_1` and so on. With phrases it has `NAME_phrase_slots` and
    `NAME_phrase_positions`, `(B, T)`. With a spelling it has
    `NAME_spelling_slots`, `(B, T)`, and all together `spelling_ids`,
    `(W + 1, K)`. Batches of these names are those of
    `tfcopy.data.definitions.flat_inputs`.

    Args:
        names: Names of the texts, which are read together.
        embedding: A `DefinitionEmbedding`, or any layer from ids, `(B, T)`,
            to `(B, T, E)`.

    Returns:
        `(inputs, vectors, masks)`: a flat dict of Keras inputs, of integers
        (of floats the weights and counts); and dicts by the names of texts,
        of `(B, T, E)`, and of booleans, `(B, T)`, which are `False` where
        the id is `PAD`.

    Raises:
        ValueError: If two inputs would have the same name.
    """
    inputs = {}

    def add(name, *shape, dtype="int32"):
        if name in inputs:
            raise ValueError(
                "The names of texts must give inputs of different names. "
                f"Received: names={tuple(names)}, of which two give {name!r}."
            )
        # Some have another leading axis than the batch.
        inputs[name] = keras.Input(batch_shape=shape, dtype=dtype, name=name)
        return inputs[name]

    ids = {name: add(f"{name}_ids", None, None) for name in names}
    masks = {name: PaddingMask(name=f"{name}_mask")(ids[name]) for name in ids}
    if not isinstance(embedding, DefinitionEmbedding):
        vectors = {name: embedding(ids[name]) for name in ids}
        return inputs, vectors, masks
    sources = {}
    layout = definition_layout(embedding)
    if layout is not None:
        sources["definitions"] = {
            "slots": {
                name: add(f"{name}_slots", None, None, None) for name in ids
            },
        }
        for key in ("phrase_slots", "phrase_positions"):
            if embedding.phrases:
                sources["definitions"][key] = {
                    name: add(f"{name}_{key}", None, None) for name in ids
                }
        for level in range(embedding.depth + 1):
            for kind, name in level_names(level).items():
                is_row = kind == "ids" and layout == "padded"
                sources["definitions"][name] = add(
                    f"definition_{name}",
                    *[None] * (1 + is_row),
                    dtype=_DTYPES.get(kind, "int32"),
                )
    if embedding.spelling is not None:
        sources["spellings"] = {
            "slots": {
                name: add(f"{name}_spelling_slots", None, None) for name in ids
            },
            "ids": add("spelling_ids", None, None),
        }
    return inputs, embedding(ids, **sources), masks
