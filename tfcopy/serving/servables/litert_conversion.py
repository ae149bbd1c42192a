"""Conversion of functions of TensorFlow to a file of LiteRT's programs.

LiteRT's converter goes through all weights again for each program. For int8 it
takes ten seconds and a gigabyte more each time, for a translator of 60 million
weights. So it converts other numbers: each large weight is a single number
throughout, which says what to write in its place.

Shapes: O outputs and I inputs of a product.
"""

import contextlib
import itertools
import math
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.lite.tools import flatbuffer_utils

# Elements of a weight that the converter makes integers.
LARGE = 1024
# Elements of all weights that are worth replacing.
_WORTH_REPLACING = 1 << 24
# Elements of the first large weight, and the distance to those of the next. No
# other constant is nearly as large, but for what the converter makes of them.
_FIRST, _APART, _NEARLY_AS_LARGE = 1e6, 64, (1e4, 1e8)
_FLOAT32, _INT8 = 0, 9  # TensorType of LiteRT's schema


def convert(functions: dict, precision: str) -> bytes:
    """Converts functions to a file of programs.

    Args:
        functions: Concrete functions of known shapes, by name.
        precision: `"float32"` or `"int8"`, where the large weights are integers
            with a scale for each row, and the products with them, too.

    Raises:
        ValueError: If LiteRT lacks an operation; the message names it.
    """
    found = itertools.chain(*(x.graph.variables for x in functions.values()))
    variables = {x.ref(): x for x in found}
    module = tf.Module()
    module.weights = [*variables.values()]
    with _replace_weights(module.weights, precision) as weights:
        content = _convert(module, functions, precision)
    model = flatbuffer_utils.convert_bytearray_to_object(content)
    if weights and not _restore_weights(model, weights):
        content = _convert(module, functions, precision)
        model = flatbuffer_utils.convert_bytearray_to_object(content)
    del content
    _share_scales(model)
    return flatbuffer_utils.convert_object_to_bytearray(model)


def _convert(module, functions, precision):
    # What is served is not trained, and the loop's gradient cannot be saved.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        tf.saved_model.save(module, folder, functions, options)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=list(functions)
        )
        if precision == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        # Unpacks and packs the file once more, in Python.
        converter.exclude_conversion_metadata = True
        try:
            return converter.convert()
        except Exception as error:
            raise ValueError(
                f"LiteRT has no program of this search ({_reason(error)})."
            ) from error


@contextlib.contextmanager
def _replace_weights(variables, precision):
    """Fills large weights with one number each.

    Yields:
        Dict from numbers to a weight and its factor: Keras's attention scales
        queries, and the converter their kernel, `(D, H, d)`.
    """
    large = [
        x
        for x in variables
        if x.trainable  # Not, for instance, sinusoids.
        and x.dtype == tf.float32
        and x.shape.rank > 1
        and x.shape.num_elements() >= LARGE
    ]
    total = sum(x.shape.num_elements() for x in large)
    if precision == "float32" or total < _WORTH_REPLACING:
        large = []
    values = [x.numpy() for x in large]
    weights = {_FIRST + _APART * i: (x, 1) for i, x in enumerate(values)}
    for number, (weight, _) in [*weights.items()]:
        if weight.ndim == 3:
            factor = weight.shape[2] ** -0.5
            weights[number * factor] = weight, factor
    if np.diff(sorted(weights)).min(initial=1) < 1:  # could be mistaken
        large, weights = [], {}
    try:
        for i, variable in enumerate(large):
            variable.assign(tf.fill(variable.shape, _FIRST + _APART * i))
        yield weights
    finally:
        for variable, value in zip(large, values):
            variable.assign(value)


def _restore_weights(model, weights) -> bool:
    """Writes the large weights into a file of programs.

    Returns:
        Whether that was possible: the converter may have multiplied a weight
        by another constant, or have cut it.
    """
    tensors = [t for graph in model.subgraphs for t in graph.tensors]
    written, new_scales = {}, {}
    for tensor in tensors:
        numbers = _numbers_of(tensor, model.buffers)
        if numbers is None:
            continue
        axis = tensor.quantization.quantizedDimension
        scale = tensor.quantization.scale
        old = None if scale is None else scale.tobytes()
        key = tensor.type, axis, old, numbers.shape, numbers.tobytes()
        if key not in written:
            weight = _assemble(numbers, axis, weights)
            if weight is None:
                return False
            if tensor.type == _INT8:
                weight, scales = quantize(
                    weight, axis if len(scale) > 1 else None
                )
                new_scales[old] = scales.ravel()
            data = np.ascontiguousarray(weight).view(np.uint8).ravel()
            written[key] = _add_buffer(model.buffers, data)
        tensor.buffer = written[key]
    # Also of rows that are looked up in tables of integers.
    for tensor in tensors:
        scale = tensor.quantization.scale
        if scale is not None and scale.tobytes() in new_scales:
            tensor.quantization.scale = new_scales[scale.tobytes()]
    used = {x.buffer for x in (*tensors, *(model.metadata or ()))}
    for number, buffer in enumerate(model.buffers):
        if number and number not in used:
            buffer.data = None
    return True


def _add_buffer(buffers, data):
    """Returns the number of the buffer with some bytes, new or old."""
    for number, buffer in enumerate(buffers):
        if buffer.data is not None and np.array_equal(buffer.data, data):
            return number
    buffer = type(buffers[0])()
    buffer.data = data
    buffers.append(buffer)
    return len(buffers) - 1


def _numbers_of(tensor, buffers):
    """Returns the elements of a constant, if any stands for a weight's."""
    data = buffers[tensor.buffer].data
    shape = tuple(() if tensor.shape is None else tensor.shape)
    if data is None or math.prod(shape) < LARGE:
        return None
    if tensor.type == _FLOAT32:
        numbers = np.frombuffer(data, np.float32).reshape(shape)
    elif tensor.type == _INT8 and tensor.quantization.scale is not None:
        scale = np.asarray(tensor.quantization.scale, np.float64)
        along = [1] * len(shape)
        along[tensor.quantization.quantizedDimension] = len(scale)
        integers = np.frombuffer(data, np.int8).reshape(shape)
        numbers = integers * scale.reshape(along)
    else:
        return None
    least, most = _NEARLY_AS_LARGE
    found = np.logical_and(np.abs(numbers) > least, np.abs(numbers) < most)
    return numbers if found.any() else None


def _assemble(numbers, axis, weights):
    """Returns the array of which a weight's number stands for each element.

    It is `None` if parts of weights do.

    Args:
        numbers: Array of numbers.
        axis: Axis along which weights may stand side by side.
        weights: Dict from numbers to weights and factors.
    """
    line = np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)
    known = np.array(sorted(weights))
    nearest = np.abs(line[:, :1] - known).argmin(axis=1)
    if np.abs(line - known[nearest, None]).max() > 0.3:
        return None
    parts = []
    for i, run in itertools.groupby(nearest):
        shape = list(numbers.shape)
        shape[axis] = len([*run])
        weight, factor = weights[known[i]]
        part = _orient(weight, tuple(shape))
        if part is None:
            return None
        parts.append(part * np.float32(factor))
    return np.concatenate(parts, axis)


def _orient(weight, shape):
    """Returns a weight as a matrix `(O, I)` or as it is, whichever fits."""
    sizes = weight.shape
    matrices = [
        weight.reshape(math.prod(sizes[:k]), -1) for k in range(1, len(sizes))
    ]
    for x in (*(x.T for x in matrices), weight, *matrices):
        if _wide_axes(x.shape) == _wide_axes(shape):
            return x.reshape(shape)
    return None


def _wide_axes(shape):
    return [size for size in shape if size != 1]


def quantize(weight, axis: int | None):
    """Rounds a weight to integers, with a scale for each index of an axis.

    Args:
        weight: float32 array.
        axis: The axis; `None` for a single scale.

    Returns:
        `(integers, scales)`: int8, and float32 with a size of 1 in the other
        axes; their product is the weight.
    """
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scales = np.abs(weight).max(axis=others, keepdims=True) / np.float32(127)
    scales[scales == 0] = 1
    return np.round(weight / scales).astype(np.int8), scales


class _Shared:
    """A part of a FlatBuffer that is written once, and referred to again."""

    def __init__(self, part):
        self._part, self._offset = part, None

    def Pack(self, builder):
        if self._offset is None:
            self._offset = self._part.Pack(builder)
        return self._offset


def _share_scales(model):
    """Has equal scales and zero points stored once.

    A table of 10,000 words takes 120 kB of them in each program.
    """
    shared = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            part = tensor.quantization
            if part is not None:
                key = tuple(map(_hashable, vars(part).values()))
                tensor.quantization = shared.setdefault(key, _Shared(part))


def _hashable(x):
    return x.tobytes() if isinstance(x, np.ndarray) else x


def _reason(error):
    """Returns the operation that LiteRT lacks, or an error's first line."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    missing = [x for x in lines if x.startswith(("TF Select", "Custom "))]
    return (missing or lines or [type(error).__name__])[0]
