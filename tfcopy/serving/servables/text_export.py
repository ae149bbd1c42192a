"""Functions of texts as facts, from which answers need no TensorFlow.

See `tfcopy.runtime.text_functions`, which reads them. An export compares
the two: a text that is not encoded and decoded alike is an error.

Shapes: B texts, S source positions, N hypotheses, L maximum length.
"""

import hashlib
import json
import pathlib
from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.checked_files import checksum_of
from tfcopy.data.text import glossary
from tfcopy.data.text.tokenization import string_tensor
from tfcopy.decoding import SearchResult
from tfcopy.runtime import text_functions
from tfcopy.serving.servables.translation import RequestedTerms
from tfcopy.serving.servables.translation import Sources as Batch

_ODD = pathlib.Path(__file__).with_name("odd_texts.txt")
# Texts that are compared at a time, and the lengths of their hypotheses.
_TEXTS, _LONGEST = 32, 9


def write(folder, translator, kinds: Mapping[str, str], assets) -> str:
    """Writes `texts.json`, and the models of subwords beside it.

    Args:
        folder: Where to write.
        translator: A `Translator` whose vocabularies are files.
        kinds: Kinds of search programs by the names of signatures.
        assets: Folder of the export's assets, where vocabularies are.

    Returns:
        The SHA-256 of the file.
    """
    models = {}
    facts = declare(translator, kinds, models)
    checksums = {
        name: checksum_of(pathlib.Path(assets, name))
        for name in {facts[x]["vocabulary"] for x in ("source", "target")}
    }
    for name, content in models.items():
        pathlib.Path(folder, name).write_bytes(content)
        checksums[name] = hashlib.sha256(content).hexdigest()
    content = {"format": text_functions.FORMAT, "files": checksums, **facts}
    data = json.dumps(content, separators=(",", ":")).encode()
    pathlib.Path(folder, text_functions.FILE_NAME).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def declare(translator, kinds: Mapping[str, str], files: dict) -> dict:
    """Returns the facts about a translator, and adds models to files."""
    source, target = (
        {
            "tokenizer": getattr(translator, f"{x}_tokenizer").declare(files),
            "vocabulary": f"{x}_vocabulary.txt",
        }
        for x in ("source", "target")
    )
    optional = {}
    if translator.protects:
        optional["glossary"] = glossary.declare(translator.glossary)
    if translator.entities is not None:
        optional["entities"] = translator.entities.declare()
    if translator.dictionary is not None:
        words = translator.target_vocabulary.words
        optional["dictionary"] = translator.dictionary.best(words)
    return {
        **{"signatures": dict(kinds), "source": source, "target": target},
        "max_source_length": translator.max_source_length,
        "reach": translator.source_tokenizer.reach,
        "append_eos": translator.append_eos,
        "replace_unk": translator.replace_unk,
        "must_copy": translator.options.must_copy,
        **optional,
    }


class Graphs:
    """The same functions in TensorFlow, for comparison.

    Args:
        translator: The `Translator`.
        kinds: As in `write`.
        options: Function of a kind of program, which returns its
            `SearchOptions`.
    """

    def __init__(self, translator, kinds: Mapping[str, str], options):
        self._translator, self._kinds = translator, kinds
        self._options = options
        # The signatures share their graphs.
        self._graphs = {}

    def _run(self, function, *inputs, **options):
        """Calls a function of tensors, whose graph takes any sizes."""
        specs = tf.nest.map_structure(_spec, inputs)
        key = f"{function.__name__}{specs}{options}"
        if key not in self._graphs:
            graph = tf.function(
                lambda *tensors: function(*tensors, **options), autograph=False
            )
            self._graphs[key] = graph.get_concrete_function(*specs)
        return self._graphs[key](*inputs)

    def _read_texts(self, text, glossary=None):
        options = self._translator.search_options()
        rows = tf.range(tf.size(text))
        _, source, terms = self._translator.read(options, text, rows, glossary)
        read = source._asdict() | (terms._asdict() if terms else {})
        return {k: x for k, x in read.items() if tf.is_tensor(x)}

    def _write_result(self, read, result, kind):
        terms = None
        if "phrases" in read:
            terms = RequestedTerms(read["phrases"], read["translations"])
        source = Batch(**{x: read.get(x) for x in Batch._fields})
        result = SearchResult(
            **{x: result.get(x) for x in SearchResult._fields}
        )
        outputs = self._translator.detokenize_result(
            self._options(kind), result, source, terms
        )
        del outputs["emission_probs"]
        return outputs

    def read(self, texts, lines=None) -> dict:
        """Encodes texts, as `TextFunctions.read`; returns tensors by name."""
        inputs = [_strings(texts)]
        if lines is not None:
            rows = _strings([x for row in lines for x in row])
            inputs.append(tf.reshape(rows, [len(lines), -1 if lines else 0]))
        return self._run(self._read_texts, *inputs)

    def write(self, signature, read, result) -> dict:
        """Decodes hypotheses, as `TextFunctions.write`."""
        kind = self._kinds[signature]
        result = {k: tf.constant(x) for k, x in result.items()}
        outputs = self._run(self._write_result, read, result, kind=kind)
        names = outputs if signature == "analyse" else ("text", "score")
        return {x: outputs[x] for x in names}

    def draw(self, signature, read, rng) -> dict:
        """Draws a result of a search, in which many words are copied."""
        options = self._options(self._kinds[signature])
        size = self._translator.target_vocabulary.size
        rows, width = read["ids"].shape
        shape = rows, options.num_hypotheses, _LONGEST
        # No search copies padding.
        counts = np.maximum((np.array(read["words"]) != b"").sum(1), 1)
        copied = rng.integers(0, 1 << 30, shape) % counts[:, None, None]
        is_copied = rng.random(shape) < 0.5
        ids = rng.integers(special.EOS + 1, max(size, special.EOS + 2), shape)
        ids = np.where(is_copied, size + copied, ids)
        lengths = rng.integers(0, _LONGEST, (rows, shape[1], 1))
        places = np.arange(_LONGEST)
        ends = np.where(places == lengths, special.EOS, special.PAD)
        # A copied word may be one of the vocabulary, too.
        result = {
            "ids": np.where(places < lengths, ids, ends),
            "copied_from": np.where(is_copied, copied, special.GENERATE),
            "scores": rng.normal(size=shape[:2]),
            "generate_probs": rng.random(shape),
        }
        if options.return_attention:
            result["attention"] = rng.random((*shape, width))
        dtypes = {"i": np.int32, "f": np.float32}
        return {k: x.astype(dtypes[x.dtype.kind]) for k, x in result.items()}


def compare(
    functions: text_functions.TextFunctions, graphs: Graphs, texts: Iterable
) -> None:
    """Compares both kinds of functions, text by text.

    Args:
        functions: Functions of an export.
        graphs: The same functions in TensorFlow.
        texts: Texts, besides which odd ones are compared.

    Raises:
        ValueError: Naming a text that they read or write in another way, unless
            a model cuts it in two ways that are equally probable.
    """
    texts = [*odd_texts(), *(x.encode("utf-8", "replace") for x in texts)]
    for start in range(0, len(texts), _TEXTS):
        batch = texts[start : start + _TEXTS]
        if find_difference(functions, graphs, batch) is None:
            continue
        ties = [text for text in batch if _is_tie(functions, graphs, text)]
        for text in batch:
            where = find_difference(functions, graphs, [text])
            if where is not None and text not in ties:
                raise ValueError(
                    "Without TensorFlow the text "
                    f"{text[:200].decode(errors='replace')!r} has other "
                    f"{where}."
                )
        if not ties:
            raise ValueError(
                "Without TensorFlow a batch is encoded differently."
            )


def _is_tie(functions, graphs, text):
    """Returns whether a text is cut in two ways that are equally probable.

    Releases of SentencePiece round the sums of scores in different ways.
    """
    (tokens,) = functions.read([text]).tokens
    (words,) = graphs.read([text])["words"].numpy()
    others = [x for x in words.tolist() if x]
    return tokens != others and functions.is_tie(tokens, others)


def odd_texts() -> list[bytes]:
    """Returns texts with blanks, markup, scripts and bytes of all kinds."""
    lines = _ODD.read_bytes().split(b"\n")
    return [x.decode("unicode_escape").encode("latin-1") for x in lines]


def find_difference(functions, graphs, texts, seed: int = 0) -> str | None:
    """Returns the name of an array that differs for a batch of texts."""
    rng = np.random.default_rng(seed)
    for signature in functions.signatures:
        lines = None
        if "glossary" in functions.signatures[signature].inputs:
            lines = [[_term_of(text, rng)] * 2 for text in texts]
        read, sources = graphs.read(texts, lines), functions.read(texts, lines)
        where = _find_difference(arrays_of(sources), read)
        if where is None and texts:
            result = graphs.draw(signature, read, rng)
            where = _find_difference(
                functions.write(signature, sources, result),
                graphs.write(signature, read, result),
            )
        if where is not None:
            return where
    return None


def _term_of(text, rng):
    """Returns a line of a glossary with a part of a text."""
    words = text.split() or [b""]
    first = rng.integers(len(words))
    return b" ".join(words[first : first + 2]) + b"\t" + words[0]


def arrays_of(sources: text_functions.Sources) -> dict:
    """Returns sources as arrays, by the names that graphs have for them."""
    arrays = {
        "ids": sources.ids,
        "copy_ids": sources.copy_ids,
        "words": text_functions.pad_texts(sources.tokens, sources.ids.shape[1]),
        "is_blank": np.array(sources.is_blank, bool),
        "longest": np.int32(sources.longest),
    }
    if sources.keys is not None:
        arrays["keys"] = text_functions.pad_texts(
            sources.keys, sources.ids.shape[1]
        )
    if sources.protected is not None:
        arrays["protected"] = sources.protected
    if sources.terms is not None:
        columns = zip(*sources.terms) if sources.terms else ((), ())
        for name, texts in zip(RequestedTerms._fields, columns):
            arrays[name] = text_functions.pad_texts([texts], len(texts))[0]
    return arrays


def _find_difference(actual, expected):
    """Returns the name of an array that differs, floats to the last bit."""
    expected = {name: x.numpy() for name, x in expected.items()}
    if actual.keys() != expected.keys():
        return ", ".join(actual.keys() ^ expected.keys())
    for name, x in expected.items():
        same = actual[name].shape == x.shape and actual[name].dtype == x.dtype
        if not same or actual[name].tolist() != x.tolist():
            return name
    return None


def _spec(tensor):
    return tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype)


def _strings(texts):
    return string_tensor(texts) if texts else tf.zeros([0], tf.string)
