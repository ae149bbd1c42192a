"""Files of text programs that are damaged, or made to do harm."""

import functools
import hashlib
import json
import operator
import os
import subprocess
import sys
import time

import pytest

from tfcopy.checked_files import DamagedFileError
from tfcopy.runtime import number_operations
from tfcopy.runtime.number_operations import ProgramError, strings
from tfcopy.runtime.text_program import FILE_NAME, TextPrograms
from tfcopy.terminal import one_line

HUGE = 10**12


class Program:
    """Writes a function step by step; inputs and results are places."""

    def __init__(self, *inputs):
        self.inputs, self.steps, self.size = [*inputs], [], len(inputs)

    def const(self, value):
        return self.add("Const", value=value)

    def add(self, name, *places, results=1, **attributes):
        found = [*range(self.size, self.size + results)]
        self.size += results
        self.steps.append([name, [*places], attributes, found])
        return found[0]

    def described(self, *outputs, size=None):
        names = {str(i): x for i, x in enumerate(outputs)}
        described = {"inputs": self.inputs, "size": size or self.size}
        outputs = names if self.inputs[:1] == ["text"] else [*outputs]
        return {**described, "steps": self.steps, "outputs": outputs}


def numbers(*values):
    return {"dtype": "int64", "shape": [len(values)], "values": [*values]}


def content_of(functions, **files):
    return {
        "format": 1,
        "files": files,
        "signatures": {},
        "functions": functions,
    }


def main(*steps, others={}, **arguments):
    """A file with a function of a text, and its results."""
    program = Program("text")
    place = 0
    for step in steps:
        place = step(program, place)
    return content_of({"read": program.described(place, **arguments), **others})


def fill(count, value=0):
    return lambda p, _: p.add("Fill", p.const(numbers(count)), p.const(value))


def then(name, *values, times=1, **attributes):
    def add(p, place):
        for _ in range(times):
            place = p.add(name, place, *map(p.const, values), **attributes)
        return place

    return add


def many(*steps, times=1000):
    """The same steps again and again, each after the first value."""

    def add(p, place):
        for _ in range(times):
            found = place
            for step in steps:
                found = step(p, found)
        return found

    return add


def loop(body, condition=True, value=0):
    """A loop of a function."""
    others = {}
    always = Program("x")
    others["cond"] = always.described(always.const(condition))
    inner = Program("x")
    others["body"] = inner.described(body(inner, 0))

    def add(p, _):
        start = value(p, 0) if callable(value) else p.const(value)
        return p.add("While", start, cond="cond", body="body")

    return main(add, others=others)


def regex(pattern, text, times):
    """A pattern on a text that is repeated."""
    join = then("ReduceJoin", 0)
    return main(
        lambda p, _: p.add("Fill", p.const(numbers(times)), p.const(text)),
        join,
        then("StaticRegexReplace", pattern=pattern, rewrite=""),
    )


def itself():
    """A function that calls itself."""
    p = Program("x")
    place = p.add("PartitionedCall", 0, f="f")
    return main(
        lambda q, _: q.add("PartitionedCall", 0, f="f"),
        others={"f": p.described(place)},
    )


def tree():
    """Functions of which each calls the next one twice."""
    others = {"f60": Program("x").described(0)}
    for i in range(60):
        p = Program("x")
        for _ in range(2):
            place = p.add("PartitionedCall", 0, f=f"f{i + 1}")
        others[f"f{i}"] = p.described(place)
    return main(lambda q, _: q.add("PartitionedCall", 0, f="f0"), others=others)


MILLIONS = 1 << 22
GREEDY = {
    "fill": main(fill(HUGE)),
    "fills": main(many(fill(MILLIONS))),
    "texts": main(many(fill(MILLIONS, "x"), then("StringJoin", "y"))),
    "numbers": main(many(fill(MILLIONS), then("AsString"))),
    "range": main(lambda p, _: p.add("Range", *map(p.const, (0, HUGE, 1)))),
    "tile": main(then("Tile", numbers(HUGE))),
    "pad": main(
        then("Pad", {"dtype": "int64", "shape": [1, 2], "values": [0, HUGE]})
    ),
    "broadcast": main(then("BroadcastTo", numbers(HUGE, 1))),
    "product": main(
        fill(MILLIONS),
        lambda p, x: p.add("AddV2", x, p.add("ExpandDims", x, p.const(1))),
    ),
    "gather": main(
        fill(MILLIONS),
        lambda p, x: p.add(
            "GatherV2", p.add("ExpandDims", x, p.const(0)), x, p.const(0)
        ),
    ),
    "packed": main(fill(MILLIONS), many(lambda p, x: p.add("Pack", *[x] * 99))),
    "concatenated": main(
        fill(MILLIONS), lambda p, x: p.add("ConcatV2", *[x] * 99, p.const(0))
    ),
    "ragged": main(
        lambda p, _: p.add(
            "RaggedRange", *map(p.const, (0, HUGE, 1)), results=2
        )
    ),
    "reserved": main(
        lambda p, _: p.add("TensorListReserve", *map(p.const, (0, HUGE)))
    ),
    "joined": loop(lambda p, x: p.add("StringJoin", x, x), value="x"),
    "joined with itself": main(
        then("StringJoin"),
        lambda p, x: p.add("StringJoin", *[x] * 9),
        *[lambda p, x: p.add("StringJoin", *[x] * 99)] * 9,
    ),
    "split": main(
        fill(MILLIONS, "a "),
        then("ReduceJoin", 0),
        then("ExpandDims", 0),
        lambda p, x: p.add("StringSplitV2", x, p.const(" "), results=3),
    ),
    "rewritten": main(
        fill(1 << 16, "x"),
        then("ReduceJoin", 0),
        then("StaticRegexReplace", pattern=".", rewrite="\\0" * 9999),
    ),
    "squared": loop(then("Mul", 3), value=3),
    "endless": loop(lambda p, x: x),
    "counting": loop(then("Identity")),
    "sums": main(fill(MILLIONS), many(then("Sum", 0), times=9999)),
    "sums in a loop": loop(
        lambda p, x: (p.add("Sum", x, p.const(0)), x)[1], value=fill(MILLIONS)
    ),
    "size": main(size=HUGE),
    "sizes": main(
        others={
            str(i): Program("text").described(0, size=1 << 22)
            for i in range(99)
        }
    ),
    "tree": tree(),
    "unpacked": main(
        fill(MILLIONS),
        lambda p, x: p.add("Unpack", x, num=MILLIONS, axis=0, results=2),
    ),
    "same characters": main(
        lambda p, _: p.add(
            "UnicodeEncode",
            p.add("Fill", p.const(numbers(MILLIONS)), p.const(65)),
            p.const(numbers(*[0, MILLIONS] * 999)),
        ),
    ),
    "long row": main(
        lambda p, x: p.add(
            "RaggedTensorToTensor",
            *map(p.const, (-1, numbers(1), 0, numbers(-HUGE, 0))),
            row_partition_types=["ROW_SPLITS"],
        )
    ),
    "long list of rows": main(
        lambda p, x: p.add(
            "RaggedTensorToTensor",
            *map(p.const, (-1, numbers(1), 0, 1, numbers(1 << 31))),
            row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
        )
    ),
    "large pattern": regex("(?:[a-z][a-z0-9]?){900}y", "x", 1 << 21),
    "matches": regex("x.*y|x", "x", 1 << 18),
}


def run(folder):
    """Returns the message of the error that programs of a folder cause."""
    path = os.path.join(folder, FILE_NAME)
    try:
        programs = TextPrograms(path, folder)
        found = programs.run("read", {"text": strings([b"a text", b""])}, 6)
    except (ProgramError, DamagedFileError) as error:
        assert str(error).startswith(path)
        return one_line(error)
    raise NoError(*found.values())


class NoError(AssertionError):
    """A program has an answer."""


@pytest.fixture
def refused(tmp_path):
    def refuse(content):
        data = (
            content
            if isinstance(content, bytes)
            else json.dumps(content).encode()
        )
        (tmp_path / FILE_NAME).write_bytes(data)
        return run(tmp_path)

    return refuse


def cases():
    for name in GREEDY:
        mark = [pytest.mark.slow] if name in SLOW else []
        yield pytest.param(name, marks=mark)


SLOW = {"texts", "numbers", "rewritten", "endless", "counting", "sums", "tree"}
SLOW |= {"sums in a loop", "large pattern", "matches"}


@pytest.mark.parametrize("name", cases())
def test_a_greedy_program_is_refused(name, refused):
    told = refused(GREEDY[name])
    assert "needs too much memory or time" in told or "64 bits" in told


LONG = "x" * 10**5
# A single step on a million long texts; each would take many minutes.
STEPS = {
    "hash": then("StringToHashBucketFast", num_buckets=9),
    "characters": then("StringLength", unit="UTF8_CHAR"),
    "blanks": lambda p, x: p.add(
        "StringStrip", fill(1 << 20, " " * 10**5)(p, x)
    ),
    "match": then("StaticRegexFullMatch", pattern="x*y"),
    "equal": lambda p, x: p.add("Equal", x, fill(1 << 20, LONG)(p, x)),
    "unique": lambda p, x: p.add(
        "Unique", p.add("ConcatV2", p.const(ONE), x, p.const(0)), results=2
    ),
    "entry": lambda p, x: p.add(
        "LookupTableFindV2",
        p.add("Table", keys=ONE, values=numbers(1)),
        x,
        p.const(0),
    ),
}
ONE = {"dtype": "string", "shape": [1], "values": [LONG]}


@pytest.mark.parametrize("name", STEPS)
def test_a_single_step_has_a_clock(name, refused, monkeypatch):
    monkeypatch.setattr(number_operations, "_SECONDS", 0.2)
    content = main(fill(1 << 20, LONG), STEPS[name])
    begin = time.process_time()
    assert "needs too much memory or time" in refused(content)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("name", "values"),
    [("Mul", (10**9,)), ("AddV2", (LONG,)), ("Sum", (0,)), ("FloorMod", (1,))],
)
@pytest.mark.parametrize("count", [1, MILLIONS])
def test_texts_are_no_numbers(name, values, count, refused):
    told = refused(main(fill(count, LONG), then(name, *values)))
    assert "computes with texts" in told


CHILD = """
import pathlib, sys, time
from tests.runtime.test_hostile_programs import run
for folder in sys.argv[1:]:
    begin = time.process_time()
    run(folder)
    seconds = time.process_time() - begin
    peak = pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1]
    print(pathlib.Path(folder).name, seconds, peak.split()[0], sep=":")
"""


@pytest.mark.slow
def test_what_greedy_programs_take(tmp_path):
    for name, content in GREEDY.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE_NAME).write_text(json.dumps(content))
    command = [sys.executable, "-c", CHILD, *map(tmp_path.joinpath, GREEDY)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode and not done.stderr, done.stderr
    found = [x.split(":") for x in done.stdout.splitlines()]
    assert [name for name, *_ in found] == [*GREEDY]
    for name, seconds, peak in found:
        assert float(seconds) < 15 and int(peak) < 3 << 20, name


def step(name, *places, results=(1,), **attributes):
    described = Program("text").described(0, size=2)
    described["steps"] = [[name, [*places], attributes, [*results]]]
    return content_of({"read": described})


DAMAGED = {
    "empty": b"",
    "truncated": json.dumps(main()).encode()[:-9],
    "deep": b"[" * 10**6,
    "list": b"[]",
    "other format": {**main(), "format": 2},
    "itself": itself(),
    "unknown operation": step("WriteFile", 0),
    "unknown function": step("PartitionedCall", 0, f="missing"),
    "python": step("Identity", 0, __class__="x"),
    "dtype": step("Sum", 0, 0, dtype="object", out=[]),
    "object": step("Const", value={"dtype": "O", "shape": [], "values": []}),
    "large text": step(
        "Const", value={"dtype": "U9999999", "shape": [1], "values": [""]}
    ),
    "place after the last": step("Identity", 2),
    "result after the last": step("Identity", 0, results=[2]),
    "negative place": step("Identity", -1),
    "place of another type": step("Identity", True),
    "no file": step("Table", file="missing.txt", keys="words"),
    **{
        f"file {name}": content_of(main()["functions"], **{name: "0" * 64})
        for name in ("../secret", "/etc/passwd", "..", "", "device", "secret")
    },
    "pieces": {
        **step("Pieces", file="model"),
        "files": {"model": hashlib.sha256(b"no model").hexdigest()},
    },
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_the_file(name, tmp_path, refused, monkeypatch):
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "secret").symlink_to("/etc/passwd")
    (tmp_path / "model").write_bytes(b"no model")
    told = refused(DAMAGED[name])
    assert "damaged" in told or "release" in told
    assert "root:" not in told


def nodes(value, path=()):
    """Yields the paths of all nodes of an object of JSON but the first."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, (dict, list)):
            yield from nodes(part, (*path, key))


OTHERS = [None, -1, 10**30, 1.5, "x", [], ["x"], {}, {"dtype": "O"}]


def test_no_node_can_be_of_another_type(refused):
    """Either it does not matter, or the file is refused."""
    base = main(fill(2, "ab"), then("StringLength"), then("Sum", 0))
    text = json.dumps(base)
    for path in nodes(base):
        for other in OTHERS:
            content = json.loads(text)
            parent = functools.reduce(operator.getitem, path[:-1], content)
            if type(parent[path[-1]]) is type(other):
                continue
            parent[path[-1]] = other
            try:
                refused(content)
            except NoError as error:
                assert error.args[0] == 4, (path, other)
