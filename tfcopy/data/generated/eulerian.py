"""Eulerian circuits: a task for planners, generated.

A graph has two parts: a ring of n nodes, and m distracting nodes in one or more
rings. The source lists its edges in random order, each in both directions, then
two neighbours on the ring of n; the target is this ring, from the first through
the second on:

    n3 to n7 ; n7 to n3 ; n1 to n4 ; n4 to n1 ; ... ? n7 n3 :
    n7 n3 n9 n0 n5

The answer is unique. A source has 8 (n + m) + 4 tokens, a target n.

Reference:
    [Li et al., 2016](https://arxiv.org/abs/1511.05493), section 5.2, and the
    authors' generator; seven and four nodes are as in [Dutil et al.,
    2017](https://arxiv.org/abs/1711.10462).
"""

import itertools
from collections.abc import Iterator

import numpy as np

from tfcopy.data.corpora import corpus

# Part of the fingerprint: raise it when the graphs of a seed change.
_VERSION = 1


def load(
    *,
    num_nodes: int = 7,
    num_distractors: int = 4,
    num_train: int = 100_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    seed: int = 0,
) -> corpus.TranslationCorpus:
    """Makes the corpus, which is generated again whenever it is read.

    Args:
        num_nodes: n, at least 3.
        num_distractors: m, at least 3, or 0 for none.
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: Seed of the pairs; they are the same on every machine.
    """
    corpus.check_range("num_nodes", num_nodes, 3)
    if num_distractors:
        corpus.check_range("num_distractors", num_distractors, 3)
    numbers = num_train, num_validation, num_test
    arguments = num_nodes, num_distractors, seed
    return corpus.TranslationCorpus(
        name="eulerian circuits",
        source_language="graph",
        target_language="circuit",
        splits=corpus.generate_splits(
            generate, numbers, arguments, "eulerian", _VERSION
        ),
        tokenized=True,
        generated=True,
    )


def generate(
    split: str,
    number: int,
    num_nodes: int = 7,
    num_distractors: int = 4,
    seed: int = 0,
) -> Iterator[tuple[str, str]]:
    """Yields graphs and circuits.

    Args:
        split: `"train"`, `"validation"` or `"test"`.
        number: Number of pairs.
        num_nodes: n.
        num_distractors: m.
        seed: Seed of the pairs; they are the same on every machine.
    """
    rng = np.random.default_rng([corpus.SPLITS.index(split), seed])
    names = [f"n{i}" for i in range(num_nodes + num_distractors)]
    for _ in range(number):
        labels = rng.permutation(len(names))
        ring, others = labels[:num_nodes], labels[num_nodes:]
        edges = list(zip(ring, np.roll(ring, -1)))
        edges += two_regular(others, rng)
        # The ring may be requested in either direction, from any node on.
        circuit = np.roll(ring, rng.integers(num_nodes))
        if rng.integers(2):
            circuit = circuit[::-1]
        lines = []
        for i in rng.permutation(len(edges)):
            start, end = edges[i] if rng.integers(2) else edges[i][::-1]
            lines += [names[start], "to", names[end], ";"]
            lines += [names[end], "to", names[start], ";"]
        answer = [names[node] for node in circuit]
        yield " ".join([*lines, "?", *answer[:2], ":"]), " ".join(answer)


def two_regular(nodes, rng):
    """Draws the edges of a graph whose nodes have two neighbours each."""
    if not len(nodes):
        return []
    while True:
        ends = rng.permutation(np.repeat(nodes, 2)).reshape(-1, 2).tolist()
        distinct = {frozenset(edge) for edge in ends}
        if len(distinct) == len(ends) and min(map(len, distinct)) == 2:
            return [tuple(edge) for edge in ends]


def match_sorted(answers: list[str], references: list[str]) -> float:
    """Returns the share of answers with the right nodes, in any order.

    The authors' code calls this accuracy.
    """
    right = [
        sorted(answer.split()) == sorted(reference.split())
        for answer, reference in itertools.zip_longest(answers, references)
    ]
    return 100 * sum(right) / len(right)
