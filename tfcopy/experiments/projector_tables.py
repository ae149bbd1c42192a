"""Embeddings for TensorBoard's projector."""

import keras
import tensorflow as tf

from tfcopy import training
from tfcopy.experiments.run import System


def log_word_embeddings(system: System, vocabularies):
    """Writes the embeddings of the source's and the target's words."""
    model = system.model
    sides = {"source": model.source_embedding, "target": model.target_embedding}
    if model.source_embedding is model.target_embedding:
        sides = {"words": model.source_embedding}
    log_tables(
        system,
        {
            side: (layer.embeddings, vocabulary.words)
            for (side, layer), vocabulary in zip(sides.items(), vocabularies)
        },
    )


def log_tables(system: System, tables):
    """Writes tables for the projector; a failure is only reported.

    Args:
        system: The system; nothing is written by workers but the chief.
        tables: Dict from a name to `(table, words)`.
    """
    if not system.is_chief:
        return
    log_dir = system.folder
    arrays = {
        name: (keras.ops.convert_to_numpy(table), words)
        for name, (table, words) in tables.items()
    }
    try:
        training.log_embeddings(log_dir, arrays)
    except (OSError, tf.errors.OpError) as error:  # only to be looked at
        reason = str(error).splitlines()[0].rpartition("; ")[2]
        print(f"Warning: {log_dir}: embeddings are not written ({reason}).")
