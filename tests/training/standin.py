"""A tiny model, its loss and its data, to train the trainer on."""

import collections
import os
import signal
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from tfcopy import losses, tokens, training
from tfcopy.models import pointer_generator, translator
from tfcopy.training.checkpoint_arrays import get_values

VOCABULARY = 20
BATCHES = 7  # an epoch

NAMES = ("source_ids", "source_copy_ids", "target_ids", "pointers")

CLASSIFIER = {"name": "classifier", "targets": "label"}

Distribution = collections.namedtuple(
    "Distribution", "generate_logits generate_offset copy_log_probs"
)


def build_model(units=8, dropout=0.2, gru=False, vocabulary_size=VOCABULARY):
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    target_ids = keras.Input((None,), dtype="int32", name="target_ids")
    known = ops.where(target_ids < vocabulary_size, target_ids, tokens.UNK)
    shifted = ops.pad(known[:, :-1], [[0, 0], [1, 0]])
    memory = keras.layers.Embedding(vocabulary_size, units)(source_ids)
    states = keras.layers.Embedding(vocabulary_size, units)(shifted)
    if gru:
        layer = keras.layers.GRU(units, return_sequences=True, use_cudnn=False)
        states = layer(states)
    states = keras.layers.Dense(units, activation="tanh")(states)
    states = keras.layers.Dropout(dropout, seed=1)(states)
    scores = ops.matmul(states, ops.transpose(memory, (0, 2, 1)))
    states += ops.matmul(ops.softmax(scores), memory)
    logits = keras.layers.Dense(vocabulary_size, dtype="float32")(states)
    switch = keras.layers.Dense(1, dtype="float32")(states)[..., 0]
    distribution = Distribution(
        logits,
        ops.log_sigmoid(switch) - ops.logsumexp(logits, axis=-1),
        ops.log_sigmoid(-switch)[..., None]
        + ops.log_softmax(ops.cast(scores, "float32")),
    )
    inputs = {"source_ids": source_ids, "target_ids": target_ids}
    return keras.Model(inputs, distribution)


def build_translator():
    """The zoo's own model, small, with dropout and noise."""
    return translator(
        VOCABULARY,
        VOCABULARY,
        embedding_dim=6,
        units=8,
        encoder_units=4,
        dropout=0.2,
        seed=1,
    )


def build_summarizer():
    """With coverage, which begins in a second phase."""
    return pointer_generator(
        VOCABULARY,
        coverage=True,
        coverage_enabled=False,
        embedding_dim=6,
        units=4,
        dropout=0.2,
        seed=1,
    )


def build_classifier(dropout=0.2):
    """Scores three classes of a text."""
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    states = keras.layers.Embedding(VOCABULARY, 6)(source_ids)
    states = keras.layers.Dropout(dropout, seed=1)(ops.mean(states, axis=1))
    return keras.Model(
        {"source_ids": source_ids}, keras.layers.Dense(3)(states)
    )


def loss(batch, distribution):
    """Generates all words; where a word is unknown, `UNK`."""
    vocabulary_size = distribution.generate_logits.shape[-1]
    known = tf.where(
        batch["target_ids"] < vocabulary_size, batch["target_ids"], tokens.UNK
    )
    logits = distribution.generate_logits
    generated = tf.gather(logits, known, axis=-1, batch_dims=2)
    return -(generated + distribution.generate_offset)


def metrics(batch, distribution):
    copied = tf.exp(tf.reduce_logsumexp(distribution.copy_log_probs, -1))
    return {"copied": tf.reduce_mean(copied)}


def make_batch(seed, size=4):
    rng = np.random.default_rng(seed)
    source_length, target_length = rng.integers(3, 7, size=2)
    ids = rng.integers(4, VOCABULARY, (size, max(source_length, target_length)))
    target_ids = ids[:, :target_length].copy()
    lengths = rng.integers(1, target_length + 1, size)
    target_ids[np.arange(target_length) >= lengths[:, None]] = tokens.PAD
    source_ids = ids[:, :source_length]
    return {
        "source_ids": source_ids.astype(np.int32),
        "source_copy_ids": source_ids.astype(np.int32),
        "target_ids": target_ids.astype(np.int32),
        "pointers": np.where(
            np.arange(target_length) % 3 == 0, 0, tokens.GENERATE
        )
        .astype(np.int32)
        .repeat(size)
        .reshape(target_length, size)
        .T,
    }


def dataset(seeds, size=4):
    batches = [make_batch(seed, size) for seed in seeds]
    lengths = {name: [b[name].shape[1] for b in batches] for name in NAMES}
    arrays = {
        name: np.stack(
            [
                np.pad(b[name], [(0, 0), (0, 9 - b[name].shape[1])])
                for b in batches
            ]
        )
        for name in NAMES
    }
    return tf.data.Dataset.from_tensor_slices((arrays, lengths)).map(
        lambda arrays, lengths: {
            name: arrays[name][:, : lengths[name]] for name in NAMES
        }
    )


def accuracy(batch, logits):
    right = tf.argmax(logits, axis=-1, output_type=tf.int32) == batch["label"]
    return {"accuracy": tf.reduce_mean(tf.cast(right, tf.float32))}


def exact(predictions):
    """The accuracy again, from all predictions at once."""
    rows = [(batch["label"], logits) for batch, logits in predictions]
    labels, logits = (tf.concat(column, axis=0) for column in zip(*rows))
    return {"exact": (np.argmax(logits, axis=-1) == labels.numpy()).mean()}


def labelled(seeds, size=4):
    """Texts of words that leave the same rest, which is their label."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    labels = np.concatenate([rng.integers(0, 3, size) for rng in rngs])
    thirds = np.concatenate([rng.integers(2, 6, (size, 5)) for rng in rngs])
    examples = {
        "source_ids": (3 * thirds + labels[:, None]).astype(np.int32),
        "label": labels.astype(np.int32),
    }
    return tf.data.Dataset.from_tensor_slices(examples).batch(size)


def labelled_train_data(epoch, start_batch, context):
    first = 1000 * epoch
    return labelled(range(first, first + BATCHES)).skip(start_batch)


def labelled_dev_data():
    """The last batch is smaller."""
    return labelled(range(500, 503)).unbatch().take(10).batch(4)


def train_data(epoch, start_batch, context):
    first = 1000 * epoch
    return dataset(range(first, first + BATCHES)).skip(start_batch)


def dev_data():
    return dataset(range(500, 503))


def make_trainer(
    strategy=None, optimizer=None, model=None, name="standin", **options
):
    """Returns a trainer with the same start always.

    `name` is "standin", "translator" (made by `models.translator`),
    "summarizer" (a `pointer_generator` that gets coverage after 8 updates), or
    "classifier", whose options are `CLASSIFIER`. `ema` is the momentum of an
    average of the weights.
    """
    keras.utils.set_random_seed(3)
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        if name == "translator":
            model = build_translator()
            options["loss"] = losses.observed_copy_loss
        if name == "summarizer":
            model = build_summarizer()
            attention = model.cell.attention
            options |= {
                "loss": losses.marginal_copy_loss,
                "penalty": losses.CoveragePenalty(1.0, attention.enabled),
                "phases": [training.Phase(8, attention.enable)],
                "normalize": "examples",
            }
        if name == "classifier":
            model = model or build_classifier()
            options = {
                "loss": losses.label,
                "metrics": accuracy,
                "score_predictions": exact,
                "train_data": labelled_train_data,
                "dev_data": labelled_dev_data,
            } | options
        model = model or build_model()
        ema = options.pop("ema", None)
        if ema is not None:
            ema = {"use_ema": True, "ema_momentum": ema}
        optimizer = optimizer or training.Adam(0.01, **ema or {})
    options = {"steps": 20, "verbose": False, "clip_norm": 1.0} | options
    options = {"log_every": 5} | options
    options = {"dev_data": dev_data, "train_data": train_data} | options
    return training.Trainer(
        model, options.pop("loss", loss), optimizer, **options
    )


def main(options):
    """Trains once, in a process of its own.

    Args:
        options: Dict of the options of `make_trainer`, and `num_cpus`, the
            number of devices; `output`, a path for the weights in the end;
            `delay`, seconds that a batch takes; `kill_at_sync`, the number of
            the file, or folder, at whose writing the process kills itself.
    """
    num_cpus = options.pop("num_cpus", 1)
    output = options.pop("output", None)
    delay = options.pop("delay", 0)
    kill_at_sync(options.pop("kill_at_sync", 0))
    strategy = training.choose_strategy(f"cpu:{num_cpus}")

    is_labelled = options.get("name") == "classifier"
    data = labelled_train_data if is_labelled else train_data

    def slow_train_data(*position):
        return data(*position).map(wait(delay))

    trainer = make_trainer(strategy, train_data=slow_train_data, **options)
    try:
        result = trainer.fit()
    except training.TrainingInterrupted as interruption:
        print(interruption)
        sys.exit(interruption.exit_code)
    print(result)
    if output:
        np.savez(output + ".npz", *get_values(trainer.model))
        os.replace(output + ".npz", output)


def kill_at_sync(number):
    """Has this process killed at its so-many-eth `os.fsync`."""
    fsync, calls = os.fsync, []

    def fsync_or_die(descriptor):
        calls.append(descriptor)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = fsync_or_die


def wait(seconds):
    def map_(batch):
        with tf.control_dependencies(
            [tf.py_function(lambda: time.sleep(seconds), [], [])]
        ):
            return tf.nest.map_structure(tf.identity, batch)

    return map_ if seconds else lambda batch: batch
