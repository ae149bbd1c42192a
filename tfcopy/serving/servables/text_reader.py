"""From texts to the output of a model of their words.

The encodings of all entries of a dictionary are computed once.

Shapes: B examples, R lines of a request's dictionary, T words of a text with
its marks, L entries of a word, N entries of the dictionary, U entries of a
batch, D size of a reader's output.
"""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions import packing
from tfcopy.data.ragged_rows import fill_empty, rows_of
from tfcopy.data.text.tokenization import readable_text
from tfcopy.serving.servables.requested_definitions import RequestedDefinitions

_BLOCK = 1024  # entries that are read at once


class DefinitionTable(tf.Module):
    """A table with a row for each entry, used instead of its definitions.

    It is a packer for `DefinitionFeatures`, after which no definition is left
    to encode. Numbers above the entries' are further rows, such as a request's.

    Args:
        embedding: `DefinitionEmbedding` with a reader. Its present weights
            count.
        packer: The `DefinitionPacker` of the model.
    """

    def __init__(self, embedding, packer: packing.DefinitionPacker):
        super().__init__(name="definition_table")
        self.exclude_top_k = packer.exclude_top_k
        self.size = packer.num_entries + 1
        sums, counts = embedding.table(_blocks(packer))
        with tf.init_scope():
            self._sums = tf.Variable(sums, trainable=False, name="sums")
            self._counts = tf.Variable(counts, trainable=False, name="counts")

    def pack(self, entries, ids):
        """Packs the entries of the words of one batch.

        Args:
            entries: Dict of int32 `(B, T, L)`, numbers of entries, 0 for none,
                or of further rows, from `size` on.
            ids: Dict of int32 `(B, T)`. As in `DefinitionPacker.pack`, but
                frequent words may have further rows as well.

        Returns:
            Dict of `slots`, int32 of the structure and shapes of `entries`,
            and `numbers`, int32 `(U + 1,)`, the entry of each slot.
        """
        usable = packing.replace_frequent(entries, ids, self.exclude_top_k, 0)
        entries = tf.nest.map_structure(
            lambda x, y: tf.where(x < self.size, y, x), entries, usable
        )
        numbers, slots = packing.distinct(entries, nothing=0)
        return {"slots": slots, "numbers": numbers}

    def rows(self, numbers, further=None):
        """Returns the reader's output for entries.

        Args:
            numbers: int32 `(U + 1,)`, as in `pack`.
            further: Optional pair, `(R, D)` and `(R,)`: sums and numbers of
                definitions of further rows.

        Returns:
            `(E, n)`, float32, `(U + 1, D)` and `(U + 1,)`, the `rows` of a
            `DefinitionEmbedding`.
        """
        kept = tf.minimum(numbers, self.size - 1)
        rows = tf.gather(self._sums, kept), tf.gather(self._counts, kept)
        if further is None:
            return rows
        # One row more, so that there is a row to gather.
        further = [
            tf.pad(x, [[1, 0]] + [[0, 0]] * (x.shape.rank - 1)) for x in further
        ]
        places = tf.maximum(numbers - self.size + 1, 0)
        is_kept = places == 0
        return (
            tf.where(is_kept[:, None], rows[0], tf.gather(further[0], places)),
            tf.where(is_kept, rows[1], tf.gather(further[1], places)),
        )


def _blocks(packer):
    """Yields packs of the entries 1, 2 and so on."""
    for start in range(1, packer.num_entries + 1, _BLOCK):
        stop = min(start + _BLOCK, packer.num_entries + 1)
        entries = tf.range(start, stop)[None, :, None]
        # No unknown word is too frequent.
        yield packer.pack(entries, tf.fill([1, stop - start], special.UNK))


_BOS_WORD = special.SPECIAL_TOKENS[special.BOS]
_EOS_WORD = special.SPECIAL_TOKENS[special.EOS]
# Bytes of a word that is looked up as it is.
_LONGEST_WORD = 4096


class Read(NamedTuple):
    """A model's output for a batch of texts.

    Attributes:
        words: Ragged strings, `(B, None)`, of each text by name.
        inputs: Dict of the inputs of the model.
        outputs: The model's output.
        details: Dict of the outputs of the requested layers.
    """

    words: dict
    inputs: dict
    outputs: Any
    details: dict


class TextReader:
    """Reads texts with the model of a `TextModel`.

    Args:
        served: The `TextModel`.
        vocabularies: Dict of its vocabularies: `text`, `character` and
            `definition`.
    """

    def __init__(self, served, vocabularies):
        self._names = served.texts
        self._embedding = served.embedding
        self._tokenizer = served.tokenizer
        self._max_length = served.max_length
        self._table = self._requested = None
        if served.reads_definitions:
            self._table = DefinitionTable(
                served.embedding, served.features.packer
            )
        self._features = served.features.copy(
            vocabulary=vocabularies["text"],
            characters=vocabularies.get("character"),
            packer=self._table,
        )
        functions = {"run": self._run, "look_up": self._features.look_up}
        if self._table is not None:
            definitions = served.definitions
            with tf.init_scope():
                self._headwords = tf.constant(["", *definitions.headwords])
            if served.definition_tokenizer is not None:
                functions["read"] = served.embedding.read
                self._requested = RequestedDefinitions(
                    served, vocabularies["definition"]
                )
        self._core = self._make_core(served.model, served.layers)
        # The signatures share their graphs.
        self._functions = {
            name: tf.function(function, autograph=False)
            for name, function in functions.items()
        }

    @property
    def resources(self) -> list:
        """Tables, which a SavedModel must hold."""
        tables = [self._features, self._table, self._requested]
        return [x for x in tables if x is not None]

    def _make_core(self, model, layers):
        """Returns the model, or with a table the part after its embedding."""
        names = {layer.name for layer in model.layers}
        details = {
            name: model.get_layer(name).output
            for name in layers
            if name in names
        }
        inputs = model.input
        if self._table is not None:
            embedded = model.get_layer(self._embedding.name).output
            ids = [model.input[f"{name}_ids"] for name in self._names]
            inputs = [*keras.tree.flatten(embedded), *ids]
        # A `keras.Model` of layers inside another spoils that one's config.
        return keras.Function(inputs, (model.output, details))

    def readable(self, texts) -> dict:
        """Truncates texts, strings `(B,)` by name, to the model's length."""
        read = {
            name: readable_text(texts[name], self._tokenizer, self._max_length)
            for name in self._names
        }
        return {**texts, **read}

    def read(self, texts) -> Read:
        """Returns the model's output for texts, strings `(B,)` by name.

        There may be a `dictionary` of further definitions, `(B, R)`.
        """
        words = {}
        for name in self._names:
            cut = self._tokenizer.tokenize(texts[name])[:, : self._max_length]
            if not (self._features.begin or self._features.end):
                # No model reads a text without any position.
                cut = fill_empty(cut, cut.row_lengths() == 0)
            words[name] = cut
        looked_up = {name: _cut_middles(x) for name, x in words.items()}
        lookups = {
            name: self._functions["look_up"](text.flat_values)
            for name, text in looked_up.items()
        }
        further, names = None, None
        if self._requested is not None and "dictionary" in texts:
            requested = self._requested.read(texts["dictionary"])
            self._override(looked_up, lookups, requested)
            names = requested.headwords
            sums = self._functions["read"](requested.pack)
            further = sums[1:], requested.pack["counts"][1:]
        inputs = self._features.inputs(looked_up, lookups)
        about = {}
        if self._table is not None:
            numbers = inputs.pop("definition_numbers")
            inputs["sums"], inputs["counts"] = self._table.rows(
                numbers, further
            )
            about = self._headwords_of(inputs, numbers, names)
        outputs, details = self._functions["run"](inputs)
        return Read(words, {**inputs, **about}, outputs, details)

    def _override(self, words, lookups, requested):
        """Puts numbers of further rows where a request defines a word."""
        for name, text in words.items():
            entries = lookups[name]["entries"]
            slots = self._requested.find(
                requested,
                text.flat_values,
                tf.cast(rows_of(text), tf.int32),
                tf.gather(self._headwords, entries),
            )
            row = self._table.size - 1 + slots[:, None]
            rest = tf.zeros_like(entries[:, 1:])
            lookups[name]["entries"] = tf.where(
                slots[:, None] > 0, tf.concat([row, rest], axis=1), entries
            )

    def _run(self, inputs):
        """Returns the model's outputs and details."""
        if self._table is None:
            return self._core(inputs)
        spellings = None
        if "spelling_ids" in inputs:
            slots = self._select_inputs(inputs, "spelling_slots")
            spellings = {"slots": slots, "ids": inputs["spelling_ids"]}
        ids = self._select_inputs(inputs, "ids")
        vectors = self._embedding(
            ids,
            {"slots": self._select_inputs(inputs, "slots")},
            spellings=spellings,
            rows=(inputs["sums"], inputs["counts"]),
        )
        return self._core([*keras.tree.flatten(vectors), *ids.values()])

    def _headwords_of(self, inputs, numbers, names):
        """Returns the headwords of each word, strings `(B, T, L)` by name."""
        headwords = self._headwords
        if names is not None:
            headwords = tf.concat([headwords, names], axis=0)
        headwords = tf.gather(headwords, numbers)  # (U + 1,)
        headwords = tf.where(inputs["counts"] > 0, headwords, "")
        return {
            f"{name}_headwords": tf.gather(headwords, slots)
            for name, slots in self._select_inputs(inputs, "slots").items()
        }

    def _select_inputs(self, inputs, kind):
        return {name: inputs[f"{name}_{kind}"] for name in self._names}

    def list_words(self, read: Read) -> dict:
        """Returns the words of each text with marks, and their headwords."""
        about = {}
        for name, words in read.words.items():
            column = [words.nrows(), 1]
            begin = [tf.fill(column, _BOS_WORD)] * self._features.begin
            end = [tf.fill(column, _EOS_WORD)] * self._features.end
            parts = tf.concat([*begin, words, *end], axis=1)
            about[f"{name}_tokens"] = parts.to_tensor("")
            if self._table is not None:
                about[f"{name}_headwords"] = read.inputs[f"{name}_headwords"]
        return about


def _cut_middles(words):
    """Cuts the middles out of huge words, which no table holds.

    Rules and spellings look at the ends of a word.
    """
    values = words.flat_values
    lengths = tf.strings.length(values)
    half = tf.fill(tf.shape(lengths), _LONGEST_WORD // 2)
    first = tf.strings.substr(values, tf.zeros_like(half), half)
    last = tf.strings.substr(values, tf.maximum(lengths - half, 0), half)
    ends = tf.strings.join([first, last])
    values = tf.where(lengths > _LONGEST_WORD, ends, values)
    return words.with_flat_values(values)
