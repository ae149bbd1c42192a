"""The search of a translator as programs of LiteRT.

TensorFlow starts some hundred operations at each step of a search; LiteRT runs
a program of fixed shapes with hardly anything between its products. One file
holds a program of one text for each of a few lengths; they share their weights.
Functions of the SavedModel still tokenize texts and detokenize answers.

Shapes: B texts, S source positions, N hypotheses, L maximum length.
"""

import dataclasses
import tempfile

import tensorflow as tf

from tfcopy.decoding import SearchResult
from tfcopy.layers.tensorflow_loop import without_gradients
from tfcopy.serving.client_library import litert_search
from tfcopy.serving.client_library.litert_search import RESULTS, program_name
from tfcopy.serving.servables.translation import (
    RequestedTerms,
    Sources,
    program_lengths,
)

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_LINES = tf.TensorSpec([None, None], tf.string, name="glossary")


def write(path, translator, module, examples) -> dict:
    """Writes all programs of a translator, and compares them with TensorFlow.

    Args:
        path: The file.
        translator: A `Translator`.
        module: Module with its `text_functions`.
        examples: Dicts of texts by name, such as warm-up texts.

    Returns:
        Facts about the file, for `tfcopy.json`.

    Raises:
        ValueError: If LiteRT lacks an operation, or in float32 its answer to an
            example differs from TensorFlow's.
    """
    with without_gradients():
        functions = {
            program_name(kind, length): _program(translator, kind, length)
            for kind in kinds(translator)
            for length in program_lengths(translator.max_source_length)
        }
    with open(path, "wb") as file:
        file.write(convert(functions, translator.resources, translator.litert))
    changed = _answers_changed(path, translator, module, examples)
    return {
        "precision": translator.litert,
        "sha256": litert_search.digest(path),
        "examples_changed": changed,
    }


def convert(functions: dict, resources: list, precision: str) -> bytes:
    """Converts functions to a file of programs.

    Args:
        functions: Concrete functions of known shapes, by name.
        resources: The variables and tables that they use.
        precision: `"float32"` or `"int8"`, where the large weights are integers
            with a scale for each row, and the products with them, too.

    Raises:
        ValueError: If LiteRT lacks an operation; the message names it.
    """
    module = tf.Module()
    module.resources = resources
    # What is served is not trained, and the loop's gradient cannot be saved.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        tf.saved_model.save(module, folder, functions, options)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=list(functions)
        )
        if precision == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        try:
            return converter.convert()
        except Exception as error:
            raise ValueError(
                f"LiteRT has no program of this search ({_reason(error)})."
            ) from error


def kinds(translator) -> tuple[str, ...]:
    """Returns `"free"`, and `"required"` if searches can be constrained."""
    if translator.options.must_copy or translator.glossary is not None:
        return ("required",)
    return ("free", "required") if translator.protects else ("free",)


def _program(translator, kind, length):
    options = dataclasses.replace(
        translator.search_options(),
        static_shapes=True,
        must_copy=kind == "required",
    )
    names = ["ids", "copy_ids", "protected"][: 3 if options.must_copy else 2]

    def search(ids, copy_ids, protected=None):
        result = translator.source_search.search(
            ids, copy_ids, options, protected=protected
        )
        kept = result._asdict()
        return {name: kept[name] for name in _results(options)}

    return tf.function(search, autograph=False).get_concrete_function(
        *(tf.TensorSpec([1, length], tf.int32, name=x) for x in names)
    )


def _results(options):
    return RESULTS if options.return_attention else RESULTS[:-1]


def text_functions(translator) -> dict:
    """Returns the functions before and after a search, by name.

    Returns:
        Dict of `read` and `write`, of the signature `serving_default`, and if
        words may be required `read_with_glossary` and `write_with_glossary`. A
        `read` maps the signature's inputs to a dict; a `write` maps this dict
        and the results of a program to the signature's outputs.
    """
    functions = {}
    for name in ("", "_with_glossary")[: 1 + translator.protects]:
        inputs = [_TEXT, _LINES] if name else [_TEXT]
        read = tf.function(_reading(translator), inputs, autograph=False)
        read = read.get_concrete_function()
        found = {
            key: tf.TensorSpec([None] * x.shape.rank, x.dtype, key)
            for key, x in read.structured_outputs.items()
        }
        options = translator.search_options()
        for key in _results(options):
            rank = {"scores": 2, "attention": 4}.get(key, 3)
            is_id = key in ("ids", "copied_from")
            dtype = tf.int32 if is_id else tf.float32
            found[f"result_{key}"] = tf.TensorSpec([None] * rank, dtype)
        write = tf.function(_writing(translator, options), autograph=False)
        functions[f"read{name}"] = read
        functions[f"write{name}"] = write.get_concrete_function(found)
    return functions


def _reading(translator):
    def read(text, glossary=None):
        rows = tf.range(tf.size(text))
        options = translator.search_options()
        _, source, terms = translator.read(options, text, rows, glossary)
        found = source._asdict() | (terms._asdict() if terms else {})
        return {k: x for k, x in found.items() if tf.is_tensor(x)}

    return read


def _writing(translator, options):
    def write(found):
        def made(kind, prefix=""):
            names = ((x, f"{prefix}{x}") for x in kind._fields)
            return kind(**{x: found.get(name) for x, name in names})

        terms = made(RequestedTerms) if "phrases" in found else None
        outputs = translator.written(
            options, made(SearchResult, "result_"), made(Sources), terms
        )
        return {name: outputs[name] for name in ("text", "score")}

    return write


def _answers_changed(path, translator, module, examples):
    """Counts the examples that int8 answers differently."""
    search = litert_search.LitertSearch(path, module, 1)
    changed = 0
    for example in examples:
        text = tf.constant([example["text"]])
        found = search.answer("serving_default", {"text": text})
        if found is None:
            continue
        found, expected = (
            x["text"].numpy()[0].decode()
            for x in (found, translator.translate(text))
        )
        changed += found != expected
        if found != expected and translator.litert != "int8":
            raise ValueError(
                f"LiteRT answers {example['text']!r} otherwise than "
                f"TensorFlow: {found!r}, not {expected!r}."
            )
    return changed


def _reason(error):
    """Returns the operation that LiteRT lacks, or an error's first line."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    missing = [x for x in lines if x.startswith(("TF Select", "Custom "))]
    return (missing or lines or [type(error).__name__])[0]
