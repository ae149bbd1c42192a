"""Operations of text programs on numbers, shapes and rows, by NumPy.

Each function computes what the TensorFlow operation that it is registered for
computes, to the byte. Its positional arguments are the operation's inputs, its
keywords those of the operation's attributes that matter.

Values are NumPy arrays; strings are arrays of objects, `bytes`. Without a
dimension, integers are `int`, truth values `bool`, strings `bytes`. Whether an
integer has 32 or 64 bits is ignored.

The operations on texts are in `text_operations`.

Reference: `tensorflow/core/api_def` describes all operations.
"""

import functools
import inspect
import math
import operator
import threading
import time
from collections.abc import Callable, Iterable, Iterator

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
# Elements that the steps of a function may make before they are spent.
LARGE = 1 << 14
OPERATIONS: dict[str, Callable] = {}
DTYPES = {"int8": np.int8, "uint8": np.uint8, "bool": bool}
DTYPES |= {"int32": np.int32, "int64": np.int64, "float32": np.float32}


class ProgramError(ValueError):
    """A program cannot be read or run."""


def operation(*names):
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
        scale: Positive number, larger if the program was given much.
    """

    left = LARGEST
    scale = 1.0
    _seconds = _SECONDS
    _until = None
    # Of the wall clock, which is read faster: the thread has time until then.
    _earliest = 0.0

    def start(self, size: int) -> None:
        """Begins a run that is given so many elements and bytes."""
        self.scale = 1 + _TIMES * size / LARGEST
        self.left = LARGEST + _TIMES * size
        self._seconds = _SECONDS + _SECONDS_A_BYTE * size
        self._until, self._earliest = None, 0.0

    def spend(self, size: int) -> None:
        """Takes elements or bytes from it.

        Raises:
            ProgramError: If more are needed than any export needs.
        """
        self.left -= size
        if self.left < 0:
            self.refuse()

    def look(self) -> None:
        """Looks at the clock: after each step, and within long ones.

        Raises:
            ProgramError: If more time was needed than any export needs.
        """
        now = time.monotonic()
        if now < self._earliest:
            return
        used = time.thread_time()
        if self._until is None:
            self._until = used + self._seconds
        if used > self._until:
            self.refuse()
        self._earliest = now + self._until - used

    def watched(self, values: Iterable) -> Iterator:
        """Yields values, and looks at the clock before each."""
        for value in values:
            self.look()
            yield value

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


def array_of(x):
    """Returns a value as an array; NumPy would cut NUL off the end of bytes."""
    if type(x) is not bytes:
        return np.asarray(x)
    array = np.empty((), object)
    array[()] = x
    return array


def value_of(x):
    """Returns a result of NumPy as a value."""
    if type(x) is np.ndarray and x.ndim:
        return x
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind != "f":
        return x.item()
    return x[()] if type(x) is np.ndarray else x


def _shape(x):
    return x.shape if type(x) is np.ndarray else ()


def integers_of(x):
    return x.tolist() if isinstance(x, np.ndarray) else [operator.index(x)]


def _axes(x):
    return tuple(integers_of(x))


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
            x, y = array_of(x), array_of(y)
        _check_broadcast(x, y)
        return value_of(function(x, y))

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
    **{"LogicalAnd": operator.and_, "LogicalOr": operator.or_},
}.items():
    _binary(_name, _function)
_binary("Equal", lambda x, y: _equal(x, y), operator.eq)
_binary("NotEqual", lambda x, y: ~_equal(x, y), operator.ne)
_binary("Maximum", np.maximum, max)
_binary("Minimum", np.minimum, min)
OPERATIONS |= {
    "Neg": operator.neg,
    "LogicalNot": lambda x: not x if isinstance(x, bool) else ~x,
    "ArgMax": lambda x, axis: value_of(np.argmax(x, axis)),
    "ArgMin": lambda x, axis: value_of(np.argmin(x, axis)),
    "LowerBound": lambda rows, values: _bounds(rows, values, "left"),
    "UpperBound": lambda rows, values: _bounds(rows, values, "right"),
    "UnsortedSegmentSum": lambda x, segments, count: _of_segments(
        np.add, x, segments, count, 0
    ),
    "TensorListGetItem": lambda values, place, shape: values[place],
    # Shapes.
    **dict.fromkeys(("Identity", "StopGradient", "EnsureShape"), lambda x: x),
    "Size": lambda x: array_of(x).size,
    "Shape": lambda x: np.array(_shape(x), int),
    "Rank": lambda x: len(_shape(x)),
    "Transpose": lambda x, order: np.transpose(x, _axes(order)),
    "ExpandDims": lambda x, axis: np.expand_dims(array_of(x), axis),
}


def _equal(x, y):
    if object not in (np.asarray(x).dtype, np.asarray(y).dtype):
        return x == y
    pairs = np.broadcast(x, y)
    found = [a == b for a, b in budget.watched(pairs)]
    return np.array(found, bool).reshape(pairs.shape)


@operation("Cast")
def _cast(x, *, DstT):
    dtype = DTYPES[DstT]
    if dtype in (np.int32, np.int64) and array_of(x).dtype.kind == "i":
        return x
    return value_of(array_of(x).astype(dtype))


@operation("SelectV2")
def _select(condition, x, y):
    if type(condition) is bool and not any(map(_shape, (x, y))):
        return x if condition else y
    _check_broadcast(condition, x, y)
    if type(x) is bytes:
        x = array_of(x)
    if type(y) is bytes:
        y = array_of(y)
    return np.where(condition, x, y)


def _reduction(name, function):
    def reduce(x, axes, *, keep_dims=False):
        return _reduced(function, x, axes, keep_dims)

    OPERATIONS[name] = reduce


def _reduced(function, x, axes, keep_dims, **more):
    x, axes = np.asarray(x), _axes(axes)
    if not axes:
        return value_of(x)
    return value_of(function(x, axis=axes, keepdims=keep_dims, **more))


for _name, _function in {
    **{"Sum": np.add, "Prod": np.multiply},
    **{"Any": np.logical_or, "All": np.logical_and},
}.items():
    _reduction(_name, _function.reduce)


@operation("Max")
def _max(x, axes, *, keep_dims=False, T="int32"):
    initial = _lowest(T)
    return _reduced(np.maximum.reduce, x, axes, keep_dims, initial=initial)


@operation("Min")
def _min(x, axes, *, keep_dims=False, T="int32"):
    initial = _highest(T)
    return _reduced(np.minimum.reduce, x, axes, keep_dims, initial=initial)


@functools.cache
def _lowest(kind):
    return -np.inf if kind == "float32" else np.iinfo(kind).min


@functools.cache
def _highest(kind):
    return np.inf if kind == "float32" else np.iinfo(kind).max


@operation("Cumsum")
def _cumsum(x, axis, *, exclusive=False, reverse=False):
    if reverse:
        x = np.flip(x, axis)
    total = np.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        total = total - x
    return np.flip(total, axis) if reverse else total


@operation("DenseBincount")
def _bincount(x, size, weights):
    check_size(size)
    return np.bincount(x[x < size], minlength=size)


@operation("TopKV2")
def _top_k(x, k):
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places


def _bounds(rows, values, side):
    found = [x.searchsorted(y, side) for x, y in zip(rows, values)]
    if len(found) == 1:
        return found[0][None]
    return np.stack(found) if found else np.zeros(values.shape, int)


@operation("UnsortedSegmentMin")
def _segment_min(x, segments, count, *, T="int32"):
    return _of_segments(np.minimum, x, segments, count, _highest(T))


def _of_segments(function, x, segments, count, initial):
    check_size(count)
    found = np.full(count, initial, x.dtype)
    is_kept = segments >= 0
    function.at(found, segments[is_kept], x[is_kept])
    return found


@operation("Unique")
def _unique(x):
    numbers, values = {}, budget.watched(x.tolist())
    places = [numbers.setdefault(v, len(numbers)) for v in values]
    kept = strings(numbers) if x.dtype == object else np.array([*numbers])
    return kept.astype(x.dtype), np.array(places, int)


# Shapes and places.


@operation("Fill")
def _fill(shape, value):
    shape = _axes(shape)
    check_size(math.prod(shape))
    return _filled(shape, value)


def _filled(shape, value):
    if type(value) is not bytes:
        return value_of(np.full(shape, value))
    array = np.empty(shape, object)
    array[...] = value
    return value_of(array)


@operation("ZerosLike")
def _zeros_like(x):
    x = array_of(x)
    return _filled(x.shape, b"" if x.dtype == object else x.dtype.type(0))


@operation("Range")
def _range(start, limit, delta):
    check_size(abs((limit - start) / delta))
    return np.arange(start, limit, delta)


@operation("Reshape")
def _reshape(x, shape):
    x, shape = array_of(x), _axes(shape)
    if -1 in shape and not x.size and 0 in shape:
        # TensorFlow leaves out dimensions of 0 to find the one that is missing.
        sizes = (np.prod([n for n in y if n > 0]) for y in (x.shape, shape))
        missing = int(next(sizes) // next(sizes))
        shape = [missing if n == -1 else n for n in shape]
    return value_of(x.reshape(shape))


@operation("BroadcastTo")
def _broadcast_to(x, shape):
    shape = _axes(shape)
    check_size(math.prod(shape))
    return value_of(np.broadcast_to(array_of(x), shape))


@operation("Squeeze")
def _squeeze(x, *, squeeze_dims):
    return value_of(np.squeeze(array_of(x), tuple(squeeze_dims) or None))


@operation("Pack")
def _pack(*values, axis=0):
    check_size(sum(math.prod(_shape(x)) for x in values))
    if not any(map(_shape, values)):
        is_text = bytes in map(type, values)
        return strings(values) if is_text else np.array(values)
    return np.stack([array_of(x) for x in values], axis)


@operation("Unpack")
def _unpack(x, *, num, axis=0):
    check_size(num * LIST)
    return tuple(value_of(np.take(x, i, axis)) for i in range(num))


@operation("ConcatV2")
def _concat(*values):
    *values, axis = values
    check_size(sum(math.prod(_shape(x)) for x in values))
    return np.concatenate(values, axis)


@operation("Tile")
def _tile(x, times):
    x = array_of(x)
    check_size(x.size * math.prod(_axes(times)))
    return np.tile(x, _axes(times))


@operation("Pad", "PadV2")
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


@operation("StridedSlice")
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
    return value_of(array_of(x)[index])


@operation("GatherV2")
def _gather(x, places, axis=0, *, batch_dims=0):
    rest = math.prod(x.shape[batch_dims + 1 :])
    check_size(np.size(places) * rest)
    if not batch_dims:
        found = x[places] if axis == 0 else np.take(x, places, axis)
        return value_of(found)
    first = np.indices(places.shape[:batch_dims], sparse=True)
    more = (1,) * (places.ndim - batch_dims)
    first = [rows.reshape(rows.shape + more) for rows in first]
    if axis != batch_dims:
        raise ProgramError("it gathers from an axis that no export does")
    return x[(*first, places)]


@operation("TensorScatterUpdate")
def _scatter(x, places, values):
    x = x.copy()
    x[tuple(places[..., i] for i in range(places.shape[-1]))] = values
    return x


@operation("Where")
def _where(x):
    check_size(np.size(x) * np.ndim(x))
    return np.argwhere(x)


# Ragged tensors: rows of different lengths, one after the other.


def splits_of(lengths):
    splits = np.zeros(len(lengths) + 1, int)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _spread(starts, lengths, splits):
    """Returns `starts[i], starts[i] + 1, ...` for all rows."""
    check_size(int(splits[-1]))
    return np.repeat(starts - splits[:-1], lengths) + np.arange(splits[-1])


@operation("RaggedRange")
def _ragged_range(starts, limits, deltas):
    arguments = np.broadcast_arrays(*np.atleast_1d(starts, limits, deltas))
    starts, limits, deltas = arguments
    if (deltas != 1).any():
        raise ProgramError("it counts by other steps than 1")
    lengths = np.maximum(limits - starts, 0)
    splits = splits_of(lengths)
    return splits, _spread(starts, lengths, splits)


@operation("RaggedGather")
def _ragged_gather(splits, values, places):
    places = np.ravel(places)
    starts, lengths = splits[places], np.diff(splits)[places]
    found = splits_of(lengths)
    check_size(int(found[-1]) * math.prod(values.shape[1:]))
    return found, values[_spread(starts, lengths, found)]


@operation("RaggedTensorToTensor")
def _ragged_to_tensor(shape, values, default, *parts, row_partition_types):
    kinds = [bytes(x) for x in row_partition_types]
    if kinds == [b"ROW_SPLITS"]:
        (splits,) = parts
        rows = len(splits) - 1
        lengths = np.diff(splits)
        check_size(int(lengths.sum()))
        row = np.repeat(np.arange(rows), lengths)
    elif kinds == [b"FIRST_DIM_SIZE", b"VALUE_ROWIDS"]:
        rows, row = parts
        check_size(rows + int(row.max(initial=0)))
        lengths = np.bincount(row, minlength=rows)
        splits = splits_of(lengths)
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
LIST = 8


@operation("TensorListFromTensor")
def _list_of(x, shape):
    budget.spend(len(x) * LIST)
    return list(map(value_of, x))


@operation("TensorListReserve")
def _list_reserve(shape, size):
    budget.spend(size)
    return [None] * size


@operation("TensorListSetItem")
def _list_set(values, place, value):
    budget.spend(len(values))
    return [*values[:place], value, *values[place + 1 :]]


@operation("TensorListStack")
def _list_stack(values, shape, *, element_dtype):
    if values:
        return _pack(*values)
    dtype = object if element_dtype == "string" else DTYPES[element_dtype]
    return np.empty((0, *_axes(shape)), dtype)


# Operators of Python join texts, repeat them and write numbers into them.


def _of_numbers(function):
    """Returns an operation that refuses texts."""

    @functools.wraps(function)
    def compute(*values, **attributes):
        for x in values:
            is_array = type(x) is np.ndarray
            if type(x) is bytes or is_array and x.dtype.kind == "O":
                raise ProgramError("it computes with texts")
        return function(*values, **attributes)

    return compute


for _name in (
    *("AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "Neg", "Range", "Cast"),
    *("Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum"),
    *("LogicalAnd", "LogicalOr", "LogicalNot", "ArgMax", "ArgMin", "TopKV2"),
    *("Sum", "Prod", "Any", "All", "Max", "Min", "Cumsum", "DenseBincount"),
    *("LowerBound", "UpperBound", "UnsortedSegmentSum", "UnsortedSegmentMin"),
):
    OPERATIONS[_name] = _of_numbers(OPERATIONS[_name])
