"""Copy ids and pointer labels from words, as TensorFlow ops.

The same functions encode whole corpora and, on the source side, run in the
served graph. Words are compared through `tf.unique`, in time linear in the
length of the text, and exactly; to match words regardless of case, pass the
`fold` of the tokenizers. The source vocabulary knows words under the source's
form, and everything else (the target vocabulary, and which source word a target
word equals) goes by the target's form. `Entities` replace names by placeholders
before any of this.

Glossary of shapes: B sentences, S source and T target positions with EOS; all
tensors are ragged, int32, of shape (B, None). V is the size of the target
vocabulary. `tfcopy.tokens` names the special values.

Reference: Gulcehre et al., 2016, section 4; Gu et al., 2016, section 3.3.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.ragged_rows import append, rows_of
from tfcopy.data.text.entities import numbers_of
from tfcopy.data.text.vocabulary import Vocabulary

UNMATCHED_POLICIES = ("attention_argmax", "unk")

_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
_ABSENT = tf.int32.max


def _identity(words):
    return words


def encode_source(
    words,
    source_vocabulary,
    target_vocabulary,
    *,
    append_eos=True,
    fold_source=_identity,
    fold_target=_identity,
    entities=None,
):
    """Encodes source sentences.

    ```python
    words = tokenizers[0].tokenize(["a river"])
    ids, copy_ids = data.encode_source(words, *vocabularies)
    ```

    Args:
        words: Ragged string tensor of shape `(B, None)`.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        append_eos: Whether a sentence ends with the position of `EOS`.
        fold_source: `fold` of the source's `Tokenizer`.
        fold_target: `fold` of the target's `Tokenizer`.
        entities: Optional `Entities`, whose keys are looked up instead of
            the words.

    Returns:
        `(source_ids, source_copy_ids)`, ragged int32: ids of the source
        vocabulary; and ids of the target vocabulary, where a word outside of
        it has `V` + the position of its first occurrence. `EOS` and a literal
        `<unk>` have the copy id `NO_COPY`.
    """
    if entities is not None:
        words = entities.source(words)
    source_ids = source_vocabulary.lookup(fold_source(words.values))
    keys = words.with_values(fold_target(words.values))
    first = _first_positions(keys, _flat(keys))
    copy_ids = _source_copy_ids(keys, first, target_vocabulary)
    return _source_rows(words, source_ids, copy_ids, append_eos)


def encode_pairs(
    source_words,
    target_words,
    source_vocabulary,
    target_vocabulary,
    *,
    append_eos=True,
    label_pointers=True,
    unmatched="attention_argmax",
    dictionary=None,
    fold_source=_identity,
    fold_target=_identity,
    entities=None,
):
    """Encodes sentence pairs as ids, copy ids and pointer labels.

    A target word of the vocabulary is generated, even if the source has it. For
    any other, the label is the first of these that applies:

    1. the first source position that holds the same word;
    2. the first source position of a sense of the word in `dictionary`, the
       likeliest sense that occurs in the source;
    3. `UNMATCHED` (point where attention is highest) or, with
       `unmatched="unk"`, `GENERATE` (generate `<unk>`).

    A literal `<unk>`, its identity lost, is generated; so is `EOS`.

    With `entities`, words are looked up and compared as their keys. The
    placeholder of an entity that the source has is pointed at by rule 1,
    although the vocabulary knows it. The decoder reads it next. Any other
    placeholder of the vocabulary is generated.

    ```python
    english = tokenizers[0].tokenize(["a river"])
    french = tokenizers[1].tokenize(["une rivière"])
    encoded = data.encode_pairs(english, french, *vocabularies)
    encoded["target_ids"]
    ```

    Args:
        source_words: Ragged string tensor of shape `(B, None)`.
        target_words: Ragged string tensor of shape `(B, None)`.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        append_eos: Whether source sentences end with `EOS`; targets always do.
        label_pointers: Whether to label pointers; if not, all are `GENERATE`.
        unmatched: `"attention_argmax"` or `"unk"`, rule 3.
        dictionary: `Dictionary` from the target to the source language, in the
            form that `fold_target` returns.
        fold_source: `fold` of the source's `Tokenizer`.
        fold_target: `fold` of the target's `Tokenizer`.
        entities: Optional `Entities`.

    Returns:
        Dict of ragged int32 tensors `source_ids`, `source_copy_ids`,
        `target_ids` and `pointers`.
    """
    if unmatched not in UNMATCHED_POLICIES:
        raise ValueError(
            f"`unmatched` must be one of {UNMATCHED_POLICIES}. "
            f"Received: {unmatched!r}."
        )
    if entities is not None:
        source_words, target_words = entities.pair(source_words, target_words)
    source_ids = source_vocabulary.lookup(fold_source(source_words.values))
    source_words, target_words = [
        words.with_values(fold_target(words.values))
        for words in (source_words, target_words)
    ]
    source, target = _flat(source_words), _flat(target_words)
    both = [tf.concat(parts, 0) for parts in zip(source, target)]
    first = _first_positions(source_words, both)
    first_of_source, first_of_target = tf.split(
        first, [tf.size(source[0]), tf.size(target[0])]
    )
    source_copy_ids = _source_copy_ids(
        source_words, first_of_source, target_vocabulary
    )
    source_ids, source_copy_ids = _source_rows(
        source_words, source_ids, source_copy_ids, append_eos
    )
    ids = target_vocabulary.lookup(target[0])
    is_unknown = (ids == special.UNK) & (target[0] != _UNK_WORD)
    is_in_source = first_of_target != _ABSENT
    is_copied = is_unknown & is_in_source
    target_ids = tf.where(
        is_copied, target_vocabulary.size + first_of_target, ids
    )
    pointers = tf.fill(tf.shape(ids), special.GENERATE)
    if label_pointers:
        is_pointed = is_copied
        if entities is not None:
            is_pointed |= is_in_source & (numbers_of(target[0]) > 0)
        if unmatched == "attention_argmax":
            pointers = tf.where(is_unknown, special.UNMATCHED, pointers)
        pointers = tf.where(is_pointed, first_of_target, pointers)
        if dictionary is not None and len(dictionary):
            is_asked = is_unknown & ~is_copied
            pointers = _point_at_senses(
                pointers, is_asked, source_words, target, dictionary
            )
    return {
        "source_ids": source_ids,
        "source_copy_ids": source_copy_ids,
        "target_ids": _append(target_words, target_ids, special.EOS),
        "pointers": _append(target_words, pointers, special.GENERATE),
    }


def pointers(target_ids, source_copy_ids, vocabulary_size) -> np.ndarray:
    """Returns copied positions, the labels of `PointerSoftmaxHead`.

    `encode_pairs` has them already; this is for ids that were made otherwise.

    ```python
    target_ids = np.array([[9, 5, 3]])  # 9 is not in the vocabulary
    data.pointers(target_ids, np.array([[6, 9, -1]]), 9)  # [[1, -1, -1]]
    ```

    Args:
        target_ids: Extended ids of the targets, `(B, T)`.
        source_copy_ids: Extended ids of the sources, `(B, S)`.
        vocabulary_size: V; words below are generated.

    Returns:
        int32 `(B, T)`: the first position in the source that has the id, or
        `GENERATE`.

    Raises:
        ValueError: If a source lacks a word that its target copies.
    """
    target_ids = np.asarray(target_ids)
    same = target_ids[:, :, None] == np.asarray(source_copy_ids)[:, None]
    is_copied = target_ids >= vocabulary_size
    lacking = np.argwhere(is_copied & ~same.any(-1))
    if len(lacking):
        row, place = lacking[0]
        raise ValueError(
            f"`target_ids` has {target_ids[row, place]} in row {row}, which is "
            "not in that row of `source_copy_ids`."
        )
    places = np.where(is_copied, same.argmax(-1), special.GENERATE)
    return places.astype("int32")


def decode(
    ids: Iterable[Iterable[int]],
    source_words: Iterable[Sequence[str]] | tf.RaggedTensor,
    target_vocabulary: Vocabulary,
) -> list[list[str]]:
    """Decodes extended ids to words.

    ```python
    words = tokenizers[0].tokenize(["a Łukasz"])
    _, copy_ids = data.encode_source(words, *vocabularies)
    data.decode(copy_ids, words, vocabularies[1])  # [["a", "Łukasz"]]
    ```

    Args:
        ids: B rows of ids of the decoder, such as `target_ids` `(B, T)` or the
            best hypotheses of a search, `result.ids[:, 0]`. A row ends before
            its first `EOS`; `PAD` and negative ids, such as `NO_COPY`, are
            left out.
        source_words: The words of the B sources, which words outside of the
            vocabulary were copied from.
        target_vocabulary: `Vocabulary` of the decoder, of size V.

    Returns:
        B lists of words: the vocabulary's for ids below V, and the source's
        word at position `id - V` for others.

    Raises:
        ValueError: if rows and sources differ in number, or an id lies beyond
            the end of its source.
    """
    if isinstance(source_words, tf.RaggedTensor):
        source_words = source_words.to_list()
    ids, sources = list(ids), list(source_words)
    if len(ids) != len(sources):
        raise ValueError(
            "`ids` and `source_words` must have as many rows. "
            f"Received: {len(ids)} and {len(sources)}."
        )
    return [
        [
            _word(int(i), source, target_vocabulary)
            for i in itertools.takewhile(lambda i: i != special.EOS, row)
            if i > special.PAD
        ]
        for row, source in zip(ids, sources)
    ]


def _word(i, source, vocabulary):
    """Returns the word of an extended id as text, not bytes."""
    position = i - vocabulary.size
    if position >= len(source):
        raise ValueError(
            f"The id {i} stands for the word at position {position} of the "
            f"source, which has {len(source)} words."
        )
    word = vocabulary.words[i] if position < 0 else source[position]
    return tf.compat.as_text(word)


def _flat(words):
    """Returns the flat words of ragged ones, and the sentence of each."""
    return words.values, rows_of(words)


def _first_positions(source, queries):
    """Finds the first position of each query word in its sentence.

    Args:
        source: Ragged words, `(B, None)`.
        queries: Words `(M,)` and the sentences to look into `(M,)`.

    Returns:
        int32 `(M,)`; `_ABSENT` where the sentence does not hold the word.
    """
    words, sentences = [
        tf.concat(parts, 0) for parts in zip(_flat(source), queries)
    ]
    distinct, numbers = tf.unique(words, tf.int64)
    keys = sentences * tf.size(distinct, tf.int64) + numbers
    distinct, groups = tf.unique(keys)
    num_words = tf.size(source.values)
    starts = tf.gather(source.row_starts(), rows_of(source))
    positions = tf.range(num_words) - tf.cast(starts, tf.int32)
    first = tf.math.unsorted_segment_min(
        positions, groups[:num_words], tf.size(distinct)
    )  # `_ABSENT` for a key that only queries have
    return tf.gather(first, groups[num_words:])


def _source_copy_ids(words, first, target_vocabulary):
    ids = target_vocabulary.lookup(words.values)
    copy_ids = tf.where(ids == special.UNK, target_vocabulary.size + first, ids)
    return tf.where(words.values == _UNK_WORD, special.NO_COPY, copy_ids)


def _source_rows(words, source_ids, copy_ids, append_eos):
    """Makes ragged ids of flat ones."""
    if not append_eos:
        return words.with_values(source_ids), words.with_values(copy_ids)
    source_ids = _append(words, source_ids, special.EOS)
    return source_ids, _append(words, copy_ids, special.NO_COPY)


def _append(words, values, last):
    """Arranges `values` in the rows of `words`, and appends `last` to each."""
    return append(words.with_values(values), last)


def _point_at_senses(pointers, is_asked, source, target, dictionary):
    """Sets the pointers of words with a sense in the source (rule 2)."""
    asked = tf.where(is_asked)[:, 0]  # (N,) flat positions
    senses = dictionary.lookup(tf.gather(target[0], asked))  # (N, None)
    owners = rows_of(senses)
    sentences = tf.gather(tf.gather(target[1], asked), owners)
    positions = _first_positions(source, (senses.values, sentences))
    positions = tf.where(senses.values == _UNK_WORD, _ABSENT, positions)
    # The likeliest sense that occurs, not the leftmost position.
    order = tf.range(tf.size(positions))
    best = tf.math.unsorted_segment_min(
        tf.where(positions == _ABSENT, _ABSENT, order), owners, tf.size(asked)
    )
    is_found = best != _ABSENT
    return tf.tensor_scatter_nd_update(
        pointers,
        tf.boolean_mask(asked, is_found)[:, None],
        tf.gather(positions, tf.boolean_mask(best, is_found)),
    )
