"""Embeddings for TensorBoard's projector."""

import keras
import tensorflow as tf

from tfcopy import training


def log_word_embeddings(model, vocabularies, log_dir):
    """Writes the embeddings of the source's and the target's words."""
    sides = {"source": model.source_embedding, "target": model.target_embedding}
    if model.source_embedding is model.target_embedding:
        sides = {"words": model.source_embedding}
    log_tables(
        log_dir,
        {
            side: (layer.embeddings, vocabulary.words)
            for (side, layer), vocabulary in zip(sides.items(), vocabularies)
        },
    )


def log_tables(log_dir, tables):
    """Writes tables for the projector; a failure is only reported.

    Args:
        log_dir: The system's folder.
        tables: Dict from a name to `(table, words)`.
    """
    arrays = {
        name: (keras.ops.convert_to_numpy(table), words)
        for name, (table, words) in tables.items()
    }
    try:
        training.log_embeddings(log_dir, arrays)
    except (OSError, tf.errors.OpError) as error:  # only to be looked at
        reason = str(error).splitlines()[0].rpartition("; ")[2]
        print(f"Warning: {log_dir}: embeddings are not written ({reason}).")
