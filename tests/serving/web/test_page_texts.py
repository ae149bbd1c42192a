"""The page's functions of texts in Node, beside those of Python."""

import io
import itertools
import json
import pathlib
import random
import shutil
import subprocess

import numpy as np
import pytest
import re2
import sentencepiece

from tests.runtime import text_sides
from tests.runtime.test_text_functions import cases, draw_texts
from tests.runtime.text_sides import ODD, OPTIONS, SIDES, Sides, translator_of
from tfcopy.data import Tokenizer, Vocabulary
from tfcopy.runtime.text_functions import FILE_NAME
from tfcopy.serving.servables.text_export import arrays_of

if shutil.which("node") is None:
    pytest.skip("Node is not installed", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
CASES = ["must copy", "must copy and glossary", "moses zh", "characters en"]
CASES += ["common entities", "dictionary", "replace_unk", "bart in pieces"]
CASES += ["published"]
# Those before contain their operations.
SLOW = ["lowercase", "moses fr", "entities", "append_eos"]
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


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(x, marks=pytest.mark.long) for x in CASES),
        *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW),
    ],
)
def test_functions_are_those_of_python(name, tmp_path):
    sides = Sides(translator_of(name, tmp_path), tmp_path)
    draw = random.Random(0)
    texts = ["".join(draw.choices(ALPHABET, k=40)) for _ in range(60)]
    texts += [x.decode(errors="replace") for x in ODD]
    compare(sides, itertools.product(sides.functions.kinds, texts), tmp_path)


@pytest.mark.long
def test_bytes_form_the_character_of_a_span(tmp_path):
    sides = Sides(translator_of("bart in pieces", tmp_path), tmp_path)
    text = text_sides.copying_bytes(sides)
    compare(sides, itertools.product(sides.functions.kinds, [text]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [x.values[0] for x in cases()])
def test_many_texts(name, tmp_path):
    sides = Sides(translator_of(name, tmp_path), tmp_path)
    texts = itertools.product(["serving_default"], draw_texts(1800))
    compare(sides, texts, tmp_path)


@pytest.mark.parametrize("side", SIDES)
def test_one_side_with_spans(side, tmp_path, monkeypatch):
    options = {side: text_sides.protected(Tokenizer("space"))}
    monkeypatch.setitem(OPTIONS, "one side", options)
    sides = Sides(translator_of("one side", tmp_path), tmp_path)
    texts = ["the %s of ``is`` %d", "a%sb", ""]
    compare(sides, itertools.product(sides.functions.kinds, texts), tmp_path)


def test_words_that_objects_know_and_long_words(tmp_path, monkeypatch):
    words = [*text_sides.TARGET.words, "constructor", "__proto__"]
    monkeypatch.setattr(text_sides, "TARGET", Vocabulary(words))
    monkeypatch.setattr(text_sides, "ODD", [b"x"])
    sides = Sides(translator_of("characters en", tmp_path), tmp_path)
    texts = ["xx xx", " ".join(["x" * 300_000] * 2)]
    compare(sides, itertools.product(["serving_default"], texts), tmp_path)


def compare(sides, texts, tmp_path):
    """Compares the functions of signatures and texts."""
    draw, rng = random.Random(0), np.random.default_rng(0)
    calls, expected = [], []
    for signature, text in texts:
        lines = None
        if signature == "with_glossary":
            lines = ["\t".join(draw.choices([*text.split(), "x"], k=2))] * 2
        sources = sides.functions.read(
            [text.encode()], lines and [[x.encode() for x in lines]]
        )
        read = arrays_of(sources)
        result = sides.graphs.draw(signature, read, rng)
        written = sides.functions.write(signature, sources, result)
        calls.append((signature, text, lines, lists_of(result)))
        expected.append((read, lists_of(written)))
    path = tmp_path / FILE_NAME
    files = json.loads(path.read_text())["files"]
    answers = node(
        "run_text_functions.mjs",
        facts=str(path),
        files={x: str(tmp_path / x) for x in files},
        calls=calls,
    )
    for call, (read, written), answer in zip(
        calls, expected, answers, strict=True
    ):
        assert isinstance(answer, list), (call, answer)
        source, outputs = answer
        assert len(source["ids"]) == read["longest"], call
        for key in {"ids", "copy_ids", "protected", "keys"} & source.keys():
            found = [x.encode() if key == "keys" else x for x in source[key]]
            assert found == read[key][0].tolist()[: len(found)], (call, key)
        tokens = [x.encode() for x in source["tokens"]]
        assert tokens == read["words"][0].tolist()[: len(tokens)], call
        assert outputs == written, call


def lists_of(arrays):
    """Returns the first row of arrays as lists, with texts."""

    def plain(x):
        if isinstance(x, list):
            return [plain(y) for y in x]
        return x.decode() if isinstance(x, bytes) else x

    return {k: plain(x.tolist()[0]) for k, x in arrays.items()}


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
    texts.append("thesession" * 2000)  # all that the page takes, in no time
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


CLASSES = (
    r"\pL \pM \pN \pP \pS \pZ \pC \PL [^\pL\pN] \p{Any} \P{Any} [\p{^Lu}a]"
)
SMALLER = (
    "Lu Ll Mc Ahom Lt Lm Lo Mn Nd No Po Pd Sc Sk So Cf Hebrew Arabic Han Latin"
)


@pytest.mark.long
def test_classes_are_those_of_re2_in_all_characters():
    patterns = CLASSES.split() + [rf"\p{{{x}}}" for x in SMALLER.split()]
    codes = (*range(0xD800), *range(0xE000, 0x110000))
    text = "".join(map(chr, codes))
    found = node("match_patterns.mjs", patterns=patterns, codes=codes)
    for pattern, runs in zip(patterns, found, strict=True):
        assert runs == [
            [ord(x[0][0]), ord(x[0][-1])]
            for x in re2.finditer(f"{pattern}+", text)
        ], pattern


def test_patterns_that_javascript_lacks_are_refused():
    found = node("match_patterns.mjs", patterns=UNKNOWN, texts=[])
    assert all("no regular expression" in x or "(?i)" in x for x in found)
