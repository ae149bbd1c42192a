"""Translation from text to text, for evaluation in training and for exports.

Shapes: B sentences, S source positions (with EOS), N hypotheses, T words of
the longest hypothesis.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.text.byte_pair_tokenizer import hub_pieces
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary, is_mark
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer, unmark
from tfcopy.data.text.tokenization import Tokenizer, adapt, string_tensor
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.batches import choose_concurrency, map_batches
from tfcopy.runtime.translation_records import (
    Translation,
    iter_examples,
    read_translations,
)
from tfcopy.serving.servables.translation import (
    HypothesisWriter,
    SourceSearch,
    mark_terms,
    read_sources,
)

# How sums are rounded depends on the shapes of the matrices multiplied, but, as
# was measured to the last bit with AVX-512, not between shapes of this
# multiple. For a single text it is enough to search for as many hypotheses.
_TEXTS = 8
_TEXT = [tf.TensorSpec([None], tf.string, name="text")]
_LINES = tf.TensorSpec([None, None], tf.string, name="glossary")


@dataclasses.dataclass(eq=False, repr=False)
class Translator:
    """A model with tokenizers and vocabularies: text to text in one graph.

    The answer to a text without words is empty, with a score of 0; a text of
    more than `max_source_length` words is truncated. Control characters count
    as blanks, invalid UTF-8 as U+FFFD. No answer depends on the other texts of
    its batch, to the last bit on processors with AVX-512: batches are filled
    up to shapes that are rounded alike there.

    Args:
        model: A `Seq2Seq`, or anything else that `beam_search` takes.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        source_tokenizer: `Tokenizer` of the source.
        target_tokenizer: `Tokenizer` of the target, whose `detokenize` makes
            the answer.
        options: `SearchOptions`; `translate` returns the best hypothesis and
            `analyse` all `num_beams`, whatever `num_hypotheses` says.
        max_source_length: Maximum length of a text in words, without EOS; the
            rest is cut off before unknown words are numbered, as in `encode`
            with `truncate`.
        append_eos: Whether source sentences end with the position of EOS; as
            in training.
        replace_unk: Whether a generated `<unk>` becomes the source word with
            the highest attention (often used for models that cannot copy). If
            not, it stays `<unk>`; `options.forbid_unk` avoids it.
        dictionary: Optional `Dictionary` of source to target language: words
            pointed at are written as their best translation, if they are not
            words of the target vocabulary.
        candidate_ids: Optional `(K,)`, the only words that are generated, for
            speed with a large vocabulary; as in `Candidates`.
        shortlist: Optional `Dictionary` of source to target language: besides
            the `candidate_ids` (by default the first 200 words) only
            its translations of a text's own words are generated.
        litert: `"float32"` or `"int8"`, for exports that hold the search as
            programs of LiteRT as well, if LiteRT can run it; see
            `litert_export`.
        usual_length: Source positions of the longest usual text, such as the
            longest in training. Programs of LiteRT fit usual texts closely.
        entities: Optional `Entities`, as in training. A placeholder in an
            answer, pointed at or generated, becomes the first source word
            that it stands for; `<unk>` if there is none.
        glossary: Optional `Glossary` of phrases with required translations. It
            needs tokenizers that are `ProtectedTokenizer`s.
        definitions: Optional `tf.Module` for a model whose source words have
            definitions. Its `source_inputs(words, ids)`, of strings `(B, S)`,
            `""` at EOS and on padding, and of int32 `(B, S)`, returns a dict of
            the further inputs of the model's `encode`, in TensorFlow ops. A
            SavedModel holds the tables that it tracks.
    """

    model: Any
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    _: dataclasses.KW_ONLY
    source_tokenizer: Tokenizer = Tokenizer(language="en")
    target_tokenizer: Tokenizer = Tokenizer(language="fr")
    options: SearchOptions = SearchOptions()
    max_source_length: int = 200
    append_eos: bool = True
    replace_unk: bool = False
    dictionary: Dictionary | None = None
    candidate_ids: Any = None
    shortlist: Dictionary | None = None
    litert: str | None = None
    usual_length: int | None = None
    entities: Entities | None = None
    glossary: Glossary | None = None
    definitions: tf.Module | None = None

    def __post_init__(self):
        for side in ("source", "target"):
            words = getattr(self, f"{side}_vocabulary")
            if not isinstance(words, Vocabulary):
                raise ValueError(
                    f"`{side}_vocabulary` must be a `tfcopy.data.Vocabulary`. "
                    f"Received: {words!r}."
                )
        if self.model.vocabulary_size != self.target_vocabulary.size:
            raise ValueError(
                f"The model generates {self.model.vocabulary_size} words, but "
                f"the target vocabulary has {self.target_vocabulary.size}. "
                "They must belong together."
            )
        if self.max_source_length < 1:
            raise ValueError(
                "`max_source_length` must be at least 1. "
                f"Received: {self.max_source_length}."
            )
        vocabularies = self.source_vocabulary, self.target_vocabulary
        tokenizers = self.source_tokenizer, self.target_tokenizer
        tokenizers = tuple(map(adapt, tokenizers, vocabularies))
        self.source_tokenizer, self.target_tokenizer = tokenizers
        self.protects = all(
            isinstance(x, ProtectedTokenizer) for x in tokenizers
        )
        needs = self.options.must_copy or self.glossary is not None
        if needs and not self.protects:
            raise ValueError(
                "`must_copy` and a `glossary` need tokenizers that are "
                "ProtectedTokenizers."
            )
        if not isinstance(self.definitions, (tf.Module, type(None))):
            raise ValueError(
                "`definitions` must be a tf.Module, so that its tables are "
                f"exported. Received: {self.definitions!r}."
            )
        self._writer = HypothesisWriter(self)
        self._graphs = {}

    @classmethod
    def of_task(cls, task, folder, **arguments) -> "Translator":
        """Makes a translator of a KerasHub task and its preprocessor.

        Args:
            task: A `CopySeq2SeqLM` or `CopyCausalLM` with a preprocessor.
            folder: Where `hub_pieces` writes the tokenizer's files, which have
                to stay.
            **arguments: Arguments of `Translator` that replace the task's; by
                default a beam of 4.
        """
        pieces = hub_pieces(task.preprocessor.tokenizer, folder)
        vocabulary, tokenizer = pieces.vocabulary, pieces.tokenizer
        length = task.preprocessor.decoder_sequence_length
        defaults = {
            "source_tokenizer": tokenizer,
            "target_tokenizer": tokenizer,
            "options": SearchOptions(num_beams=4, max_length=length),
            "max_source_length": task.preprocessor.encoder_sequence_length,
        }
        model = task.seq2seq
        return cls(model, vocabulary, vocabulary, **{**defaults, **arguments})

    @property
    def resources(self) -> list:
        """Variables and tables, which a SavedModel must hold."""
        weights = [v.value for v in getattr(self.model, "variables", ())]
        tables = [
            self.source_vocabulary.table(),
            self.target_vocabulary.table(),
            *self._writer.resources,
        ]
        if self.definitions is not None:
            tables.append(self.definitions)
        return weights + tables

    @property
    def signatures(self) -> dict:
        """Concrete functions by the names of signatures."""
        functions = {"serving_default": self.translate, "analyse": self.analyse}
        if self.protects:
            functions["with_glossary"] = self.translate_with_glossary
        return {k: f.get_concrete_function() for k, f in functions.items()}

    @property
    def config(self) -> dict:
        """Facts that are stored beside the SavedModel."""
        return {
            "source_tokenizer": dataclasses.asdict(self.source_tokenizer),
            "target_tokenizer": dataclasses.asdict(self.target_tokenizer),
            "pieces": {
                "source": self.source_tokenizer.cuts_words,
                "target": self.target_tokenizer.cuts_words,
            },
            "source_vocabulary_size": self.source_vocabulary.size,
            "target_vocabulary_size": self.target_vocabulary.size,
            "search": dataclasses.asdict(self.options),
            "max_source_length": self.max_source_length,
            "append_eos": self.append_eos,
            "replace_unk": self.replace_unk,
            "dictionary_size": len(self.dictionary or ()),
            "shortlist_size": len(self.shortlist or ()),
            "glossary_size": len(self.glossary or ()),
        }

    def with_files(self, folder) -> "Translator":
        """Returns a copy whose vocabularies are files, saved in a folder.

        It is the same translator, with its graphs, if they are files of the
        same names already, wherever these are.
        """
        names = "source_vocabulary", "target_vocabulary"
        tables = {f"{name}.txt": getattr(self, name) for name in names}
        if all(x.is_file(name) for name, x in tables.items()):
            return self
        saved = [x.save(os.path.join(folder, k)) for k, x in tables.items()]
        return self.copy(**dict(zip(names, saved)))

    @property
    def arguments(self) -> dict:
        """The arguments that it was made with, by name."""
        return {x.name: getattr(self, x.name) for x in dataclasses.fields(self)}

    def copy(self, **changes) -> "Translator":
        """Returns a copy of the translator with some arguments changed."""
        return dataclasses.replace(self, **changes)

    @tf.function(input_signature=_TEXT, autograph=False)
    def translate(self, text):
        """Translates each text to the best answer.

        Args:
            text: Strings, `(B,)`.

        Returns:
            Dict of `text`, strings `(B,)`, and `score`, float32 `(B,)`.
        """
        outputs = self._answers(text, self.search_options())
        return {name: outputs[name] for name in ("text", "score")}

    @tf.function(input_signature=[*_TEXT, _LINES], autograph=False)
    def translate_with_glossary(self, text, glossary):
        """Translates each text, with given translations of phrases.

        Args:
            text: Strings, `(B,)`.
            glossary: Strings, `(B, R)`, lines `phrase<TAB>translation` for
                each text; lines of any other form are ignored. They come
                before the translator's own glossary.

        Returns:
            As `translate`.
        """
        outputs = self._answer(self.search_options(), text, glossary)
        return {name: outputs[name] for name in ("text", "score")}

    @tf.function(input_signature=_TEXT, autograph=False)
    def analyse(self, text):
        """Translates each text to its best answers, with their sources.

        Args:
            text: Strings, `(B,)`.

        Returns:
            Dict of

            - `text`, strings `(B,)`, and `score`, float32 `(B,)`: the best;
            - `texts`, strings `(B, N)`, and `scores`, float32 `(B, N)`: the
              best first, and no text twice; where fewer were found, `""` and
              about -1e9;
            - `tokens`, strings `(B, N, T)`: their words, then `""`;
            - `source_tokens`, strings `(B, S)`: the words that were read,
              `</s>` (the end of the sentence), then `""`;
            - `copied_from`, int32 `(B, N, T)`: the position in
              `source_tokens`, -1 if the word was generated;
            - `generate_probability`, float32 `(B, N, T)`: that a word would
              be generated rather than copied, the switch;
            - `attention`, float32 `(B, N, T, S)`.
        """
        options = self.search_options(
            self.options.num_beams, return_attention=True
        )
        outputs = self._answers(text, options)
        del outputs["emission_probs"]
        return outputs

    def translate_all(
        self,
        texts: Iterable[str | bytes],
        batch_size: int = 32,
        progress: bool = True,
    ) -> list[Translation]:
        """Translates many texts, in batches of similar length.

        Args:
            texts: Strings, or UTF-8 bytes.
            batch_size: Texts of a batch; cores take a batch each.
            progress: Whether to show a bar (on a terminal only).

        Returns:
            A `Translation` for each text, in the order of `texts`.
        """
        return [best for (best,) in self._all(texts, batch_size, progress, 1)]

    def n_best_all(
        self,
        texts: Iterable[str | bytes],
        batch_size: int = 32,
        progress: bool = True,
    ) -> list[list[Translation]]:
        """Returns the best answers to many texts.

        Args:
            texts: Strings, or UTF-8 bytes.
            batch_size: Texts of a batch; cores take a batch each.
            progress: Whether to show a bar (on a terminal only).

        Returns:
            For each text, in the order of `texts`, up to `num_beams`
            `Translation`s of different texts, the best first.
        """
        return self._all(texts, batch_size, progress, self.options.num_beams)

    def _all(self, texts, batch_size, progress, count):
        """Returns the `Translation`s of each text, at most `count` of them."""
        if isinstance(texts, (str, bytes)):
            raise ValueError(
                f"Expected texts, even if one. Received: {texts!r}."
            )
        options = self.search_options(count)

        def translate(batch):
            outputs = self._answers(string_tensor(batch), options)
            # Words are aligned by `analyse` alone.
            outputs.pop("attention", None)
            outputs = {k: x.numpy() for k, x in outputs.items()}
            rows = iter_examples(outputs, len(batch))
            return [read_translations(x, count) for x in rows]

        return map_batches(
            translate, list(texts), batch_size, progress, choose_concurrency()
        )

    @functools.cached_property
    def source_search(self):
        return SourceSearch(self)

    def search_options(self, num_hypotheses=1, return_attention=False):
        options = dataclasses.replace(
            self.options,
            num_hypotheses=num_hypotheses,
            return_attention=return_attention or self.replace_unk,
        )
        if not options.must_copy:
            return options
        # Nor does an answer have spans that the source has not.
        only = {*options.source_only, *self._spans}
        return dataclasses.replace(options, source_only=tuple(sorted(only)))

    @functools.cached_property
    def _spans(self):
        """The ids of spans of markup in the target vocabulary."""
        words = self.target_vocabulary.words
        with tf.init_scope():
            is_span = self.target_tokenizer.is_span(tf.constant(words)).numpy()
        is_span[: len(special.SPECIAL_TOKENS)] = False
        return np.flatnonzero(is_span).tolist()

    def _answers(self, text, options):
        """Runs `_answer` as a graph, made once for equal options."""
        if options not in self._graphs:
            answer = functools.partial(self._answer, options)
            graph = tf.function(answer, input_signature=_TEXT, autograph=False)
            # Several threads may come at once.
            self._graphs.setdefault(options, graph)
        return self._graphs[options](text)

    def _answer(self, options, text, lines=None):
        """Returns all outputs of `analyse`; `attention` if there is any.

        Args:
            options: `SearchOptions`.
            text: Strings, `(B,)`.
            lines: Strings, `(B, R)`, or `None`; a request's glossary.
        """
        num_texts = tf.size(text)
        alone = max(2, -(-_TEXTS // options.num_beams))
        rows = -(-num_texts // _TEXTS) * _TEXTS
        more = tf.where(num_texts < 2, alone, rows) - num_texts
        if not self.options.same_in_every_batch:
            more = tf.maximum(1 - num_texts, 0)
        # An empty batch has no longest sentence: add one.
        count = tf.maximum(num_texts, 1)
        text = tf.concat([text, [""]], axis=0)[:count]
        rows = tf.concat([tf.range(num_texts), tf.zeros([more], tf.int32)], 0)
        options, source, terms = self.read(options, text, rows, lines)
        result = self.source_search.search(
            *(source.ids, source.copy_ids, options),
            protected=source.protected,
            source_inputs=source.inputs,
        )
        outputs = self.detokenize_result(
            options, _first(result, count), _first(source, count), terms
        )
        return {name: x[:num_texts] for name, x in outputs.items()}

    def read(self, options, text, rows, lines=None):
        """Encodes texts: `(SearchOptions, Sources, RequestedTerms or None)`."""
        tokenizer, terms, must_have = self.source_tokenizer, None, None
        if options.must_copy:
            must_have = tokenizer.mark_needed
        if self.glossary is not None or lines is not None:
            text, terms = mark_terms(text, self.glossary, lines, tokenizer)
            if must_have is None:
                options = dataclasses.replace(options, must_copy=True)
                must_have = is_mark
        unread = terms if getattr(tokenizer, "in_place", False) else None
        source = read_sources(self, text, rows, must_have, unread)
        return options, source, terms

    def detokenize_result(self, options, result, source, terms):
        """Detokenizes the result of a search, as `_answer` returns it."""
        hidden = source.is_blank[:, None, None]
        result = result._replace(
            ids=tf.where(hidden, special.PAD, result.ids),
            scores=tf.where(hidden[:, 0], 0.0, result.scores),
        )
        words, copied_from, lengths = self._writer.write(result, source)
        longest = tf.shape(words)[2]
        is_word = tf.sequence_mask(lengths, longest)
        count = options.num_hypotheses
        source_words = source.words[:, : source.longest]
        all_words = tf.reshape(words, [-1, tf.shape(words)[2]])
        lengths = tf.reshape(lengths, [-1])
        tokens = [tf.RaggedTensor.from_tensor(all_words, lengths)]
        if self.protects:
            read = tf.repeat(source_words, count, axis=0)
            read = tf.RaggedTensor.from_tensor(read, padding="")
            tokens.append(self.source_tokenizer.find_adjacent(read))
        texts = self.target_tokenizer.detokenize(*tokens)
        texts = tf.reshape(texts, [-1, count])
        if getattr(self.source_tokenizer, "in_pieces", False):
            words, source_words = map(unmark, (words, source_words))
        if terms is not None:
            texts, words = map(terms.insert_translations, (texts, words))
            source_words = terms.insert_phrases(source_words)
        probs = result.generate_probs
        generate = tf.where(is_word, probs[:, :, :longest], 0.0)
        outputs = {
            "texts": texts,
            "scores": result.scores,
            "tokens": words,
            "copied_from": copied_from,
            "generate_probability": generate,
            # Before each word and EOS, `(B, N, L)`; -1 after them.
            "emission_probs": tf.where(result.ids != special.PAD, probs, -1.0),
        }
        if options.return_attention:
            attention = result.attention[:, :, :longest, : source.longest]
            outputs["attention"] = tf.where(is_word[..., None], attention, 0.0)
        if count > 1:
            outputs = _drop_duplicates(outputs)
        return outputs | {
            "text": outputs["texts"][:, 0],
            "score": outputs["scores"][:, 0],
            "source_tokens": source_words,
        }


def _first(batch, count):
    """Returns the first examples of a named tuple of tensors."""
    return batch._replace(
        **{
            name: x[:count]
            for name, x in batch._asdict().items()
            if tf.is_tensor(x) and x.shape.rank
        }
    )


def _drop_duplicates(found):
    """Removes hypotheses with the text of a better one.

    They are moved behind the others, as if not found. Different words may be
    the same text: other subwords, or copied instead of generated.

    Args:
        found: Dict of tensors `(B, N, ...)`, by the names of outputs.
    """
    texts = found["texts"]
    better = np.tri(texts.shape[1], k=-1, dtype=bool)
    same = texts[:, :, None] == texts[:, None]
    again = tf.reduce_any(same & better, axis=2)
    order = tf.argsort(tf.cast(again, tf.int32), stable=True)
    nothing = {
        "texts": "",
        "scores": special.MASKED,
        "tokens": "",
        "copied_from": special.GENERATE,
        "emission_probs": -1.0,
    }

    def reorder(name, x):
        is_again = again[(..., *[None] * (x.shape.rank - 2))]
        x = tf.where(is_again, nothing.get(name, 0.0), x)
        return tf.gather(x, order, batch_dims=1)

    return {name: reorder(name, x) for name, x in found.items()}
