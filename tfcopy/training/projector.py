"""Embeddings and their words for TensorBoard's projector."""

import os

import numpy as np
import tensorflow as tf

from tfcopy import filesystem


def log_embeddings(folder, tables, max_words=10_000):
    """Writes embeddings, with their words, for TensorBoard's projector.

    Args:
        folder: The run's folder of events.
        tables: Dict from name to `(matrix, words)`: an array of shape
            `(number of words, dim)` and its words, the most frequent first.
            Words whose row is all zeros are left out: they have no neighbours.
        max_words: The most words to show; more make the page slow.
    """
    filesystem.makedirs(folder)
    arrays, config = {}, []
    for name, (matrix, words) in tables.items():
        words = list(words)[:max_words]
        if len(words) < 2 or len(words) > len(matrix):
            raise ValueError(
                "A table must have at least two words, and a row for each. "
                f"Received: {len(words)} words and {len(matrix)} rows for "
                f"name={name!r}."
            )
        key = "".join(c if c.isalnum() else "_" for c in name)
        matrix, words = _with_vectors(np.asarray(matrix)[: len(words)], words)
        arrays[key] = matrix
        metadata = f"metadata_{key}.tsv"
        with filesystem.open(
            os.path.join(folder, metadata), "w", encoding="utf-8"
        ) as f:
            f.writelines(f"{_one_field(word)}\n" for word in words)
        config.append(
            "embeddings {\n"
            f'  tensor_name: "{key}"\n'
            f'  metadata_path: "{metadata}"\n'
            "}\n"
        )
    prefix = os.path.join(folder, "embeddings.ckpt")
    # The page shows the names that are in the file.
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )
    files = {
        "checkpoint": ['model_checkpoint_path: "embeddings.ckpt"\n'],
        "projector_config.pbtxt": config,
    }
    for file, lines in files.items():
        with filesystem.open(
            os.path.join(folder, file), "w", encoding="utf-8"
        ) as f:
            f.writelines(lines)


def _with_vectors(matrix, words):
    """The rows that are not zero, if there are two, and their words."""
    kept = np.flatnonzero(np.any(matrix, axis=1))
    if len(kept) < 2:
        return matrix, words
    return matrix[kept], [words[i] for i in kept]


def _one_field(word):
    """Keeps a word on its line and in its column; it may not be empty."""
    return " ".join(word.split()) or repr(word)
