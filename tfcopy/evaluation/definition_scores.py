"""Scores of models that read definitions: SQuAD answers, and word vectors.

Answers to questions have the official scores of SQuAD 1.1, in percent. Scores
of word vectors measure how near vectors of the same category are.

Shapes: N words, D size of a vector.

Reference: [Rajpurkar et al., 2016](https://arxiv.org/abs/1606.05250), section
6.1, and the script `evaluate-v1.1.py` that is published with the corpus.
"""

import collections
import re
import string
from collections.abc import Callable, Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(
    answers: Sequence[str], references: Sequence[Sequence[str]]
) -> float:
    """Computes the share of answers that equal a reference, both normalised.

    Args:
        answers: One text for each question, `""` for no answer.
        references: One or more true answers to each question.
    """
    return _mean_of_best(_equal, answers, references)


def f1(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Computes the F1 score of normalised words, averaged over the questions.

    If a question has several references, the best score counts. Arguments are
    as in `exact_match`.
    """
    return _mean_of_best(_word_f1, answers, references)


def normalize(text: str) -> str:
    """Normalises a text as SQuAD's script does.

    It converts to lower case, and removes ASCII punctuation, articles and extra
    blanks. A single blank is left between words.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _equal(answer: str, reference: str) -> float:
    return float(normalize(answer) == normalize(reference))


def _word_f1(answer: str, reference: str) -> float:
    words, truth = normalize(answer).split(), normalize(reference).split()
    shared = collections.Counter(words) & collections.Counter(truth)
    # 2 P R / (P + R); in the script, two empty texts score 0.
    num_shared = shared.total()
    return 2 * num_shared / (len(words) + len(truth)) if num_shared else 0.0


def _mean_of_best(score: Callable, answers, references) -> float:
    best = [
        max(score(answer, truth) for truth in truths)
        for answer, truths in zip(answers, references, strict=True)
    ]
    return 100 * sum(best) / len(best)


def category_scores(
    vectors: np.ndarray, categories: Sequence[str]
) -> dict[str, float]:
    """Measures how well the vectors separate the categories.

    The distance of vectors is one minus their cosine; that of a vector of zeros
    is always 1.

    Args:
        vectors: `(N, D)`, such as embeddings of words, all finite.
        categories: The category of each word; at least two different ones.

    Returns:
        Dict of two scores. `silhouette` is the mean over the words of
        `(b - a) / max(a, b)`, where a is the mean distance to the other words
        of the same category, and b to the words of the nearest other category:
        from -1 to 1, and 0 for the only word of a category.
        `nearest_neighbour_accuracy`, in percent, is the share of words whose
        nearest other word has the same category; among equally near words, the
        first one counts.

    Reference:
        [Rousseeuw, 1987](https://doi.org/10.1016/0377-0427(87)90125-7).
    """
    vectors = np.asarray(vectors, np.float64)
    _, numbers = np.unique(np.asarray(categories), return_inverse=True)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    distances = np.clip(1 - directions @ directions.T, 0, 2)
    others = np.where(np.eye(len(vectors), dtype=bool), np.inf, distances)
    right = numbers[others.argmin(axis=1)] == numbers
    return {
        "silhouette": float(_silhouettes(distances, numbers).mean()),
        "nearest_neighbour_accuracy": float(100 * right.mean()),
    }


def project(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """Projects vectors to the plane by t-SNE, which keeps neighbours near.

    The perplexity, about the number of neighbours that stay near, is 30, or for
    fewer than 91 vectors a third of the number of other vectors.

    Args:
        vectors: `(N, D)`, at least four.
        seed: Seed; points are a function of it.

    Returns:
        float32 array of shape `(N, 2)`.

    Raises:
        ImportError: If scikit-learn is missing.

    Reference:
        [van der Maaten and Hinton, 2008](
        https://jmlr.org/papers/v9/vandermaaten08a.html).
    """
    from sklearn.manifold import TSNE

    # Two principal components are the better start, if they exist.
    vectors = np.asarray(vectors, np.float64)
    spread = min(vectors.shape) > 1 and np.ptp(vectors, axis=0).any()
    return TSNE(
        method="exact" if len(vectors) < 1000 else "barnes_hut",
        perplexity=min(30.0, (len(vectors) - 1) / 3),
        init="pca" if spread else "random",
        metric="cosine",
        random_state=seed,
    ).fit_transform(vectors)


def _silhouettes(distances, numbers):
    """Computes the silhouette of each word, `(N,)`."""
    rows = np.arange(len(numbers))
    distances = distances.copy()
    distances[rows, rows] = 0
    members = numbers[:, None] == np.arange(numbers.max() + 1)
    sizes = members.sum(axis=0)
    sums = distances @ members  # (N, categories)
    means = sums / sizes
    means[rows, numbers] = np.inf
    nearest = means.min(axis=1)
    others = sizes[numbers] - 1
    own = sums[rows, numbers] / np.maximum(others, 1)
    most = np.maximum(own, nearest)
    # Words with equal vectors cannot be separated.
    scores = (nearest - own) / np.where(most > 0, most, 1)
    return np.where(others > 0, scores, 0)
