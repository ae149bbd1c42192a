"""Scores of texts against references; all but perplexity in percent."""

import math
from collections.abc import Sequence

import sacrebleu

from tfcopy import tokens as special

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
    references = _reference_lists(hypotheses, references)
    # `force`: no warning about text that looks tokenised.
    metric = sacrebleu.BLEU(tokenize=tokenize, force=True)
    score = metric.corpus_score(list(hypotheses), references).score
    return {"score": score, "signature": str(metric.get_signature())}


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
) -> dict:
    """Corpus chrF2; arguments and result as in `bleu`."""
    references = _reference_lists(hypotheses, references)
    metric = sacrebleu.CHRF()
    score = metric.corpus_score(list(hypotheses), references).score
    return {"score": score, "signature": str(metric.get_signature())}


def exact_match(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
) -> float:
    """Share of hypotheses that equal a reference, up to blanks at the ends."""
    lists = _reference_lists(hypotheses, references)
    hits = sum(
        hypothesis.strip() in [text.strip() for text in texts]
        for hypothesis, *texts in zip(hypotheses, *lists)
    )
    return 100 * hits / len(hypotheses)


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
