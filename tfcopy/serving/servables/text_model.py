"""What models of texts whose words have definitions share when served.

Shapes: B examples, R lines of a request's dictionary, T words of a text with
its marks, L entries of a word, U entries of a batch.
"""

import dataclasses
import os
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.features import DefinitionFeatures
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.serving.servables.definition_table import DefinitionTable
from tfcopy.serving.servables.requested_definitions import RequestedDefinitions
from tfcopy.serving.servables.untracked import Untracked

_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
_BOS_WORD = special.SPECIAL_TOKENS[special.BOS]
_EOS_WORD = special.SPECIAL_TOKENS[special.EOS]


class Read(NamedTuple):
    """What a model says of a batch of texts.

    Attributes:
        words: Ragged strings, `(B, None)`, of each text by name.
        inputs: Dict of the inputs of the model.
        outputs: What the model gives.
        details: Dict of the outputs of the layers that were asked for.
    """

    words: dict
    inputs: dict
    outputs: Any
    details: dict


class TextModel(tf.Module):
    """A model of `definition_inputs`, of texts; the base of what is served.

    Definitions are not read when texts are: what the reader says of all
    entries of the dictionary is a table, made here from the weights as they
    are now. A request may bring definitions of its own, a `dictionary` of
    lines `headword<TAB>definition` for each example. A word that one of these
    headwords defines (see `RequestedDefinitions.find`) has the mean of their
    definitions in the place of those of its entries; lines that are none are
    ignored. That is so for frequent words as well, even if they had no
    definition in training (`exclude_top_k`); but with `combine="replace"`
    known words have no definition at all. A phrase keeps its own. No example
    sees the dictionary of another.

    Texts are cut at `max_length` words. Any bytes are read; a blank text is an
    unknown word, unless the model's texts have marks.

    Args:
        model: A Keras model, such as `models.esim`.
        embedding: Its embedding: a `DefinitionEmbedding`, or any other layer.
        features: The `DefinitionFeatures` of its batches.
        tokenizer: Cuts texts into words, as in training.
        definitions: The `Definitions` that the features look up; `None` if
            the embedding reads none.
        max_length: Positive integer, the words of a text that are read.
        definition_tokenizer: Cuts the definitions of requests into tokens, as
            those of the dictionary were; `None` if requests bring none, for
            models whose definitions are not text. A model that reads no
            definitions takes none either.
        table: The `DefinitionTable`, if there is one already.
        vocabularies: Dict of vocabularies that take the place of those of the
            features, with the same words: `text`, `character` and
            `definition`.

    Raises:
        ValueError: If arguments do not belong together.
    """

    # What subclasses say: names of the texts, and of layers whose outputs are
    # asked for, if the model has them.
    task = None
    texts = ()
    layers = ()

    def __init__(
        self,
        model,
        embedding,
        features: DefinitionFeatures,
        tokenizer: Tokenizer = Tokenizer(),
        definitions: Definitions | None = None,
        *,
        max_length: int = 1000,
        definition_tokenizer: Tokenizer | None = Tokenizer(),
        table: DefinitionTable | None = None,
        vocabularies: dict | None = None,
    ):
        super().__init__(name=self.task)
        self.reads_definitions = getattr(embedding, "reader", None) is not None
        self._check(features, definitions, max_length)
        self._options = Untracked(
            {
                "model": model,
                "embedding": embedding,
                "features": features,
                "tokenizer": tokenizer,
                "definitions": definitions,
                "max_length": max_length,
                "definition_tokenizer": definition_tokenizer,
            }
        )
        self._model = Untracked(model)
        self._embedding = Untracked(embedding)
        self.tokenizer = tokenizer
        self.max_length = max_length
        self._vocabularies = Untracked(vocabularies or _vocabularies(features))
        self.table = table
        if self.reads_definitions and table is None:
            self.table = DefinitionTable(embedding, features.packer)
        self.features = features.copy(
            vocabulary=self.vocabulary,
            characters=self._vocabularies.value.get("character"),
            packer=self.table,
        )
        self.requested = None
        if self.reads_definitions:
            with tf.init_scope():
                self._headwords = tf.constant(["", *definitions.headwords])
            if definition_tokenizer is not None:
                self.requested = RequestedDefinitions(
                    features.packer,
                    self._vocabularies.value["definition"],
                    definition_tokenizer,
                    features.lookup.lemmas,
                    definitions.lemmas,
                )
        self._core = Untracked(self._make_core())
        # The signatures share their graphs.
        functions = {"run": self._run, "look_up": self.features.look_up}
        if self.requested is not None:
            functions["read"] = embedding.read
        self._functions = Untracked(
            {
                name: tf.function(function, autograph=False)
                for name, function in functions.items()
            }
        )

    def _check(self, features, definitions, max_length):
        given = {
            "features with a packer": features.packer is not None,
            "definitions": definitions is not None,
        }
        for name, is_given in given.items():
            if is_given != self.reads_definitions:
                reads = "reads" if self.reads_definitions else "does not read"
                raise ValueError(
                    f"The embedding {reads} definitions. Expected "
                    f"{'' if self.reads_definitions else 'no '}{name}."
                )
        if definitions is not None:
            expected = features.packer.num_entries
            if len(definitions.headwords) != expected:
                raise ValueError(
                    f"`definitions` must be those of the packer, of {expected} "
                    f"headwords. Received: {len(definitions.headwords)}."
                )
        if max_length < 1:
            raise ValueError(
                "`max_length` must be at least 1. "
                f"Received: max_length={max_length}."
            )

    def _make_core(self):
        """The model; with a table only what comes after its embedding."""
        model = self._model.value
        names = {layer.name for layer in model.layers}
        details = {
            name: model.get_layer(name).output
            for name in self.layers
            if name in names
        }
        inputs = model.input
        if self.table is not None:
            embedded = model.get_layer(self._embedding.value.name).output
            ids = [model.input[f"{name}_ids"] for name in self.texts]
            inputs = [*keras.tree.flatten(embedded), *ids]
        return keras.Model(inputs, (model.output, details))

    @property
    def options(self) -> dict:
        """The arguments that it was made with."""
        return {**self._options.value, **self.own_options}

    @property
    def vocabulary(self):
        """The `Vocabulary` of the texts."""
        return self._vocabularies.value["text"]

    @property
    def resources(self) -> list:
        """Variables and tables, which a SavedModel must hold."""
        weights = [v.value for v in self._model.value.variables]
        others = [self.features, self.table, self.requested]
        return weights + [x for x in others if x is not None]

    @property
    def config(self) -> dict:
        """What is told of it beside the SavedModel."""
        definitions = self.options["definitions"]
        config = {
            "task": self.task,
            "texts": list(self.texts),
            "tokenizer": dataclasses.asdict(self.tokenizer),
            "max_length": self.max_length,
            **self.own_options,
            **{
                f"{name}_vocabulary_size": vocabulary.size
                for name, vocabulary in self._vocabularies.value.items()
            },
            "num_headwords": len(definitions.headwords) if definitions else 0,
        }
        if self.requested is not None:
            tokenizer = self.requested.tokenizer
            config["definition_tokenizer"] = dataclasses.asdict(tokenizer)
        return config

    @property
    def own_options(self) -> dict:
        """The arguments that a subclass has of its own."""
        return {}

    @property
    def signatures(self) -> dict:
        """Concrete functions by the names of signatures."""
        names = ["serving_default", "analyse"]
        if self.requested is not None:
            names.insert(1, "with_dictionary")
        return {name: self.signature(name) for name in names}

    def signature(self, name):
        """The concrete function of one signature."""
        inputs = self.texts
        if self.requested is not None and name != "serving_default":
            inputs = (*inputs, "dictionary")
        function = self._analysed if name == "analyse" else self._plain
        return tf.function(function, autograph=False).get_concrete_function(
            **{x: _spec(x) for x in inputs}
        )

    def with_files(self, folder) -> "TextModel":
        """The same, its vocabularies saved as files of a folder."""
        saved = {}
        files = {}
        for name, vocabulary in self._vocabularies.value.items():
            if id(vocabulary) not in files:
                path = os.path.join(folder, f"{name}_vocabulary.txt")
                files[id(vocabulary)] = vocabulary.save(path)
            saved[name] = files[id(vocabulary)]
        return type(self)(
            **self.options,
            table=self.table,
            vocabularies=saved,
        )

    def _plain(self, **texts):
        return self._ask(texts, self._answer)

    def _analysed(self, **texts):
        return self._ask(texts, self._analyse)

    def _answer(self, texts, read: Read) -> dict:
        """What `serving_default` gives, of texts `(B,)` by name."""
        raise NotImplementedError

    def _analyse(self, texts, read: Read) -> dict:
        """What `analyse` gives."""
        raise NotImplementedError

    def _ask(self, texts, say):
        size = tf.shape(texts[self.texts[0]])[0]
        for name, x in texts.items():
            tf.debugging.assert_equal(
                tf.shape(x)[0],
                size,
                f"All inputs must have one row an example; {name} has not.",
            )
        # A batch of nothing has no longest text: give it one.
        more = tf.cast(size == 0, tf.int32)
        texts = {
            name: tf.pad(x, [[0, more]] + [[0, 0]] * (x.shape.rank - 1))
            for name, x in texts.items()
        }
        outputs = say(texts, self._read(texts))
        return {name: x[:size] for name, x in outputs.items()}

    def _read(self, texts):
        words = {}
        for name in self.texts:
            cut = self.tokenizer.tokenize(texts[name])[:, : self.max_length]
            if not (self.features.begin or self.features.end):
                # No model reads a text without any position.
                cut = tf.concat([cut, _filler(cut)], axis=1)
            words[name] = cut
        found = {
            name: self._functions.value["look_up"](text.flat_values)
            for name, text in words.items()
        }
        further, names = None, None
        if self.requested is not None and "dictionary" in texts:
            requested = self.requested.read(texts["dictionary"])
            self._override(words, found, requested)
            names = requested.headwords
            sums = self._functions.value["read"](requested.pack)
            further = sums[1:], requested.pack["counts"][1:]
        inputs = self.features.inputs(words, found)
        about = {}
        if self.table is not None:
            numbers = inputs.pop("definition_numbers")
            inputs["sums"], inputs["counts"] = self.table.rows(numbers, further)
            about = self._headwords_of(inputs, numbers, names)
        outputs, details = self._functions.value["run"](inputs)
        return Read(words, {**inputs, **about}, outputs, details)

    def _override(self, words, found, requested):
        """Puts numbers of further rows where a request defines a word."""
        for name, text in words.items():
            entries = found[name]["entries"]
            slots = self.requested.find(
                requested,
                text.flat_values,
                tf.cast(text.value_rowids(), tf.int32),
                tf.gather(self._headwords, entries),
            )
            row = self.table.size - 1 + slots[:, None]
            rest = tf.zeros_like(entries[:, 1:])
            found[name]["entries"] = tf.where(
                slots[:, None] > 0, tf.concat([row, rest], axis=1), entries
            )

    def _run(self, inputs):
        """The model's outputs and details."""
        if self.table is None:
            return self._core.value(inputs)
        spellings = None
        if "spelling_ids" in inputs:
            spellings = {
                "slots": self._of_texts(inputs, "spelling_slots"),
                "ids": inputs["spelling_ids"],
            }
        ids = self._of_texts(inputs, "ids")
        kinds = [
            kind
            for kind in ("slots", "phrase_slots", "phrase_positions")
            if f"{self.texts[0]}_{kind}" in inputs
        ]
        vectors = self._embedding.value(
            ids,
            {kind: self._of_texts(inputs, kind) for kind in kinds},
            spellings=spellings,
            rows=(inputs["sums"], inputs["counts"]),
        )
        return self._core.value([*keras.tree.flatten(vectors), *ids.values()])

    def _headwords_of(self, inputs, numbers, names):
        """Strings `(B, T, L)` by name: whose definitions a word has."""
        headwords = self._headwords
        if names is not None:
            headwords = tf.concat([headwords, names], axis=0)
        headwords = tf.gather(headwords, numbers)  # (U + 1,)
        headwords = tf.where(inputs["counts"] > 0, headwords, "")
        return {
            f"{name}_headwords": tf.gather(headwords, slots)
            for name, slots in self._of_texts(inputs, "slots").items()
        }

    def _of_texts(self, inputs, kind):
        return {name: inputs[f"{name}_{kind}"] for name in self.texts}

    def _about_words(self, read: Read) -> dict:
        """The words of each text with its marks, and what defined them."""
        about = {}
        for name, words in read.words.items():
            begin, end = (
                [tf.fill([words.nrows(), 1], mark)] * is_there
                for mark, is_there in (
                    (_BOS_WORD, self.features.begin),
                    (_EOS_WORD, self.features.end),
                )
            )
            parts = tf.concat([*begin, words, *end], axis=1)
            about[f"{name}_tokens"] = parts.to_tensor("")
            if self.table is not None:
                about[f"{name}_headwords"] = read.inputs[f"{name}_headwords"]
        return about


def _vocabularies(features):
    found = {"text": features.vocabulary}
    if features.characters is not None:
        found["character"] = features.characters
    if features.packer is not None:
        found["definition"] = features.packer.vocabulary
    return found


def _spec(name):
    shape = [None, None] if name == "dictionary" else [None]
    return tf.TensorSpec(shape, tf.string, name=name)


def _filler(words):
    """Ragged `(B, None)`: one unknown word where a text has none."""
    lengths = tf.cast(words.row_lengths() == 0, tf.int64)
    words = tf.fill([tf.reduce_sum(lengths)], _UNK_WORD)
    return tf.RaggedTensor.from_row_lengths(words, lengths)
