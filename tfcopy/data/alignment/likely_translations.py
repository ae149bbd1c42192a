"""Dictionaries of the words that an alignment links.

A word's senses are the words that it is linked to, and their probabilities the
shares of its links. Dictionaries to copy with hold one or a few sure
translations of rare words (`tfcopy.data.build_dictionary`). Those that bound
what is generated must also have what function words, and the words around a
translation, may become.
"""

from collections.abc import Container

import numpy as np

from tfcopy import tokens
from tfcopy.data.alignment.word_alignment import (
    Links,
    Sentences,
    ibm_model1,
    one_to_one,
)
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.tokenized_text import TokenizedText
from tfcopy.data.text.vocabulary import Vocabulary

# Pairs beyond these add hardly any translations of the vocabulary's words.
_MOST_PAIRS = 200_000


def learn(
    corpus: EncodedCorpus,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    senses: int = 10,
    rounds: int = 5,
    progress: bool = False,
) -> Dictionary:
    """The likeliest translations of each word by IBM Model 1.

    Args:
        corpus: Training pairs, the first 200,000 of which are read.
        source_vocabulary: `Vocabulary` of its sources.
        target_vocabulary: `Vocabulary` of its targets.
        senses: Most translations of a word.
        rounds: Number of passes over all pairs.
        progress: Whether to show a bar with the time left.
    """
    pairs = min(len(corpus), _MOST_PAIRS)
    source_splits = corpus.source_splits[: pairs + 1]
    target_splits = corpus.target_splits[: pairs + 1]
    target_ids = corpus.target_ids[: target_splits[-1]].astype(np.int64)
    size = target_vocabulary.size
    target_ids[target_ids >= size] = tokens.UNK  # They are copied.
    source_ids = corpus.source_ids[: source_splits[-1]].astype(np.int64)
    table = ibm_model1(
        Sentences(source_ids, source_splits),
        Sentences(target_ids, target_splits),
        rounds=rounds,
        progress=progress,
    )
    words = table.keys // table.num_targets - 1
    translations = table.keys % table.num_targets
    order = np.lexsort((translations, -table.probabilities, words))
    words, translations = words[order], translations[order]
    _, starts, counts = np.unique(words, return_index=True, return_counts=True)
    rank = np.arange(len(words)) - np.repeat(starts, counts)
    special = len(tokens.SPECIAL_TOKENS)
    kept = (rank < senses) & (words >= special) & (translations >= special)
    probabilities = table.probabilities[order]
    from_words, to_words = source_vocabulary.words, target_vocabulary.words
    rows = zip(words[kept], translations[kept], probabilities[kept])
    return Dictionary((from_words[x], to_words[y], p) for x, y, p in rows)


_UNK_WORD = "<unk>"


def build(
    text: TokenizedText,
    translation: TokenizedText,
    links: Links,
    *,
    max_senses: int = 5,
    min_probability: float = 0.1,
    function_words: int = 20,
    only_outside: Container[str] = (),
) -> Dictionary:
    """The words of `text` with their senses in `translation`, sorted.

    Of n(f) links of the word f, n(f, e) lead to e: p(e | f) = n(f, e) / n(f).
    Links must be one to one, as in an intersection; see
    `alignment_links.one_to_one` for others.

    Args:
        text: P sentences.
        translation: Their translations.
        links: From `text` to `translation`.
        max_senses: Most senses of a word.
        min_probability: Rarer senses are left out.
        function_words: Number of the most frequent words of `translation`,
            without punctuation, that count as function words. A word whose
            likeliest sense is among them has no entry, and no word has them for
            its other senses.
        only_outside: Words that need no entry, such as those of a vocabulary.
    """
    links = one_to_one(links, text.folded, translation.folded)
    places = links.places(text.sentences, translation.sentences)
    words = text.sentences.ids[places[0]].astype(np.int64)
    senses = translation.sentences.ids[places[1]].astype(np.int64)
    num_words, num_senses = np.bincount(words), np.bincount(senses)
    size = max(1, len(translation.words))
    pairs, count = np.unique(words * size + senses, return_counts=True)
    words, senses = pairs // size, pairs % size
    probability = count / num_words[words]
    is_kept = probability >= min_probability
    may_be_sense = _may_be_sense(translation, function_words)
    senses_of = {}
    for word, sense, p in zip(
        *(x[is_kept].tolist() for x in (words, senses, probability))
    ):
        # Of equally likely senses, the rarer one is more specific to this word.
        order = -p, num_senses[sense], translation.words[sense]
        senses_of.setdefault(text.words[word], []).append((order, sense, p))
    entries = []
    for word in sorted(senses_of):
        choices = sorted(senses_of[word])
        is_left_out = word in only_outside or word == _UNK_WORD
        if may_be_sense[choices[0][1]] and not is_left_out:
            choices = [
                (word, translation.words[sense], p)
                for _, sense, p in choices
                if may_be_sense[sense]
            ]
            entries += choices[:max_senses]
    return Dictionary(entries)


def _may_be_sense(text, function_words):
    """Whether words are neither function words, punctuation nor `<unk>`.

    Returns:
        List of booleans, by word id.
    """
    is_word = np.array(
        [
            word != _UNK_WORD and any(map(str.isalnum, word))
            for word in text.words
        ],
        bool,
    )
    counts = np.bincount(text.folded.ids, minlength=len(text.words))
    counts[text.folds[~is_word]] = 0
    frequent = np.argsort(-counts, kind="stable")[:function_words]
    return (is_word & ~np.isin(text.folds, frequent)).tolist()
