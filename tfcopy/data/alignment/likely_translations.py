"""A dictionary of all likely translations, learnt from encoded pairs.

Dictionaries to copy with hold one or a few sure translations of rare words
(`tfcopy.data.build_dictionary`). Those that bound what is generated must also
have what function words, and the words around a translation, may become.
"""

import numpy as np

from tfcopy import tokens
from tfcopy.data.alignment.alignment_links import Sentences
from tfcopy.data.alignment.word_alignment import ibm_model1
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.text.dictionary import Dictionary
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
