"""Operations of text programs, computed by NumPy.

Each function computes what the TensorFlow operation that it is registered for
computes, to the byte. Its positional arguments are the operation's inputs, its
keywords those of the operation's attributes that matter.

Values are NumPy arrays; strings are arrays of objects, `bytes`. Without a
dimension, integers are `int`, truth values `bool`, strings `bytes`. Whether an
integer has 32 or 64 bits is ignored.

Reference: `tensorflow/core/api_def` describes all operations.
"""

import functools
import inspect
import math
import operator
import re
import threading
import time
from collections.abc import Callable

import numpy as np

# Elements of arrays and bytes of texts that a run may make: so many, and more
# for each element and byte that it was given. A byte of a long word costs 71,
# the most that any export of the tests needs.
LARGEST = 1 << 26
_TIMES = 128
# A single step may need one in so many of these.
_SHARE = 8
# Seconds of a thread that a run may take, and more for each byte.
_SECONDS, _SECONDS_A_BYTE = 8, 4e-4
# Bytes of a text times instructions of a regular expression.
_WORK, _MUCH_WORK = 1 << 32, 1 << 20
# Without larger values, the number of steps limits the time as well.
_LARGE = 1 << 14
OPERATIONS: dict[str, Callable] = {}
DTYPES = {"int8": np.int8, "uint8": np.uint8, "bool": bool}
DTYPES |= {"int32": np.int32, "int64": np.int64, "float32": np.float32}


class ProgramError(ValueError):
    """A program cannot be read or run."""


def _operation(*names):
    def register(function):
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return register


def attributes_of(name: str) -> list[str]:
    """Returns the attributes of an operation that its function reads."""
    parameters = inspect.signature(OPERATIONS[name]).parameters.values()
    return [x.name for x in parameters if x.kind is x.KEYWORD_ONLY]


class Budget(threading.local):
    """What is left to the program that a thread runs.

    Attributes:
        left: Elements of arrays and bytes of texts.
        limit: Elements of arrays after which a function must `look`.
        scale: Positive number, larger if the program was given much.
    """

    left = LARGEST
    limit = _LARGE
    _seconds = _SECONDS
    scale = 1.0
    _until = None

    def start(self, size: int) -> None:
        """Begins a run that is given so many elements and bytes."""
        self.scale = 1 + _TIMES * size / LARGEST
        self.left = LARGEST + _TIMES * size
        self.limit = _LARGE if size < _LARGE else -1
        self._seconds = _SECONDS + _SECONDS_A_BYTE * size
        self._until = None

    def spend(self, size: int) -> None:
        """Takes elements or bytes from it.

        Raises:
            ProgramError: If more are needed than any export needs.
        """
        self.left -= size
        if size > _LARGE:
            self.limit = -1
        if self.left < 0:
            self.refuse()

    def look(self) -> None:
        """Looks at the clock, and from now on after each step.

        Raises:
            ProgramError: If more time was needed than any export needs.
        """
        self.limit = -1
        now = time.thread_time()
        if self._until is None:
            self._until = now + self._seconds
        if now > self._until:
            self.refuse()

    def refuse(self) -> None:
        """Raises an error."""
        raise ProgramError("it needs too much memory or time")


budget = Budget()


def check_size(size: int) -> None:
    """Refuses arrays, or texts, that are too large before they are made."""
    if size * _SHARE > budget.left:
        budget.refuse()


def strings(values, shape=None) -> np.ndarray:
    """Returns an array of `bytes`."""
    values = list(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(shape)


def _array(x):
    """Returns a value as an array; NumPy would cut NUL off the end of bytes."""
    if type(x) is not bytes:
        return np.asarray(x)
    array = np.empty((), object)
    array[()] = x
    return array


def _value(x):
    """Returns a result of NumPy as a value."""
    if type(x) is np.ndarray and x.ndim:
        return x
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind != "f":
        return x.item()
    return x[()] if type(x) is np.ndarray else x


def _shape(x):
    return x.shape if type(x) is np.ndarray else ()


def _integers(x):
    return x.tolist() if isinstance(x, np.ndarray) else [operator.index(x)]


def _axes(x):
    return tuple(_integers(x))


# Numbers and truth values.


def _binary(name, function, on_scalars=None):
    on_scalars = on_scalars or function

    def compute(x, y):
        if type(x) is not np.ndarray and type(y) is not np.ndarray:
            found = on_scalars(x, y)
            if type(found) is int and not -_HIGHEST <= found <= _HIGHEST:
                raise ProgramError(f"{name} has a result of more than 64 bits")
            return found
        if type(x) is bytes or type(y) is bytes:
            x, y = _array(x), _array(y)
        _check_broadcast(x, y)
        return _value(function(x, y))

    OPERATIONS[name] = compute


_HIGHEST = (1 << 63) - 1


def _check_broadcast(*values):
    """Refuses arrays that are too large together."""
    size = 1
    for x in values:
        if type(x) is np.ndarray:
            size *= x.size
    # The product is more than what they broadcast to.
    if size > 1 << 20:
        shape = np.broadcast_shapes(*map(_shape, values))
        check_size(math.prod(shape))


for _name, _function in {
    **{"AddV2": operator.add, "Sub": operator.sub, "Mul": operator.mul},
    **{"FloorDiv": operator.floordiv, "FloorMod": operator.mod},
    **{"Greater": operator.gt, "GreaterEqual": operator.ge},
    **{"Less": operator.lt, "LessEqual": operator.le},
    **{"Equal": operator.eq, "NotEqual": operator.ne},
    **{"LogicalAnd": operator.and_, "LogicalOr": operator.or_},
}.items():
    _binary(_name, _function)
_binary("Maximum", np.maximum, max)
_binary("Minimum", np.minimum, min)


@_operation("LogicalNot")
def _logical_not(x):
    return not x if isinstance(x, bool) else ~x


@_operation("Neg")
def _neg(x):
    return -x


@_operation("Cast")
def _cast(x, *, DstT):
    dtype = DTYPES[DstT]
    if dtype in (np.int32, np.int64) and _array(x).dtype.kind == "i":
        return x
    return _value(_array(x).astype(dtype))


@_operation("SelectV2")
def _select(condition, x, y):
    if type(condition) is bool and not any(map(_shape, (x, y))):
        return x if condition else y
    _check_broadcast(condition, x, y)
    if type(x) is bytes:
        x = _array(x)
    if type(y) is bytes:
        y = _array(y)
    return np.where(condition, x, y)


def _reduction(name, function):
    def reduce(x, axes, *, keep_dims=False):
        return _reduced(function, x, axes, keep_dims)

    OPERATIONS[name] = reduce


def _reduced(function, x, axes, keep_dims, **more):
    x, axes = np.asarray(x), _axes(axes)
    if not axes:
        return _value(x)
    return _value(function(x, axis=axes, keepdims=keep_dims, **more))


for _name, _function in {
    **{"Sum": np.add, "Prod": np.multiply},
    **{"Any": np.logical_or, "All": np.logical_and},
}.items():
    _reduction(_name, _function.reduce)


@_operation("Max")
def _max(x, axes, *, keep_dims=False, T="int32"):
    initial = _lowest(T)
    return _reduced(np.maximum.reduce, x, axes, keep_dims, initial=initial)


@_operation("Min")
def _min(x, axes, *, keep_dims=False, T="int32"):
    initial = _highest(T)
    return _reduced(np.minimum.reduce, x, axes, keep_dims, initial=initial)


@functools.cache
def _lowest(kind):
    return -np.inf if kind == "float32" else np.iinfo(kind).min


@functools.cache
def _highest(kind):
    return np.inf if kind == "float32" else np.iinfo(kind).max


@_operation("ArgMax")
def _arg_max(x, axis):
    return _value(np.argmax(x, axis))


@_operation("ArgMin")
def _arg_min(x, axis):
    return _value(np.argmin(x, axis))


@_operation("Cumsum")
def _cumsum(x, axis, *, exclusive=False, reverse=False):
    if reverse:
        x = np.flip(x, axis)
    total = np.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        total = total - x
    return np.flip(total, axis) if reverse else total


@_operation("DenseBincount")
def _bincount(x, size, weights):
    check_size(size)
    return np.bincount(x.ravel(), minlength=size)[:size]


@_operation("TopKV2")
def _top_k(x, k):
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places


@_operation("LowerBound")
def _lower_bound(rows, values):
    return _bounds(rows, values, "left")


@_operation("UpperBound")
def _upper_bound(rows, values):
    return _bounds(rows, values, "right")


def _bounds(rows, values, side):
    found = [x.searchsorted(y, side) for x, y in zip(rows, values)]
    if len(found) == 1:
        return found[0][None]
    return np.stack(found) if found else np.zeros(values.shape, int)


@_operation("UnsortedSegmentMin")
def _segment_min(x, segments, count, *, T="int32"):
    return _of_segments(np.minimum, x, segments, count, _highest(T))


@_operation("UnsortedSegmentSum")
def _segment_sum(x, segments, count):
    return _of_segments(np.add, x, segments, count, 0)


def _of_segments(function, x, segments, count, initial):
    check_size(count)
    found = np.full(count, initial, x.dtype)
    is_kept = segments >= 0
    function.at(found, segments[is_kept], x[is_kept])
    return found


@_operation("Unique")
def _unique(x):
    numbers = {}
    places = [numbers.setdefault(v, len(numbers)) for v in x.tolist()]
    kept = strings(numbers) if x.dtype == object else np.array([*numbers])
    return kept.astype(x.dtype), np.array(places, int)


# Shapes and places.


@_operation("Identity", "StopGradient", "EnsureShape")
def _identity(x):
    return x


@_operation("Size")
def _size(x):
    return _array(x).size


@_operation("Shape")
def _shape_of(x):
    return np.array(_shape(x), int)


@_operation("Rank")
def _rank(x):
    return len(_shape(x))


@_operation("Fill")
def _fill(shape, value):
    shape = _axes(shape)
    check_size(math.prod(shape))
    return _filled(shape, value)


def _filled(shape, value):
    if type(value) is not bytes:
        return _value(np.full(shape, value))
    array = np.empty(shape, object)
    array[...] = value
    return _value(array)


@_operation("ZerosLike")
def _zeros_like(x):
    x = _array(x)
    return _filled(x.shape, b"" if x.dtype == object else x.dtype.type(0))


@_operation("Range")
def _range(start, limit, delta):
    check_size(abs((limit - start) / delta))
    return np.arange(start, limit, delta)


@_operation("Reshape")
def _reshape(x, shape):
    x, shape = _array(x), _axes(shape)
    if -1 in shape and not x.size and 0 in shape:
        # TensorFlow leaves out dimensions of 0 to find the one that is missing.
        sizes = (np.prod([n for n in y if n > 0]) for y in (x.shape, shape))
        missing = int(next(sizes) // next(sizes))
        shape = [missing if n == -1 else n for n in shape]
    return _value(x.reshape(shape))


@_operation("BroadcastTo")
def _broadcast_to(x, shape):
    shape = _axes(shape)
    check_size(math.prod(shape))
    return _value(np.broadcast_to(_array(x), shape))


@_operation("Transpose")
def _transpose(x, order):
    return np.transpose(x, _axes(order))


@_operation("ExpandDims")
def _expand_dims(x, axis):
    return np.expand_dims(_array(x), axis)


@_operation("Squeeze")
def _squeeze(x, *, squeeze_dims):
    return _value(np.squeeze(_array(x), tuple(squeeze_dims) or None))


@_operation("Pack")
def _pack(*values, axis=0):
    check_size(sum(map(np.size, values)))
    if not any(map(_shape, values)):
        is_text = type(values[0]) is bytes
        return strings(values) if is_text else np.array(values)
    return np.stack([_array(x) for x in values], axis)


@_operation("Unpack")
def _unpack(x, *, num, axis=0):
    check_size(num * _LIST)
    return tuple(_value(np.take(x, i, axis)) for i in range(num))


@_operation("ConcatV2")
def _concat(*values):
    *values, axis = values
    check_size(sum(map(np.size, values)))
    return np.concatenate(values, axis)


@_operation("Tile")
def _tile(x, times):
    x = _array(x)
    check_size(x.size * math.prod(_axes(times)))
    return np.tile(x, _axes(times))


@_operation("Pad", "PadV2")
def _pad(x, widths, value=None):
    widths = widths.tolist()
    if not widths:
        return x
    if value is None:
        value = b"" if x.dtype == object else 0
    shape = [n + sum(more) for n, more in zip(x.shape, widths)]
    check_size(math.prod(shape))
    padded = _filled(shape, x.dtype.type(value) if x.dtype != object else value)
    padded[tuple(slice(a, a + n) for (a, _), n in zip(widths, x.shape))] = x
    return padded


@_operation("StridedSlice")
def strided_slice(
    x,
    begin,
    end,
    strides,
    *,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
):
    masks = ellipsis_mask, new_axis_mask, shrink_axis_mask
    masks += begin_mask, end_mask
    place = slices(begin.tolist(), end.tolist(), strides.tolist(), masks)
    return at(x, place)


def slices(begin, end, strides, masks):
    """Returns the index of NumPy for a slice of TensorFlow."""
    ellipsis_mask, new_axis_mask, shrink_axis_mask, *open_masks = masks
    index = []
    for i, (first, last, stride) in enumerate(zip(begin, end, strides)):
        if ellipsis_mask >> i & 1:
            index.append(...)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(first)
        else:
            first, last = (
                None if mask >> i & 1 else x
                for mask, x in zip(open_masks, (first, last))
            )
            index.append(slice(first, last, stride))
    return tuple(index)


def at(x, index):
    """Returns the part of a value at an index of NumPy."""
    return _value(_array(x)[index])


@_operation("GatherV2")
def _gather(x, places, axis=0, *, batch_dims=0):
    rest = math.prod(x.shape[batch_dims + 1 :])
    check_size(np.size(places) * rest)
    if not batch_dims:
        found = x[places] if axis == 0 else np.take(x, places, axis)
        return _value(found)
    first = np.indices(places.shape[:batch_dims], sparse=True)
    more = (1,) * (places.ndim - batch_dims)
    first = [rows.reshape(rows.shape + more) for rows in first]
    if axis != batch_dims:
        raise ProgramError("it gathers from an axis that no export does")
    return x[(*first, places)]


@_operation("TensorScatterUpdate")
def _scatter(x, places, values):
    x = x.copy()
    x[tuple(places[..., i] for i in range(places.shape[-1]))] = values
    return x


@_operation("Where")
def _where(x):
    check_size(np.size(x) * np.ndim(x))
    return np.argwhere(x)


# Ragged tensors: rows of different lengths, one after the other.


def _splits(lengths):
    splits = np.zeros(len(lengths) + 1, int)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _spread(starts, lengths, splits):
    """Returns `starts[i], starts[i] + 1, ...` for all rows."""
    check_size(int(splits[-1]))
    return np.repeat(starts - splits[:-1], lengths) + np.arange(splits[-1])


@_operation("RaggedRange")
def _ragged_range(starts, limits, deltas):
    arguments = np.broadcast_arrays(*np.atleast_1d(starts, limits, deltas))
    starts, limits, deltas = arguments
    if (deltas != 1).any():
        raise ProgramError("it counts by other steps than 1")
    lengths = np.maximum(limits - starts, 0)
    splits = _splits(lengths)
    return splits, _spread(starts, lengths, splits)


@_operation("RaggedGather")
def _ragged_gather(splits, values, places):
    places = np.ravel(places)
    starts, lengths = splits[places], np.diff(splits)[places]
    found = _splits(lengths)
    check_size(int(found[-1]) * math.prod(values.shape[1:]))
    return found, values[_spread(starts, lengths, found)]


@_operation("RaggedTensorToTensor")
def _ragged_to_tensor(shape, values, default, *parts, row_partition_types):
    kinds = [bytes(x) for x in row_partition_types]
    if kinds == [b"ROW_SPLITS"]:
        (splits,) = parts
        rows = len(splits) - 1
        lengths = np.diff(splits)
        row = np.repeat(np.arange(rows), lengths)
    elif kinds == [b"FIRST_DIM_SIZE", b"VALUE_ROWIDS"]:
        rows, row = parts
        lengths = np.bincount(row, minlength=rows)
        splits = _splits(lengths)
    else:
        raise ProgramError(f"it has rows of rows ({len(kinds)} partitions)")
    column = np.arange(len(row)) - splits[row]
    shape = [-1] if not isinstance(shape, np.ndarray) else shape.tolist()
    shape += [-1] * (1 + values.ndim - len(shape))
    widest = int(lengths.max(initial=0))
    wanted = rows, widest, *values.shape[1:]
    shape = [x if n == -1 else n for n, x in zip(shape, wanted)]
    check_size(math.prod(shape))
    table = np.empty(shape, values.dtype)
    table[...] = default
    if widest > shape[1] or rows > shape[0]:
        fits = (column < shape[1]) & (row < shape[0])
        row, column, values = row[fits], column[fits], values[fits]
    table[row, column] = values
    return table


# Lists of tensors, in loops.

# Elements of arrays that take as much room as an object does.
_LIST = 8


@_operation("TensorListFromTensor")
def _list_of(x, shape):
    budget.spend(len(x) * _LIST)
    return list(map(_value, x))


@_operation("TensorListReserve")
def _list_reserve(shape, size):
    budget.spend(size)
    return [None] * size


@_operation("TensorListGetItem")
def _list_get(values, place, shape):
    return values[place]


@_operation("TensorListSetItem")
def _list_set(values, place, value):
    budget.spend(len(values))
    return [*values[:place], value, *values[place + 1 :]]


@_operation("TensorListStack")
def _list_stack(values, shape, *, element_dtype):
    if values:
        return _pack(*values)
    dtype = object if element_dtype == "string" else DTYPES[element_dtype]
    return np.empty((0, *_axes(shape)), dtype)


# Texts.

# The bytes of a character after its first, in UTF-8.
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_CHARACTER = re.compile(rb"(?s).[\x80-\xbf]*")
# Letters with a case that are younger than TensorFlow's ICU, whose Unicode is
# 13. To it, they are no letters.
_YOUNGER = re.compile(
    "([\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7e2\uab6c\uab6d"
    "\U00010570-\U000105bc\U00010d50-\U00010d85\U00016ea0-\U00016ed3"
    "\U0001d6a6\U0001df00-\U0001df96]+)"
)


def _each(function, x, *others):
    """Applies a function to each string, beside those of other arrays."""
    if not isinstance(x, np.ndarray):
        return function(x, *others)
    others = (np.broadcast_to(y, x.shape).ravel().tolist() for y in others)
    return map(function, x.ravel().tolist(), *others), x.shape


def _texts(found):
    if type(found) is bytes:
        budget.spend(len(found))
        return found
    texts, shape = [], found[1]
    before = budget.left
    for text in found[0]:
        texts.append(text)
        budget.left -= len(text) + _LIST
        if budget.left < 0:
            budget.refuse()
    if before - budget.left > _LARGE:
        budget.look()
    return strings(texts, shape)


def _check_pieces(texts):
    """Refuses texts with too many characters to make an object of each."""
    check_size(sum(map(len, texts)) * _LIST)


def _joined(separator, parts):
    check_size(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _numbers(found, dtype=int):
    if not isinstance(found, tuple):
        return found
    return np.array([*found[0]], dtype).reshape(found[1])


@_operation("StringLength")
def _string_length(x, *, unit=b"BYTE"):
    if unit == b"BYTE":
        return _numbers(_each(len, x))
    return _numbers(
        _each(lambda text: len(text.translate(None, _CONTINUATIONS)), x)
    )


@_operation("Substr")
def _substr(x, begins, lengths, *, unit=b"BYTE"):
    def part(text, begin, length):
        if unit == b"BYTE":
            begin += len(text) if begin < 0 else 0
            return text[begin : begin + length]
        characters = _CHARACTER.findall(text)
        begin += len(characters) if begin < 0 else 0
        return b"".join(characters[begin : begin + length])

    if not isinstance(x, np.ndarray) and np.ndim(begins):
        x = np.broadcast_to(_array(x), np.shape(begins))
    return _texts(_each(part, x, begins, lengths))


@_operation("StringStrip")
def _strip(x):
    return _texts(_each(lambda text: text.strip(b" \t\n\v\f\r"), x))


@_operation("StringLower")
def _lower(x, *, encoding=b""):
    def lower(text):
        if text.isascii() and b"\0" not in text:
            return text.lower()
        # TensorFlow passes it as a string of C, which ends at NUL.
        text = text.partition(b"\0")[0].decode("utf-8", "replace")
        parts = _YOUNGER.split(text)
        parts[::2] = map(str.lower, parts[::2])
        return "".join(parts).encode()

    return _texts(_each(lower if encoding else bytes.lower, x))


@_operation("UnicodeTranscode")
def _transcode(x):
    def valid(text):
        return text.decode("utf-8", "replace").encode()

    return _texts(_each(valid, x))


@_operation("UnicodeDecode")
def _unicode_decode(x):
    _check_pieces(x.tolist())
    rows = [text.decode("utf-8", "replace") for text in x.tolist()]
    splits = _splits([len(row) for row in rows])
    return splits, np.array([ord(y) for row in rows for y in row], int)


@_operation("UnicodeEncode")
def _unicode_encode(codes, splits):
    text = "".join("\ufffd" if 0xD800 <= x < 0xE000 else chr(x) for x in codes)
    splits = splits.tolist()
    return strings(text[i:j].encode() for i, j in zip(splits, splits[1:]))


@_operation("StringSplitV2")
def _split(x, separator):
    _check_pieces(x.tolist())
    rows = [text.split(separator or None) for text in x.tolist()]
    lengths = np.array([len(row) for row in rows], int)
    return _sparse(strings(word for row in rows for word in row), lengths)


def _sparse(words, lengths):
    """Returns the indices, the values and the shape of a sparse tensor."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(row)) - np.repeat(_splits(lengths)[:-1], lengths)
    shape = np.array([len(lengths), lengths.max(initial=0)])
    return np.stack([row, column], 1), words, shape


@_operation("StringSplit")
def _split_bytes(x, delimiter):
    if delimiter != b"":
        raise ProgramError("it splits texts at several characters")
    _check_pieces(x.tolist())
    lengths = _numbers(_each(len, x))
    joined = b"".join(x.tolist())
    words = strings(joined[i : i + 1] for i in range(len(joined)))
    return _sparse(words, lengths)


@_operation("DecodePaddedRaw")
def _decode_raw(x, length, *, out_type):
    if out_type != "uint8":
        raise ProgramError(f"it reads texts as numbers of {out_type}")
    x = _array(x)
    check_size(x.size * length)
    data = b"".join(text[:length].ljust(length, b"\0") for text in x.flat)
    return np.frombuffer(data, np.uint8).reshape(*x.shape, length)


@_operation("StringJoin")
def _join(*values, separator=b""):
    arrays = [x for x in values if isinstance(x, np.ndarray)]
    if not arrays:
        return _joined(separator, values)
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    check_size(math.prod(shape))
    values = (
        np.broadcast_to(_array(x), shape).ravel().tolist() for x in values
    )
    rows = zip(*values)
    return _texts(((_joined(separator, row) for row in rows), shape))


@_operation("ReduceJoin")
def _reduce_join(x, axes, *, keep_dims=False, separator=b""):
    axis = _integers(axes)
    if len(axis) != 1:
        raise ProgramError("it joins texts along several axes")
    rows = np.moveaxis(x, axis[0], -1)
    shape = rows.shape[:-1]
    flat = rows.reshape(int(np.prod(shape)), rows.shape[-1]).tolist()
    joined = _texts(((_joined(separator, row) for row in flat), shape))
    return np.expand_dims(joined, axis[0]) if keep_dims else _value(joined)


@_operation("UnsortedSegmentJoin")
def _segment_join(x, segments, count, *, separator=b""):
    check_size(count)
    rows = [[] for _ in range(count)]
    for text, place in zip(x.ravel().tolist(), segments.ravel().tolist()):
        # TensorFlow writes no separator after nothing.
        if place >= 0 and (text or rows[place]):
            rows[place].append(text)
    return _texts(((_joined(separator, row) for row in rows), (count,)))


@_operation("AsString")
def _as_string(x):
    return _texts(_each(lambda number: b"%d" % number, x))


@_operation("StringToNumber")
def _to_number(x, *, out_type):
    return _numbers(_each(int, x), DTYPES[out_type])


@_operation("StringToHashBucketFast")
def _hash(x, *, num_buckets):
    """Hashes texts, unlike TensorFlow: programs compare hashes alone."""

    def fnv(text):
        value = 0xCBF29CE484222325
        for byte in text:
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return value % num_buckets

    return _numbers(_each(fnv, x))


@_operation("LookupTableFindV2")
def _find(table, keys, default):
    if not isinstance(keys, np.ndarray):
        return table.get(keys, default)
    get = table.get
    found = [get(key, default) for key in keys.ravel().tolist()]
    if type(default) is bytes:
        return strings(found, keys.shape)
    return np.array(found, int).reshape(keys.shape)


# Regular expressions.

# A character of RE2, to which any byte of no character is one itself.
_VALID = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    rb"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)


# The automaton of each may take 8 MB.
@functools.lru_cache(128)
def compiled(pattern: bytes):
    """Compiles a regular expression of RE2.

    Raises:
        ProgramError: If it is none, or too large.

    Returns:
        It, and the number of its instructions.
    """
    import re2  # late: a program for words alone needs none

    budget.look()
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
        return found, found.programsize
    except re2.error as error:
        raise ProgramError(f"no regular expression: {error}") from error


@_operation("StaticRegexFullMatch")
def _full_match(x, *, pattern):
    return _matches(x, pattern)


@_operation("RegexFullMatch")
def _matches(x, pattern):
    found, size = compiled(pattern)

    fullmatch = found.fullmatch

    def match(text):
        if len(text) * size > _MUCH_WORK:
            _check_work(text, size)
        return fullmatch(text) is not None

    return _numbers(_each(match, x), bool)


def _check_work(text, size):
    """Refuses regular expressions that would run for long on a text."""
    if len(text) * size > _WORK * budget.scale:
        budget.refuse()
    budget.look()


@_operation("StaticRegexReplace")
def _static_replace(x, *, pattern, rewrite, replace_global=True):
    return _replace(x, pattern, rewrite, replace_global=replace_global)


@_operation("RegexReplace")
def _replace(x, pattern, rewrite, *, replace_global=True):
    found, size = compiled(pattern)
    written = _rewriting(rewrite)

    def replace(text):
        if len(text) * size > _MUCH_WORK:
            _check_work(text, size)
        return _sub(found, written, text, replace_global)

    return _texts(_each(replace, x))


@functools.lru_cache(1000)
def _rewriting(rewrite):
    """Returns a text, or the function of a match that makes it."""
    parts = re.split(rb"\\([0-9\\])", rewrite)
    if len(parts) == 1:
        return rewrite
    texts, escapes = parts[::2], parts[1::2]
    groups = [x if x == b"\\" else int(x) for x in escapes]

    def write(match):
        written = [texts[0]]
        for group, text in zip(groups, texts[1:]):
            is_text = type(group) is bytes
            written += [group if is_text else match[group] or b"", text]
        written = b"".join(written)
        budget.spend(len(written))
        return written

    return write


def _sub(pattern, rewrite, text, everywhere):
    """Replaces matches as RE2's `GlobalReplace` and `Replace` do."""
    pieces, place, last = [], 0, -1
    while place <= len(text) and (match := pattern.search(text, place)):
        if len(text) > _LARGE and not len(pieces) % 128:
            budget.look()
        start, stop = match.span()
        pieces.append(text[place:start])
        if start == stop == last:
            # An empty match is none at the end of the last one.
            character = _VALID.match(text, place)
            stop = character.end() if character else place + 1
            pieces.append(text[place:stop])
            place = stop
            continue
        pieces.append(rewrite(match) if callable(rewrite) else rewrite)
        place = last = stop
        if not everywhere:
            break
    return _joined(b"", [*pieces, text[place:]]) if pieces else text


# Subwords: a model of SentencePiece is a value.


@_operation("SentencepieceTokenizeOp")
def _cut_pieces(model, x, nbest, alpha, bos, eos, reverse, *, out_type):
    if nbest not in (0, 1) or bos or eos or reverse:
        raise ProgramError("it samples pieces, or adds marks to them")
    _check_pieces(x.tolist())
    kind = str if out_type == "string" else int
    rows = [
        model.encode(text.decode("utf-8", "replace"), out_type=kind)
        for text in x.tolist()
    ]
    pieces = [piece for row in rows for piece in row]
    if kind is int:
        values = np.array(pieces, int)
    else:
        values = strings(piece.encode() for piece in pieces)
    return values, _splits([len(row) for row in rows])


@_operation("SentencepieceDetokenizeOp")
def _join_pieces(model, values, splits, bos, eos, reverse):
    values, splits = values.tolist(), splits.tolist()
    return strings(
        model.decode([x.decode() for x in values[i:j]]).encode()
        for i, j in zip(splits, splits[1:])
    )
