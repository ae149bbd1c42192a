"""Small models of texts whose words have definitions, ready to be served."""

import functools

import keras
import numpy as np
import tensorflow as tf

from tests.serving.servables.translators import eagerly
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    count_characters,
)
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.layers import DefinitionEmbedding, ForwardLSTM, RecurrentReader
from tfcopy.models import coattention, esim, lstm_language_model
from tfcopy.serving.servables import text_model

WORDS = "the a of is who what runs dog cat bird old small red , . ?".split()
TEXT = Vocabulary.build(dict.fromkeys(WORDS, 1))
GLOSSES = Vocabulary.build(
    dict.fromkeys("an animal that can fly bark or mew person big".split(), 1)
)
CHARACTERS = Vocabulary.build(count_characters(dict.fromkeys(WORDS, 1)))
ENTRIES = {
    "dog": ["an animal that can bark"],
    "zebra": ["a big animal", "a person that can run or fly"],
    "wug": ["an animal that can fly"],
    "run": ["fly"],
    "go": ["run or fly"],
    "is": ["can"],
    "zebra run": ["mew"],
}
LEMMAS = {"went": ("go",)}
UNITS = 6

# Examples to ask about: what models of one text read, and the other texts.
TEXTS = ["the zebra runs .", "", "a wug is\u00a0 old , Zebras went", "\n cat"]
OTHERS = ["what is a wug ?", "who runs ?", "", "zebra"]


def make_definitions(**changes):
    """The dictionary, with other definitions of some headwords."""
    entries = {**ENTRIES, **changes}
    triples = ((w, text, "-") for w, texts in entries.items() for text in texts)
    return Definitions.from_texts(triples, LEMMAS)


def _language_model(embedding, **options):
    return lstm_language_model(embedding, TEXT.size, units=UNITS, **options)


MODELS = {
    "answers": (
        text_model.AnswerFinder,
        functools.partial(coattention, units=UNITS),
        {"end": True},
    ),
    "entailment": (
        text_model.EntailmentClassifier,
        functools.partial(esim, units=UNITS),
        {},
    ),
    "language": (text_model.WordPredictor, _language_model, {"begin": True}),
}


def make(
    name,
    reader="lstm",
    definitions=None,
    *,
    combine="transform",
    spelling=False,
    exclude_top_k=None,
    **options,
):
    """A model with large random weights, the same at each call.

    Returns:
        `(served, model, features)`.
    """
    served, build, marks = MODELS[name]
    definitions = definitions or make_definitions()
    model_options, lookup, packer = {}, None, None
    if reader is not None:
        lookup = DefinitionLookup(definitions)
        packer = DefinitionPacker(
            definitions,
            GLOSSES,
            layout="flat" if reader.startswith("mean") else "padded",
            max_length=6,
            exclude_top_k=exclude_top_k,
        )
    if reader == "shared":
        model_options["lstm"] = ForwardLSTM(UNITS, name="lstm")
        reader = RecurrentReader(model_options["lstm"])
    embedding = DefinitionEmbedding(
        TEXT.size,
        UNITS,
        reader=reader,
        definition_vocabulary_size=GLOSSES.size if reader else None,
        spelling={"characters": CHARACTERS.size, "units": UNITS}
        if spelling
        else None,
        combine=combine,
        name="embedding",
    )
    model = build(embedding, **model_options)
    rng = np.random.default_rng(3)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.8)
    features = DefinitionFeatures(
        TEXT,
        lookup=lookup,
        packer=packer,
        characters=CHARACTERS if spelling else None,
        **marks,
    )
    given = definitions if reader is not None else None
    return (
        served(model, embedding, features, Tokenizer(), given, **options),
        model,
        features,
    )


def plain(name):
    """A model whose embedding is Keras's own; it reads no definitions."""
    served, build, marks = MODELS[name]
    embedding = keras.layers.Embedding(TEXT.size, UNITS)
    features = DefinitionFeatures(TEXT, **marks)
    return served(build(embedding), embedding, features)


def texts_of(served, first=TEXTS, second=OTHERS):
    return {
        name: tf.constant(x, tf.string)
        for name, x in zip(served.texts, (first, second))
    }


def ask(function, texts, dictionary=None):
    """The answers of a signature, as arrays.

    Args:
        function: The signature.
        texts: Dict of its texts.
        dictionary: Lists of lines, one for each example. By default empty
            ones, if the signature takes them.
    """
    size = len(next(iter(texts.values())))
    if "dictionary" in function.structured_input_signature[1]:
        lines = tf.ragged.constant(dictionary or [[]] * size, tf.string, 1)
        texts = {**texts, "dictionary": lines.to_tensor("")}
    return {name: x.numpy() for name, x in function(**texts).items()}


def eager(served):
    """A model's `analyse` without its graph, which takes longer to make."""
    names = [*served.texts, *["dictionary"] * served.takes_dictionary]

    def analyse(**texts):
        with eagerly():
            return text_model._ask(
                served._reader, served.texts[0], texts, served._analyse
            )

    analyse.structured_input_signature = (), dict.fromkeys(names)
    return analyse


def assert_same(found, expected, rows=slice(None)):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name][rows], expected[name][rows])


def assert_close(found, expected):
    """Checks that two answers are the same, but for padding."""
    for name, x in expected.items():
        y = found[name]
        assert len(y) == len(x)
        shape = tuple(slice(size) for size in map(min, x.shape, y.shape))
        if x.dtype.kind == "f":
            np.testing.assert_allclose(y[shape], x[shape], 1e-5, 1e-5)
        else:
            np.testing.assert_array_equal(y[shape], x[shape])
