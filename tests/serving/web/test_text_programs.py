"""The page's text programs in Node, beside those of Python."""

import io
import json
import pathlib
import random
import shutil
import subprocess

import numpy as np
import pytest
import re2
import sentencepiece

from tests.runtime.test_text_programs import tokenizer_of
from tests.serving.servables.translators import TARGET, random_translator
from tfcopy.data import Dictionary, Tokenizer
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.text_operations import strings
from tfcopy.runtime.text_program import TextPrograms, encoded
from tfcopy.serving.servables import litert_export, text_export

if shutil.which("node") is None:
    pytest.skip("Node is not installed", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
FORMATS = ("rst", "placeholders", "html")
SIDES = "source_tokenizer", "target_tokenizer"
SEVERAL, MOST = 3, 9  # hypotheses, tokens


def protected(tokenizer):
    return dict.fromkeys(SIDES, ProtectedTokenizer(tokenizer, FORMATS))


CASES = {
    "must_copy": {
        "options": SearchOptions(num_beams=3, max_length=10, must_copy=True),
        **protected(Tokenizer("space")),
    },
    "english": {"source_tokenizer": Tokenizer(language="en", lowercase=True)},
    "french": protected(Tokenizer(language="fr")),
    "chinese": dict.fromkeys(SIDES, Tokenizer(language="zh")),
    "characters": dict.fromkeys(SIDES, Tokenizer("characters")),
    "glossary": {
        "glossary": Glossary([("the session", "la s")]),
        **protected(Tokenizer("space")),
    },
    "entities": {
        "entities": Entities(exceptions="The|Of", common=("kowalski",))
    },
    "dictionary": {
        "dictionary": Dictionary([("open", "ouverte", 0.6)]),
        "replace_unk": True,
        "append_eos": False,
    },
    "bart in pieces": None,
}
TEXTS = [
    "",
    "the session of Łukasz is open .",
    "``a b`` is 北京 \x00 </s>",
    "%s: {name} <b>bold</b> `ref <http://x.y>`_ don't l'Union $x &amp; ${x}",
    "a\u0301e\u0301 İstanbul ΟΔΟΣ 👩‍👩‍👧 \ue001 1\ue002 @1 Kowalski Anna Anna",
    b"\xff\xfe abc \xed\xa0\x80 \xc3",
    "Hello,world! 1,000.5 e-mail@a.b http://x.y/z?q=1#f (x) WWW.ſ.com Kk",
    "  \u00a0 \u3000 x\u200by \ufeff",
    "the " * 40,
    "x" * 5000,
    "<unk> </s> <pad> <s>",
    "MR. O'BRIEN-ŞAHIN n'est pas « ici » : 5% … p. 7 Art. 3",
    "العربية (test) שלום ‏%d‎ 😀",
]
ALPHABET = [
    *"ab the.,'’\"«»()<>`%{}$&;:/_@#|[]*0 1\u00a0ŁİßK北👩\u200d\u0301\ue000"
]


def node(script, **content):
    """What a script of Node answers to JSON."""
    done = subprocess.run(
        ["node", HERE / script],
        input=json.dumps(content).encode(),
        capture_output=True,
        timeout=100,
    )
    assert not done.returncode, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


def text_array(texts, shape=None):
    texts = [x if isinstance(x, bytes) else x.encode() for x in texts]
    return strings(texts, shape)


def searched(found, hypotheses, rng):
    """What a search might find for texts."""
    rows, width = found["ids"].shape
    shape = rows, hypotheses, MOST
    ids = rng.integers(4, TARGET.size + 3, shape)
    place = np.arange(MOST)
    end = rng.integers(0, MOST, (rows, hypotheses, 1))
    ids = np.where(place < end, ids, np.where(place == end, 3, 0))
    copied_from = rng.integers(0, width, shape)
    found = {
        "ids": ids,
        "copied_from": np.where(ids < TARGET.size, -1, copied_from),
        "scores": rng.normal(size=shape[:2]).astype("float32"),
        "generate_probs": rng.random(shape).astype("float32"),
        "attention": rng.random((*shape, width)).astype("float32"),
    }
    return {f"result_{key}": x for key, x in found.items()}


def calls(programs, texts):
    """Calls of all functions: name, inputs, outputs."""
    rng = np.random.default_rng(0)
    lines = text_array(["the\tdas", "Łukasz\t%s x", "bad"] * len(texts))
    given = {
        "text": text_array(texts),
        "glossary": lines.reshape(len(texts), 3),
    }
    for name, steps in programs.signatures.items():
        found = programs.run(steps["read"], given)
        yield steps["read"], given, found
        hypotheses = SEVERAL if name == "analyse" else 1
        all_of = {**found, **searched(found, hypotheses, rng)}
        wanted = programs._names[steps["write"]][0]
        inputs = {key: all_of[key] for key in wanted}
        yield steps["write"], inputs, programs.run(steps["write"], inputs)


def plain(value):
    value = json.loads(json.dumps(encoded(value)))
    if isinstance(value, dict):
        del value["dtype"]
    return value


def assert_same(folder, texts):
    path, assets = folder / "texts.json", folder / "assets"
    programs = TextPrograms(path, assets, folder)
    batches = [texts, *([text] for text in texts)]
    expected = [x for batch in batches for x in calls(programs, batch)]
    names = json.loads(path.read_text())["files"]
    places = (
        assets / x if (assets / x).exists() else folder / x for x in names
    )
    found = node(
        "run_programs.mjs",
        texts=str(path),
        files=dict(zip(names, map(str, places))),
        calls=[
            (name, {key: encoded(x) for key, x in inputs.items()})
            for name, inputs, _ in expected
        ],
    )
    for (name, _, outputs), answer in zip(expected, found, strict=True):
        assert answer == {k: plain(x) for k, x in outputs.items()}, name


@pytest.mark.parametrize(
    "name",
    [
        x if x == "must_copy" else pytest.param(x, marks=pytest.mark.long)
        for x in CASES
    ],
)
def test_functions_are_those_of_python(name, tmp_path):
    options = CASES[name] or dict.fromkeys(SIDES, tokenizer_of(name, tmp_path))
    translator = random_translator(**{"max_source_length": 15, **options})
    functions, signatures = litert_export.text_functions(translator)
    assets = tmp_path / "assets"
    assets.mkdir()
    for side in ("source", "target"):
        vocabulary = getattr(translator, f"{side}_vocabulary")
        vocabulary.save(assets / f"{side}_vocabulary.txt")
    text_export.write(
        tmp_path, functions, translator.resources, assets, signatures
    )
    draw = random.Random(0)
    odd = ["".join(draw.choices(ALPHABET, k=40)) for _ in range(60)]
    assert_same(tmp_path, TEXTS + odd)


LINES = [f"the session of {x} is open , and the {x} closed" for x in "abcdefg"]
MODELS = {
    "unigram": {"user_defined_symbols": ["\ue000", "the s"]},
    "bpe": {"model_type": "bpe", "user_defined_symbols": ["\ue000"]},
    "bytes": {"byte_fallback": True, "vocab_size": 320},
    "suffix": {
        "treat_whitespace_as_suffix": True,
        "normalization_rule_name": "nmt_nfkc_cf",
    },
    "raw": {
        "model_type": "bpe",
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
        "normalization_rule_name": "identity",
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_subwords_are_those_of_the_library(name, tmp_path):
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=file,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"vocab_size": 50, **MODELS[name]},
    )
    path = tmp_path / "pieces.model"
    path.write_bytes(file.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    draw = random.Random(0)
    alphabet = [*ALPHABET, *" sionthed▁ﬁ①Ａ\t\x01½"]
    texts = ["".join(draw.choices(alphabet, k=30)) for _ in range(200)]
    texts += [*LINES, "", " ", "▁▁ ▁", "<s> </s> <unk> <0x41>", "the " * 300]
    cut = model.encode(texts, out_type=str)
    mixed = [draw.sample(row, len(row)) for row in cut]
    rows = [*cut, *mixed, ["<s>", "▁the", "</s>"], ["<unk>", "▁Łu"], ["▁"]]
    found = node("cut_subwords.mjs", model=str(path), texts=texts, rows=rows)
    assert found["cut"] == cut
    assert found["joined"] == [model.decode(row) if row else "" for row in rows]


# Characters for patterns, which have been the same in Unicode for long.
CHARACTERS = [
    *map(chr, range(0x250)),
    *"ΣςабאبकগK北。\u200b\u2028\ufeff\ue000😀",
]
PATTERNS = [
    *(r"\pL \pM \pN \pZ \p{Lu} \p{Nd} \p{Cc} \p{^Lu} \PL \p{Greek}").split(),
    *(r"\s \S \w \W \d \D . (?s). (?i:k) (?i)[j-t] \x{41} \x41 \101").split(),
    *(
        r"[^a] [\W] [^\d] [[:alpha:]] [^[:punct:]x] [\]-] []-a] [^]] [a-]"
    ).split(),
    *(
        r"\Qa.\E|b (?P<x>k) (?:a|b) \b. .\B a{1}|x{2,} \{|\} (?m)^.$ \A.\z"
    ).split(),
    r"[!-/:-@\[-`{-~]",
    r"[\x80-\x{10FFFF}]",
    r"(?i)a(?-i:b)?",
    r"\.|\-",
]
UNKNOWN = [r"\C", r"(?U)a", r"(?i:é)", r"[[:^alpha:]]", r"\pL{2}\9", "[a", ")"]


def test_patterns_are_those_of_re2():
    expected = [
        [x for x in CHARACTERS if re2.fullmatch(pattern, x)]
        for pattern in PATTERNS
    ]
    found = node("match_patterns.mjs", patterns=PATTERNS, texts=CHARACTERS)
    assert found == expected


def test_patterns_that_javascript_lacks_are_refused():
    found = node("match_patterns.mjs", patterns=UNKNOWN, texts=[])
    assert all("no regular expression" in x or "(?i)" in x for x in found)
