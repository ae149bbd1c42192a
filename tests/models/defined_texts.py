"""Small batches of texts whose words may have definitions, and training."""

import keras
import numpy as np

from tests.layers.definitions.test_definition_readers import flat, padded
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import definition_layout
from tfcopy.tokens import BOS, EOS, PAD

V, E = 12, 6
GLOSSES = [([4, 5], 1), ([6], 1), ([5, 7, 8], 2)]
SPELLINGS = [[EOS, PAD, PAD], [BOS, 4, EOS], [BOS, 5, EOS]]
SPELLING = {"characters": 7, "units": E}


def make_embedding(**options):
    return DefinitionEmbedding(
        V, E, embeddings_initializer="random_normal", **options
    )


def batch_for(embedding, texts, spare=0):
    """Returns the inputs of a model with this embedding.

    Args:
        embedding: `DefinitionEmbedding`.
        texts: Dict of ids, `(B, T)`, by the names of the texts. Odd ids have
            definitions and spellings.
        spare: How many steps of padding each text gets.
    """
    texts = {k: np.pad(x, ((0, 0), (0, spare))) for k, x in texts.items()}
    slots = {k: np.where(x % 2 == 1, x % 3, 0) for k, x in texts.items()}
    batch = {f"{name}_ids": x for name, x in texts.items()}
    layout = definition_layout(embedding)
    if layout is not None:
        for name, x in slots.items():
            batch[f"{name}_slots"] = np.stack([x, x % 2], axis=-1)
        for key, x in {"flat": flat, "padded": padded}[layout](GLOSSES).items():
            batch[f"definition_{key}"] = x
    if embedding.spelling is not None:
        for name, x in slots.items():
            batch[f"{name}_spelling_slots"] = x
        batch["spelling_ids"] = np.array(SPELLINGS)
    return {
        k: x.astype("int32" if x.dtype.kind == "i" else "float32")
        for k, x in batch.items()
    }


def train(model, loss, batches, learning_rate=0.01):
    """One update a batch (TensorFlow only); returns the last loss.

    That is the mean over the examples of the sum of their costs.
    """
    import tensorflow as tf

    optimizer = keras.optimizers.Adam(learning_rate)
    optimizer.build(model.trainable_variables)

    @tf.function(reduce_retracing=True, autograph=False)
    def update(batch):
        inputs = {name: batch[name] for name in model.input}
        with tf.GradientTape() as tape:
            costs = loss(batch, model(inputs, training=True))
            if "target_ids" in batch:
                costs *= tf.cast(batch["target_ids"] != PAD, "float32")
            value = tf.reduce_mean(tf.reduce_sum(costs, axis=-1))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(value, weights), weights)
        return value

    for batch in batches:
        value = float(update({k: tf.constant(x) for k, x in batch.items()}))
    return value


def predict(model, batch):
    """Returns the model's outputs as arrays."""
    outputs = model({name: batch[name] for name in model.input})
    return keras.tree.map_structure(keras.ops.convert_to_numpy, outputs)
