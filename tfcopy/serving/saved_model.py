"""Export of servables as SavedModels, for TensorFlow Serving and `tfcopy.load`.

    <directory>/<version>/saved_model.pb
                          variables/
                          assets/                        vocabularies
                          assets.extra/tfcopy.json
                          assets.extra/search.tflite     with `litert`,
                          assets.extra/texts.json        answers without
                                                         TensorFlow
                          assets.extra/tf_serving_warmup_requests
                          README.md                      the model card

Signatures `serving_default` and `analyse` take texts, strings `(B,)`. A
`Translator`'s take `text`, and return the outputs of its `translate` and
`analyse`; a `TextModel`'s take texts by their names.

The messages of warm-up records are few and stable, so they are written out by
field number:

    PredictionLog   6: predict_log
    PredictLog      1: request
    PredictRequest  1: model_spec   2: inputs, a map   3: output_filter
    ModelSpec       1: name         3: signature_name

Reference: `tensorflow_serving/apis/*.proto`.
"""

import json
import os
import pathlib
import shutil
import time
from collections.abc import Mapping, Sequence

import keras
import tensorflow as tf

from tfcopy import filesystem
from tfcopy.atomic_files import make_folder, publish_folder, scratch_folder
from tfcopy.runtime import tensorflow_engine
from tfcopy.runtime.litert_engine import LITERT_PRECISIONS
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.versions import CONFIG_NAME, FORMAT, iter_numbered
from tfcopy.serving import model_card
from tfcopy.serving.servables import litert_export
from tfcopy.terminal import one_line, quiet

# In the folder `assets.extra` of a SavedModel.
FILE_NAME = "tf_serving_warmup_requests"


def prediction_log(signature: str, inputs: Mapping, name: str) -> bytes:
    """Returns a PredictionLog of a request to a signature.

    Args:
        signature: Its name.
        inputs: Dict of its inputs: texts, or rows of equally many texts.
        name: Name of the model.
    """
    model_spec = _field(1, name.encode()) + _field(3, signature.encode())
    request = _field(1, model_spec)
    for key, texts in inputs.items():
        tensor = tf.make_tensor_proto(_encode(texts), tf.string)
        entry = _field(1, key.encode()) + _field(2, tensor.SerializeToString())
        request += _field(2, entry)
    return _field(6, _field(1, request))


def _encode(texts):
    if isinstance(texts, str):
        return texts.encode("utf-8", "replace")
    return [_encode(text) for text in texts]


def _field(number, content):
    """Encodes bytes, a string or a message as a field of protobuf."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value):
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def export(
    served,
    directory,
    *,
    version: int | None = None,
    warmup_texts: Sequence[str | Mapping] = ("",),
    details: Mapping | None = None,
    pairs: Sequence[tuple[str, str]] = (),
) -> str:
    """Writes a new version, all of it or nothing.

    Args:
        served: The servable: a `Translator`, an `AnswerFinder` or another
            `TextModel`. It has `signatures`, concrete functions by name;
            `resources`, their variables and tables; `config`, facts to store;
            and `with_files(folder)`, a copy with files as assets.
        directory: Folder of the versions, `savedmodels/<recipe>`.
        version: Positive integer; by default the highest version plus one.
        warmup_texts: Requests that TensorFlow Serving runs when it loads the
            model, so that the first user need not wait: texts, or dicts of
            texts by name for models of several texts. An example may have a
            `dictionary`, a list of lines, for models that take one. The demo
            page shows them as examples.
        details: Further content of `assets.extra/tfcopy.json`; the `recipe` is
            by default the last part of `directory`.
        pairs: Texts of a test set and their references, which decide on the
            precision of the programs of LiteRT; see `litert_export.write`.

    Returns:
        The folder that was written, `<directory>/<version>`.

    Raises:
        OSError: naming the folder, if it cannot be written.
        ValueError: if it is no servable, the version exists already, or the
            graph has operations that TensorFlow Serving lacks.
    """
    if not hasattr(served, "with_files"):
        raise ValueError(
            "Only a servable can be exported, such as a `tfcopy.Translator` of "
            f"the model. Received: {served!r}."
        )
    directory = filesystem.abspath(os.fspath(directory))
    # As a server of the folder knows the model.
    name = os.path.basename(directory)
    if version is not None and filesystem.isdir(directory):
        there = dict(iter_numbered(directory)).get(version)
        if there is not None:
            raise ValueError(
                f"{there} exists already. Choose another `version`, or none "
                "to have the next one."
            )
    try:
        filesystem.check_utf8(directory)
        make_folder(directory)
        # TensorFlow Serving looks at folders that are named by a number.
        with scratch_folder(directory, ".exporting-") as temporary:
            os.chmod(temporary, 0o755)
            target = os.path.join(temporary, "model")
            _write(served, target, name, warmup_texts, details, pairs)
            return _publish(target, directory, version)
    except (OSError, tf.errors.OpError) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise OSError(
            f"{directory}: the SavedModel cannot be written ({reason})."
        ) from error


def _write(served, target, name, warmup_texts, details, pairs):
    served = served.with_files(os.path.dirname(target))
    signatures = served.signatures
    module = tf.Module(name="tfcopy")
    module.resources = served.resources
    # What is served is not trained, and the loop's gradient cannot be saved.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, target, signatures, options)
    _check_operations(target)
    extra = os.path.join(target, "assets.extra")
    os.makedirs(extra)
    examples = [_example(x) for x in warmup_texts]
    config = _config(served, name, examples, details)
    if getattr(served, "litert", None) in LITERT_PRECISIONS:
        config |= _programs(target, served, examples, pairs)
    # Names of files may have bytes that are no text.
    escaped = {"encoding": "utf-8", "errors": "backslashreplace"}
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    pathlib.Path(extra, CONFIG_NAME).write_text(text, **escaped)
    text = model_card.card(config, name)
    pathlib.Path(target, "README.md").write_text(text, **escaped)
    requests = [
        (signature, _request(function, asked))
        for signature, function in signatures.items()
        for asked in (examples[:1], examples)
    ]
    with tf.io.TFRecordWriter(os.path.join(extra, FILE_NAME)) as writer:
        for signature, inputs in requests:
            writer.write(prediction_log(signature, inputs, name))


def _programs(target, served, examples, pairs):
    """Writes programs of LiteRT, if it can run them; returns facts."""
    try:
        with quiet():
            facts = litert_export.write(target, served, examples, pairs)
    except (ModelError, ImportError, ValueError) as error:
        extra = os.path.join(target, "assets.extra")
        shutil.rmtree(extra)
        os.mkdir(extra)
        return {"engines": f"TensorFlow alone. {one_line(error)}"}
    described = litert_export.describe_programs(facts)
    return {"litert": facts, "engines": f"TensorFlow; {described}"}


def _example(texts):
    """Returns texts by name, as valid JSON and UTF-8."""
    if isinstance(texts, str):
        texts = {"text": texts}
    text = json.dumps(dict(texts), ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _request(function, examples):
    """Returns the inputs of a signature, by name, for examples."""
    inputs = {}
    for spec in tf.nest.flatten(function.structured_input_signature):
        name = spec.name
        if spec.shape.rank == 1:
            inputs[name] = [example.get(name, "") for example in examples]
        else:
            rows = [list(example.get(name, [])) for example in examples]
            width = max(1, *map(len, rows))
            inputs[name] = [row + [""] * (width - len(row)) for row in rows]
    return inputs


def _config(served, name, examples, details):
    return {
        "format": FORMAT,
        "recipe": name,
        **served.config,
        "examples": examples,
        "engines": "TensorFlow.",
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **(details or {}),
    }


def _check_operations(target):
    """Refuses operations that `tfcopy.load` refuses, and XLA.

    Servers refuse to compile on a CPU unless a flag allows it.
    """
    model = tensorflow_engine.read_saved_model(target)
    found = tensorflow_engine.disallowed_operations(model)
    found += tensorflow_engine.find_operations(model) & {
        tensorflow_engine.COMPILED
    }
    if found:
        raise ValueError(
            "The graph must run on a plain TensorFlow runtime. "
            f"Received operations: {', '.join(found)}."
        )


def _publish(target, directory, version):
    """Moves the finished folder; another export may take a number first."""
    while True:
        number = version or max(dict(iter_numbered(directory)), default=0) + 1
        path = os.path.join(directory, str(number))
        try:
            publish_folder(target, path, last="saved_model.pb")
            return path
        except OSError:
            if version or not filesystem.exists(path):
                raise


def shorten_path(path) -> str:
    """Returns a path, relative if it is below the current folder."""
    if filesystem.is_url(path):
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
