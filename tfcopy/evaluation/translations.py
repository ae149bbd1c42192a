"""Scores of texts against references, and what they depend on.

All but perplexity are in percent.
"""

import collections
import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized

import numpy as np
import sacrebleu

from tfcopy import tokens as special


def copied_words(
    sources: Sequence[Sequence[str]],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    vocabulary: Collection[str],
) -> dict:
    """Precision and recall of words that are copied, in percent.

    A word counts if it stands in its source and is in no vocabulary: a model
    cannot generate it. Where it stands more often than in the other text, it
    is right as often as there.

    Args:
        sources, hypotheses, references: The words of each text.
        vocabulary: The words that the model can generate.

    Returns:
        Dict of `precision`, `recall` and `f1`, `None` where there is no such
        word, and `number`, that of the references.
    """
    said = wanted = right = 0
    for source, hypothesis, reference in zip(
        sources, hypotheses, references, strict=True
    ):
        names = {word for word in source if word not in vocabulary}
        found, expected = (
            collections.Counter(word for word in words if word in names)
            for words in (hypothesis, reference)
        )
        said += found.total()
        wanted += expected.total()
        right += (found & expected).total()

    def percent(whole):
        return 100 * right / whole if whole else None

    both = said + wanted
    return {
        "precision": percent(said),
        "recall": percent(wanted),
        "f1": 200 * right / both if both else None,
        "number": wanted,
    }


_NUM_SPECIALS = len(special.SPECIAL_TOKENS)


def mean_log_rank(texts: Iterable, vocabulary: Sized) -> np.ndarray:
    """The rarity of each text: the mean over its words of `log(rank)`.

    The rank of a word is its place in the vocabulary, 1 for the most frequent
    one; specials have none. Unknown words rank last, as the vocabulary has
    words. Padding and the marks of beginning and end do not count.

    Args:
        texts: For each example the ids of its words, `(T,)`, or all in an
            array, `(N, T)`. The ids of texts that belong together, such as the
            two sentences of a pair, are joined.
        vocabulary: `Vocabulary` of the training data, by frequency.

    Returns:
        float64 array of shape `(N,)`; NaN where there is no word.

    Raises:
        ValueError: If an id is outside the vocabulary.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 4.2.
    """
    size = len(vocabulary)
    return np.array([_mean_log_rank(ids, size) for ids in texts], np.float64)


def _mean_log_rank(ids, size):
    ids = np.asarray(ids, np.int64)
    if np.any((ids < 0) | (ids >= size)):
        raise ValueError(
            f"The ids of words must be from 0 to {size - 1}, as the vocabulary "
            f"has {size}. Received: {ids.min()} to {ids.max()}."
        )
    ids = ids[(ids == special.UNK) | (ids >= _NUM_SPECIALS)]
    if not len(ids):
        return np.nan
    last = max(size - _NUM_SPECIALS, 1)
    ranks = np.where(ids == special.UNK, last, ids - _NUM_SPECIALS + 1)
    return np.log(ranks).mean()


def accuracy_by_quantile(
    x: Sequence[float], correct: Sequence[bool], bins: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy of examples in bins of equal size, by rising `x`.

    Examples of equal `x` share a bin, so that bins may differ in size, and
    empty ones are left out. Examples whose `x` is not a number are, too.

    Args:
        x: `(N,)`, such as `mean_log_rank` of the examples.
        correct: `(N,)` booleans.
        bins: Positive integer, the most bins.

    Returns:
        `(centres, accuracies, sizes)` of the bins: the mean of their `x`, the
        accuracy in percent, and the number of examples.
        `interval(accuracy, size)` is its confidence interval.
    """
    x, correct = np.asarray(x, np.float64), np.asarray(correct, bool)
    if bins < 1:
        raise ValueError(
            f"`bins` must be a positive integer. Received: bins={bins}."
        )
    if x.ndim != 1 or x.shape != correct.shape:
        raise ValueError(
            "`x` and `correct` must be one value for each example. "
            f"Received: shapes {x.shape} and {correct.shape}."
        )
    kept = np.isfinite(x)
    x, correct = x[kept], correct[kept]
    if not len(x):
        return np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    edges = np.quantile(x, np.arange(1, bins) / bins)
    places = np.searchsorted(edges, x)
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
    """Scores each system, and compares it with the first.

    By sacrebleu's paired bootstrap: as many texts are drawn again and again,
    the same for all systems. Its seed is fixed, so repeated calls agree. The
    interval ends at percentiles of what the drawn texts score, so that it
    leaves the range of the metric no more than they do.

    Args:
        systems: Answers to the same texts, by name.
        references: Lists of references, each with one for each text.
        metrics: Some of `METRICS`.
        tokenize: Sacrebleu's tokenisation for BLEU.
        samples: Positive integer, how often texts are drawn.

    Returns:
        Dict from the systems' names to dicts from metrics to dicts of `score`,
        `interval`, that of 95 %, `p`, how probable a difference as large is if
        the system is no better or worse than the first (`None` for that one),
        and `signature`, how all this was computed.

    Raises:
        ValueError: If a system has another number of answers.

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
    found = {name: {} for name in systems}
    for name in metrics:
        metric = made[name]()
        first = None
        for system, texts in systems.items():
            score, drawn = _scores(metric, list(texts), references, places)
            first = first or (score, drawn)
            signature = metric.get_signature()
            signature.update("seed", _SEED)
            signature.update("bs", samples)
            found[system][name] = {
                "score": score,
                "interval": np.percentile(drawn, (2.5, 97.5)).round(2).tolist(),
                "p": _p(score - first[0], drawn - first[1]),
                "signature": str(signature),
            }
        found[next(iter(systems))][name]["p"] = None
    return found


def changed_answers(
    before: Sequence[str],
    after: Sequence[str],
    references: Sequence[Sequence[str]],
) -> dict:
    """Counts answers in which two systems differ, for better or worse.

    Args:
        before, after: Answers to the same texts.
        references: As in `compare`.

    Returns:
        Dict of numbers: `answers` that differ, and those of them that are
        `better` and `worse` after, by the chrF of each.
    """
    metric = sacrebleu.CHRF()
    found = {"answers": 0, "better": 0, "worse": 0}
    for old, new, *right in zip(before, after, *references):
        if old == new:
            continue
        old, new = (metric.sentence_score(x, right).score for x in (old, new))
        found["answers"] += 1
        found["better"] += new > old
        found["worse"] += new < old
    return found


def _scores(metric, texts, references, places):
    """The score of texts, and the scores of those at each row of places."""
    # What sacrebleu's own bootstrap calls; it keeps no more than the mean.
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

    Unlike sacrebleu, it counts equal ones: what is the same is no better.
    """
    distances = np.abs(drawn)
    extreme = np.sum(distances - distances.mean() >= abs(difference))
    return float(extreme + 1) / (len(drawn) + 1)


_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    tokenize: str = "13a",
) -> dict:
    """Corpus BLEU.

    Args:
        hypotheses: One text for each sentence.
        references: One text for each sentence, or several lists of these.
        tokenize: Sacrebleu's tokenisation: `"13a"` for text, `"none"` for
            text that is tokenised already, `"zh"`, `"char"`, ...

    Returns:
        Dict of `score`, 0 to 100, and `signature`, which says how it was
        computed.
    """
    return _corpus_score(_bleu(tokenize), hypotheses, references)


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
) -> dict:
    """Corpus chrF2; arguments and result as in `bleu`."""
    return _corpus_score(sacrebleu.CHRF(), hypotheses, references)


def _bleu(tokenize):
    # `force`: no warning about text that looks tokenised.
    return sacrebleu.BLEU(tokenize=tokenize, force=True)


def _corpus_score(metric, hypotheses, references):
    references = _reference_lists(hypotheses, references)
    score = metric.corpus_score(list(hypotheses), references).score
    return {"score": score, "signature": str(metric.get_signature())}


def exact_match(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
) -> float:
    """Share of hypotheses that equal a reference, up to blanks at the ends."""
    return top_n_accuracy([[text] for text in hypotheses], references, 1)


def top_n_accuracy(
    candidate_lists: Sequence[Sequence[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    n: int,
) -> float:
    """Share of sentences one of whose `n` best candidates equals a reference.

    With `n = 1` this is `exact_match` of the best ones.

    Args:
        candidate_lists: For each sentence its candidates, the best one first;
            there may be fewer than `n`.
        references: One text for each sentence, or several lists of these.
        n: Positive integer.
    """
    if n < 1:
        raise ValueError(f"`n` must be positive. Received: {n}.")
    lists = _reference_lists(candidate_lists, references)
    hits = sum(
        not {text.strip() for text in candidates[:n]}.isdisjoint(
            text.strip() for text in texts
        )
        for candidates, *texts in zip(candidate_lists, *lists)
    )
    return 100 * hits / len(candidate_lists)


def interval(percent: float, number: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by Wilson's method.

    Unlike that of the normal distribution it stays within 0 and 100, and has
    a width even where nothing or everything is right.

    Args:
        percent: The observed share, such as that of `exact_match`.
        number: The number of sentences.

    Returns:
        `(low, high)`, in percent.

    Reference:
        [Wilson, 1927](https://doi.org/10.1080/01621459.1927.10502953).
    """
    if not 0 <= percent <= 100 or number < 1:
        raise ValueError(
            "`percent` must be 0 to 100, and `number` positive. "
            f"Received: percent={percent}, number={number}."
        )
    # z is the 97.5 % quantile of the normal distribution.
    share, z = percent / 100, 1.959964
    centre = share + z**2 / (2 * number)
    spread = z * math.sqrt(
        share * (1 - share) / number + (z / (2 * number)) ** 2
    )
    scale = 100 / (1 + z**2 / number)
    low, high = (centre - spread) * scale, (centre + spread) * scale
    # Rounding may put the ends slightly off where the share is 0 or 100.
    return max(0.0, min(low, percent)), min(100.0, max(high, percent))


def error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Words to insert, delete or change for each 100 words of the references.

    Args:
        hypotheses: One text for each sentence; blanks separate words.
        references: One text for each sentence.
    """
    # Imported here: they take seconds, and the other scores do not need them.
    import keras_hub
    import tensorflow as tf

    (references,) = _reference_lists(hypotheses, references)
    truth, answers = (
        tf.strings.split(tf.constant(texts))
        for texts in (references, list(hypotheses))
    )
    metric = keras_hub.metrics.EditDistance()
    metric.update_state(truth, answers)
    return 100 * float(metric.result())


def perplexity(nll: float, num_tokens: int) -> float:
    """Perplexity per word.

    Args:
        nll: Negative log-likelihood of all target tokens, summed, in nats.
        num_tokens: Their number.
    """
    if num_tokens < 1:
        raise ValueError(
            f"`num_tokens` must be positive. Received: {num_tokens}."
        )
    try:
        return math.exp(nll / num_tokens)
    except OverflowError:
        return math.inf


def unk_rate(token_lists: Sequence[Sequence[str]]) -> float:
    """Share of words that are `<unk>`.

    Args:
        token_lists: The words of each hypothesis; `Translation.tokens`.
    """
    return _percent(
        word == _UNK_WORD for words in token_lists for word in words
    )


def copy_rate(copied_from_lists: Sequence[Sequence[int]]) -> float:
    """Share of words that were copied from the source.

    Args:
        copied_from_lists: For each word of each hypothesis its source
            position, negative if generated; `Translation.copied_from`.
    """
    return _percent(
        position >= 0 for places in copied_from_lists for position in places
    )


def _percent(flags):
    flags = list(flags)
    return 100 * sum(flags) / len(flags) if flags else 0.0


def _reference_lists(hypotheses, references):
    """Lists of references, each as long as `hypotheses`."""
    lists = [references]
    if len(references) and not isinstance(references[0], str):
        lists = references
    for texts in lists:
        if len(texts) != len(hypotheses) or not len(hypotheses):
            raise ValueError(
                "Expected one reference for each hypothesis, and at least one. "
                f"Received: {len(hypotheses)} hypotheses and {len(texts)} "
                "references."
            )
    return [list(texts) for texts in lists]
