"""Dictionaries of the words that an alignment links.

A word's senses are the words that it is linked to, and their probabilities the
shares of its links.
"""

from collections.abc import Container

import numpy as np

from tfcopy.data.alignment.alignment_links import Links, one_to_one
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.tokenized_text import TokenizedText

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
