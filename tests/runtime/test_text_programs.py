"""Text programs beside the functions of TensorFlow that they are made from."""

import os

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from tests.data.text import hub_tokenizers
from tests.serving.servables.translators import SOURCE, TARGET, Copier
from tfcopy.data import Dictionary, Tokenizer, Vocabulary, hub_pieces
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.span_patterns import PATTERNS
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.text_operations import strings
from tfcopy.runtime.text_program import FILE_NAME, TextPrograms
from tfcopy.serving.servables import litert_export, text_export
from tfcopy.serving.servables.translator import Translator

ODD = [
    *["", " ", "\u00a0 \u3000 x\u200by \ufeff", "the " * 40, "x" * 5000],
    "``a b`` is 北京 \x00 </s> <unk> <pad> <s> ⟨s⟩",
    "%s: {name} <b>bold</b> `ref <http://x.y>`_ don't l'Union $x %(a)d %%",
    "İstanbul ΟΔΟΣ 👩‍👩‍👧 \ue000 1\ue002 @1 Kowalski Anna anna ǅ \u2c2f",
    "Hello,world! 1,000.5 e-mail@a.b http://x.y/z?q=1#f (x) No. 5 p. 3 etc.",
    "« the session », said he: 'open'; “is” [it] -- is... $ 5 ▁ ▁▁ 。",
]
ODD = [*map(str.encode, ODD), b"\xff\xfe abc \xed\xa0\x80 \xc3"]
PIECES = (
    "the session of is open . , ` `` <b> </b> %s {x} ' $ @ ￨ ( ) é Σ É".split()
)
PIECES += " |  |\n|\t|\x00|\u00a0|▁|\ue000|北|😀|0|-".split("|")
TEXTS = strategies.one_of(
    strategies.lists(strategies.sampled_from(PIECES), max_size=12).map(
        lambda x: "".join(x).encode()
    ),
    strategies.text(max_size=20).map(lambda x: x.encode("utf-8", "replace")),
    strategies.binary(max_size=12),
    strategies.sampled_from(ODD),
)
LINES = [
    "the\tdas",
    "Łukasz\t%s x",
    "is open\t``ist``",
    "no tab",
    "",
    "a\tb\tc",
]
SPANS = ("rst", "placeholders", "html", "[0-9]+")


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
KEPT = dict.fromkeys(
    ("source_tokenizer", "target_tokenizer"), protected(Tokenizer("space"))
)
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
    tokens = [x for x in tokens if x.split() == [x] and len(x) < 99]
    return Vocabulary([*dict.fromkeys([*words, *tokens])])


def translator_of(case, folder):
    """Makes a translator of a tokenizer, or with other options."""
    options = dict(OPTIONS.get(case, {}))
    if case not in OPTIONS:
        made = tokenizer_of(case, folder)
        options = dict.fromkeys(("source_tokenizer", "target_tokenizer"), made)
    tokenizer = options.get("target_tokenizer", Tokenizer())
    source, target = (
        open_vocabulary(tokenizer, x.words) for x in (SOURCE, TARGET)
    )
    model = Copier()
    model.vocabulary_size = target.size
    options = {
        "max_source_length": 15,
        "options": SearchOptions(num_beams=3, max_length=10),
        **options,
    }
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
        """Runs both; returns TensorFlow's results, and where others are."""
        tensors = {
            k: tf.constant(x.tolist(), tf.string, x.shape)
            if x.dtype == object
            else tf.constant(x)
            for k, x in arrays.items()
        }
        function = self.functions[name]
        if name.startswith("write"):
            expected = function(tensors)
        else:
            expected = function(**tensors)
        expected = {k: as_array(x.numpy()) for k, x in expected.items()}
        found = self.programs.run(name, arrays, size_of(arrays))
        assert found.keys() == expected.keys()
        wrong = [
            k for k, x in expected.items() if not is_same(as_array(found[k]), x)
        ]
        return expected, wrong

    def differences(self, texts, seed=0):
        """Returns names of functions and outputs that differ for texts."""
        rng = np.random.default_rng(seed)
        wrong = []
        for name, steps in self.signatures.items():
            arrays = {"text": strings(texts)}
            if "glossary" in steps["inputs"]:
                lines = rng.choice(LINES, [len(texts), 4]).ravel()
                lines = strings(x.encode() for x in lines)
                arrays["glossary"] = lines.reshape(len(texts), 4)
            found, bad = self.run(steps["read"], arrays)
            wrong += [(name, steps["read"], x) for x in bad]
            if texts:
                found.update(self.results(rng, found, name == "analyse"))
                _, bad = self.run(steps["write"], found)
                wrong += [(name, steps["write"], x) for x in bad]
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


def cases():
    for case in (*OPTIONS, *HUB, *TOKENIZERS):
        is_slow = case.endswith("-format") and case != "protect c-format"
        mark = pytest.mark.slow if is_slow else pytest.mark.long
        few = ("moses en", "must copy and glossary")
        yield pytest.param(case, marks=[] if case in few else [mark])


@pytest.fixture(scope="module", params=cases())
def sides(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return Sides(translator_of(request.param, folder), folder)


def test_odd_texts(sides):
    for batch in [*([x] for x in ODD), [], ODD, ODD * 4]:
        assert sides.differences(batch) == []


@hypothesis.settings(max_examples=30)
@hypothesis.given(texts=strategies.lists(TEXTS, max_size=5))
def test_open_texts(sides, texts):
    assert sides.differences(texts) == []
