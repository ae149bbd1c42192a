"""Scores of summaries, all in percent, and the lead-3 baseline.

Reference: [See et al., 2017](https://arxiv.org/abs/1704.04368), section 5 and
figures 4 and 6.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence

from tfcopy.evaluation.translations import check_lengths, percent

_STOPS = {".", "!", "?", "。", "！", "？"}
_CLOSING = {"''", "”", "’", "»", ")", "]", "}", "-rrb-", "-rsb-", "」", "』"}
_EITHER_WAY = {'"', "'"}  # both opening and closing
_STOPPED_WORD = re.compile(r".*[.!?][\"'”’»)\]}]*", re.DOTALL)
_ABBREVIATION = re.compile(
    r"\(?([^\W\d]+(\.[^\W\d]+)+|[^\W\d]|Mr|Mrs|Ms|Dr|Prof|Gen|Gov|Sen|Rep|St|No|vs)\."
)

# Scripts without blanks between words: kana and Chinese characters.
_CJK = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK += r"\uff66-\uff9f\U00020000-\U0003ffff"
_ROUGE_TOKEN = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")


def sentences(text: str) -> list[str]:
    """Splits a text into sentences.

    A text of several lines has one sentence per line. Otherwise a sentence ends
    after each `.`, `!` or `?` between blanks, and after the closing quotes and
    brackets that follow; the paper splits the output of its models in this way.
    A text without such marks between blanks is assumed not to be tokenised. A
    word then ends a sentence if it ends with such a mark and does not look like
    an abbreviation.
    """
    if "\n" in text:
        lines = (line.strip() for line in text.split("\n"))
        return [line for line in lines if line]
    words = text.split()
    ends = _ends if _STOPS.intersection(words) else _plain_ends
    places = [0, *ends(words), len(words)]
    parts = [words[i:j] for i, j in zip(places, places[1:])]
    return [" ".join(part) for part in parts if part]


def lead(text: str, count: int = 3) -> str:
    """Returns the first sentences of a text, one per line (lead-3 baseline)."""
    return "\n".join(sentences(text)[:count])


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[str],
    use_stemmer: bool = True,
    split: bool = True,
) -> dict[str, float]:
    """Computes ROUGE-1, ROUGE-2 and ROUGE-L, averaged over the texts.

    ROUGE-L is the summary-level variant, which compares sentence by sentence,
    and is several points higher than for the text as a whole. `sentences`
    splits the texts. Case and punctuation are ignored. English words are as in
    `rouge_score`; words of all other scripts count as well.

    Args:
        hypotheses: One text for each reference.
        references: The true summaries.
        use_stemmer: Whether to compare English words without their endings. The
            default is as in pyrouge (`-m`), which the paper used.
        split: Whether to split the texts; a headline is always one sentence.

    Returns:
        Dict of `rouge1`, `rouge2` and `rougeL`, the F1 scores, and of the
        recall, with `_recall` appended to the names.
    """
    texts = [[_lines(x, split) for x in y] for y in (hypotheses, references)]
    names = {"rouge1": "rouge1", "rouge2": "rouge2", "rougeL": "rougeLsum"}
    tokenizer = RougeTokenizer(use_stemmer)
    scores = _rouge_scores(*texts, list(names.values()), tokenizer)
    results = {}
    for name, key in names.items():
        results[name] = percent(score[key].fmeasure for score in scores)
        results[f"{name}_recall"] = percent(s[key].recall for s in scores)
    return results


def _rouge_scores(hypotheses, references, names, tokenizer):
    """Computes the scores of each text, with the names of `rouge_score`."""
    # Imported late: it takes a second, and other scores do not need it.
    from rouge_score.rouge_scorer import RougeScorer

    check_lengths(hypotheses, references)
    scorer = RougeScorer(names, tokenizer=tokenizer)
    return list(map(scorer.score, references, hypotheses))


def _lines(text, split):
    """Formats a text with one sentence per line."""
    return "\n".join(sentences(text)) if split else " ".join(text.split())


def character_rouge(
    texts: Sequence[str], references: Sequence[str], limit: int = 40
) -> dict[str, float]:
    """Computes ROUGE-1, ROUGE-2 and ROUGE-L of characters, averaged over texts.

    It is the score for Chinese summaries, for any tokenisation of the model.
    Every character except blanks is a token, in any script, case-sensitive and
    including punctuation. For ROUGE-L, a text is one sentence.

    Args:
        texts: One text for each reference.
        references: The true summaries.
        limit: Maximum number of characters of each text; the rest is cut off.

    Returns:
        Dict of `rouge1`, `rouge2` and `rougeL`, the F1 scores.

    References:
        [Hu et al., 2015](https://arxiv.org/abs/1506.05865), who split words
        into characters; the limit is from the code released with
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393).
    """
    names = ["rouge1", "rouge2", "rougeL"]
    scores = _rouge_scores(texts, references, names, _CharacterTokenizer(limit))
    return {
        name: percent(score[name].fmeasure for score in scores)
        for name in names
    }


class _CharacterTokenizer:
    """Tokenizer that returns the first characters of a text, without blanks."""

    def __init__(self, limit):
        self._limit = limit

    def tokenize(self, text):
        return list("".join(text.split())[: self._limit])


class RougeTokenizer:
    """Tokenizer for ROUGE, for any script: words in lower case.

    Each Chinese character is a word. On plain English it equals the tokenizer
    of `rouge_score`, which supports only the letters a to z.

    Args:
        use_stemmer: Whether to remove the endings of English words.
    """

    def __init__(self, use_stemmer: bool = False):
        # Imported late, like `rouge_score`.
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer() if use_stemmer else None
        self._stem = functools.lru_cache(maxsize=100_000)(self._stem_word)

    def tokenize(self, text: str) -> list[str]:
        text = unicodedata.normalize("NFC", text.lower())
        text = "".join(map(_letter_or_blank, text))
        return [self._stem(word) for word in _ROUGE_TOKEN.findall(text)]

    def _stem_word(self, word):
        if self._stemmer and len(word) > 3 and word.isascii():
            return self._stemmer.stem(word)
        return word


def novel_ngram_rate(
    hypotheses: Sequence[Sequence[str]],
    sources: Sequence[Sequence[str]],
    n: int,
) -> float:
    """Computes the share of n-grams of the hypotheses that the source lacks.

    Args:
        hypotheses: The tokens of each summary.
        sources: The tokens of each article.
        n: Length of the n-grams.
    """
    check_lengths(hypotheses, sources)
    flags = []
    for tokens, source in zip(hypotheses, sources):
        known = set(_ngrams(source, n))
        flags += [ngram not in known for ngram in _ngrams(tokens, n)]
    return percent(flags)


def novel_sentence_rate(
    hypotheses: Sequence[str], sources: Sequence[str]
) -> float:
    """Computes the share of sentences of the hypotheses that the source lacks.

    Args:
        hypotheses: The text of each summary.
        sources: The text of each article.
    """
    return novel_ngram_rate(
        [_sentence_keys(text) for text in hypotheses],
        [_sentence_keys(text) for text in sources],
        n=1,
    )


def rate_repeated_ngrams(hypotheses: Sequence[Sequence[str]], n: int) -> float:
    """Computes the share of n-grams that occur earlier in the same summary.

    It is `1 - distinct / all`, with the distinct n-grams of each summary.

    Args:
        hypotheses: The tokens of each summary.
        n: Length of the n-grams.
    """
    total = distinct = 0
    for tokens in hypotheses:
        ngrams = _ngrams(tokens, n)
        total += len(ngrams)
        distinct += len(set(ngrams))
    return 100 * (total - distinct) / total if total else 0.0


def rate_repeated_sentences(hypotheses: Sequence[str]) -> float:
    """Computes the share of sentences that occur earlier in their summary."""
    return rate_repeated_ngrams([_sentence_keys(t) for t in hypotheses], n=1)


def _ends(words):
    """Yields where sentences end, in text with blanks around its marks."""
    is_open, place = dict.fromkeys(_EITHER_WAY, False), 0
    while place < len(words):
        place += 1
        _turn(is_open, words[place - 1])
        if words[place - 1] in _STOPS:
            while place < len(words) and _closes(words[place], is_open):
                _turn(is_open, words[place])
                place += 1
            yield place
            is_open = dict.fromkeys(_EITHER_WAY, False)


def _turn(is_open, word):
    if word in _EITHER_WAY:
        is_open[word] = not is_open[word]


def _closes(word, is_open):
    """Returns whether a word belongs to the end of the previous sentence."""
    return is_open.get(word, False) or word in _STOPS or word in _CLOSING


def _plain_ends(words):
    for place, word in enumerate(words, 1):
        if _STOPPED_WORD.fullmatch(word) and not _ABBREVIATION.fullmatch(word):
            yield place


@functools.lru_cache(maxsize=100_000)
def _letter_or_blank(character):
    is_letter = unicodedata.category(character)[0] in "LMN"
    return character if is_letter else " "


def _ngrams(tokens, n):
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def _sentence_keys(text):
    """Returns the sentences, with single blanks between words."""
    return [" ".join(sentence.split()) for sentence in sentences(text)]
