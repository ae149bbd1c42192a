"""Scores of texts: BLEU, chrF, TER, exact match, copied words, kept markup.

All scores are in percent.
"""

import collections
import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized

import numpy as np
import sacrebleu

from tfcopy import tokens as special
from tfcopy.data.text.answer_check import spans_of_both


def score_copied_words(
    sources: Sequence[Sequence[str]],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    vocabulary: Collection[str],
) -> dict:
    """Computes precision and recall of copied OOV words, in percent.

    A word counts if its source contains it but the vocabulary does not, so that
    a model cannot generate it. If its numbers in hypothesis and reference
    differ, the smaller number is correct.

    Args:
        sources: The words of each source.
        hypotheses: The words of each hypothesis.
        references: The words of each reference.
        vocabulary: The words that the model can generate.

    Returns:
        Dict of `precision`, `recall` and `f1`, `None` if there are no such
        words, and `number`, the number of such words in the references.
    """
    copied = wanted = right = 0
    for source, hypothesis, reference in zip(
        sources, hypotheses, references, strict=True
    ):
        names = {word for word in source if word not in vocabulary}
        found, expected = (
            collections.Counter(word for word in words if word in names)
            for words in (hypothesis, reference)
        )
        copied += found.total()
        wanted += expected.total()
        right += (found & expected).total()

    def percent(whole):
        return 100 * right / whole if whole else None

    both = copied + wanted
    return {
        "precision": percent(copied),
        "recall": percent(wanted),
        "f1": 200 * right / both if both else None,
        "number": wanted,
    }


_NUM_SPECIALS = len(special.SPECIAL_TOKENS)


def mean_log_rank(texts: Iterable, vocabulary: Sized) -> np.ndarray:
    """Computes the rarity of each text: the mean of `log(rank)` over its words.

    The rank of a word is its position in the vocabulary without special tokens,
    1 for the most frequent word. The rank of unknown words is the number of
    words in the vocabulary. Padding, BOS and EOS are ignored.

    Args:
        texts: For each example the ids of its words, `(T,)`, or an array of all
            ids, `(N, T)`. Concatenate the ids of texts that belong together,
            such as the two sentences of a pair.
        vocabulary: `Vocabulary` of the training data, by frequency.

    Returns:
        float64 array of shape `(N,)`; NaN for texts without words.

    Raises:
        ValueError: If an id is outside the vocabulary.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 4.2.
    """
    size = len(vocabulary)
    return np.array([_mean_log_rank(ids, size) for ids in texts], np.float64)


def _mean_log_rank(ids, size):
    ids = np.asarray(ids, np.int64)
    ids = ids[(ids == special.UNK) | (ids >= _NUM_SPECIALS)]
    if not len(ids):
        return np.nan
    last = max(size - _NUM_SPECIALS, 1)
    ranks = np.where(ids == special.UNK, last, ids - _NUM_SPECIALS + 1)
    return np.log(ranks).mean()


def accuracy_by_quantile(
    x: Sequence[float], correct: Sequence[bool], bins: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Computes the accuracy of examples in bins of equal size, by rising `x`.

    Examples with equal `x` share a bin, so that bins may differ in size. Empty
    bins are left out, as are examples for which `x` is NaN.

    Args:
        x: `(N,)`, such as `mean_log_rank` of the examples.
        correct: `(N,)` booleans.
        bins: Positive integer, the maximum number of bins.

    Returns:
        `(centres, accuracies, sizes)` of the bins: the mean of `x`, the
        accuracy in percent, and the number of examples. For the confidence
        interval of an accuracy see `interval(accuracy, size)`.
    """
    x, correct = np.asarray(x, np.float64), np.asarray(correct, bool)
    kept = np.isfinite(x)
    x, correct = x[kept], correct[kept]
    if not len(x):
        return np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    places = np.searchsorted(np.quantile(x, np.arange(1, bins) / bins), x)
    sizes = np.bincount(places, minlength=bins)
    sums = np.bincount(places, x, bins), np.bincount(places, correct, bins)
    filled = sizes > 0
    centres, shares = (total[filled] / sizes[filled] for total in sums)
    return centres, 100 * shares, sizes[filled]


METRICS = ("bleu", "chrf", "ter")
_SEED = 12345  # sacrebleu's


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = METRICS,
    tokenize: str = "13a",
    samples: int = 1_000,
) -> dict:
    """Scores each system, and compares it with the first one.

    It uses sacrebleu's paired bootstrap: samples of the same size are drawn
    with replacement, the same for all systems. The seed is fixed, so that
    repeated calls agree. The bounds of the interval are percentiles of the
    scores of samples, so that they stay within the range of the metric.

    Args:
        systems: Dict from a name to the system's outputs for the same texts.
        references: Lists of references, each with one for each text.
        metrics: Some of `METRICS`.
        tokenize: Sacrebleu's tokenisation for BLEU.
        samples: Positive integer, the number of samples.

    Returns:
        Dict from a system's name to a dict from a metric to a dict of `score`;
        `interval`, the 95 % confidence interval; `p`, the probability of a
        difference of at least this size if the system were no better or worse
        than the first (`None` for the first); and `signature`, which describes
        the computation.

    Raises:
        ValueError: If the numbers of outputs and references differ.

    Reference:
        [Koehn, 2004](https://aclanthology.org/W04-3250/).
    """
    for name, texts in systems.items():
        for reference in references:
            if len(texts) != len(reference):
                raise ValueError(
                    f"{name}: {len(texts):,} answers to {len(reference):,} "
                    "references."
                )
    made = {
        "bleu": lambda: _bleu(tokenize),
        "chrf": sacrebleu.CHRF,
        "ter": sacrebleu.TER,
    }
    references = [list(texts) for texts in references]
    count = len(references[0])
    places = np.random.default_rng(_SEED).choice(count, (samples, count))
    scores = {name: {} for name in systems}
    for name in metrics:
        metric = made[name]()
        first = None
        for system, texts in systems.items():
            score, drawn = _scores(metric, list(texts), references, places)
            first = first or (score, drawn)
            signature = metric.get_signature()
            signature.update("seed", _SEED)
            signature.update("bs", samples)
            scores[system][name] = {
                "score": score,
                "interval": np.percentile(drawn, (2.5, 97.5)).round(2).tolist(),
                "p": _p(score - first[0], drawn - first[1]),
                "signature": str(signature),
            }
        scores[next(iter(systems))][name]["p"] = None
    return scores


def count_changed_answers(
    before: Sequence[str],
    after: Sequence[str],
    references: Sequence[Sequence[str]],
) -> dict:
    """Counts the outputs in which two systems differ.

    Args:
        before: Outputs of one system.
        after: Outputs of another system for the same texts.
        references: As in `compare`.

    Returns:
        Dict of numbers: `answers` that differ, and how many of them have a
        `better` or `worse` chrF after.
    """
    metric = sacrebleu.CHRF()
    counts = {"answers": 0, "better": 0, "worse": 0}
    for old, new, *right in zip(before, after, *references):
        if old == new:
            continue
        old, new = (metric.sentence_score(x, right).score for x in (old, new))
        counts["answers"] += 1
        counts["better"] += new > old
        counts["worse"] += new < old
    return counts


def _scores(metric, texts, references, places):
    """Scores all texts, and the sample of texts in each row of `places`."""
    # As sacrebleu's own bootstrap, which only keeps the mean.
    counts = metric._extract_corpus_statistics(texts, references)
    score = metric._aggregate_and_compute(counts).score
    counts = np.array(counts, "float32")
    drawn = [
        metric._compute_score_from_stats(counts[row].sum(0)).score
        for row in places
    ]
    return score, np.array(drawn)


def _p(difference, drawn):
    """Returns the share of drawn differences that deviate at least as much.

    Unlike sacrebleu, it counts equal deviations: equal systems get p = 1.
    """
    distances = np.abs(drawn)
    extreme = np.sum(distances - distances.mean() >= abs(difference))
    return float(extreme + 1) / (len(drawn) + 1)


_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> dict:
    """Computes corpus BLEU.

    Args:
        hypotheses: One text for each sentence.
        references: One text for each sentence.
        tokenize: Sacrebleu's tokenisation: `"13a"` for text, `"none"` for
            tokenised text, `"zh"`, `"char"`, ...

    Returns:
        Dict of `score`, 0 to 100, and `signature`, which describes the
        computation.
    """
    return _corpus_score(_bleu(tokenize), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> dict:
    """Computes corpus chrF2; arguments and result are as in `bleu`."""
    return _corpus_score(sacrebleu.CHRF(), hypotheses, references)


def _bleu(tokenize):
    # `force` suppresses a warning about text that looks tokenised.
    return sacrebleu.BLEU(tokenize=tokenize, force=True)


def _corpus_score(metric, hypotheses, references):
    check_lengths(hypotheses, references)
    score = metric.corpus_score(list(hypotheses), [list(references)]).score
    return {"score": score, "signature": str(metric.get_signature())}


_SPACES = " \t\r\n"


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Computes the share of hypotheses that equal their stripped references.

    No U+00A0 or other blank that carries meaning is stripped.
    """
    return top_n_accuracy([[text] for text in hypotheses], references, 1)


def top_n_accuracy(
    candidate_lists: Sequence[Sequence[str]], references: Sequence[str], n: int
) -> float:
    """Computes how often one of the `n` best candidates equals the reference.

    With `n = 1` this is `exact_match` of the best candidates.

    Args:
        candidate_lists: The candidates for each sentence, the best one first,
            perhaps fewer than `n`.
        references: One text for each sentence.
        n: Positive integer.
    """
    check_lengths(candidate_lists, references)
    hits = sum(
        reference.strip(_SPACES) in {x.strip(_SPACES) for x in candidates[:n]}
        for candidates, reference in zip(candidate_lists, references)
    )
    return 100 * hits / len(candidate_lists)


def interval(percent: float, number: int) -> tuple[float, float]:
    """Computes the 95 % confidence interval of a share, by Wilson's method.

    Unlike an interval from the normal distribution, it stays within 0 and 100,
    and has a width even if the share is 0 or 100.

    Args:
        percent: The observed share, such as an `exact_match`.
        number: Number of sentences.

    Returns:
        `(low, high)`, in percent.

    Reference:
        [Wilson, 1927](https://doi.org/10.1080/01621459.1927.10502953).
    """
    # z is the 97.5 % quantile of the normal distribution.
    share, z = percent / 100, 1.959964
    centre = share + z**2 / (2 * number)
    spread = z * math.sqrt(
        share * (1 - share) / number + (z / (2 * number)) ** 2
    )
    scale = 100 / (1 + z**2 / number)
    low, high = (centre - spread) * scale, (centre + spread) * scale
    # Rounding errors may move the bounds if the share is 0 or 100.
    return max(0.0, min(low, percent)), min(100.0, max(high, percent))


def error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Computes the word edits for each 100 words of the references (WER).

    Args:
        hypotheses: One text for each sentence; blanks separate words.
        references: One text for each sentence.
    """
    # Imported late: they take seconds, and other scores do not need them.
    import keras_hub
    import tensorflow as tf

    check_lengths(hypotheses, references)
    truth, answers = (
        tf.strings.split(tf.constant(list(texts)))
        for texts in (references, hypotheses)
    )
    metric = keras_hub.metrics.EditDistance()
    metric.update_state(truth, answers)
    return 100 * float(metric.result())


def unk_rate(token_lists: Sequence[Sequence[str]]) -> float:
    """Computes the share of tokens that are `<unk>`.

    Args:
        token_lists: The tokens of each hypothesis; `Translation.tokens`.
    """
    return percent(word == _UNK_WORD for words in token_lists for word in words)


def copy_rate(copied_from_lists: Sequence[Sequence[int]]) -> float:
    """Computes the share of tokens that were copied from the source.

    Args:
        copied_from_lists: The source position of each token of each hypothesis,
            negative if generated; `Translation.copied_from`.
    """
    return percent(
        position >= 0 for places in copied_from_lists for position in places
    )


def score_kept_markup(
    sources: Sequence[str], answers: Sequence[str], protect: Sequence[str]
) -> dict:
    """Counts the spans of sources that translations contain verbatim.

    A span that a source has twice counts twice, and each may be kept or lost.
    The order of spans is ignored. Markup of reStructuredText is kept if
    docutils finds it. If no source has a span, all shares are 100 percent.

    Args:
        sources: Texts.
        answers: Their translations.
        protect: Names of patterns, or regular expressions, as in
            `span_patterns.spans_of`.

    Returns:
        Dict of numbers, and of shares in percent: `spans`, the number of spans
        in the sources, and `spans_kept`, the share of them in the answers;
        `texts`, the number of sources with a span, `texts_kept`, the share of
        them whose answers have all spans, and `texts_exact`, the share of them
        whose answers have all spans and no others.
    """
    spans = kept_spans = texts = kept_texts = exact_texts = 0
    for source, answer in zip(sources, answers, strict=True):
        both = spans_of_both(source, answer, protect)
        source_spans, answer_spans = map(collections.Counter, both)
        if not source_spans:
            continue
        spans += source_spans.total()
        kept_spans += (source_spans & answer_spans).total()
        texts += 1
        kept_texts += source_spans <= answer_spans
        exact_texts += source_spans == answer_spans

    def share(part, whole):
        return 100 * part / whole if whole else 100.0

    return {
        "spans": spans,
        "spans_kept": share(kept_spans, spans),
        "texts": texts,
        "texts_kept": share(kept_texts, texts),
        "texts_exact": share(exact_texts, texts),
    }


def percent(values: Iterable[float]) -> float:
    """Computes the mean in percent; 0 if there is no value."""
    values = list(values)
    return 100 * sum(values) / len(values) if values else 0.0


def check_lengths(hypotheses: Sized, others: Sized):
    """Raises a ValueError unless each hypothesis has another text."""
    if len(hypotheses) != len(others) or not len(hypotheses):
        raise ValueError(
            "Expected one other text for each hypothesis, and at least one. "
            f"Received: {len(hypotheses)} hypotheses, {len(others)} texts."
        )
