"""The official scores of SQuAD 1.1, in percent.

Reference: [Rajpurkar et al., 2016](https://arxiv.org/abs/1606.05250), section
6.1, and the script `evaluate-v1.1.py` that is published with the corpus.
"""

import collections
import re
import string
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(
    answers: Sequence[str], references: Sequence[Sequence[str]]
) -> float:
    """Share of answers that equal a reference, when both are normalised.

    Args:
        answers: One text for each question, `""` for none.
        references: The true answers to each question, one or more.
    """
    return _mean_of_best(_equal, answers, references)


def f1(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """F1 score of words, normalised, averaged over the questions.

    If a question has several references, the best score counts. Arguments as in
    `exact_match`.
    """
    return _mean_of_best(_word_f1, answers, references)


def normalize(text: str) -> str:
    """Text in lower case, without ASCII punctuation, articles and extra blanks.

    A single blank is left between words.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _equal(answer: str, reference: str) -> float:
    return float(normalize(answer) == normalize(reference))


def _word_f1(answer: str, reference: str) -> float:
    words, truth = normalize(answer).split(), normalize(reference).split()
    shared = collections.Counter(words) & collections.Counter(truth)
    # 2 P R / (P + R); by the script two empty texts have nothing in common.
    num_shared = shared.total()
    return 2 * num_shared / (len(words) + len(truth)) if num_shared else 0.0


def _mean_of_best(score: Callable, answers, references) -> float:
    if len(answers) != len(references) or not len(answers):
        raise ValueError(
            "Expected references for each answer, and at least one answer. "
            f"Received: {len(answers)} answers and {len(references)} lists of "
            "references."
        )
    total = 0.0
    for i, (answer, truths) in enumerate(zip(answers, references)):
        if isinstance(truths, str) or not len(truths):
            raise ValueError(
                "Expected a list of one or more references for each answer. "
                f"Received: {truths!r} for answer {i}."
            )
        total += max(score(answer, truth) for truth in truths)
    return 100 * total / len(answers)
