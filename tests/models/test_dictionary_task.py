"""Check 19: what to say depends on the definition of an unknown word alone.

The definition of each unknown word is new, and holds one word of a class
among others. A model learns to read it; without a dictionary it can only
guess.
"""

import keras
import numpy as np
import pytest

from tests.layers.definitions.test_definition_readers import flat
from tests.models.defined_texts import predict, train
from tfcopy import losses
from tfcopy.decoding import joint_spans
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import coattention, esim, lstm_language_model
from tfcopy.tokens import BOS, EOS, UNK

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="its train step is a graph"
)

CLASSES = np.arange(4, 7)
OTHERS = np.arange(7, 12)
V, SIZE = 12, 64


def definitions(rng, classes):
    """For each example one definition, of the slot of its number from 1 on."""
    glosses = rng.choice(OTHERS, (SIZE, 4))
    glosses[np.arange(SIZE), rng.integers(0, 4, SIZE)] = CLASSES[classes]
    read = flat([(row, i + 1) for i, row in enumerate(glosses)])
    return {f"definition_{name}": x for name, x in read.items()}


def texts(rng, name, length, has_unknown, words=OTHERS):
    """Some words; at one place, if so, the example's unknown one."""
    ids = rng.choice(words, (SIZE, length))
    slots = np.zeros((SIZE, length, 1))
    if has_unknown:
        rows, places = np.arange(SIZE), rng.integers(0, length, SIZE)
        ids[rows, places], slots[rows, places, 0] = UNK, rows + 1
    return {f"{name}_ids": ids, f"{name}_slots": slots}


def entailment(rng, classes):
    return {
        **texts(rng, "premise", 3, has_unknown=True),
        **texts(rng, "hypothesis", 2, has_unknown=False),
        "label": classes,
    }


def question_answering(rng, classes):
    """The answer is the word of the question's class, one of three."""
    order = np.argsort(rng.random((SIZE, 3)))
    context = np.full((SIZE, 4), EOS)
    context[:, :3] = CLASSES[order]
    start = np.argmax(order == classes[:, None], axis=1)
    return {
        "context_ids": context,
        "context_slots": np.zeros((SIZE, 4, 1)),
        **texts(rng, "question", 2, has_unknown=True),
        "start": start,
        "end": start + 1,
    }


def language(rng, classes):
    """After the unknown word stands that of its class."""
    text = texts(rng, "text", 3, has_unknown=True)
    targets = np.roll(text["text_ids"], -1, axis=1)
    targets[text["text_ids"] == UNK] = CLASSES[classes]
    text["text_ids"][:, 0] = np.where(text["text_ids"][:, 0] == UNK, UNK, BOS)
    return {**text, "target_ids": targets}


TASKS = {
    "coattention": (coattention, question_answering, losses.span, 250),
    "esim": (esim, entailment, losses.label, 100),
    "language": (lstm_language_model, language, losses.next_word, 200),
}


def batches(make, number, seed):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        classes = rng.integers(0, len(CLASSES), SIZE)
        batch = {**make(rng, classes), **definitions(rng, classes)}
        yield {
            k: x.astype("float32" if k.endswith(("weights", "counts")) else "i")
            for k, x in batch.items()
        }


def accuracy(model, batch):
    outputs = predict(model, batch)
    if "start" in batch:
        actual = joint_spans(outputs["start"], outputs["end"])
        right = [x == batch[k] for x, k in zip(actual, ("start", "end"))]
        return np.mean(np.logical_and(*map(np.asarray, right)))
    if "label" in batch:
        return np.mean(outputs.argmax(-1) == batch["label"])
    after = batch["text_ids"] == UNK
    return np.mean((outputs.argmax(-1) == batch["target_ids"])[after])


def trained(task, reader):
    make_model, make, loss, updates = TASKS[task]
    embedding = DefinitionEmbedding(
        V,
        16,
        reader=reader,
        combine="bands",
        embeddings_initializer=keras.initializers.RandomNormal(stddev=0.3),
    )
    options = {"units": 16, "kernel_initializer": "glorot_uniform"}
    if task == "language":
        model = make_model(embedding, V, **options)
    else:
        model = make_model(embedding, dropout=0.0, **options)
    train(model, loss, batches(make, updates, seed=0), 0.01)
    return model


@pytest.mark.parametrize(
    "task",
    [
        pytest.param("esim", marks=pytest.mark.slow) if name == "esim" else name
        for name in TASKS
    ],
)
@pytest.mark.long
def test_a_dictionary_tells_what_a_word_is(task):
    test = [*batches(TASKS[task][1], 4, seed=1)]
    model = trained(task, "mean")
    assert np.mean([accuracy(model, batch) for batch in test]) > 0.95
    for batch in test:  # Without the dictionary.
        for name in batch:
            if name.endswith("_slots"):
                batch[name] = np.zeros_like(batch[name])
    assert np.mean([accuracy(model, batch) for batch in test]) < 0.45
