"""Conversion of functions of TensorFlow to a file of LiteRT's programs.

LiteRT's converter goes through all weights again for each program. For int8 it
takes ten seconds and a gigabyte more each time, for a translator of 60 million
weights. So it converts the first program as it is, and then all of them with a
single number throughout each large weight. What became of the numbers in the
first program shows what to write in their place.
"""

import contextlib
import hashlib
import itertools
import math
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.lite.tools import flatbuffer_utils

# Elements of a weight that the converter makes integers.
LARGE = 1024
# Elements of all weights that are worth replacing, and of one: biases, which
# the converter leaves out if they are zeros, have fewer.
_WORTH_REPLACING, _REPLACED = 1 << 24, 1 << 16
# The elements of one are all this number, or one of the next. No other constant
# is nearly as large, but for what the converter makes of a weight.
_FIRST, _NEARLY_AS_LARGE = 1e6, (1e4, 1e8)
_FLOAT32, _INT8 = 0, 9  # TensorType of LiteRT's schema


def convert(functions: dict, precision: str) -> bytes:
    """Converts functions to a file of programs.

    Args:
        functions: Concrete functions of known shapes, by name. The first one
            uses the weights as the others do.
        precision: `"float32"` or `"int8"`, where the large weights are integers
            with a scale for each row, and the products with them, too.

    Raises:
        ValueError: If LiteRT lacks an operation; the message names it.
    """
    found = itertools.chain(*(x.graph.variables for x in functions.values()))
    module = tf.Module()
    module.weights = [*{x.ref(): x for x in found}.values()]
    sizes = (math.prod(x.shape) for x in module.weights if _is_replaced(x))
    model = None
    if precision == "int8" and sum(sizes) >= _WORTH_REPLACING:
        with _saved(module, functions) as folder:
            model = _convert_numbers(folder, [*functions])
    if model is None:
        with _saved(module, functions) as folder:
            model = _convert(folder, [*functions], precision)
    _share_scales(model)
    return flatbuffer_utils.convert_object_to_bytearray(model)


@contextlib.contextmanager
def _saved(module, functions):
    """Yields the folder of a SavedModel."""
    # What is served is not trained, and the loop's gradient cannot be saved.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        tf.saved_model.save(module, folder, functions, options)
        yield folder


def _convert(folder, names, precision="int8"):
    """Converts functions of a SavedModel; returns a file's content."""
    converter = tf.lite.TFLiteConverter.from_saved_model(
        folder, signature_keys=names
    )
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    # Unpacks and packs the file once more, in Python.
    converter.exclude_conversion_metadata = True
    try:
        content = converter.convert()
    except Exception as error:
        raise ValueError(
            f"LiteRT has no program of this search ({_reason(error)})."
        ) from error
    return flatbuffer_utils.convert_bytearray_to_object(content)


def _convert_numbers(folder, names):
    """Converts functions of a SavedModel, which then has numbers for weights.

    Returns:
        A file's content, `None` if the weights cannot be told by the numbers:
        the converter may have multiplied a weight by another constant.
    """
    first = _convert(folder, names[:1])
    _fill_weights(os.path.join(folder, "variables", "variables"))
    written = _match(_convert(folder, names[:1]), first)
    model = written and _convert(folder, names)
    return model if model and _write_weights(model, written) else None


def _is_replaced(x):
    return (
        x.dtype == tf.float32
        and len(x.shape) > 1
        and math.prod(x.shape) >= _REPLACED
    )


def _fill_weights(checkpoint):
    """Fills each replaced weight of a checkpoint with one number."""
    reader = tf.train.load_checkpoint(checkpoint)
    shapes = reader.get_variable_to_shape_map()
    kinds = reader.get_variable_to_dtype_map()
    numbers = itertools.count(_FIRST)
    filled = {
        name: tf.fill(shape, next(numbers))
        if _is_replaced(tf.TensorSpec(shape, kinds[name]))
        else tf.constant(reader.get_tensor(name))
        for name, shape in shapes.items()
    }
    slices = [""] * len(filled)
    tf.raw_ops.SaveV2(
        prefix=checkpoint,
        tensor_names=[*filled],
        shape_and_slices=slices,
        tensors=[*filled.values()],
    )


def _match(numbers, weights):
    """Compares a program of numbers with the same one of weights.

    Returns:
        Dict from keys of tensors to what the weights have in their place: a
        buffer and a quantization. It is `None` if that is not clear.
    """
    written, expected = {}, {}
    for pair in itertools.zip_longest(_tensors(numbers), _tensors(weights)):
        if None in pair:
            return None
        number, weight = pair
        key, actual = _key(number, numbers), _key(weight, weights)
        is_same = expected.setdefault(key, actual) == actual
        if not is_same or key[:2] != actual[:2]:
            return None
        if key != actual and not _has_numbers(number, numbers):
            return None
        buffer = weights.buffers[weight.buffer]
        written.setdefault(key, (buffer, weight.quantization))
    return written


def _write_weights(model, written) -> bool:
    """Writes weights in place of numbers; returns whether all are known."""
    places = {}
    for tensor in _tensors(model):
        key = _key(tensor, model)
        if key not in written:
            if _has_numbers(tensor, model):
                return False
            continue
        buffer, tensor.quantization = written[key]
        if buffer.data is not None:
            tensor.buffer = places.setdefault(id(buffer), len(model.buffers))
            model.buffers += [buffer] * (tensor.buffer == len(model.buffers))
    used = {x.buffer for x in (*_tensors(model), *(model.metadata or ()))}
    for number, buffer in enumerate(model.buffers):
        if number and number not in used:
            buffer.data = None
    return True


def _tensors(model):
    return (x for graph in model.subgraphs for x in graph.tensors)


def _key(tensor, model):
    """Returns a tensor's type and shape, its scales, and a constant's content.

    What is looked up in a table of integers has its scales, too.
    """
    shape = () if tensor.shape is None else tuple(tensor.shape)
    part, data = tensor.quantization, model.buffers[tensor.buffer].data
    scales = part and (part.quantizedDimension, _hashable(part.scale))
    if data is not None:
        data = hashlib.sha256(np.asarray(data)).digest()
    return tensor.type, shape, scales, data


def _has_numbers(tensor, model):
    """Returns whether some elements of a tensor stand for weights."""
    largest, data = (), model.buffers[tensor.buffer].data
    if tensor.type == _FLOAT32 and data is not None:
        largest = np.asarray(data).view(np.float32)
    elif tensor.type == _INT8 and tensor.quantization.scale is not None:
        largest = 127 * tensor.quantization.scale
    least, most = _NEARLY_AS_LARGE
    return any((np.abs(largest) > least) & (np.abs(largest) < most))


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
