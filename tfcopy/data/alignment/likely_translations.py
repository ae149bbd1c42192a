"""Dictionaries of the words that an alignment of two texts links.

The senses of a word are the words that it is linked to. Their probabilities are
the shares of its links. Dictionaries to copy with hold one or a few sure
translations of rare words (`tfcopy.data.build_dictionary`). Dictionaries that
bound the generated words must also have translations of function words, and of
the words around them.
"""

import array
import dataclasses
import os
from collections.abc import Container, Iterable

import numpy as np

from tfcopy import tokens
from tfcopy.data.alignment.aligners import ibm_model1
from tfcopy.data.alignment.word_links import Links, Sentences, one_to_one
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.text import tokenization
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedText:
    """Sentences of words.

    Args:
        sentences: The words, as ids.
        words: The words as they are written, by id.
        folds: int array, by id: words that differ only in case share a number.
    """

    sentences: Sentences
    words: list[str]
    folds: np.ndarray

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[bytes]]) -> "TokenizedText":
        """Makes a text from sentences, whose words are UTF-8."""
        numbers, ids, lengths = {}, array.array("i"), [0]
        for row in rows:
            ids.extend(numbers.setdefault(word, len(numbers)) for word in row)
            lengths.append(len(row))
        lower = tokenization.lower(tokenization.string_tensor(numbers)).numpy()
        return cls(
            Sentences(np.array(ids, np.int32), np.cumsum(lengths)),
            [word.decode() for word in numbers],
            np.unique(lower, return_inverse=True)[1],
        )

    @classmethod
    def read(
        cls,
        path,
        tokenizer: tokenization.Tokenizer,
        *,
        total: int | None = None,
    ) -> "TokenizedText":
        """Reads a file, plain or compressed; each line is a sentence.

        Args:
            path: The file.
            tokenizer: Cuts lines into words.
            total: Number of lines, for the time left.

        Raises:
            CorpusError: naming file and line.
        """
        rows = tokenization.token_rows(
            read_lines(path),
            tokenizer,
            total=total,
            description=os.path.basename(path),
        )
        return cls.from_rows(rows)

    @property
    def folded(self) -> Sentences:
        """The sentences, in lower case."""
        return Sentences(self.folds[self.sentences.ids], self.sentences.splits)


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
    """Learns the likeliest translations of each word by IBM Model 1.

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
    """Builds a dictionary from links; its words are sorted.

    Of n(f) links of the word f, n(f, e) lead to e: p(e | f) = n(f, e) / n(f).
    Links must be one to one, as in an intersection; see
    `word_links.one_to_one` for others.

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
        only_outside: Words that need no entry, such as the words of a
            vocabulary.
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
    """Returns whether words are no function words, punctuation or `<unk>`.

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
