"""The search of a translator as programs of LiteRT.

TensorFlow starts some hundred operations at each step of a search; LiteRT runs
a program of fixed shapes with hardly anything between its products. One file
holds a program of one text for each of a few lengths; they share their weights.
Another file holds the functions that tokenize texts and detokenize answers.

Shapes: B texts, S source positions, N hypotheses, L maximum length.
"""

import contextlib
import dataclasses
import functools
import itertools
import operator
import os
import sys
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf
import tqdm
from tensorflow.lite.tools import flatbuffer_utils

from tfcopy import checked_files, keras_internals
from tfcopy.layers.tensorflow_loop import disable_gradients
from tfcopy.runtime.litert_engine import FILE_NAME, LitertEngine, program_name
from tfcopy.runtime.text_functions import FILE_NAME as TEXTS_NAME
from tfcopy.runtime.text_functions import TextFunctions, strings
from tfcopy.serving.servables import storage, text_export
from tfcopy.serving.servables.translation import program_lengths

_RESULTS = ("ids", "scores", "copied_from", "generate_probs", "attention")
# Texts of a test set that programs answer, and those that are read and written
# with and without TensorFlow: a few seconds.
_TESTED, _COMPARED = 300, 2000
# Elements of a weight that the converter makes integers.
_LARGE = 1024
# What int8 may cost.
_MOST_LOST = {"BLEU": 0.3, "chrF": 0.3}


def check(translator):
    """Raises a ValueError if LiteRT cannot run the searches of a translator."""
    reasons = {
        "samples": translator.options.sample,
        "looks up definitions": translator.definitions is not None,
        "has a shortlist": translator.shortlist is not None,
    }
    for reason in (x for x, holds in reasons.items() if holds):
        raise ValueError(f"LiteRT has no program of a search that {reason}.")


def write(folder, translator, examples, pairs=()) -> dict:
    """Writes all programs of a translator, and compares them with TensorFlow.

    If its model computes in bfloat16, which LiteRT does not, a copy in float32
    is converted, and compared with.

    Args:
        folder: Folder of the version, with its assets.
        translator: A `Translator`.
        examples: Dicts of texts by name, such as warm-up texts.
        pairs: Texts of a test set and their references. If int8 costs more than
            0.3 BLEU or chrF on the first 300, or a span that is to be copied,
            the programs are in float32.

    Returns:
        Facts about the files, for `tfcopy.json`.

    Raises:
        ValueError: If LiteRT lacks an operation, or in float32 its answer to a
            text is worse than TensorFlow's, or differs without a reference.
    """
    start = time.monotonic()
    check(translator)
    model = storage.convert_to_float32(translator.model)
    if model is not translator.model:
        translator = translator.copy(model=model)
    extra = os.path.join(folder, "assets.extra")
    path = os.path.join(extra, FILE_NAME)
    signatures = signature_kinds(translator)
    assets = os.path.join(folder, "assets")
    facts = {"texts": text_export.write(extra, translator, signatures, assets)}
    functions = TextFunctions(os.path.join(extra, TEXTS_NAME), assets, extra)
    options = functools.partial(options_of, translator)
    graphs = text_export.Graphs(translator, signatures, options)
    compared = [*(x["text"] for x in examples), *itertools.chain(*pairs)]
    text_export.compare(functions, graphs, compared[:_COMPARED])
    texts, references = [x["text"] for x in examples], None
    if pairs:
        texts, references = zip(*pairs[:_TESTED])
    expected = translator.translate_all(texts, progress=False)
    expected = [x.text for x in expected]
    for precision in dict.fromkeys((translator.litert, "float32")):
        with open(path, "wb") as file:
            file.write(_make_programs(translator, precision))
        checksum = checked_files.checksum_of(path)
        facts |= {"precision": precision, "sha256": checksum}
        answers = _answers(LitertEngine(folder, facts, 1), texts)
        changed = _compare(translator, texts, expected, answers, references)
        facts[precision] = {"texts": len(texts), **changed}
        if precision == "float32":
            worse = changed["worse" if references else "answers"]
            if worse:
                raise ValueError(
                    f"LiteRT answers {worse} of {len(texts)} texts worse than "
                    "TensorFlow, in float32, too."
                )
        elif _is_worse(changed):
            continue
        break
    files = (os.path.join(extra, x) for x in (FILE_NAME, TEXTS_NAME))
    facts["bytes"] = sum(map(os.path.getsize, files))
    return {**facts, "seconds": round(time.monotonic() - start, 1)}


def _make_programs(translator, precision):
    """Returns a file of all programs."""
    longest, usual = translator.max_source_length, translator.usual_length
    # What `analyse` returns is looked at, one text at a time.
    sizes = [
        (kind, length)
        for kind in kinds(translator)
        for length in program_lengths(
            longest, usual, 4 if kind == ANALYSED else 2
        )
    ]
    programs = {}
    # Standard error is hidden, since the converter writes to it.
    bar = tqdm.tqdm(
        total=2 * len(sizes), leave=False, disable=None, file=sys.stdout
    )
    with bar, disable_gradients(), _integer_embeddings(translator, precision):
        for kind, length in sizes:
            bar.set_description(f"Program for {length} tokens ({kind})")
            programs[program_name(kind, length)] = _program(
                translator, kind, length
            )
            bar.update()
        bar.set_description(f"Conversion to {precision}")
        return convert(programs, precision)


@contextlib.contextmanager
def _integer_embeddings(translator, precision):
    """Has embeddings look words up in tables of integers, for int8.

    The converter makes all of a table floats before a word is looked up, in
    each loop of each program: 10 MB for 10,000 words of 256 units.
    """
    embeddings = {
        id(layer): layer
        for model in getattr(translator.model, "models", [translator.model])
        if precision == "int8" and isinstance(model, keras.Model)
        for layer in keras_internals.all_layers(model)
        if isinstance(layer, keras.layers.Embedding)
    }
    changed = []
    for layer in embeddings.values():
        table = keras.ops.convert_to_numpy(layer.embeddings)
        if table.size >= _LARGE and not layer.quantization_mode:
            layer.call = _integer_lookup(table)
            changed.append(layer)
    try:
        yield
    finally:
        for layer in changed:
            del layer.call


def _integer_lookup(table):
    """Returns a function of ids that looks rows up, `(V, E)`, as integers."""
    scales = np.abs(table).max(axis=1, keepdims=True) / 127
    scales[scales == 0] = 1
    # Not a constant, which would be stored once for each loop and program.
    integers = tf.Variable(np.round(table / scales).astype(np.int8))

    def look_up(ids):
        rows = tf.cast(tf.gather(integers, ids), tf.float32)
        return rows * tf.gather(tf.constant(scales), ids)

    return look_up


def describe_programs(facts: dict) -> str:
    """Returns a sentence about programs, from the facts about them."""
    precision = "int8" if "int8" in facts else "float32"
    changed = facts[precision]
    text = (
        f"LiteRT in {facts['precision']} ({facts['bytes'] / 1e6:.1f} MB, "
        f"made in {facts['seconds']:.0f} seconds); {precision} changes "
        f"{changed['answers']} of {changed['texts']} answers"
    )
    if "better" in changed:
        text += f", {changed['better']} better, {changed['worse']} worse: "
        text += ", ".join(
            f"{name} {changed['before'][name]:.2f} to {after:.2f}"
            for name, after in changed["after"].items()
        )
    return f"{text}."


def convert(functions: dict, precision: str) -> bytes:
    """Converts functions to a file of programs.

    Args:
        functions: Concrete functions of known shapes, by name.
        precision: `"float32"` or `"int8"`, where the large weights are integers
            with a scale for each row, and the products with them, too.

    Raises:
        ValueError: If LiteRT lacks an operation; the message names it.
    """
    module = tf.Module()
    found = itertools.chain(*(x.graph.variables for x in functions.values()))
    module.weights = [*{x.ref(): x for x in found}.values()]
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
            return _share_scales(converter.convert())
        except Exception as error:
            raise ValueError(
                f"LiteRT has no program of this search ({_reason(error)})."
            ) from error


class _Shared:
    """A part of a FlatBuffer that is written once, and referred to again."""

    def __init__(self, part):
        self._part, self._offset = part, None

    def Pack(self, builder):
        if self._offset is None:
            self._offset = self._part.Pack(builder)
        return self._offset


def _share_scales(content):
    """Returns a file in which equal scales and zero points are stored once.

    A table of 10,000 words takes 120 kB of them in each program.
    """
    model = flatbuffer_utils.convert_bytearray_to_object(content)
    shared = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            part = tensor.quantization
            if part is not None:
                key = tuple(map(_hashable, vars(part).values()))
                tensor.quantization = shared.setdefault(key, _Shared(part))
    return flatbuffer_utils.convert_object_to_bytearray(model)


def _hashable(x):
    return x.tobytes() if isinstance(x, np.ndarray) else x


# The kind of program that finds all that `analyse` returns.
ANALYSED = "analysed"


def kinds(translator) -> tuple[str, ...]:
    """Returns the kinds of programs; the first is that of `serving_default`.

    `"required"` searches with required words, `"free"` without.
    """
    if translator.options.must_copy or translator.glossary is not None:
        return "required", ANALYSED
    if translator.protects:
        return "free", ANALYSED, "required"
    return "free", ANALYSED


def options_of(translator, kind):
    """Returns the `SearchOptions` of a kind of program."""
    options = translator.search_options()
    if kind == ANALYSED:
        options = translator.search_options(
            translator.options.num_beams, return_attention=True
        )
        kind = kinds(translator)[0]
    return dataclasses.replace(
        options, static_shapes=True, must_copy=kind == "required"
    )


def _program(translator, kind, length):
    options = options_of(translator, kind)
    names = ["ids", "copy_ids", "protected"][: 3 if options.must_copy else 2]

    def search(ids, copy_ids, protected=None):
        kept = translator.source_search.search(
            ids, copy_ids, options, protected=protected
        )._asdict()
        results = _RESULTS if options.return_attention else _RESULTS[:-1]
        return {name: kept[name] for name in results}

    return tf.function(search, autograph=False).get_concrete_function(
        *(tf.TensorSpec([1, length], tf.int32, name=x) for x in names)
    )


def signature_kinds(translator) -> dict[str, str]:
    """Returns the kinds of search programs by the names of signatures."""
    signatures = {"serving_default": kinds(translator)[0], "analyse": ANALYSED}
    if translator.protects:
        signatures["with_glossary"] = "required"
    return signatures


def _answers(engine, texts):
    """Returns the answers to texts, by the program of each one's length."""
    inputs = ({"text": strings([text.encode()])} for text in texts)
    answers = (engine.answer("serving_default", x) for x in inputs)
    return [x["text"][0].decode() for x in answers]


def _compare(translator, texts, expected, actual, references):
    """Counts the answers that differ, and scores both sides."""
    if not references:
        return {"answers": sum(map(operator.ne, expected, actual))}
    # Imported late: it is slow.
    from tfcopy.evaluation import translations

    def score(answers):
        scores = {
            "BLEU": translations.bleu(answers, references)["score"],
            "chrF": translations.chrf(answers, references)["score"],
        }
        if translator.protects:
            protect = translator.source_tokenizer.protect
            kept = translations.score_kept_markup(texts, answers, protect)
            scores["% of spans"] = kept["spans_kept"]
        return {name: round(x, 2) for name, x in scores.items()}

    counts = translations.count_changed_answers(expected, actual, [references])
    return {**counts, "before": score(expected), "after": score(actual)}


def _is_worse(changed):
    """Returns whether int8 costs more than it may."""
    return any(
        round(x - changed["after"][name], 2) > _MOST_LOST.get(name, 0)
        for name, x in changed.get("before", {}).items()
    )


def _reason(error):
    """Returns the operation that LiteRT lacks, or an error's first line."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    missing = [x for x in lines if x.startswith(("TF Select", "Custom "))]
    return (missing or lines or [type(error).__name__])[0]
