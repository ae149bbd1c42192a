"""Example texts for an exported model: those it is warmed up with.

The messages, and what is read of them, are in `servables/warmup.py`.
"""

import os

import tensorflow as tf

from tfcopy.serving.servables import warmup

_STRING_VALUES = 8  # a field of TensorProto


def read_examples(
    folder, names, most: int = 5, longest: int = 300
) -> list[dict[str, str]]:
    """Different examples, as short as they should be for a page.

    Args:
        folder: Of one version of a model.
        names: Names of its texts.
        most: How many to give.
        longest: The most characters of an example's texts together.

    Returns:
        Dicts of texts by name; none if there is no file of them, or it cannot
        be read.
    """
    path = os.path.join(folder, "assets.extra", warmup.FILE_NAME)
    found = {}
    try:
        for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
            inputs = _inputs(record)
            columns = [inputs.get(name, []) for name in names]
            for texts in zip(*columns):
                found[texts] = dict(zip(names, texts))
    except (tf.errors.OpError, ValueError, IndexError):
        return []
    usable = (
        example
        for texts, example in found.items()
        if all(x.strip() for x in texts) and sum(map(len, texts)) <= longest
    )
    return [example for _, example in zip(range(most), usable)]


def _inputs(record):
    """Dict of lists of texts, of a PredictionLog."""
    (_, predict_log), *_ = _fields(record)
    (_, request), *_ = _fields(predict_log)
    inputs = {}
    for number, entry in _fields(request):
        if number == 2:
            (_, name), (_, tensor) = _fields(entry)
            inputs[name.decode()] = [
                value.decode("utf-8", "replace")
                for kind, value in _fields(tensor)
                if kind == _STRING_VALUES
            ]
    return inputs


def _fields(message):
    """Yields `(number, value)` of the fields of a protobuf message."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 not in (0, 2):
            raise ValueError(f"Expected a varint or bytes. Received: {key}.")
        value, place = _varint(message, place)
        if key & 7 == 2:
            place, value = place + value, message[place : place + value]
        yield key >> 3, value


def _varint(message, place):
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
