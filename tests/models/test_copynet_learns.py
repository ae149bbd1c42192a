"""CopyNet's check 14: it learns to copy what its vocabulary lacks."""

import keras
import numpy as np
import pytest
from keras import ops

from tfcopy import losses
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.models import copynet
from tfcopy.tokens import EOS, NO_COPY, PAD

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="its train step is a graph"
)

SYMBOLS = np.arange(4, 104)  # ids of the source vocabulary
LENGTHS = {"source_ids": 14, "source_copy_ids": 14, "target_ids": 13}


def make_batch(pairs, vocabulary_size):
    """Arrays of pairs of lists of symbols.

    The decoder knows the symbols below `vocabulary_size`.
    """
    rows = {name: [] for name in LENGTHS}
    for source, target in pairs:
        first = {}
        for place, symbol in enumerate(source):
            first.setdefault(symbol, vocabulary_size + place)

        def name(symbol):
            known = symbol < vocabulary_size
            return symbol if known else first[symbol]

        rows["source_ids"].append(source)
        rows["source_copy_ids"].append([name(x) for x in source])
        rows["target_ids"].append([*(name(x) for x in target), EOS])
    batch = {}
    for key, length in LENGTHS.items():
        padding = NO_COPY if key == "source_copy_ids" else PAD
        batch[key] = np.full((len(pairs), length), padding, "int32")
        for row, ids in zip(batch[key], rows[key]):
            row[: len(ids)] = ids
    return batch


def train(model, batches, learning_rate):
    """One update a batch; returns the last loss per word."""
    import tensorflow as tf

    optimizer = keras.optimizers.Adam(learning_rate, global_clipnorm=5.0)

    @tf.function(autograph=False)
    def update(batch):
        words = tf.cast(batch["target_ids"] != PAD, "float32")
        with tf.GradientTape() as tape:
            nll = losses.marginal_copy_loss(batch, model(batch, training=True))
            loss = tf.reduce_sum(nll * words) / tf.reduce_sum(words)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    for batch in batches:
        loss = update({k: tf.constant(x) for k, x in batch.items()})
    return float(loss)


def exact_matches(model, batch):
    """Share of the sources whose best hypothesis is the target."""
    source = [
        ops.convert_to_tensor(batch[name])
        for name in ("source_ids", "source_copy_ids")
    ]
    length = LENGTHS["target_ids"]
    options = SearchOptions(num_beams=2, max_length=length, forbid_unk=True)
    result = beam_search(model, *source, options)
    actual = ops.convert_to_numpy(result.ids)[:, 0]
    return np.mean(np.all(actual == batch["target_ids"], axis=1))


@pytest.mark.long
def test_a_rule_with_one_variable():
    """64 pairs of a b c d X e f -> c d X g."""
    rng = np.random.default_rng(0)
    a, b, c, d, e, f, g = 10, 11, 60, 13, 14, 62, 16
    pairs = []
    for _ in range(64):
        x = rng.choice(SYMBOLS, size=rng.integers(1, 9)).tolist()
        pairs.append(([a, b, c, d, *x, e, f], [c, d, *x, g]))
    batch = make_batch(pairs, vocabulary_size=54)
    model = copynet(104, 54, embedding_dim=32, units=64)
    assert train(model, [batch] * 80, 0.003) < 0.01
    assert exact_matches(model, batch) == 1


@pytest.mark.slow
@pytest.mark.parametrize("system", ["copynet", "rnnsearch"])
def test_copying_where_no_word_can_be_generated(system):
    rng = np.random.default_rng(0)

    def pairs(number):
        lengths = rng.integers(1, 11, number)
        words = [rng.choice(SYMBOLS, size=n).tolist() for n in lengths]
        return [(x, x) for x in words]

    known = pairs(5000)
    seen = {tuple(source) for source, _ in known}
    unseen = [p for p in pairs(400) if tuple(p[0]) not in seen]
    batches = [
        make_batch(known[i : i + 50], 4)
        for _ in range(6)
        for i in range(0, 5000, 50)
    ]
    model = copynet(104, 4, system=system, embedding_dim=32, units=64)
    train(model, batches, 0.002)
    share = exact_matches(model, make_batch(unseen, 4))
    assert share >= 0.9 if system == "copynet" else share == 0
