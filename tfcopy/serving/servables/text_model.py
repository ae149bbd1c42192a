"""Models of texts whose words have definitions, as they are served.

Questions, entailment, next words.

Shapes: B examples, R lines of a request's dictionary, N words of a context and
its end, M words of a question and its end, C labels, T words of a text, K words
that may come next, L entries of a word, V words of the vocabulary.
"""

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.features import DefinitionFeatures
from tfcopy.data.text import tokenization
from tfcopy.decoding import joint_spans
from tfcopy.serving.servables.text_reader import Read, TextReader


@dataclasses.dataclass(eq=False, repr=False)
class TextModel:
    """A model of texts whose words have definitions; the base of servables.

    Definitions are encoded once: the reader's output for all entries of the
    dictionary is a table, computed when a signature is first requested, and
    again by `with_files`. A request may bring its own definitions, a
    `dictionary` of lines `headword<TAB>definition` for each example. A word
    that one of these headwords defines (see `RequestedDefinitions.find`) has
    the mean of these definitions instead of its entries'; lines of any other
    form are ignored. That holds for frequent words, too, even if they had no
    definition in training (`exclude_top_k`); but with `combine="replace"` known
    words have no definition at all. No example sees the dictionary of another.

    Texts are truncated to `max_length` words. Any bytes are accepted; a blank
    text is an unknown word, unless the model's texts have marks.

    Args:
        model: A Keras model, such as `models.esim`.
        embedding: Its embedding: a `DefinitionEmbedding`, or any other layer.
        features: The `DefinitionFeatures` of its batches, with the `marks` of
            the class, and a packer if the embedding reads definitions.
        tokenizer: `Tokenizer` of texts, as in training.
        definitions: The `Definitions` that the features look up; `None` if
            the embedding reads none.
        max_length: Positive integer, the maximum length of a text in words.
        definition_tokenizer: `Tokenizer` of the definitions of requests, as for
            the dictionary; `None` if requests bring none, for models whose
            definitions are not text. A model that reads no definitions takes
            none either.

    Raises:
        ValueError: If arguments do not belong together.
    """

    # Set by subclasses: names of the texts, and of layers whose outputs are
    # returned, if the model has them.
    task = None
    texts = ()
    layers = ()
    # And whether its texts begin with BOS, and end with EOS.
    marks = False, False

    model: Any
    embedding: Any
    features: DefinitionFeatures
    tokenizer: tokenization.Tokenizer = tokenization.Tokenizer()
    definitions: Definitions | None = None
    _: dataclasses.KW_ONLY
    max_length: int = 1000
    definition_tokenizer: tokenization.Tokenizer | None = (
        tokenization.Tokenizer()
    )

    def __post_init__(self):
        reader = getattr(self.embedding, "reader", None)
        self.reads_definitions = reader is not None
        # Their answers are labels and parts of the text as it was typed.
        for name in ("tokenizer", "definition_tokenizer"):
            if isinstance(own := getattr(self, name), tokenization.Tokenizer):
                setattr(self, name, dataclasses.replace(own, keeps=""))
        self._check()
        self._vocabularies = _vocabularies(self.features)

    def _check(self):
        features, definitions = self.features, self.definitions
        for name, is_given in {
            "features with a packer": features.packer is not None,
            "definitions": definitions is not None,
        }.items():
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
                    f"`definitions` must be the packer's, of {expected} "
                    f"headwords. Received: {len(definitions.headwords)}."
                )
        begin, end = ("" if x else "not " for x in self.marks)
        found = features.begin, features.end
        if any(self.marks) and found != self.marks:
            raise ValueError(
                f"Texts must {begin}begin with BOS, and {end}end with EOS. "
                f"Received: features of begin={found[0]}, end={found[1]}."
            )
        if self.max_length < 1:
            raise ValueError(
                "`max_length` must be at least 1. "
                f"Received: max_length={self.max_length}."
            )

    @property
    def arguments(self) -> dict:
        """The arguments that it was made with, by name."""
        return {x.name: getattr(self, x.name) for x in dataclasses.fields(self)}

    @property
    def own_options(self) -> dict:
        """The arguments that only the subclass has."""
        others = {x.name for x in dataclasses.fields(TextModel)}
        return {k: x for k, x in self.arguments.items() if k not in others}

    @property
    def takes_dictionary(self) -> bool:
        """Returns whether requests may bring definitions."""
        return self.reads_definitions and self.definition_tokenizer is not None

    @functools.cached_property
    def _reader(self):
        return TextReader(self, self._vocabularies)

    @property
    def resources(self) -> list:
        """Variables and tables, which a SavedModel must hold."""
        return [v.value for v in self.model.variables] + self._reader.resources

    @property
    def config(self) -> dict:
        """Facts that are stored beside the SavedModel."""
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
            "num_headwords": len(getattr(self.definitions, "headwords", ())),
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
        """Returns the concrete function of one signature."""
        inputs = self.texts
        if self.takes_dictionary and name != "serving_default":
            inputs = (*inputs, "dictionary")
        say = self._analyse if name == "analyse" else self._answer
        reader = self._reader  # whose tables are made outside of the graph

        def ask(**texts):
            return _ask(reader, self.texts[0], texts, say)

        specs = {x: _spec(x) for x in inputs}
        return tf.function(ask, autograph=False).get_concrete_function(**specs)

    def with_files(self, folder) -> "TextModel":
        """Returns a copy whose vocabularies are files, saved in a folder."""
        saved, files = {}, {}
        for name, vocabulary in self._vocabularies.items():
            if id(vocabulary) not in files:
                path = os.path.join(folder, f"{name}_vocabulary.txt")
                files[id(vocabulary)] = vocabulary.save(path)
            saved[name] = files[id(vocabulary)]
        # What it reads with is made again, from the present weights.
        other = dataclasses.replace(self)
        other._vocabularies = saved
        return other

    def _answer(self, texts, read: Read) -> dict:
        """Returns the outputs of `serving_default` for texts, `(B,)`."""
        raise NotImplementedError

    def _analyse(self, texts, read: Read) -> dict:
        """Returns the outputs of `analyse`."""
        raise NotImplementedError


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
    """Returns the model's output for texts by name."""
    size = tf.shape(texts[first])[0]
    for name, x in texts.items():
        tf.debugging.assert_equal(
            tf.shape(x)[0],
            size,
            f"All inputs must have one row per example; {name} has not.",
        )
    # An empty batch has no longest text: add one.
    more = tf.cast(size == 0, tf.int32)
    texts = {
        name: tf.pad(x, [[0, more]] + [[0, 0]] * (x.shape.rank - 1))
        for name, x in texts.items()
    }
    texts = reader.readable(texts)
    outputs = say(texts, reader.read(texts))
    return {name: x[:size] for name, x in outputs.items()}


@dataclasses.dataclass(eq=False, repr=False)
class AnswerFinder(TextModel):
    """Serves a model such as `models.coattention`.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `context` and `question`, returns `text`, strings
      `(B,)`: the words of the context, just as they are typed there; `score`,
      float32 `(B,)`: their log-probability; `start` and `end`, int32 `(B,)`:
      where they stand in the context, in code points. A context without any
      word has the answer `""` with a score of 0.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, returns the
      same.
    - `analyse`, of all of these (without `dictionary`, where there is no
      `with_dictionary`), returns more: `context_tokens`, `(B, N)`, and
      `question_tokens`, `(B, M)`, strings, `</s>` at the end, then `""`; of
      models that read definitions `context_headwords`, `(B, N, L)`, and
      `question_headwords`, `(B, M, L)`, strings, which define each word;
      `start_probability` and `end_probability`, float32 `(B, N)`, of
      the answer to begin at a word and to end before it; and, if the model
      has a `Coattention` of this name, `attention`, float32 `(B, N, M)`:
      the attention of each word of the context to the question.

    Args:
        *args: As in `TextModel`.
        max_answer_length: Positive integer, the most words of an answer.
        **kwargs: As in `TextModel`.
    """

    task = "question_answering"
    texts = ("context", "question")
    layers = ("coattention",)
    marks = False, True

    _: dataclasses.KW_ONLY
    max_answer_length: int = 30

    def _answer(self, texts, read):
        context = texts["context"]
        _, starts, ends = tokenization.tokenize_with_offsets(
            context, self.tokenizer
        )
        starts, ends = (x[:, : self.max_length] for x in (starts, ends))
        first, last, score = self._spans(read)
        is_blank = starts.row_lengths() == 0
        first, last = (tf.where(is_blank, 0, x) for x in (first, last))
        return {
            "text": tokenization.cut_out(context, starts, ends, first, last),
            "score": tf.where(is_blank, 0.0, score),
            "start": tokenization.offset_at(starts, first, is_blank),
            "end": tokenization.offset_at(ends, last - 1, is_blank),
        }

    def _spans(self, read):
        start, end = (
            tf.nn.log_softmax(read.outputs[name]) for name in ("start", "end")
        )
        first, last = joint_spans(start, end, self.max_answer_length)
        # Only in a blank context does no word follow the first.
        last = tf.minimum(last, tf.shape(end)[1] - 1)
        score = tf.gather(start, first, batch_dims=1)
        return first, last, score + tf.gather(end, last, batch_dims=1)

    def _analyse(self, texts, read):
        outputs = self._answer(texts, read) | self._reader.list_words(read)
        for name in ("start", "end"):
            outputs[f"{name}_probability"] = tf.nn.softmax(read.outputs[name])
        if "coattention" in read.details:
            outputs["attention"] = read.details["coattention"][1]
        return outputs


# In the order of `tfcopy.data.corpora.nli`.
LABELS = ("contradiction", "neutral", "entailment")


@dataclasses.dataclass(eq=False, repr=False)
class EntailmentClassifier(TextModel):
    """Serves a model such as `models.esim`.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `premise` and `hypothesis`, returns `label`,
      strings `(B,)`, and `probabilities`, float32 `(B, C)`, in the order of
      `labels`.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, returns the
      same.
    - `analyse`, of all of these (without `dictionary`, where there is no
      `with_dictionary`), returns more: `premise_tokens` and
      `hypothesis_tokens`, strings `(B, T)`, then `""`; and of models that
      read definitions `premise_headwords` and `hypothesis_headwords`, strings
      `(B, T, L)`, which define each word.

    Args:
        *args: As in `TextModel`.
        labels: Names of the labels, in the order of the model's scores.
        **kwargs: As in `TextModel`.
    """

    task = "entailment"
    texts = ("premise", "hypothesis")

    _: dataclasses.KW_ONLY
    labels: Sequence[str] = LABELS

    def __post_init__(self):
        self.labels = tuple(self.labels)
        super().__post_init__()

    def _answer(self, texts, read):
        best = tf.argmax(read.outputs, axis=-1)
        return {
            "label": tf.gather(tf.constant(self.labels), best),
            "probabilities": tf.nn.softmax(read.outputs),
        }

    def _analyse(self, texts, read):
        return {**self._answer(texts, read), **self._reader.list_words(read)}


NUM_SPECIALS = len(special.SPECIAL_TOKENS)


@dataclasses.dataclass(eq=False, repr=False)
class WordPredictor(TextModel):
    """Serves a model such as `models.lstm_language_model`.

    A word that is not in the vocabulary counts as `<unk>`, whose probability
    all such words share. The end of a text is no word.

    Signatures, whose texts are strings `(B,)`:

    - `serving_default`, of `text`, returns `next_words`, strings `(B, K)`,
      and `next_probabilities`, float32 `(B, K)`, the best first, without
      special words; `log_probability`, float32 `(B,)`, of the whole text, nats;
      and `perplexity`, float32 `(B,)`, 1 for a text without any word.
    - `with_dictionary`, of `dictionary`, strings `(B, R)`, too, returns the
      same.
    - `analyse`, of both (without `dictionary`, where there is no
      `with_dictionary`), returns more: `tokens`, strings `(B, T)`, then `""`;
      `token_log_probabilities`, float32 `(B, T)`, of each after those before
      it, 0 on padding; `is_known`, boolean `(B, T)`; and of models that read
      definitions `headwords`, strings `(B, T, L)`, which define each word.

    Args:
        *args: As in `TextModel`.
        num_words: Positive integer, K; no more than there are.
        **kwargs: As in `TextModel`.
    """

    task = "language_model"
    texts = ("text",)
    marks = True, False

    _: dataclasses.KW_ONLY
    num_words: int = 10

    def __post_init__(self):
        super().__post_init__()
        with tf.init_scope():
            self._words = tf.constant(
                self.features.vocabulary.words[NUM_SPECIALS:]
            )

    def _answer(self, texts, read):
        lengths = tf.cast(read.words["text"].row_lengths(), tf.int32)
        logits = tf.cast(read.outputs, tf.float32)
        following = tf.gather(logits, lengths, batch_dims=1)  # (B, V)
        probabilities = tf.nn.softmax(following)[:, NUM_SPECIALS:]
        number = min(
            self.num_words, self.features.vocabulary.size - NUM_SPECIALS
        )
        best, places = tf.math.top_k(probabilities, number)
        log_probability = tf.reduce_sum(self._log_probabilities(read), axis=1)
        number = tf.cast(tf.maximum(lengths, 1), tf.float32)
        return {
            "next_words": tf.gather(self._words, places),
            "next_probabilities": best,
            "log_probability": log_probability,
            "perplexity": tf.exp(-log_probability / number),
        }

    def _log_probabilities(self, read):
        """Returns the log-probability of each word, `(B, T)`, 0 on padding."""
        ids = read.inputs["text_ids"][:, 1:]
        logits = tf.cast(read.outputs[:, :-1], tf.float32)
        costs = tf.nn.sparse_softmax_cross_entropy_with_logits(ids, logits)
        return tf.where(ids == special.PAD, 0.0, -costs)

    def _analyse(self, texts, read):
        about = self._reader.list_words(read)
        ids = read.inputs["text_ids"][:, 1:]
        return {
            **self._answer(texts, read),
            # The probability of the mark at the beginning is not needed.
            **{x.removeprefix("text_"): y[:, 1:] for x, y in about.items()},
            "token_log_probabilities": self._log_probabilities(read),
            "is_known": (ids != special.UNK) & (ids != special.PAD),
        }
