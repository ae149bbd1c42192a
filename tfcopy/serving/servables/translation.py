"""The steps of a translation: encoding texts, search, decoding hypotheses.

Shapes: B texts, S source positions (with EOS), N hypotheses, T words of the
longest hypothesis, R lines of a text's glossary, K words that all sentences may
generate, M translations of a word.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.pairs.copy_ids import encode_source
from tfcopy.data.ragged_rows import append, fill_empty, keep
from tfcopy.data.text import glossary as terms
from tfcopy.data.text.dictionary import emit
from tfcopy.data.text.entities import restore
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.tokenization import normalize_blanks, readable_text
from tfcopy.decoding import Candidates, SearchResult, beam_search, search_among
from tfcopy.runtime.text_functions import POSITIONS
from tfcopy.tokens import GOES_ON, MASKED, PROTECTED, UNREAD


class RequestedTerms(NamedTuple):
    """Phrases as marks in texts, marks as translations in answers.

    Attributes:
        phrases: Strings, `(P,)`, by the numbers of their marks.
        translations: Strings, `(P,)`.
    """

    phrases: Any
    translations: Any

    def insert_translations(self, text):
        """Replaces marks by translations, in strings of any shape."""
        return terms.unmark(text, self.translations)

    def insert_phrases(self, text):
        """Replaces marks by phrases, in strings of any shape."""
        return terms.unmark(text, self.phrases)

    def demand(self, text):
        """Replaces marks by phrases; returns ragged translations as well."""
        parts, is_mark = terms.cut(text, terms.MARK)
        marks = keep(parts, is_mark)
        wanted = terms.remove_marks(self.insert_translations(marks.values))
        return self.insert_phrases(text), marks.with_values(wanted)


def mark_terms(text, glossary: Glossary | None, lines, tokenizer):
    """Puts marks for the phrases of glossaries.

    Args:
        text: Strings, `(B,)`.
        glossary: The translator's `Glossary`, or `None`.
        lines: Strings, `(B, R)`, a request's own terms, which count first; or
            `None`.
        tokenizer: The source's `ProtectedTokenizer`, whose spans hold no
            phrase.

    Returns:
        `(text, RequestedTerms)`, the text with marks.
    """
    all_terms = RequestedTerms(*[tf.zeros([0], tf.string)] * 2)
    if glossary is not None:
        all_terms = RequestedTerms(glossary.phrases, glossary.translations)
    protect = tokenizer.pattern
    text = terms.remove_marks(normalize_blanks(text, tokenizer.blanks))
    if lines is None:
        numbers = tf.range(tf.size(all_terms.phrases))
        return terms.mark(text, all_terms.phrases, protect, numbers), all_terms
    rows = tf.shape(text)[0]
    # Empty batches were padded with one text.
    lines = tf.pad(lines, [[0, 1], [0, 0]])[:rows]
    tf.debugging.assert_equal(
        tf.shape(lines)[0], rows, "glossary: one row for each text."
    )
    text = terms.mark_each(text, lines, protect)
    own = [tf.reshape(x, [-1]) for x in terms.fields_of(lines)]
    numbers = tf.size(own[0]) + tf.range(tf.size(all_terms.phrases))
    text = terms.mark(text, all_terms.phrases, protect, numbers)
    return text, RequestedTerms(*(tf.concat(x, 0) for x in zip(own, all_terms)))


def program_lengths(
    longest: int, usual: int | None = None, factor: int = 2
) -> list[int]:
    """Returns the source positions of programs for texts up to a length.

    Args:
        longest: Maximum number of words of a text; EOS follows.
        usual: Source positions of the longest usual text. All longer ones share
            a program.
        factor: Positive integer, the ratio of each length to the last one.
    """
    lengths, size, last = [POSITIONS], POSITIONS, POSITIONS
    while last <= longest:
        last *= 2
    while size < last:
        size = min(size * factor, last)
        if lengths[-1] < (usual or math.inf) or size == last:
            lengths.append(size)
    return lengths


_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
_EOS_WORD = special.SPECIAL_TOKENS[special.EOS]


class Sources(NamedTuple):
    """A batch of texts as a search reads them.

    Attributes:
        ids: `(B, S)`.
        copy_ids: `(B, S)`.
        words: Strings, `(B, S)`; `</s>` at EOS, `""` on padding.
        keys: Strings, `(B, S)`, what `Entities` make of the words; `None`
            without.
        protected: int32 `(B, S)`, the required words, as in `beam_search`;
            `None` if no word is required.
        is_blank: Boolean, `(B,)`; texts without a word.
        inputs: Dict of the model's further inputs, by name.
        longest: int32, the length of the longest text; padding follows.
    """

    ids: Any
    copy_ids: Any
    words: Any
    keys: Any
    protected: Any
    is_blank: Any
    inputs: Any
    longest: Any


def read_sources(translator, text, rows, must_have=None, terms=None) -> Sources:
    """Encodes texts as `Sources`.

    Args:
        translator: The `Translator`, whose tokenizer, vocabularies and limits
            apply.
        text: Strings.
        rows: int32 `(B,)`, the texts to encode, some of them repeatedly.
        must_have: Function from ragged words to the `protected` of
            `beam_search`; `None` if no word is required.
        terms: `RequestedTerms`. The model then reads the phrases that the texts
            have marks for, and the answers must have the translations.
    """
    tokenizer = translator.source_tokenizer
    longest = translator.max_source_length
    if terms is not None:
        text, wanted = terms.demand(text)
    words = tokenizer.tokenize(readable_text(text, tokenizer, longest))
    if terms is not None:
        wanted = translator.target_tokenizer.tokenize_terms(wanted)
        words = tf.concat([words, wanted], axis=1)
    words = tf.gather(words, rows)
    needed = None if must_have is None else must_have(words)
    words = words[:, :longest]
    is_blank = words.row_lengths() == 0
    readable = words
    if not translator.append_eos:
        # No encoder reads a sentence without any position.
        readable = fill_empty(words, is_blank)
    ids, copy_ids = encode_source(
        readable,
        translator.source_vocabulary,
        translator.target_vocabulary,
        append_eos=translator.append_eos,
        fold_source=tokenizer.fold,
        fold_target=translator.target_tokenizer.fold,
        entities=translator.entities,
    )
    longest = tf.cast(ids.bounding_shape(axis=1), tf.int32)
    width = -(-longest // POSITIONS) * POSITIONS
    ids = ids.to_tensor(special.PAD, shape=tf.stack([tf.size(is_blank), width]))
    shape = tf.shape(ids)
    protected = None
    if needed is not None:
        needed = tf.cast(needed, tf.int32)
        if terms is not None:
            limit = translator.max_source_length
            unread = (needed[:, :limit] >= UNREAD).to_tensor(False, shape=shape)
            ids = tf.where(unread, special.PAD, ids)
            needed = needed.with_values(tf.gather(PROTECTED, needed.values))
        protected = _read(needed, translator, shape)
    keys = None
    if translator.entities is not None:
        keys = translator.entities.source(words).to_tensor("", shape=shape)
        words = translator.entities.surfaces(words)
    inputs = {}
    if translator.definitions is not None:
        inputs = translator.definitions.source_inputs(
            words.to_tensor("", shape=shape), ids
        )
    if translator.append_eos:
        words = append(words, _EOS_WORD)
    words = words.to_tensor("", shape=shape)
    copy_ids = copy_ids.to_tensor(special.NO_COPY, shape=shape)
    return Sources(
        ids, copy_ids, words, keys, protected, is_blank, inputs, longest
    )


def _read(needed, translator, shape):
    """Returns which source words are required, int32 `(B, S)`.

    A run that is cut off need not be.
    """
    longest = translator.max_source_length
    found = needed[:, :longest].to_tensor(0, shape=shape)
    if not getattr(translator.source_tokenizer, "in_pieces", False):
        return found
    is_cut = needed[:, longest : longest + 1] == GOES_ON
    is_cut = tf.reduce_any(is_cut, axis=1, keepdims=True)
    begins = tf.cast((found > 0) & (found != GOES_ON), tf.int32)
    number = tf.cumsum(begins, axis=1)
    is_last = number == tf.reduce_max(number, axis=1, keepdims=True)
    return tf.where(is_cut & is_last, 0, found)


_NO_WORD = -1
# Words that a shortlist always holds.
_FREQUENT = 200


class Shortlist:
    """Frequent words, and the translations of a sentence's words.

    The output layer then has the few columns that a batch may need, instead of
    one for each word of the vocabulary. No sentence generates a word for
    another of its batch.

    Args:
        translator: The `Translator`, whose `shortlist` is a `Dictionary`.
        always: `(K,)`, int, ids that every sentence may generate; the special
            tokens among them.

    Reference:
        [Jean et al., 2015](https://arxiv.org/abs/1412.2007), section 3.2, the
        "candidate list".
    """

    def __init__(self, translator, always):
        self.always = np.asarray(always, np.int32)
        words = translator.target_vocabulary.words
        target_ids = {word: i for i, word in enumerate(words)}
        left_out = set(self.always.tolist())
        rows = [
            [
                target_ids[x]
                for x in translator.shortlist.senses(word)
                if x in target_ids and target_ids[x] not in left_out
            ]
            for word in translator.source_vocabulary.words
        ]
        width = max(1, *map(len, rows))
        self.table = np.array(
            [row + [_NO_WORD] * (width - len(row)) for row in rows], np.int32
        )  # (source vocabulary, M)
        self.vocabulary_size = len(words)

    def candidates(self, source_ids) -> Candidates:
        """Returns the words of a batch, and which sentence may generate which.

        Args:
            source_ids: int32 `(B, S)`.

        Returns:
            `Candidates`, with `always` first.
        """
        rows = tf.shape(source_ids)[0]
        found = tf.gather(tf.constant(self.table), source_ids)  # (B, S, M)
        found = tf.reshape(found, [rows, -1])
        is_word = found != _NO_WORD
        more = tf.unique(tf.sort(found[is_word])).y
        ids = tf.concat([self.always, more], axis=0)
        count, first = tf.size(ids), len(self.always)
        place_of = tf.scatter_nd(
            more[:, None], tf.range(first, count), [self.vocabulary_size]
        )
        # Where there is no word, a place that all have.
        places = tf.gather(place_of, tf.where(is_word, found, 0))
        places = tf.where(is_word, places, 0)
        owners = tf.repeat(tf.range(rows), tf.shape(places)[1])
        pairs = tf.stack([owners, tf.reshape(places, [-1])], axis=1)
        hits = tf.scatter_nd(pairs, tf.ones_like(owners), [rows, count])
        allowed = (hits > 0) | (tf.range(count) < first)
        return Candidates(ids, tf.where(allowed, 0.0, MASKED))


class SourceSearch:
    """Searches for the answers to sources that are ids.

    Args:
        translator: The `Translator`, whose model, candidates and shortlist
            apply.
    """

    def __init__(self, translator):
        self.model = translator.model
        self.candidate_ids, self.shortlist = translator.candidate_ids, None
        if translator.shortlist is not None:
            if self.candidate_ids is None:
                count = min(_FREQUENT, translator.target_vocabulary.size)
                self.candidate_ids = np.arange(count, dtype="int32")
            self.shortlist = Shortlist(translator, self.candidate_ids)

    def search(
        self, source_ids, source_copy_ids, options, **more
    ) -> SearchResult:
        """Runs `beam_search`, among the candidates if there are any."""
        arguments = self.model, source_ids, source_copy_ids
        if self.candidate_ids is None:
            return beam_search(*arguments, options, **more)
        candidates = Candidates(self.candidate_ids)
        if self.shortlist is not None:
            candidates = self.shortlist.candidates(source_ids)
        places = {int(word): i for i, word in enumerate(self.candidate_ids)}
        kept = [places[x] for x in options.source_only if x in places]
        options = dataclasses.replace(options, source_only=tuple(kept))
        return search_among(candidates, *arguments, options, **more)


class HypothesisWriter:
    """Decodes the results of a search to words, generated or copied.

    Args:
        translator: The `Translator`, whose target vocabulary, dictionary and
            `replace_unk` apply.
    """

    def __init__(self, translator):
        vocabulary = translator.target_vocabulary
        self._size = vocabulary.size
        self._replace_unk = translator.replace_unk
        self._target_words = vocabulary.words_by_id()
        self._emission = None
        if translator.dictionary is not None:
            words = vocabulary.words
            self._emission = translator.dictionary.emission_table(words)

    @property
    def resources(self) -> list:
        """Tables, which a SavedModel must hold."""
        tables = [self._target_words, self._emission]
        return [x for x in tables if x is not None]

    def write(self, result, source):
        """Decodes hypotheses to words.

        Args:
            result: `SearchResult`.
            source: `Sources`.

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
        size = self._size
        known_ids = tf.where(is_word & (ids < size), ids, special.PAD)
        generated = self._target_words.lookup(tf.cast(known_ids, tf.int64))
        if source.keys is not None:
            flat = tf.reshape(generated, [tf.shape(ids)[0], -1])
            restored = restore(flat, source.keys, source.words)
            generated = tf.reshape(restored, tf.shape(ids))
        # Which of the word's positions, if search does not say: the first.
        copied_from = result.copied_from[:, :, :longest]
        copied_from = tf.where(
            (ids >= size) & (copied_from < 0), ids - size, copied_from
        )
        if self._replace_unk:
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
        # No word of the source, which may be a huge one, where none is copied.
        pointed = tf.gather(
            tf.pad(source.words, [[0, 0], [1, 0]]),
            tf.maximum(copied_from, -1) + 1,
            batch_dims=1,
        )
        if self._emission is not None:
            pointed = emit(pointed, self._emission)
        words = tf.where(copied_from >= 0, pointed, generated)
        return tf.where(is_word, words, ""), copied_from, lengths
