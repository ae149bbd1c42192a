"""Warm-up records of TensorFlow Serving, without its Python package.

The messages are few and stable, so they are written out by field number:

    PredictionLog   6: predict_log
    PredictLog      1: request
    PredictRequest  1: model_spec   2: inputs, a map   3: output_filter
    ModelSpec       1: name         3: signature_name

Reference: `tensorflow_serving/apis/*.proto`.
"""

from collections.abc import Mapping, Sequence

import tensorflow as tf

Inputs = Mapping[str, Sequence] | Sequence[str]

# In the folder `assets.extra` of a SavedModel.
FILE_NAME = "tf_serving_warmup_requests"


def write(path, requests: Sequence[tuple[str, Inputs]], name: str):
    """Writes a TFRecord file of PredictionLog messages.

    Args:
        path: The file.
        requests: `(signature, inputs)` of each request, as below.
        name: Name of the model.
    """
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            writer.write(prediction_log(signature, inputs, name))


def prediction_log(signature: str, inputs: Inputs, name: str) -> bytes:
    """A PredictionLog that asks a signature.

    Args:
        signature: Its name.
        inputs: Dict of its inputs: texts, or rows of equally many texts. Or
            just the texts, if `text` is the only input.
        name: Name of the model.
    """
    if not isinstance(inputs, Mapping):
        inputs = {"text": inputs}
    model_spec = _field(1, name.encode()) + _field(3, signature.encode())
    request = _field(1, model_spec)
    for key, texts in inputs.items():
        tensor = tf.make_tensor_proto(_encoded(texts), tf.string)
        entry = _field(1, key.encode()) + _field(2, tensor.SerializeToString())
        request += _field(2, entry)
    return _field(6, _field(1, request))


def _encoded(texts):
    if isinstance(texts, str):
        return texts.encode("utf-8", "replace")
    return [_encoded(text) for text in texts]


def _field(number, content):
    """A field of bytes, a string or a message in protobuf's wire format."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value):
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
