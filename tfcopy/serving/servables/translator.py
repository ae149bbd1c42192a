"""Text in, text out: what training evaluates and what is exported.

Shapes: B sentences, S source positions (with EOS), N hypotheses, T words of
the longest hypothesis.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tqdm

from tfcopy import tokens as special
from tfcopy.data import chunks
from tfcopy.data.pairs.copy_ids import encode_source
from tfcopy.data.text.dictionary import Dictionary, emit
from tfcopy.data.text.entities import Entities, restore
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import (
    SearchOptions,
    SearchResult,
    beam_search,
    search_among,
)
from tfcopy.decoding.beams import EMPTY
from tfcopy.serving.servables.untracked import Untracked

_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
_EOS_WORD = special.SPECIAL_TOKENS[special.EOS]
# How sums are rounded depends on the shapes of what is multiplied. It does not
# between shapes of these multiples, as was seen bit by bit. For one text alone
# it is enough that so many hypotheses are searched.
_POSITIONS = 16
_TEXTS = 8
_TEXT = [tf.TensorSpec([None], tf.string, name="text")]
_IDS = [tf.TensorSpec([None, None], tf.int32)] * 2


class Translation(NamedTuple):
    """The best answer to one text.

    Attributes:
        text: The answer.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: The words of the answer.
        copied_from: For each word the source position it was copied from,
            -1 if it was generated.
        source_tokens: The words of the source, after the cut.
        generate_probs: For each word, and for the end, the probability that
            it would be generated rather than copied.
    """

    text: str
    score: float
    tokens: list[str]
    copied_from: list[int]
    source_tokens: list[str]
    generate_probs: list[float] = []


class _Source(NamedTuple):
    """What `Translator` knows of a batch of texts.

    Attributes:
        ids: `(B, S)`.
        copy_ids: `(B, S)`.
        words: Strings, `(B, S)`; `</s>` at EOS, `""` on padding.
        keys: Strings, `(B, S)`, what `Entities` make of the words; `None`
            without.
        is_blank: Boolean, `(B,)`; texts without a word.
        inputs: Dict of what else the model reads, by name.
        longest: int32, the positions of the longest text; there is padding
            behind them.
    """

    ids: Any
    copy_ids: Any
    words: Any
    keys: Any
    is_blank: Any
    inputs: Any
    longest: Any


class Translator(tf.Module):
    """A model with all that is needed to translate text, as one graph.

    A text without words gives an empty answer with a score of 0; one of more
    than `max_source_length` words is cut there. Control characters count as
    blanks, invalid UTF-8 as U+FFFD. No answer depends on the other texts of
    its batch, to the last bit: batches are filled up to shapes that are
    rounded alike.

    Args:
        model: A `Seq2Seq`, or anything else that `beam_search` takes.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        source_tokenizer: `Tokenizer` of the source.
        target_tokenizer: `Tokenizer` of the target, whose `detokenize` makes
            the answer.
        options: `SearchOptions`; `translate` returns the best hypothesis and
            `analyse` all `num_beams`, whatever `num_hypotheses` says.
        max_source_length: Words of a text that are read, EOS not counted; the
            rest is cut off before unknown words are numbered, as `encode` does
            with `truncate`.
        append_eos: Whether source sentences end with the position of EOS; as
            in training.
        replace_unk: Whether a generated `<unk>` becomes the source word with
            the highest attention (what is often done for models that cannot
            copy). If not, it stays `<unk>`; `options.forbid_unk` avoids it.
        dictionary: Optional `Dictionary` of source to target language: words
            pointed at are written as their best translation, if they are not
            words of the target vocabulary.
        candidate_ids: Optional `(K,)`, the only words that are generated, for
            speed with a large vocabulary; as for `search_among`.
        entities: Optional `Entities`, as in training. A placeholder in an
            answer, pointed at or generated, becomes the first source word
            that it stands for; `<unk>` if there is none.
        definitions: Optional `tf.Module` for a model whose source words have
            definitions. Its `source_inputs(words, ids)`, of strings `(B, S)`,
            `""` at EOS and on padding, and of int32 `(B, S)`, gives a dict of
            the further inputs of the model's `encode`, in TensorFlow ops. A
            SavedModel holds the tables that it tracks.
    """

    def __init__(
        self,
        model,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        *,
        source_tokenizer: Tokenizer = Tokenizer(language="en"),
        target_tokenizer: Tokenizer = Tokenizer(language="fr"),
        options: SearchOptions = SearchOptions(),
        max_source_length: int = 200,
        append_eos: bool = True,
        replace_unk: bool = False,
        dictionary: Dictionary | None = None,
        candidate_ids=None,
        entities: Entities | None = None,
        definitions: tf.Module | None = None,
    ):
        super().__init__(name="translator")
        if model.vocabulary_size != target_vocabulary.size:
            raise ValueError(
                f"The model generates {model.vocabulary_size} words, but the "
                f"target vocabulary has {target_vocabulary.size}. They must "
                "belong together."
            )
        if max_source_length < 1:
            raise ValueError(
                "`max_source_length` must be at least 1. "
                f"Received: {max_source_length}."
            )
        if not isinstance(definitions, (tf.Module, type(None))):
            raise ValueError(
                "`definitions` must be a tf.Module, so that its tables are "
                f"exported. Received: {definitions!r}."
            )
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.options = options
        self.max_source_length = max_source_length
        self.append_eos = append_eos
        self.replace_unk = replace_unk
        self.dictionary = dictionary
        self.candidate_ids = candidate_ids
        self.entities = entities
        self.definitions = definitions
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self._model = Untracked(model)
        self._target_words = _words_by_id(target_vocabulary)
        self._emission = None
        if dictionary is not None:
            self._emission = dictionary.emission_table(target_vocabulary.words)

    @property
    def resources(self) -> list:
        """Variables and tables, which a SavedModel must hold."""
        weights = [v.value for v in getattr(self.model, "variables", ())]
        tables = [
            self.source_vocabulary.table(),
            self.target_vocabulary.table(),
            self._target_words,
        ]
        others = [self._emission, self.definitions]
        return weights + tables + [x for x in others if x is not None]

    @property
    def signatures(self) -> dict:
        """Concrete functions by the names of signatures."""
        return {
            "serving_default": self.translate.get_concrete_function(),
            "analyse": self.analyse.get_concrete_function(),
        }

    @property
    def config(self) -> dict:
        """What is told of it beside the SavedModel."""
        return {
            "source_tokenizer": dataclasses.asdict(self.source_tokenizer),
            "target_tokenizer": dataclasses.asdict(self.target_tokenizer),
            "source_vocabulary_size": self.source_vocabulary.size,
            "target_vocabulary_size": self.target_vocabulary.size,
            "search": dataclasses.asdict(self.options),
            "max_source_length": self.max_source_length,
            "replace_unk": self.replace_unk,
            "dictionary_size": len(self.dictionary or ()),
        }

    def with_files(self, folder) -> "Translator":
        """The same, its vocabularies saved as files of a folder."""
        return self.copy(
            **{
                name: getattr(self, name).save(
                    os.path.join(folder, f"{name}.txt")
                )
                for name in ("source_vocabulary", "target_vocabulary")
            }
        )

    @property
    def model(self):
        """The model that translates."""
        return self._model.value

    def copy(self, **changes) -> "Translator":
        """The same translator, with other arguments where given."""
        names = (
            "model",
            "source_vocabulary",
            "target_vocabulary",
            "source_tokenizer",
            "target_tokenizer",
            "options",
            "max_source_length",
            "append_eos",
            "replace_unk",
            "dictionary",
            "candidate_ids",
            "entities",
            "definitions",
        )
        return Translator(
            **{name: getattr(self, name) for name in names} | changes
        )

    @tf.function(input_signature=_TEXT, autograph=False)
    def translate(self, text):
        """The best answer to each text.

        Args:
            text: Strings, `(B,)`.

        Returns:
            Dict of `text`, strings `(B,)`, and `score`, float32 `(B,)`.
        """
        outputs = self._answer(text, self._search_options())
        return {name: outputs[name] for name in ("text", "score")}

    @tf.function(input_signature=_TEXT, autograph=False)
    def analyse(self, text):
        """The best answers to each text, and where their words come from.

        Args:
            text: Strings, `(B,)`.

        Returns:
            Dict of

            - `text`, strings `(B,)`, and `score`, float32 `(B,)`: the best;
            - `texts`, strings `(B, N)`, and `scores`, float32 `(B, N)`: the
              best first; where fewer were found, `""` and about -1e9;
            - `tokens`, strings `(B, N, T)`: their words, then `""`;
            - `source_tokens`, strings `(B, S)`: the words that were read,
              `</s>` (the end of the sentence), then `""`;
            - `copied_from`, int32 `(B, N, T)`: the position in
              `source_tokens`, -1 if the word was generated;
            - `generate_probability`, float32 `(B, N, T)`: that a word would
              be generated rather than copied, the switch;
            - `attention`, float32 `(B, N, T, S)`.
        """
        options = self._search_options(
            self.options.num_beams, return_attention=True
        )
        outputs = self._answer(text, options)
        del outputs["emission_probs"]
        return outputs

    @tf.function(input_signature=_TEXT, autograph=False)
    def _translate_with_words(self, text):
        outputs = self._answer(text, self._search_options())
        return {
            name: outputs[name]
            for name in (
                "text",
                "score",
                "tokens",
                "copied_from",
                "source_tokens",
                "emission_probs",
            )
        }

    @tf.function(input_signature=_TEXT, autograph=False)
    def _all_texts(self, text):
        options = self._search_options(self.options.num_beams)
        outputs = self._answer(text, options)
        return outputs["texts"], outputs["scores"]

    @tf.function(input_signature=_IDS, autograph=False)
    def search(self, source_ids, source_copy_ids) -> SearchResult:
        """The best hypothesis for sentences that are ids already.

        Args:
            source_ids: int32 `(B, S)`.
            source_copy_ids: int32 `(B, S)`.

        Returns:
            `SearchResult` with N = 1.
        """
        return self._search(source_ids, source_copy_ids, self._search_options())

    @functools.cached_property
    def _search_defined(self):
        """`search`, and a dict of what else the model takes of sources."""
        inputs = {name: self.model.input[name] for name in self._source_inputs}
        specs = {k: tf.TensorSpec(x.shape, x.dtype) for k, x in inputs.items()}

        def search(source_ids, source_copy_ids, inputs):
            options = self._search_options()
            return self._search(source_ids, source_copy_ids, options, inputs)

        signature = [*_IDS, specs]
        return tf.function(search, signature, autograph=False)

    @property
    def _source_inputs(self):
        return getattr(self.model, "source_inputs", ())

    def translate_all(
        self,
        texts: Iterable[str | bytes],
        batch_size: int = 32,
        progress: bool = True,
    ) -> list[Translation]:
        """Translates many texts, in batches of similar length.

        Args:
            texts: Strings, or UTF-8 bytes.
            batch_size: Texts translated at once.
            progress: Whether to show a bar (on a terminal only).

        Returns:
            A `Translation` for each text, in the order of `texts`.
        """

        def translate(batch):
            return _translations(self._translate_with_words(batch))

        return _in_batches(translate, list(texts), batch_size, progress)

    def n_best_all(
        self,
        texts: Iterable[str | bytes],
        batch_size: int = 32,
        progress: bool = True,
    ) -> list[list[str]]:
        """The best answers to many texts.

        Args:
            texts: Strings, or UTF-8 bytes.
            batch_size: Texts translated at once.
            progress: Whether to show a bar (on a terminal only).

        Returns:
            For each text, in the order of `texts`, up to `num_beams` different
            answers, the best first.
        """

        def translate(batch):
            texts, scores = (x.numpy() for x in self._all_texts(batch))
            for row, found in zip(texts, scores > EMPTY):
                # Two hypotheses may be one text.
                yield list(dict.fromkeys(t.decode() for t in row[found]))

        return _in_batches(translate, list(texts), batch_size, progress)

    def search_all(
        self, batches: Iterable[dict], total: int, progress: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Searches sentences that are encoded already.

        Args:
            batches: Dicts with `source_ids`, `source_copy_ids` and `indices`,
                as `data.evaluation_batches` yields, and with what else the
                model's `encode` takes.
            total: Number of sentences.
            progress: Whether to show a bar (on a terminal only).

        Returns:
            `(ids, copied_from, scores)`: int32 `(total, L)` twice and float32
            `(total,)`, in the order of the indices.
        """
        shape = (total, self.options.max_length)
        ids = np.full(shape, special.PAD, np.int32)
        copied_from = np.full(shape, special.GENERATE, np.int32)
        scores = np.zeros(total, np.float32)
        with _bar(total, progress) as bar:
            for batch in batches:
                arguments = batch["source_ids"], batch["source_copy_ids"]
                inputs = {name: batch[name] for name in self._source_inputs}
                if inputs:
                    result = self._search_defined(*arguments, inputs)
                else:
                    result = self.search(*arguments)
                rows = np.asarray(batch["indices"])
                ids[rows] = result.ids[:, 0]
                copied_from[rows] = result.copied_from[:, 0]
                scores[rows] = result.scores[:, 0]
                bar.update(len(rows))
        return ids, copied_from, scores

    def _search(self, source_ids, source_copy_ids, options, inputs=None):
        arguments = self.model, source_ids, source_copy_ids, options
        if self.candidate_ids is None:
            return beam_search(*arguments, source_inputs=inputs)
        return search_among(
            self.candidate_ids, *arguments, source_inputs=inputs
        )

    def _search_options(self, num_hypotheses=1, return_attention=False):
        return dataclasses.replace(
            self.options,
            num_hypotheses=num_hypotheses,
            return_attention=return_attention or self.replace_unk,
        )

    def _answer(self, text, options):
        """Dict of all outputs of `analyse`, `attention` if there is any."""
        num_texts = tf.size(text)
        alone = max(2, -(-_TEXTS // options.num_beams))
        rows = -(-num_texts // _TEXTS) * _TEXTS
        # A batch of nothing has no longest sentence: give it one.
        more = tf.where(num_texts < 2, alone, rows) - num_texts
        first = tf.concat([text, [""]], axis=0)[:1]
        source = self._read(tf.concat([text, tf.tile(first, [more])], axis=0))
        result = self._search(
            source.ids, source.copy_ids, options, source.inputs
        )
        hidden = source.is_blank[:, None, None]
        result = result._replace(
            ids=tf.where(hidden, special.PAD, result.ids),
            scores=tf.where(hidden[:, 0], 0.0, result.scores),
        )
        words, copied_from, lengths = self._write(result, source)
        longest = tf.shape(words)[2]
        is_word = tf.sequence_mask(lengths, longest)
        count = options.num_hypotheses
        texts = self.target_tokenizer.detokenize(
            tf.RaggedTensor.from_tensor(
                tf.reshape(words, [-1, tf.shape(words)[2]]),
                tf.reshape(lengths, [-1]),
            )
        )
        texts = tf.reshape(texts, [-1, count])
        outputs = {
            "text": texts[:, 0],
            "score": result.scores[:, 0],
            "texts": texts,
            "scores": result.scores,
            "tokens": words,
            "source_tokens": source.words[:, : source.longest],
            "copied_from": copied_from,
            "generate_probability": tf.where(
                is_word, result.generate_probs[:, :, :longest], 0.0
            ),
            "emission_probs": _until_end(result),
        }
        if options.return_attention:
            attention = result.attention[:, :, :longest, : source.longest]
            outputs["attention"] = tf.where(is_word[..., None], attention, 0.0)
        return {name: x[:num_texts] for name, x in outputs.items()}

    def _read(self, text):
        """Texts `(B,)` to `_Source`."""
        words = self.source_tokenizer.tokenize(text)
        words = words[:, : self.max_source_length]
        is_blank = words.row_lengths() == 0
        known = words
        if not self.append_eos:
            # No encoder reads a sentence without any position.
            known = tf.concat([words, _filler(is_blank)], axis=1)
        ids, copy_ids = encode_source(
            known,
            self.source_vocabulary,
            self.target_vocabulary,
            append_eos=self.append_eos,
            fold_source=self.source_tokenizer.fold,
            fold_target=self.target_tokenizer.fold,
            entities=self.entities,
        )
        longest = tf.cast(ids.bounding_shape(axis=1), tf.int32)
        width = -(-longest // _POSITIONS) * _POSITIONS
        ids = ids.to_tensor(
            special.PAD, shape=tf.stack([tf.size(is_blank), width])
        )
        keys = None
        if self.entities is not None:
            keys = self.entities.source(words)
            keys = keys.to_tensor("", shape=tf.shape(ids))
            words = self.entities.surfaces(words)
        inputs = {}
        if self.definitions is not None:
            inputs = self.definitions.source_inputs(
                words.to_tensor("", shape=tf.shape(ids)), ids
            )
        if self.append_eos:
            ends = tf.fill([words.nrows(), 1], _EOS_WORD)
            words = tf.concat([words, ends], axis=1)
        return _Source(
            ids,
            copy_ids.to_tensor(special.NO_COPY, shape=tf.shape(ids)),
            words.to_tensor("", shape=tf.shape(ids)),
            keys,
            is_blank,
            inputs,
            longest,
        )

    def _write(self, result, source):
        """The words of hypotheses.

        Returns:
            `(words, copied_from, lengths)`: strings `(B, N, T)`, int32
            `(B, N, T)` and the number of words, int32 `(B, N)`.
        """
        ids = result.ids
        is_word = (ids != special.PAD) & (ids != special.EOS)
        lengths = tf.reduce_sum(tf.cast(is_word, tf.int32), axis=-1)
        longest = tf.reduce_max(lengths)
        ids = ids[:, :, :longest]
        is_word = is_word[:, :, :longest]
        size = self.target_vocabulary.size
        known = tf.where(is_word & (ids < size), ids, special.PAD)
        generated = self._target_words.lookup(tf.cast(known, tf.int64))
        if source.keys is not None:
            restored = restore(
                tf.reshape(generated, [tf.shape(ids)[0], -1]),
                source.keys,
                source.words,
            )
            generated = tf.reshape(restored, tf.shape(ids))
        # Which of the word's positions, if search does not say: the first.
        copied_from = result.copied_from[:, :, :longest]
        copied_from = tf.where(
            (ids >= size) & (copied_from < 0), ids - size, copied_from
        )
        if self.replace_unk:
            attention = tf.where(
                (source.copy_ids != special.NO_COPY)[:, None, None],
                result.attention[:, :, :longest],
                -1.0,
            )
            highest = tf.argmax(attention, axis=-1, output_type=tf.int32)
            can_replace = tf.reduce_max(attention, axis=-1) >= 0
            copied_from = tf.where(
                (generated == _UNK_WORD) & can_replace, highest, copied_from
            )
        copied_from = tf.where(is_word, copied_from, special.GENERATE)
        pointed = tf.gather(
            source.words, tf.maximum(copied_from, 0), batch_dims=1
        )
        if self._emission is not None:
            pointed = emit(pointed, self._emission)
        words = tf.where(copied_from >= 0, pointed, generated)
        return tf.where(is_word, words, ""), copied_from, lengths


def _words_by_id(vocabulary):
    """The table of int64 id to word, from the vocabulary's file if any."""
    if vocabulary.path is None:
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.range(vocabulary.size, dtype=tf.int64),
            tf.constant(vocabulary.words),
        )
    else:
        initializer = tf.lookup.TextFileInitializer(
            vocabulary.path,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
        )
    return tf.lookup.StaticHashTable(initializer, default_value=_UNK_WORD)


def _until_end(result):
    """The switch before each word and before EOS; -1 behind, `(B, N, L)`."""
    emitted = result.ids != special.PAD
    return tf.where(emitted, result.generate_probs, -1.0)


def _filler(is_blank):
    """Ragged `(B, None)`: one word where a text has none."""
    lengths = tf.cast(is_blank, tf.int64)
    words = tf.fill([tf.reduce_sum(lengths)], _UNK_WORD)
    return tf.RaggedTensor.from_row_lengths(words, lengths)


def _translations(outputs):
    outputs = {name: x.numpy() for name, x in outputs.items()}
    emitted = outputs["emission_probs"]
    for i, text in enumerate(outputs["text"]):
        words = [word.decode() for word in outputs["tokens"][i, 0] if word]
        source = [word.decode() for word in outputs["source_tokens"][i] if word]
        yield Translation(
            text=text.decode(),
            score=float(outputs["score"][i]),
            tokens=words,
            copied_from=outputs["copied_from"][i, 0, : len(words)].tolist(),
            source_tokens=source,
            generate_probs=[p for p in emitted[i, 0].tolist() if p >= 0],
        )


def _in_batches(function, texts, batch_size, progress):
    """`function` of tensors of texts of similar length, an answer for each."""
    # Blanks are a good measure of words, and cost nothing.
    order = sorted(
        range(len(texts)),
        key=lambda i: (len(texts[i].split()), len(texts[i])),
        reverse=True,
    )
    answers = [None] * len(texts)
    with _bar(len(texts), progress) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = chunks.to_tensor(texts[row] for row in rows)
            for row, answer in zip(rows, function(batch)):
                answers[row] = answer
            bar.update(len(rows))
    return answers


def _bar(total, progress):
    return tqdm.tqdm(
        total=total,
        desc="Translating",
        unit=" texts",
        disable=None if progress else True,  # None: not on a terminal
        leave=False,
    )
