"""What served models have in common whose words have definitions.

Shapes: B examples, R lines of a request's dictionary.
"""

import copy
import dataclasses
import functools
import os

import tensorflow as tf

from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.features import DefinitionFeatures
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.serving.servables.text_reader import (
    DefinitionTable,
    Read,
    TextReader,
)


class TextModel:
    """A model of `definition_inputs`, of texts; the base of what is served.

    Definitions are not read anew for each text: the reader's output for all
    entries of the dictionary is a table, made from the weights at the time a
    signature is first requested, and again by `with_files`. A request may bring
    its own definitions, a `dictionary` of lines `headword<TAB>definition` for
    each example. A word that one of these headwords defines (see
    `RequestedDefinitions.find`) has the mean of their definitions instead of
    those of its entries; lines of any other form are ignored. That is so for
    frequent words as well, even if they had no definition in training
    (`exclude_top_k`); but with `combine="replace"` known words have no
    definition at all. A phrase keeps its own. No example sees the dictionary of
    another.

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

    Raises:
        ValueError: If arguments do not belong together.
    """

    # Set by subclasses: names of the texts, and of layers whose outputs are
    # returned, if the model has them.
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
    ):
        self.reads_definitions = getattr(embedding, "reader", None) is not None
        self._check(features, definitions, max_length)
        self.model = model
        self.embedding = embedding
        self.features = features
        self.tokenizer = tokenizer
        self.definitions = definitions
        self.max_length = max_length
        self.definition_tokenizer = definition_tokenizer
        self._vocabularies = _vocabularies(features)

    def _check(self, features, definitions, max_length):
        presence = {
            "features with a packer": features.packer is not None,
            "definitions": definitions is not None,
        }
        for name, is_given in presence.items():
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

    @property
    def arguments(self) -> dict:
        """The arguments that it was made with, by name."""
        names = (
            "model",
            "embedding",
            "features",
            "tokenizer",
            "definitions",
            "max_length",
            "definition_tokenizer",
        )
        return {name: getattr(self, name) for name in names} | self.own_options

    @property
    def own_options(self) -> dict:
        """The arguments that only the subclass has."""
        return {}

    @property
    def takes_dictionary(self) -> bool:
        """Whether requests may bring definitions."""
        return self.reads_definitions and self.definition_tokenizer is not None

    @functools.cached_property
    def _table(self):
        if self.reads_definitions:
            return DefinitionTable(self.embedding, self.features.packer)

    @functools.cached_property
    def _reader(self):
        return TextReader(self, self._vocabularies, self._table)

    @property
    def resources(self) -> list:
        """Variables and tables, which a SavedModel must hold."""
        weights = [v.value for v in self.model.variables]
        return weights + self._reader.resources

    @property
    def config(self) -> dict:
        """What is remembered about it beside the SavedModel."""
        config = {
            "task": self.task,
            "texts": list(self.texts),
            "tokenizer": dataclasses.asdict(self.tokenizer),
            "max_length": self.max_length,
            **self.own_options,
            **{
                f"{name}_vocabulary_size": vocabulary.size
                for name, vocabulary in self._vocabularies.items()
            },
            "num_headwords": len(self.definitions.headwords)
            if self.definitions
            else 0,
        }
        if self.takes_dictionary:
            tokenizer = self.definition_tokenizer
            config["definition_tokenizer"] = dataclasses.asdict(tokenizer)
        return config

    @property
    def signatures(self) -> dict:
        """Concrete functions by the names of signatures."""
        names = ["serving_default", "analyse"]
        if self.takes_dictionary:
            names.insert(1, "with_dictionary")
        return {name: self.signature(name) for name in names}

    def signature(self, name):
        """The concrete function of one signature."""
        inputs = self.texts
        if self.takes_dictionary and name != "serving_default":
            inputs = (*inputs, "dictionary")
        say = self._analyse if name == "analyse" else self._answer
        reader = self._reader  # whose tables are made outside of the graph

        def ask(**texts):
            return _ask(reader, self.texts[0], texts, say)

        return tf.function(ask, autograph=False).get_concrete_function(
            **{x: _spec(x) for x in inputs}
        )

    def with_files(self, folder) -> "TextModel":
        """A copy whose vocabularies are files, saved in a folder."""
        saved, files = {}, {}
        for name, vocabulary in self._vocabularies.items():
            if id(vocabulary) not in files:
                path = os.path.join(folder, f"{name}_vocabulary.txt")
                files[id(vocabulary)] = vocabulary.save(path)
            saved[name] = files[id(vocabulary)]
        other = copy.copy(self)
        other._vocabularies = saved
        # They are made again, from the present weights.
        for name in ("_table", "_reader"):
            other.__dict__.pop(name, None)
        return other

    def with_constants(self) -> "TextModel":
        """Itself: it reads each weight once for a request, not in a loop."""
        return self

    def _answer(self, texts, read: Read) -> dict:
        """What `serving_default` gives, of texts `(B,)` by name."""
        raise NotImplementedError

    def _analyse(self, texts, read: Read) -> dict:
        """What `analyse` gives."""
        raise NotImplementedError

    def _about_words(self, read: Read) -> dict:
        """The words of each text with its marks, and what defined them."""
        return self._reader.about_words(read)


def _vocabularies(features):
    vocabularies = {"text": features.vocabulary}
    if features.characters is not None:
        vocabularies["character"] = features.characters
    if features.packer is not None:
        vocabularies["definition"] = features.packer.vocabulary
    return vocabularies


def _spec(name):
    shape = [None, None] if name == "dictionary" else [None]
    return tf.TensorSpec(shape, tf.string, name=name)


def _ask(reader, first, texts, say):
    """The model's output for texts by name, the first of which is `name`."""
    size = tf.shape(texts[first])[0]
    for name, x in texts.items():
        tf.debugging.assert_equal(
            tf.shape(x)[0],
            size,
            f"All inputs must have one row per example; {name} has not.",
        )
    # An empty batch has no longest text: give it one.
    more = tf.cast(size == 0, tf.int32)
    texts = {
        name: tf.pad(x, [[0, more]] + [[0, 0]] * (x.shape.rank - 1))
        for name, x in texts.items()
    }
    texts = reader.readable(texts)
    outputs = say(texts, reader.read(texts))
    return {name: x[:size] for name, x in outputs.items()}
