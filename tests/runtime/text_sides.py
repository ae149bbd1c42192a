"""Translators' functions of texts, with TensorFlow and without."""

import functools
import os
import pathlib

import numpy as np
import tensorflow as tf

from tests.data.text import hub_tokenizers
from tests.serving.servables.translators import SOURCE, TARGET, Copier
from tfcopy import tokens
from tfcopy.data import Dictionary, Tokenizer, Vocabulary, hub_pieces
from tfcopy.data.text.blanks import is_word
from tfcopy.data.text.byte_pair_tokenizer import SPAN_PIECE
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.span_patterns import PATTERNS
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.text_functions import FILE_NAME, TextFunctions
from tfcopy.serving.servables import litert_export, text_export
from tfcopy.serving.servables.translator import Translator

ODD = text_export.odd_texts()
SPANS = ("rst", "placeholders", "html", "[0-9]+")


SIDES = "source_tokenizer", "target_tokenizer"


def protected(inner, protect=SPANS, **options):
    return ProtectedTokenizer(inner, protect, **options)


TOKENIZERS = {
    **{f"moses {x}": Tokenizer(language=x) for x in ("en", "fr", "zh", "de")},
    **{
        f"{mode} {x}": Tokenizer(mode, x)
        for mode in ("space", "characters")
        for x in ("en", "zh")
    },
    "lowercase": Tokenizer(lowercase=True),
    "protected": protected(Tokenizer("space")),
    "protected fr": protected(Tokenizer(language="fr", lowercase=True)),
    "protected characters": protected(Tokenizer("characters")),
    **{f"protect {x}": protected(Tokenizer(), (x,)) for x in PATTERNS},
    **dict.fromkeys(hub_tokenizers.TOKENIZERS),
}


def tokenizer_of(case, folder):
    if case == "published":
        return published_tokenizer(folder)
    kind, *more = case.split(" ")
    if kind not in hub_tokenizers.TOKENIZERS:
        return TOKENIZERS[case]
    pieces = hub_pieces(hub_tokenizers.TOKENIZERS[kind](), folder).tokenizer
    return protected(pieces, in_pieces="in" in more) if more else pieces


def published_tokenizer(folder):
    """Cuts as a published model of SentencePiece does, with spans in place."""
    model = hub_tokenizers.train_sentencepiece(
        45, "unigram", normalization_rule_name="nmt_nfkc"
    )
    path = pathlib.Path(folder, "published.model")
    path.write_bytes(model + SPAN_PIECE)
    inner = SentencepieceTokenizer(str(path), as_typed=True, prefix=">>fra<<")
    return protected(inner, in_pieces=True, in_place=True)


HUB = ("published", "t5 protected", "t5gemma protected", "bart protected")
HUB += ("t5gemma in pieces", "bart in pieces")
TERMS = Glossary([("the session", "la séance"), ("is", "``est``"), ("É", "%s")])
KEPT = dict.fromkeys(SIDES, protected(Tokenizer("space")))
MUST = SearchOptions(num_beams=3, max_length=10, must_copy=True)
OPTIONS = {
    "glossary": {"glossary": TERMS, **KEPT},
    "must copy": {"options": MUST, **KEPT},
    "must copy and glossary": {"options": MUST, "glossary": TERMS, **KEPT},
    "entities": {"entities": Entities(exceptions="The|Of")},
    "common entities": {"entities": Entities(common=("kowalski", "é"))},
    "marked entities": {"entities": Entities(pattern=None)},
    "lowercase entities": {"entities": Entities(lowercase=True)},
    "dictionary": {
        "dictionary": Dictionary(
            [("open", "ouverte", 0.6), ("is", "``est``", 1.0)]
        )
    },
    "replace_unk": {"replace_unk": True},
    "candidates": {"candidate_ids": np.arange(6)},
    "append_eos": {"append_eos": False},
    "append_eos, must copy": {"append_eos": False, "options": MUST, **KEPT},
    "one word": {"max_source_length": 1},
    "one beam": {"options": SearchOptions(num_beams=1, max_length=1)},
}


def open_vocabulary(tokenizer, words):
    """Returns a vocabulary of the tokens of odd texts, and of some words."""
    tokens = tokenizer.tokenize(tf.constant(ODD)).flat_values.numpy().tolist()
    tokens = [x.decode(errors="replace") for x in tokens]
    tokens = [x for x in tokens if is_word(x) and len(x) < 99]
    return Vocabulary([*dict.fromkeys([*words, *tokens])])


def options_of(case, folder):
    """Returns options of a translator, which may be tokenizers alone."""
    if case in OPTIONS:
        return OPTIONS[case]
    return dict.fromkeys(SIDES, tokenizer_of(case, folder))


def translator_of(case, folder):
    """Makes a translator of a tokenizer, or with other options."""
    options = {
        "max_source_length": 15,
        "options": SearchOptions(num_beams=3, max_length=10),
        **options_of(case, folder),
    }
    tokenizer = options.get("target_tokenizer", Tokenizer())
    source, target = (
        open_vocabulary(tokenizer, x.words) for x in (SOURCE, TARGET)
    )
    model = Copier()
    model.vocabulary_size = target.size
    return Translator(model, source, target, **options)


class Sides:
    """A translator's functions of texts, with TensorFlow and without."""

    def __init__(self, translator, folder):
        folder = str(folder)
        translator = translator.with_files(folder)
        self.translator = translator
        kinds = litert_export.signature_kinds(translator)
        text_export.write(folder, translator, kinds, folder)
        self.functions = TextFunctions(os.path.join(folder, FILE_NAME), folder)
        options = functools.partial(litert_export.options_of, translator)
        self.graphs = text_export.Graphs(translator, kinds, options)

    def difference(self, texts):
        """Returns the name of an array that differs for texts."""
        return text_export.find_difference(self.functions, self.graphs, texts)


def copying_bytes(sides):
    """Makes results copy the bytes of the character that stands for a span.

    Returns:
        A text that has the bytes in another order, and a span.
    """
    draw, marks = sides.graphs.draw, "".join(tokens.PIECE_MARKS).encode()

    def draw_bytes(signature, read, rng):
        result = draw(signature, read, rng)
        words = np.asarray(read["words"])[0].tolist()
        size = sides.translator.target_vocabulary.size
        bytes_ = [words.index(x) for x in (b"<0xEE>", b"<0x80>", b"<0x80>")]
        span = [i for i, x in enumerate(words) if x.lstrip(marks) != x]
        places = np.array([*bytes_, *span, *bytes_])
        result["ids"][:] = tokens.PAD
        result["ids"][:, :, : len(places)] = places + size
        result["ids"][:, :, len(places)] = tokens.EOS
        result["copied_from"][:] = tokens.GENERATE
        result["copied_from"][:, :, : len(places)] = places
        return result

    sides.graphs.draw = draw_bytes
    return "\ue00a %s"
