"""Systems scored on the same texts, and whether one is better than another."""

from collections.abc import Mapping, Sequence

import sacrebleu
from sacrebleu.significance import PairedTest

METRICS = ("bleu", "chrf", "ter")


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = METRICS,
    tokenize: str = "13a",
    samples: int = 1_000,
) -> dict:
    """Scores each system, and compares it with the first.

    By sacrebleu's paired bootstrap: as many texts are drawn again and again,
    the same for all systems. Its seed is fixed, so repeated calls agree.

    Args:
        systems: Answers to the same texts, by name.
        references: Lists of references, each with one for each text.
        metrics: Some of `METRICS`.
        tokenize: Sacrebleu's tokenisation for BLEU.
        samples: Positive integer, how often texts are drawn.

    Returns:
        Dict from the systems' names to dicts from metrics to dicts of `score`,
        `interval`, that of 95 %, and `p`, how probable a difference as large
        is if the system is no better or worse than the first (`None` for that
        one); and from `signatures` to those of the metrics.

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
    test = PairedTest(
        [(name, list(texts)) for name, texts in systems.items()],
        {metric: made[metric]() for metric in metrics},
        [list(texts) for texts in references],
        test_type="bs",
        n_samples=samples,
    )
    signatures, results = test()
    # Under names of its own, in the order of the metrics.
    signatures = dict(zip(metrics, signatures.values(), strict=True))
    _, *columns = results.values()
    found = {name: {} for name in systems}
    for metric, column in zip(metrics, columns, strict=True):
        for name, result in zip(systems, column, strict=True):
            found[name][metric] = {
                "score": result.score,
                "interval": [
                    round(float(result.mean + side * result.ci), 2)
                    for side in (-1, 1)
                ],
                "p": result.p_value,
            }
    found["signatures"] = {name: str(x) for name, x in signatures.items()}
    return found
