"""How many of the words that only copying can give are right."""

import collections
from collections.abc import Collection, Sequence


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
