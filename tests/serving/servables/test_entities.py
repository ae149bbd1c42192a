"""Answers with placeholders."""

import tensorflow as tf
from keras import ops

from tests.serving.servables.translators import Copier
from tfcopy import tokens
from tfcopy.data import Tokenizer, Vocabulary
from tfcopy.data.text.entities import Entities
from tfcopy.decoding import SearchOptions
from tfcopy.layers.copying import MASKED, CopyDistribution
from tfcopy.serving.servables.translator import Translator

PLACEHOLDERS = ["@1", "@2", "@3"]
SOURCE = Vocabulary([*tokens.SPECIAL_TOKENS, *PLACEHOLDERS, "of", "met", "."])
TARGET = Vocabulary([*tokens.SPECIAL_TOKENS, *PLACEHOLDERS, "hires", "."])
MARKED = Entities(pattern=None)
TEXT = "Acme of Łukasz met ACME and 北京"  # @1 of @2 met @3 and 北京


class Pointer(Copier):
    vocabulary_size = TARGET.size


class Speaker(Copier):
    """Generates some words, attending to one source position after another."""

    vocabulary_size = TARGET.size

    def __init__(self, words):
        super().__init__()
        ids = [TARGET.id(word) for word in words.split()]
        self.ids = ops.convert_to_tensor([*ids, tokens.EOS], dtype="int32")

    def decode_step(self, ids, state, memory):
        places = ops.expand_dims(memory.sentences["places"], 1)
        here = places == ops.expand_dims(state, 2)  # (B, K, S)
        last = ops.shape(self.ids)[0] - 1
        word = ops.take(self.ids, ops.minimum(state, last))[..., None]
        said = ops.arange(self.vocabulary_size) == word
        distribution = CopyDistribution(
            ops.where(said, 0.0, MASKED),
            ops.zeros_like(state, dtype="float32"),
            ops.full_like(here, MASKED, dtype="float32"),
        )
        return distribution, ops.cast(here, "float32"), state + 1


def translator(model, **options):
    options = {
        "source_tokenizer": Tokenizer("space"),
        "target_tokenizer": Tokenizer("space"),
        "options": SearchOptions(num_beams=2, max_length=12, merge="max"),
        "entities": Entities(),
        **options,
    }
    return Translator(model, SOURCE, TARGET, **options)


def answer(translator, text=TEXT):
    return translator.translate_all([text], progress=False)[0]


def test_a_generated_placeholder_is_the_word_it_stands_for():
    found = answer(translator(Speaker("@2 hires @1 @3 .")))
    assert found.tokens == ["Łukasz", "hires", "Acme", "ACME", "."]
    assert found.copied_from == [-1] * 5
    assert found.source_tokens == [*TEXT.split(), "</s>"]


def test_one_that_stands_for_nothing_is_unknown(eagerly):
    # What is cut off does not count.
    speaker = translator(Speaker("@1 @2 hires"), max_source_length=2)
    assert answer(speaker, "acme").text == "<unk> <unk> hires"
    assert answer(speaker, "Acme").text == "Acme <unk> hires"
    assert answer(speaker, "Acme of Łukasz").text == "Acme <unk> hires"
    found = answer(speaker.copy(replace_unk=True), "acme met")
    assert found.text == "acme met hires"
    assert found.copied_from == [0, 1, -1]


def test_the_first_of_several_spellings_comes_back(eagerly):
    lower = Tokenizer("space", lowercase=True)
    options = {"source_tokenizer": lower, "target_tokenizer": lower}
    entities = Entities(lowercase=True)
    found = translator(Speaker("@1 @2 @1"), entities=entities, **options)
    assert answer(found).tokens == ["Acme", "Łukasz", "Acme"]


def test_what_is_pointed_at_comes_back_as_typed(eagerly):
    options = SearchOptions(num_beams=2, max_length=12, merge="sum")
    found = answer(translator(Pointer(), options=options))
    assert found.tokens == TEXT.split()
    assert found.copied_from == list(range(7))


def test_marked_text_is_answered_without_marks(eagerly):
    text = "acme￨ORG of jones￨B-PER met￨O acme￨ORG"
    found = answer(translator(Pointer(), entities=MARKED), text)
    assert found.text == "acme of jones met acme"
    assert found.copied_from == list(range(5))
    assert found.source_tokens == [*found.tokens, "</s>"]
    speaker = translator(Speaker("@2 @1 @3"), entities=MARKED)
    assert answer(speaker, text).text == "jones acme <unk>"
    assert answer(speaker, "acme of jones").text == "<unk> <unk> <unk>"


def test_sources_may_lack_eos(eagerly):
    found = translator(Speaker("@1 @2"), append_eos=False)
    outputs = found.analyse(tf.constant(["Acme", "", "x A B"]))
    assert [text.decode() for text in outputs["text"].numpy()] == [
        "Acme <unk>",
        "",
        "B <unk>",  # "A" is an article
    ]


def test_copy_keeps_the_entities():
    first = translator(Speaker("@1"))
    assert first.copy().entities == first.entities == Entities()
    assert first.copy(entities=None).entities is None
