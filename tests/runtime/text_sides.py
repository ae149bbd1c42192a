"""Translators' functions of texts, in TensorFlow and as text programs."""

import os

import numpy as np
import tensorflow as tf

from tests.data.text import hub_tokenizers
from tests.serving.servables.translators import SOURCE, TARGET, Copier
from tfcopy.data import Dictionary, Tokenizer, Vocabulary, hub_pieces
from tfcopy.data.text.blanks import is_word
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.span_patterns import PATTERNS
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.number_operations import strings
from tfcopy.runtime.text_program import FILE_NAME, TextPrograms
from tfcopy.serving.servables import litert_export, text_export
from tfcopy.serving.servables.translator import Translator

ODD = [
    *["", "  \u00a0 \u3000 x\u200by \ufeff", "the " * 40, "x" * 5000, " "],
    "the session of Łukasz is open .",
    "``a b`` is 北京 \x00 </s> <unk> <pad> <s> ⟨s⟩ ﬁ \x01",
    "%s: {name} <b>bold</b> `ref <http://x.y>`_ don't l'Union $x %(a)d %%",
    "a\u0301e\u0301 İstanbul ΟΔΟΣ 👩‍👩‍👧 \ue000 1\ue002 @1 ǅ \u2c2f &amp; ${x}",
    "Hello,world! 1,000.5 e-mail@a.b http://x.y/z?q=1#f (x) No. 5 p. 3 etc.",
    "« the session », said he: 'open'; “is” [it] -- is... $ 5 ▁ ▁▁ 。",
    "MR. O'BRIEN-ŞAHIN n'est pas « ici » : 5% … Art. 3 WWW.ſ.com Kk \ue001",
    "http://x.y\u00a0: «\u202f%s\u202f» is\u00a0open ``a\u00a0b``\u200bx\u3000",
    "العربية (test) שלום ‏%d‎ 😀 🏳️‍🌈 Kowalski Anna anna Anna",
]
ODD = [*map(str.encode, ODD), b"\xff\xfe abc \xed\xa0\x80 \xc3"]
LINES = [
    "the\tdas",
    "Łukasz\t%s x",
    "is open\t``ist``",
    "no tab",
    "",
    "a\tb\tc",
]
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
    kind, *more = case.split(" ")
    if kind not in hub_tokenizers.TOKENIZERS:
        return TOKENIZERS[case]
    pieces = hub_pieces(hub_tokenizers.TOKENIZERS[kind](), folder).tokenizer
    return protected(pieces, in_pieces="in" in more) if more else pieces


HUB = ("t5 protected", "t5gemma protected", "bart protected")
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
    """A translator's functions of texts, and the programs made from them."""

    def __init__(self, translator, folder):
        folder = str(folder)
        translator = translator.with_files(folder)
        self.functions, self.signatures = litert_export.text_functions(
            translator
        )
        parts = self.functions, translator.resources, folder, self.signatures
        text_export.write(folder, *parts)
        self.programs = TextPrograms(os.path.join(folder, FILE_NAME), folder)
        self.size = translator.target_vocabulary.size

    def run(self, name, arrays):
        """Returns what a program answers."""
        return self.programs.run(name, arrays, size_of(arrays))

    def run_tensorflow(self, name, arrays):
        """Returns what TensorFlow answers, as arrays."""
        tensors = {
            k: tf.constant(x.tolist(), tf.string, x.shape)
            if x.dtype == object
            else tf.constant(x)
            for k, x in arrays.items()
        }
        function = self.functions[name]
        if name.startswith("write"):
            found = function(tensors)
        else:
            found = function(**tensors)
        return {k: as_array(x.numpy()) for k, x in found.items()}

    def calls(self, texts, seed=0):
        """Yields names of all functions, and inputs for texts."""
        rng = np.random.default_rng(seed)
        for name, steps in self.signatures.items():
            arrays = {"text": strings(texts)}
            if "glossary" in steps["inputs"]:
                lines = rng.choice(LINES, [len(texts), 4]).ravel()
                lines = strings(x.encode() for x in lines)
                arrays["glossary"] = lines.reshape(len(texts), 4)
            yield steps["read"], arrays
            if texts:
                found = self.run_tensorflow(steps["read"], arrays)
                found.update(self.results(rng, found, name == "analyse"))
                yield steps["write"], found

    def differences(self, texts):
        """Returns names of functions and outputs that differ for texts."""
        wrong = []
        for name, arrays in self.calls(texts):
            expected = self.run_tensorflow(name, arrays)
            found = self.run(name, arrays)
            assert found.keys() == expected.keys()
            wrong += [
                (name, k)
                for k, x in expected.items()
                if not is_same(as_array(found[k]), x)
            ]
        return wrong

    def results(self, rng, read, is_analysis):
        """Returns a random result of a search: many words are copied."""
        rows, width = read["ids"].shape
        write = self.functions[
            "write_analyse" if is_analysis else "write_serving_default"
        ]
        shapes = {
            k: x.shape
            for k, x in write.structured_input_signature[0][0].items()
        }
        most, longest = (3 if is_analysis else 1), 9
        shape = rows, most, longest
        ids = rng.integers(4, self.size + width, shape)
        copied = rng.integers(0, width, shape)
        is_copied = rng.random(shape) < 0.5
        ids = np.where(is_copied, self.size + copied, ids)
        lengths = rng.integers(0, longest, (rows, most, 1))
        places = np.arange(longest)
        ids = np.where(places < lengths, ids, np.where(places == lengths, 3, 0))
        found = {
            "ids": ids.astype("int32"),
            "copied_from": np.where(ids >= self.size, copied, -1).astype(
                "int32"
            ),
            "scores": rng.normal(size=shape[:2]).astype("float32"),
            "generate_probs": rng.random(shape).astype("float32"),
            "attention": rng.random((*shape, width)).astype("float32"),
        }
        return {
            f"result_{k}": x
            for k, x in found.items()
            if f"result_{k}" in shapes
        }


def as_array(x):
    return strings([x]).reshape(()) if isinstance(x, bytes) else np.asarray(x)


def is_same(found, expected):
    """Returns whether arrays are equal, floats to the last bit."""
    same = found.dtype.kind, found.shape == expected.shape
    return same == (expected.dtype.kind, True) and (
        found.tolist() == expected.tolist()
    )


def size_of(arrays):
    """Returns the number of elements and bytes of arrays."""
    texts = [x for x in arrays.values() if x.dtype == object]
    size = sum(x.size for x in arrays.values())
    return size + sum(len(text) for x in texts for text in x.flat)
