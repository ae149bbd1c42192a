"""Declared functions of texts that are damaged, or made to do harm."""

import functools
import hashlib
import json
import operator
import resource
import time

import numpy as np
import pytest

from tests.runtime.text_sides import Sides, protected, translator_of
from tfcopy.checked_files import DamagedFileError
from tfcopy.data import Tokenizer
from tfcopy.data.text import glossary
from tfcopy.runtime.text_functions import FILE_NAME, TextFunctions
from tfcopy.runtime.text_rules import Glossary
from tfcopy.runtime.text_tokenizers import make

HUGE = "x" * (1 << 22)
CASES = ["must copy and glossary", "common entities", "bart in pieces"]


@pytest.fixture(scope="module", params=CASES)
def sides(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return Sides(translator_of(request.param, folder), folder), folder


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    return Sides(translator_of("marked entities", folder), folder), folder


@pytest.fixture
def facts(words, tmp_path):
    folder = words[1]
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / FILE_NAME).unlink()
    return json.loads((folder / FILE_NAME).read_text())


def answer(folder, facts, text=b"the session of x is open"):
    """Returns what changed facts make of a text, or how they are refused."""
    path = folder / FILE_NAME
    data = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    path.write_bytes(data)
    try:
        functions = TextFunctions(str(path), str(folder))
        sources = functions.read([text])
        shape = 1, 1, 200
        result = {
            "ids": np.arange(4, 204).reshape(shape) % 9 + 4,
            "copied_from": np.full(shape, -1),
            "scores": np.zeros((1, 1), np.float32),
            "generate_probs": np.zeros(shape, np.float32),
            "attention": np.zeros((*shape, sources.ids.shape[1]), np.float32),
        }
        return functions.write("analyse", sources, result)["text"][0]
    except DamagedFileError as error:
        assert str(error).startswith(str(folder))
        return str(error)[:1000].replace("\n", " ")


def changed(facts, path, value):
    """Returns facts of which one is another."""
    facts = json.loads(json.dumps(facts))
    *before, last = path
    functools.reduce(operator.getitem, before, facts)[last] = value
    return facts


SOURCE, TARGET = ("source", "tokenizer"), ("target", "tokenizer")
SPANS = {"kind": "spans", "inner": {"kind": "spans"}}
WHOLE_SPANS = protected(Tokenizer("characters"), ("rst",)).declare({})
GREEDY = {
    "many groups": ((*SOURCE, "cut"), [["(" * 10**5 + ")" * 10**5, ""]]),
    "growing blanks": (
        SOURCE,
        {**WHOLE_SPANS, "ascii": {x: "e" * 20_000 for x in ("e", "ee")}},
    ),
    "long marks": (SOURCE, {**WHOLE_SPANS, "marks": [HUGE, "x", "x"]}),
    "growing rules": ((*SOURCE, "cut"), [[".", r"\0\0\0\0"]] * 50),
    "growing rules of answers": ((*TARGET, "join"), [[".", r"\0\0"]] * 50),
    "many rules": ((*SOURCE, "cut"), [["a", "a"]] * 10**5),
    "long rewrite": ((*SOURCE, "cut"), [["a", HUGE]]),
    "large pattern": ((*SOURCE, "cut"), [["(?:[a-z]{500}){500}", ""]]),
    "spans within spans": (SOURCE, SPANS),
    "long separator": ((*TARGET, "separator"), HUGE),
    "long edge": ((*TARGET, "edge"), HUGE * 4),
}


@pytest.mark.parametrize("name", GREEDY)
def test_what_grows_is_refused(name, facts, tmp_path):
    begin, peak = time.process_time(), _peak()
    assert "damaged" in answer(tmp_path, changed(facts, *GREEDY[name]))
    assert time.process_time() - begin < 5 and _peak() - peak < 500 << 10


def test_long_blanks_and_marks_make_no_long_text():
    facts = {**WHOLE_SPANS, "plural_blank": HUGE}
    with pytest.raises(ValueError, match="becomes too long"):
        make(facts, {}).detokenize([b"``a``", b"s", b"."] * 20)
    with pytest.raises(ValueError, match="is not one character"):
        Glossary({**glossary.declare(None), "edges": [HUGE, "x"]}, None)


def _peak():
    """Returns the largest memory of the process so far, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_long_text_has_few_tokens(facts, tmp_path):
    facts = changed(facts, ["max_source_length"], 10**9)
    text = b"the session of x " * (1 << 14)
    begin = time.process_time()
    assert isinstance(answer(tmp_path, facts, text), bytes)
    assert time.process_time() - begin < 10


def test_a_pattern_must_be_small_for_a_long_text(facts, tmp_path):
    facts = changed(facts, (*SOURCE, "cut"), [["(?:[a-z][a-z0-9]?){900}y", ""]])
    facts["max_source_length"] = 10**9
    with pytest.raises(ValueError, match="a text of 2,097,152 bytes is too"):
        answer(tmp_path, facts, b"x" * (1 << 21))


def test_long_words_make_no_long_answer(facts, tmp_path):
    content = b"<pad>\n<unk>\n<s>\n</s>\n" + b"\n".join([b"x" * 10**6] * 9)
    path = tmp_path / "target_vocabulary.txt"
    path.unlink()
    path.write_bytes(content)
    facts["files"][path.name] = hashlib.sha256(content).hexdigest()
    assert "a text becomes too long" in answer(tmp_path, facts)


DAMAGED = {
    "empty": lambda _: b"",
    "truncated": lambda x: json.dumps(x).encode()[:-9],
    "deep": lambda _: b"[" * 10**6,
    "list": lambda _: b"[]",
    "other format": lambda x: {**x, "format": 1},
    "unknown kind": lambda x: changed(x, (*SOURCE, "kind"), "eval"),
    "no pattern": lambda x: changed(x, (*SOURCE, "spaces"), "("),
    "no vocabulary": lambda x: changed(x, ("source", "vocabulary"), "x"),
    **{
        f"file {name}": lambda x, name=name: changed(
            x, ["files", name], "0" * 64
        )
        for name in ("../secret", "/etc/passwd", "..", "", "device", "secret")
    },
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_the_file(name, facts, tmp_path):
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "secret").symlink_to("/etc/passwd")
    told = answer(tmp_path, DAMAGED[name](facts))
    assert "damaged" in told or "another release" in told or "large" in told
    assert "root:" not in told


def nodes(value, path=()):
    """Yields the paths of all nodes of an object of JSON but the first."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, (dict, list)):
            yield from nodes(part, (*path, key))


OTHERS = [None, -1, 10**30, 1.5, "x", [], ["x"], {}, {"dtype": "O"}]


def test_no_fact_can_be_of_another_type(sides, tmp_path):
    """Either it does not matter, or the file is refused."""
    folder = sides[1]
    facts = json.loads((folder / FILE_NAME).read_text())
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / FILE_NAME).unlink()
    for path in [*nodes(facts)][:200]:
        for other in OTHERS:
            told = answer(tmp_path, changed(facts, path, other))
            assert (
                isinstance(told, bytes)
                or "damaged" in told
                or "release" in told
            )
