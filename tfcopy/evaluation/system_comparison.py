"""Systems scored on the same texts, and whether one is better than another."""

from collections.abc import Mapping, Sequence

import numpy as np
import sacrebleu

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
        # `force`: no warning about text that looks tokenised.
        "bleu": lambda: sacrebleu.BLEU(tokenize=tokenize, force=True),
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
    """How often the drawn differences are as far from what is usual.

    Unlike sacrebleu, it counts equal ones: what is the same is no better.
    """
    distances = np.abs(drawn)
    extreme = np.sum(distances - distances.mean() >= abs(difference))
    return float(extreme + 1) / (len(drawn) + 1)
