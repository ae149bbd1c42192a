import datetime
import decimal
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.runtime.signatures import ModelError
from tfcopy.serving import record_files
from tfcopy.serving.record_files import Block, JsonBlock

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def answers_to(block):
    """An answer to every second record."""
    return [None if i % 2 else f'{i}, "é"\n' for i in range(len(block))]


# === JSON lines ===

# As they may be written, though Python would write them otherwise.
NUMBERS = "0 -0 1.0 0.1000 1E5 1e400 -1e-400 NaN -Infinity".split()
NUMBERS += ["1" * 30, "9" * 5000]
STRINGS = ['"\\ud800"', '"\\u00e9"', '"\\/"', '"é\u2028"', '"}"', '"answer"']
BLANKS = st.sampled_from(["", " ", "\t", "  "])
TEXTS = st.sampled_from(STRINGS) | st.text().map(json.dumps)


def joined(parts, start, end):
    return st.tuples(BLANKS, st.lists(parts, max_size=4), BLANKS).map(
        lambda x: start + x[0] + f"{x[0]},{x[2]}".join(x[1]) + x[2] + end
    )


def objects(values):
    keys = st.sampled_from(['"text"', '"a"', '"\\ud800"', '""', '"Answer"'])
    pairs = st.tuples(keys, BLANKS, st.just(":"), BLANKS, values)
    return joined(pairs.map("".join), "{", "}")


VALUES = st.recursive(
    st.sampled_from([*NUMBERS, "null", "true"]) | TEXTS,
    lambda x: joined(x, "[", "]") | objects(x),
    max_leaves=6,
)
NO_OBJECTS = VALUES.filter(lambda x: not x.strip().startswith("{"))


def as_written(text):
    """All of a value: keys that are there twice, numbers as they stand."""
    return json.loads(
        text,
        object_pairs_hook=lambda x: ["object", *x],
        parse_int=str,
        parse_float=str,
        parse_constant=str,
    )


@given(
    st.lists(
        st.tuples(
            BLANKS, objects(VALUES), BLANKS, st.sampled_from(["\n", "\r\n"])
        ),
        min_size=1,
    )
)
def test_an_object_is_as_it_was_with_an_answer_more(lines):
    lines = list(map("".join, lines))
    lines[-1] = lines[-1].rstrip("\r\n")
    block = JsonBlock("a.jsonl", 0, 0, [x.encode() for x in lines])
    answers = answers_to(block)
    found = list(block._lines(answers, "answer"))
    for line, answer, new in zip(lines, answers, found, strict=True):
        assert as_written(new) == [*as_written(line), ("answer", answer)]
        # Not even a blank differs.
        start, added, end = new.rpartition(b'"answer":')
        end = end[end.rindex(b"}") :]
        assert start.removesuffix(b", ") + end == line.encode()


@settings(max_examples=50)
@given(st.lists(NO_OBJECTS | st.text().map("[".__add__), min_size=1))
def test_what_is_no_object_keeps_its_place(lines):
    lines = [x.replace("\n", "").encode("utf-8", "replace") for x in lines]
    rows = [b'{"text": "x"}\n', *(x + b"\n" for x in lines), b"{}"]
    block = JsonBlock("a.jsonl", 0, 0, rows)
    first, *others, last = block._lines([None] * len(rows), "answer")
    assert first == b'{"text": "x", "answer": null}\n'
    assert {x.rstrip() for x in others} == {b'{"answer": null}'}
    assert all(x.endswith(b"\n") for x in others)
    assert last == b'{"answer": null}'
    assert [block.raw(i + 1) for i in range(len(lines))] == [
        x.rstrip(b"\r") for x in lines
    ]
    assert list(block.rows(["text"]))[1:-1] == [None] * len(lines)


# === Parquet ===

DAYS = st.datetimes(
    datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)
)
DECIMALS = st.decimals(-(10**20), 10**20, places=3, allow_nan=False)
COLUMNS = {
    pyarrow.int8(): st.integers(-128, 127),
    pyarrow.uint64(): st.integers(0, 2**64 - 1),
    pyarrow.float32(): st.floats(width=32, allow_nan=False),
    pyarrow.float64(): st.floats(allow_nan=False),
    pyarrow.bool_(): st.booleans(),
    pyarrow.null(): st.none(),
    pyarrow.string(): st.text(max_size=5),
    pyarrow.large_string(): st.text(max_size=5),
    pyarrow.binary(): st.binary(max_size=5),
    pyarrow.binary(3): st.binary(min_size=3, max_size=3),
    pyarrow.date32(): DAYS.map(datetime.datetime.date),
    pyarrow.timestamp("ns"): DAYS,
    pyarrow.timestamp("us", "Europe/Berlin"): DAYS,
    pyarrow.time64("us"): st.times(),
    pyarrow.duration("us"): st.timedeltas(
        datetime.timedelta(days=-99_999), datetime.timedelta(days=99_999)
    ),  # More are too long for the library's own Python values.
    pyarrow.decimal128(38, 3): DECIMALS,
    pyarrow.dictionary(pyarrow.int32(), pyarrow.string()): st.sampled_from(
        ["a", "", "é"]
    ),
    pyarrow.list_(pyarrow.int16()): st.lists(
        st.none() | st.integers(-9, 9), max_size=3
    ),
    pyarrow.struct({"x": pyarrow.int32(), "y": pyarrow.string()}): (
        st.fixed_dictionaries({"x": st.none() | st.integers(0, 9)})
    ),
    pyarrow.map_(pyarrow.string(), pyarrow.float32()): st.lists(
        st.tuples(st.text(max_size=2), st.none() | st.just(0.5)), max_size=3
    ),
}


@st.composite
def tables(draw):
    size = draw(st.integers(1, 7))
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=5))
    names = draw(
        st.lists(
            st.text("abé. ", max_size=3),
            min_size=len(kinds) + 1,
            max_size=len(kinds) + 1,
            unique=True,
        )
    )
    fields, columns = [], []
    for name, kind in zip(names, [pyarrow.string(), *kinds]):
        values = st.none() | COLUMNS[kind]
        rows = draw(st.lists(values, min_size=size, max_size=size))
        columns.append(pyarrow.array(rows, kind))
        fields.append(pyarrow.field(name, kind, True, {"note": f"of {name}"}))
    return pyarrow.table(columns, pyarrow.schema(fields, {"made": "here"}))


def rewritten(path, size, name):
    """A file's rows after an answer was added, without it."""
    found = []
    (part,) = record_files.parts(path, size)
    for block in record_files.read(part, size):
        block.check_name(name)
        answers = answers_to(block)
        block.write(f"{path}.new", answers, name)
        table = parquet.read_table(f"{path}.new")
        assert table.column_names[-1] == name
        assert table.column(name).to_pylist() == answers
        found.append(table.drop_columns([name]))
    assert [len(x) for x in found[:-1]] == [size] * (len(found) - 1)
    return found


@settings(max_examples=50)
@given(tables(), st.integers(1, 4), st.integers(1, 4))
def test_a_row_is_as_it_was_with_an_answer_more(
    tmp_path_factory, table, size, group
):
    path = str(tmp_path_factory.mktemp("a") / "a.parquet")
    parquet.write_table(table, path, row_group_size=group)
    table = parquet.read_table(path)
    found = rewritten(path, size, "answer")
    for part in found:
        assert part.schema.equals(table.schema, check_metadata=True)
    assert pyarrow.concat_tables(found).equals(table)


def test_nan_and_half_a_nanosecond_stay(tmp_path):
    path = str(tmp_path / "a.parquet")
    column = pyarrow.array([float("nan"), None, -0.0, float("inf")])
    times = pyarrow.array([1, -(2**63) + 1, None, 2**63 - 1])
    times = times.cast(pyarrow.timestamp("ns", "UTC"))
    parquet.write_table(pyarrow.table({"x": column, "t": times}), path)
    found = pyarrow.concat_tables(rewritten(path, 3, "answer"))
    assert repr(found.column("x").to_pylist()) == "[nan, None, -0.0, inf]"
    assert found.column("t").combine_chunks().equals(times)


def test_a_row_that_is_told_can_be_read_again(tmp_path):
    path = str(tmp_path / "a.parquet")
    rows = [{"x": decimal.Decimal("1.10"), "y": b"\xff"}, {"x": None, "y": b""}]
    table = pyarrow.Table.from_pylist(rows)
    parquet.write_table(table, path)
    (part,) = record_files.parts(path, 9)
    (block,) = record_files.read(part, 9)
    with pyarrow.ipc.open_stream(block.raw(1)) as stream:
        assert stream.read_all().equals(table.slice(1))


# === All of them ===


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_field_of_the_name_is_not_replaced(tmp_path, name):
    path = str(tmp_path / name)
    if name == "a.parquet":
        parquet.write_table(pyarrow.table({"text": ["a"], "x": ["b"]}), path)
    else:
        (tmp_path / name).write_text('{"text": "a", "x": null}\n')
    (part,) = record_files.parts(path, 9)
    (block,) = record_files.read(part, 9)
    block.check_name("answer")
    with pytest.raises(
        ModelError, match=f"{path}: .*'x' already.*answer_field"
    ):
        block.check_name("x")


def test_texts_that_may_be_no_utf_8_are_bytes(tmp_path):
    path = str(tmp_path / "a.parquet")
    data = pyarrow.array([b"\xff", b"a", None], pyarrow.binary())
    text = pyarrow.StringArray.from_buffers(3, *data.buffers()[1:], None)
    kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    words = pyarrow.array(["x", "y", None]).cast(kind)
    parquet.write_table(
        pyarrow.table({"text": text, "b": data, "w": words}), path
    )
    (part,) = record_files.parts(path, 9)
    (block,) = record_files.read(part, 9)
    rows = list(block.rows(["text", "b", "w", "none"]))
    assert rows[0] == {"text": b"\xff", "b": b"\xff", "w": b"x"}
    assert rows[2]["b"] is rows[2]["w"] is None
    line = Block("a.txt", 0, 0, [b"\xef\xbb\xbf\xff\r\n"])
    assert list(line.rows(["text"])) == [{"text": b"\xff"}]
