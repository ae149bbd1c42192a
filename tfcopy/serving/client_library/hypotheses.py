"""Which hypotheses of an answer of `analyse` there are."""

# Scores of hypotheses that were not found are lower.
_LOWEST_SCORE = -1e8


def found(row) -> list[int]:
    """The numbers of the hypotheses; the first is always there.

    Args:
        row: `texts` and `scores`, `(N,)`, of one example, by name.
    """
    return [
        i
        for i, (text, score) in enumerate(zip(row["texts"], row["scores"]))
        if i == 0 or (score > _LOWEST_SCORE and (text or score))
    ]
