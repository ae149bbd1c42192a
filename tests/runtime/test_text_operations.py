"""Operations of text programs beside those of TensorFlow."""

import inspect
import random

import numpy as np
import pytest
import tensorflow as tf

from tfcopy.runtime.number_operations import (
    OPERATIONS,
    attributes_of,
    budget,
    strings,
)
from tfcopy.runtime.text_program import bound
from tfcopy.serving.servables.text_export import _value

BYTES = [0, 9, 32, 0x41, 0x42, 0x61, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC3, 0xCE]
BYTES += [0xA3, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xFF]
WORDS = "a bb A, ΑΣ İ é 😀 \ue000 \ufeff \x00 \u3000 ﬁ \u212a".split(" ")
REGEXES = {
    **{"": "x", "a*": r"<\0>", "(a)|(b)": r"[\1\2]", r"\pL+": r"\\\0"},
    **{r"^": "^", "$": "$", r"\b": "|", "(?s).": r"\0.", "b*$": "-"},
    **{r"(?i)[k-å]": "", "é?": r"\0\0", r"\s*(\S?)": r"\1"},
}
SPACES = ["", " ", ",", "é", "  "]


class Draw(random.Random):
    """Draws inputs."""

    def shape(self, least=0, most=3):
        count = self.randint(least, most)
        return [self.choice([0, 1, 1, 2, 2, 3]) for _ in range(count)]

    def array(self, shape=None, low=-4, high=4, kind=None):
        """Returns an array of integers, truth values, floats or texts."""
        shape = self.shape() if shape is None else shape
        kind = kind or self.choice(["int32", "int64", "float32", "string"])
        if kind == "string":
            return self.texts(shape)
        size = int(np.prod(shape))
        values = [self.randint(low, high) for _ in range(size)]
        return np.array(values, kind).reshape(shape)

    def ints(self, shape=None, low=-4, high=4):
        return self.array(shape, low, high, self.choice(["int32", "int64"]))

    def text(self):
        if self.random() < 0.5:
            return bytes(self.choices(BYTES, k=self.randint(0, 6)))
        return "".join(self.choices([*WORDS, *SPACES], k=4)).encode()

    def texts(self, shape=None):
        shape = self.shape() if shape is None else shape
        return strings(
            (self.text() for _ in range(np.prod(shape, dtype=int))), shape
        )

    def broadcast(self, count, *arguments, **more):
        """Returns arrays whose shapes go together."""
        shape = self.shape()
        for _ in range(count):
            part = shape[self.randint(0, len(shape)) :]
            part = [self.choice([1, n]) for n in part]
            yield self.array(part, *arguments, **more)

    def splits(self, size):
        count = self.randint(0, 3)
        places = [self.randint(0, size) for _ in range(count)]
        return np.array([0, *sorted(places), size], "int64")


def number(value, kind="int32"):
    return np.array(value, kind)


def numbers(values, kind="int32"):
    return np.array(values, kind).reshape(-1)


def both(r):
    kind = r.choice(["int32", "int64", "float32"])
    return [*r.broadcast(2, kind=kind)], {}


def selected(r):
    kind = r.choice(["int32", "string"])
    condition, x, y = r.broadcast(3, 0, 1, kind=kind)
    if kind == "string":
        condition = condition == b""
    return [np.asarray(condition, bool), x, y], {}


def divided(r):
    (x, y), _ = both(r)
    return [x, np.where(y == 0, 3, y).astype(y.dtype)], {}


def equal(r):
    return [*r.broadcast(2, kind=r.choice(["int64", "string", "bool"]))], {}


def logical(r):
    return [*r.broadcast(2, 0, 1, kind="bool")], {}


def reduced(kind=None):
    def draw(r):
        x = r.array(kind=kind or r.choice(["int32", "int64", "float32"]))
        axes = r.sample(range(x.ndim), r.randint(0, x.ndim))
        axes = [a - r.choice([0, x.ndim]) for a in axes]
        axes = number(axes[0]) if len(axes) == 1 else numbers(axes)
        return [x, axes], {"keep_dims": r.random() < 0.5}

    return draw


def arg_max(r):
    x = r.array([*r.shape(0, 2), 3], kind="int32")
    return [x, number(-1)], {}


def cumsum(r):
    x = r.ints(r.shape(1))
    flags = {k: r.random() < 0.5 for k in ("exclusive", "reverse")}
    return [x, number(r.randrange(-x.ndim, x.ndim))], flags


def bounds(r):
    rows = r.randint(0, 3)
    x = np.sort(r.array([rows, r.randint(0, 5)], kind="int32"), axis=1)
    return [x, r.array([rows, 4], kind="int32")], {"out_type": tf.int64}


def segments(values):
    def draw(r):
        count = r.randint(0, 4)
        size = r.randint(0, 5)
        places = r.ints([size], -1, count - 1) if count else r.ints([0])
        x = r.array([len(places)], kind=values)
        return [x, places, number(count)], {}

    return draw


def joined_segments(r):
    inputs, _ = segments("string")(r)
    return inputs, {"separator": r.choice(SPACES)}


def reshaped(r):
    x = r.array()
    shape = [n for n in x.shape] + [1] * r.randint(0, 2)
    r.shuffle(shape)
    if shape and r.random() < 0.5:
        shape[r.randrange(len(shape))] = -1
    return [x, numbers(shape)], {}


def squeezed(r):
    x = r.array()
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    axes = r.sample(ones, r.randint(0, len(ones)))
    return [x], {"squeeze_dims": [i - r.choice([0, x.ndim]) for i in axes]}


def along(r, least=1):
    """Draws arrays that differ along one axis alone."""
    x = r.array(r.shape(least))
    axis = r.randrange(max(x.ndim, 1))
    return x, axis, axis - r.choice([0, x.ndim])


def concatenated(r):
    x, axis, negative = along(r)
    y = np.repeat(x, r.randint(0, 2), axis)
    return [[x, y, x], number(negative)], {}


def packed(r):
    x = r.array()
    axis = r.randrange(-x.ndim - 1, x.ndim + 1)
    return [[x, x[..., ::-1] if x.ndim else x]], {"axis": axis}


def unpacked(r):
    x, axis, negative = along(r)
    return [x], {"num": x.shape[axis], "axis": negative}


def padded(r, value=False):
    x = r.array(kind=r.choice(["int32", "string"]) if value else "int32")
    widths = r.ints([x.ndim, 2], 0, 2)
    more = [b"-" if x.dtype == object else number(7)] if value else []
    return [x, widths, *more], {}


def sliced(r):
    x = r.array()
    count = r.randint(0, x.ndim + 1)
    begin, end = (r.array([count], -5, 5, "int32") for _ in range(2))
    strides = numbers([r.choice([-2, -1, 1, 1, 2, 9]) for _ in range(count)])
    masks = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = {f"{x}_mask": r.randrange(1 << count) for x in masks}
    masks["ellipsis_mask"] &= 1 << r.randint(0, 4)
    masks["shrink_axis_mask"] &= r.choice([0, -1])
    return [x, begin, end, strides], masks


def gathered(r):
    shared = r.shape(0, 1)
    x = r.array([*shared, 3, *r.shape(0, 1)])
    places = r.ints([*shared, *r.shape(0, 2)], 0, 2)
    batch = len(shared) * r.choice([0, 1])
    axis = number(len(shared))
    return [x, places, axis], {"batch_dims": batch}


def scattered(r):
    x = r.array([3, *r.shape(0, 1)])
    places = numbers(r.sample(range(3), r.randint(0, 3)))[:, None]
    return [x, places, x[places[:, 0]][::-1]], {}


def ragged_range(r):
    starts, limits = (r.array([3], kind="int64") for _ in range(2))
    return [
        r.choice([starts, number(0, "int64")]),
        limits,
        number(1, "int64"),
    ], {}


def ragged_gather(r):
    x = r.array(r.shape(1))
    splits = r.splits(len(x))
    places = r.ints([r.randint(0, 3)], 0, len(splits) - 2)
    return [[splits], x, places], {"OUTPUT_RAGGED_RANK": 1}


def ragged_tensor(r):
    x = r.array(r.shape(1, 2))
    splits = r.splits(len(x))
    shape = numbers([-1] * (1 + x.ndim))
    if r.random() < 0.5:
        shape[:2] = [r.choice([-1, n]) for n in (1, 2)]
    default = r.array([], kind="string" if x.dtype == object else str(x.dtype))
    kinds, parts = ["ROW_SPLITS"], [splits]
    if r.random() < 0.5:
        rows = np.repeat(np.arange(len(splits) - 1), np.diff(splits))
        parts = [number(len(splits) - 1, "int64"), rows]
        kinds = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
    shape = r.choice([shape, number(-1)])
    return [shape, x, default, parts], {"row_partition_types": kinds}


def substring(r):
    x = r.texts()
    like = r.choice([x.shape, ()])
    return [
        x,
        *(r.array(like, *low, kind="int32") for low in ((-2, 2), (0, 3))),
    ], {"unit": r.choice(["BYTE", "UTF8_CHAR"])}


def one(kind=None, **attributes):
    def draw(r):
        chosen = {k: r.choice(x) for k, x in attributes.items()}
        return [r.array(kind=kind)], chosen

    return draw


def join(r):
    return [[*r.broadcast(3, kind="string")]], {"separator": r.choice(SPACES)}


def reduce_join(r):
    x = r.texts(r.shape(1))
    axis = r.randrange(-x.ndim, x.ndim)
    more = {"separator": r.choice(SPACES), "keep_dims": r.random() < 0.5}
    return [x, r.choice([number, numbers])(axis)], more


def codes(r):
    x = numbers(
        r.choices([0, 65, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0x10FFFF], k=4)
    )
    return [x, r.splits(4)], {"output_encoding": "UTF-8"}


def regex(names, rewrites=False):
    def draw(r):
        pattern = r.choice([*REGEXES])
        chosen = dict(zip(names, (pattern, REGEXES[pattern])))
        more = {"replace_global": r.random() < 0.7} if rewrites else {}
        return [r.texts()], chosen | more

    return draw


def cast(r):
    kinds = ["int32", "int64", "uint8", "int8", "bool", "float32"]
    return [r.array(low=0, kind=r.choice(kinds))], {
        "DstT": tf.as_dtype(r.choice(kinds))
    }


UTF8 = {"input_encoding": ["UTF-8"]}
CASES = {
    **dict.fromkeys("AddV2 Sub Mul Maximum Minimum".split(), both),
    **dict.fromkeys("Greater GreaterEqual Less LessEqual".split(), both),
    **dict.fromkeys(("FloorDiv", "FloorMod"), divided),
    **dict.fromkeys(("Equal", "NotEqual"), equal),
    **dict.fromkeys(("LogicalAnd", "LogicalOr"), logical),
    **dict.fromkeys(("Max", "Min", "Sum", "Prod"), reduced()),
    **dict.fromkeys(("Any", "All"), reduced("bool")),
    **dict.fromkeys(("ArgMax", "ArgMin"), arg_max),
    **dict.fromkeys(("Identity", "StopGradient", "ZerosLike"), one()),
    **dict.fromkeys(("Size", "Shape", "Rank"), one()),
    **dict.fromkeys(("LowerBound", "UpperBound"), bounds),
    **dict.fromkeys(
        ("UnsortedSegmentMin", "UnsortedSegmentSum"), segments("int32")
    ),
    "EnsureShape": lambda r: ([x := r.array()], {"shape": x.shape}),
    "LogicalNot": one("bool"),
    "Neg": one("int32"),
    "Cast": cast,
    "SelectV2": selected,
    "Cumsum": cumsum,
    "DenseBincount": lambda r: (
        [r.ints(r.shape(1, 1), 0, 4), number(r.randint(0, 6)), numbers([])],
        {},
    ),
    "TopKV2": lambda r: (
        [r.array([*r.shape(0, 1), 3], kind="int32"), number(r.randint(0, 3))],
        {},
    ),
    "UnsortedSegmentJoin": joined_segments,
    "Unique": lambda r: ([r.array([r.randint(0, 9)])], {}),
    "Fill": lambda r: ([numbers(r.shape()), r.array([])], {}),
    "Range": lambda r: (
        [*r.ints([2]), r.choice([*r.ints([1], 1, 3), *r.ints([1], -3, -1)])],
        {},
    ),
    "Reshape": reshaped,
    "BroadcastTo": lambda r: (
        [x := r.array(), numbers([*r.shape(0, 1), *x.shape])],
        {},
    ),
    "Transpose": lambda r: (
        [x := r.array(), numbers(r.sample(range(x.ndim), x.ndim))],
        {},
    ),
    "ExpandDims": lambda r: (
        [x := r.array(), number(r.randrange(-x.ndim - 1, x.ndim + 1))],
        {},
    ),
    "Squeeze": squeezed,
    "Pack": packed,
    "Unpack": unpacked,
    "ConcatV2": concatenated,
    "Tile": lambda r: ([x := r.array(), r.ints([x.ndim], 0, 2)], {}),
    "Pad": padded,
    "PadV2": lambda r: padded(r, True),
    "StridedSlice": sliced,
    "GatherV2": gathered,
    "TensorScatterUpdate": scattered,
    "Where": one("bool"),
    "RaggedRange": ragged_range,
    "RaggedGather": ragged_gather,
    "RaggedTensorToTensor": ragged_tensor,
    "StringLength": one("string", unit=["BYTE", "UTF8_CHAR"]),
    "Substr": substring,
    "StringStrip": one("string"),
    "StringLower": one("string", encoding=["", "utf-8"]),
    "UnicodeTranscode": one("string", **UTF8, output_encoding=["UTF-8"]),
    "UnicodeDecode": lambda r: (
        [r.texts([r.randint(0, 3)])],
        {"input_encoding": "UTF-8"},
    ),
    "UnicodeEncode": codes,
    "StringSplit": lambda r: (
        [r.texts([r.randint(0, 3)]), b""],
        {"skip_empty": r.random() < 0.5},
    ),
    "StringSplitV2": lambda r: (
        [r.texts([r.randint(0, 3)]), r.choice(SPACES).encode()],
        {},
    ),
    "DecodePaddedRaw": lambda r: (
        [r.texts(), number(r.randint(1, 6))],
        {"out_type": tf.uint8},
    ),
    "StringJoin": join,
    "ReduceJoin": reduce_join,
    "AsString": lambda r: ([r.ints()], {}),
    "StringToNumber": lambda r: (
        [tf.strings.as_string(r.ints()).numpy()],
        {"out_type": tf.int32},
    ),
    "RegexFullMatch": lambda r: (
        [r.texts(), r.choice([*REGEXES]).encode()],
        {},
    ),
    "RegexReplace": lambda r: (
        [r.texts(), r.choice([*REGEXES]).encode(), rb"\0-\0"],
        {},
    ),
    "StaticRegexFullMatch": regex(["pattern"]),
    "StaticRegexReplace": regex(["pattern", "rewrite"], rewrites=True),
}


# Operations with tests of their own.
OTHERS = {"LookupTableFindV2", "StringToHashBucketFast"}
OTHERS |= {"SentencepieceTokenizeOp", "SentencepieceDetokenizeOp"}
DRAWS = 60


def flat(inputs):
    """Returns all inputs, of which some are lists."""
    return [y for x in inputs for y in (x if isinstance(x, list) else [x])]


def value_of(x):
    """Returns an array, a text or a tensor as a value of programs."""
    if isinstance(x, (str, bytes)):
        return tf.compat.as_bytes(x)
    return _value(np.asarray(x, getattr(x, "dtype", None)))


def tensor_of(x):
    if isinstance(x, np.ndarray) and x.dtype == object:
        return tf.constant(x.tolist(), tf.string, x.shape)
    return tf.constant(x)


def by_tensorflow(name, inputs, attributes):
    function = getattr(tf.raw_ops, name)
    names = [*inspect.signature(function).parameters][: len(inputs)]
    tensors = [
        [*map(tensor_of, x)] if isinstance(x, list) else tensor_of(x)
        for x in inputs
    ]
    if "squeeze_dims" in attributes:
        attributes = {"axis": attributes["squeeze_dims"]}
    found = function(**dict(zip(names, tensors, strict=True)), **attributes)
    return tf.nest.flatten(found)


def by_program(name, inputs, attributes):
    values = [*map(value_of, flat(inputs))]
    given = {k: x for k, x in attributes.items() if k in attributes_of(name)}
    for k, x in given.items():
        given[k] = x.name if isinstance(x, tf.DType) else x
    if "T" in attributes_of(name):
        given["T"] = str(inputs[0].dtype)
    found = bound(name, given, values)(*values)
    return [*found] if isinstance(found, tuple) else [found]


def assert_same(found, expected, about):
    assert len(found) == len(expected), about
    for x, y in zip(found, expected):
        y = y.numpy()
        is_text = isinstance(y, bytes) or y.dtype == object
        assert np.shape(x) == np.shape(y), about
        x, y = (np.asarray(v, object if is_text else None) for v in (x, y))
        assert x.tolist() == y.tolist(), about


def test_all_operations_are_tested():
    lists = {x for x in OPERATIONS if x.startswith("TensorList")}
    assert OPERATIONS.keys() == CASES.keys() | OTHERS | lists


@pytest.mark.parametrize("name", CASES)
def test_an_operation_computes_what_tensorflow_does(name):
    draw, count = Draw(name), 0
    for _ in range(DRAWS):
        inputs, attributes = CASES[name](draw)
        try:
            expected = by_tensorflow(name, inputs, attributes)
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
            continue  # No program has what TensorFlow refuses.
        about = name, inputs, attributes
        assert_same(by_program(name, inputs, attributes), expected, about)
        count += 1
    assert count > DRAWS / 4


def test_equal_texts_have_equal_hashes():
    texts = Draw(0).texts([300])
    found = OPERATIONS["StringToHashBucketFast"](texts, num_buckets=1 << 60)
    hashed = dict(zip(texts, found.tolist()))
    assert len({*hashed.values()}) == len({*texts}) < 300
    assert [hashed[x] for x in texts] == found.tolist()


def test_a_table_finds_what_it_holds():
    find = OPERATIONS["LookupTableFindV2"]
    keys = strings([b"a", b"\0", b"c"], [3, 1])
    assert find({b"a": 1, b"\0": 2}, keys, 0).tolist() == [[1], [2], [0]]
    assert find({1: b"a"}, np.array([1, 2]), b"").tolist() == [b"a", b""]
    assert find({1: b"a"}, 2, b"-") == b"-"


def test_lists_are_those_of_tensorflow():
    for size in (0, 3):
        x = np.arange(2 * size, dtype="int32").reshape(size, 2)
        found = OPERATIONS["TensorListReserve"](None, size)
        for i, row in enumerate(OPERATIONS["TensorListFromTensor"](x, None)):
            found = OPERATIONS["TensorListSetItem"](found, i, row)
            item = OPERATIONS["TensorListGetItem"](found, i, None)
            assert item.tolist() == [2 * i, 2 * i + 1]
        stack = OPERATIONS["TensorListStack"]
        found = stack(found, np.array([2]), element_dtype="int32")
        assert found.shape == x.shape and found.tolist() == x.tolist()


CLASSES = "L N M Z {Cc} {Cf} {Ll} {Lu} {Lt} {Nd} {Pi} {Pf} {Pd} {Po} {Ps} {Pe}"
# Letters of Unicode 15.1, which google-re2 knows and TensorFlow's RE2 does not.
NEWER = range(0x2EBF0, 0x2EE5E)


@pytest.mark.long
def test_every_character_is_of_the_same_class():
    """And the same in lower case, beside the sigma that ends a word, too.

    A blank says nothing of the case of what is beside it, so a text may hold
    many characters. NUL, where a string of C ends, is a text of its own.
    """
    codes = [x for x in range(0x110000) if not 0xD800 <= x < 0xE000]
    budget.start(100 * len(codes))

    def texts_of(codes, form="{}", between=""):
        nul, *words = (form.format(chr(x)) for x in codes)
        starts = range(0, len(words), 999)
        parts = [between.join(words[i : i + 999]) for i in starts]
        return strings(text.encode() for text in [nul, *parts])

    texts = texts_of([x for x in codes if x not in NEWER])
    for pattern in [rf"\p{x}" for x in CLASSES.split()] + [
        r"\s",
        r"\w",
        "(?i)k",
    ]:
        pattern = f"{pattern}+"
        found = OPERATIONS["RegexReplace"](texts, pattern.encode(), b"")
        expected = tf.strings.regex_replace(tensor_of(texts), pattern, "")
        assert found.tolist() == expected.numpy().tolist(), pattern
    for form in ("{}", "aΣ{}", "{}Σ"):
        texts = texts_of(codes, form, " ")
        found = OPERATIONS["StringLower"](texts, encoding=b"utf-8")
        expected = tf.strings.lower(tensor_of(texts), "utf-8").numpy()
        assert [y for x, y in zip(expected, found) if x != y] == []
