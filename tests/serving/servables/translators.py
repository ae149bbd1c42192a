"""Models and translators that the tests of serving share."""

import contextlib

import numpy as np
import tensorflow as tf
from keras import ops

from tfcopy import keras_internals, tokens
from tfcopy.data import Dictionary, Tokenizer, Vocabulary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.decoding import SearchOptions
from tfcopy.layers.copying import MASKED, CopyDistribution
from tfcopy.layers.loop import Memory
from tfcopy.models import translator
from tfcopy.serving.servables.translator import Translator

SOURCE = Vocabulary.build(
    dict.fromkeys("the session of is open . ,".split(), 1)
)
TARGET = Vocabulary.build(dict.fromkeys("la session de est . ,".split(), 1))

# Words that no vocabulary holds.
NAMES = [
    *("Łukasz", "北京", "O'Brien-Şahin", "😀", "👩‍👩‍👧", "ǅ", "İstanbul", "ﬁ"),
]


class Copier:
    """Points at one source position after the other; then EOS.

    Args:
        generate_unk: Whether to generate UNK, attending to the position,
            instead of pointing at it.
    """

    vocabulary_size = TARGET.size

    def __init__(self, generate_unk=False):
        self.generate_unk = generate_unk

    def encode(self, source_ids, source_copy_ids):
        is_word = ops.logical_and(
            source_ids != tokens.PAD, source_ids != tokens.EOS
        )
        lengths = ops.sum(ops.cast(is_word, "int32"), axis=1)
        places = ops.zeros_like(source_ids) + ops.arange(
            ops.shape(source_ids)[1], dtype="int32"
        )
        memory = Memory({"lengths": lengths, "places": places}, {})
        return memory, ops.zeros_like(lengths)

    def decode_step(self, ids, state, memory):
        places, lengths = (
            memory.sentences[name] for name in ("places", "lengths")
        )
        places = ops.expand_dims(places, 1)
        here = places == ops.expand_dims(state, 2)  # (B, K, S)
        is_end = ops.expand_dims(state >= ops.expand_dims(lengths, 1), 2)
        pointed = ops.logical_and(here, ops.logical_not(is_end))
        word = ops.where(is_end, tokens.EOS, tokens.UNK)
        says = ops.logical_or(is_end, self.generate_unk)
        said = ops.logical_and(ops.arange(self.vocabulary_size) == word, says)
        if self.generate_unk:
            copied = ops.full_like(here, MASKED, dtype="float32")
        else:
            copied = ops.where(pointed, 0.0, MASKED)
        distribution = CopyDistribution(
            ops.where(said, 0.0, MASKED),
            ops.where(ops.squeeze(says, 2), 0.0, MASKED),
            copied,
        )
        return distribution, ops.cast(here, "float32"), state + 1


def copier(generate_unk=False, **options):
    """A translator whose answer is its source's words between spaces."""
    options = {
        "target_tokenizer": Tokenizer("space"),
        "options": SearchOptions(num_beams=2, max_length=24),
        "max_source_length": 20,
        **options,
    }
    return Translator(Copier(generate_unk), SOURCE, TARGET, **options)


def random_translator(dtype="float32", dims=(6, 7), sizes=None, **options):
    """A small model whose weights are large and random.

    Args:
        dtype: Name of the dtype policy.
        dims: Sizes of the embeddings and of the states.
        sizes: Further arguments of `translator`.
        options: Of `Translator`.
    """
    with keras_internals.dtype_policy(dtype):
        model = translator(
            SOURCE.size,
            TARGET.size,
            embedding_dim=dims[0],
            units=dims[1],
            **(sizes or {}),
        )
    rng = np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(
            rng.normal(size=weight.shape) * 0.9 * (7 / dims[1]) ** 0.5
        )
    options = {
        "options": SearchOptions(num_beams=3, max_length=10, min_length=2),
        **options,
    }
    return Translator(model, SOURCE, TARGET, **options)


def everything():
    """A translator with no argument as it is by default."""
    search = SearchOptions(
        num_beams=3,
        max_length=9,
        min_length=2,
        length_penalty=0.7,
        length_offset=1,
        refill=True,
        coverage_penalty=0.1,
        no_repeat_ngram=2,
        forbid_unk=True,
        unfinished_compete=True,
        rescale=True,
        source_only=(5,),
        merge="max",
        must_copy=True,
        same_in_every_batch=False,
    )
    english = Tokenizer(language="en", lowercase=True)
    return random_translator(
        source_tokenizer=ProtectedTokenizer(english, ("[0-9]+",)),
        target_tokenizer=ProtectedTokenizer(Tokenizer("space"), ("[0-9]+",)),
        options=search,
        max_source_length=7,
        litert="int8",
        usual_length=6,
        append_eos=False,
        replace_unk=True,
        dictionary=Dictionary([("open", "ouverte", 0.6), ("open", "o", 1 / 3)]),
        candidate_ids=np.array([0, 1, 2, 3, 5, 7, 8], "int32"),
        shortlist=Dictionary([("is", "est", 1.0), ("of", "de", 1.0)]),
        entities=Entities(exceptions="The|Of", common=("kowalski",)),
        glossary=Glossary([("is open", "est ouverte")]),
    )


def assert_close_answers(found, expected):
    """Checks that outputs are the same, but for rounding."""
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        if x.dtype == tf.float32:
            np.testing.assert_allclose(found[name], x, atol=1e-5)
        else:
            np.testing.assert_array_equal(found[name], x)


@contextlib.contextmanager
def eagerly():
    """Translators answer without graphs, which take longer to make."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def sentences(count, seed=0):
    """Random sentences of known and unknown words."""
    rng = np.random.default_rng(seed)
    words = [*SOURCE.words[4:], *NAMES, "Kowalski", "1,000", "(x)"]
    return [
        " ".join(rng.choice(words, size=rng.integers(0, 13)))
        for _ in range(count)
    ]
