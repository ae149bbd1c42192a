"""The demos of models that read definitions: vectors, groups, the gap.

Who knows the invented words is a model that reads their vectors; who does not
is the baseline. A dictionary should bring the one to the other.
"""

import io

import numpy as np

from tfcopy.data import chunks
from tfcopy.data.generated import demo_definitions

GROUPS = ("plain", "seen", "unseen")


def counts(texts):
    """The counts of plain words alone, each at least 1.

    So that the invented ones are not in the vocabulary, but all words of
    definitions are.

    Args:
        texts: `WordTexts` to train on.
    """
    found = texts.counts()
    return {
        word: max(1, found[word]) for word in demo_definitions.plain_words()
    }


def write_vectors(path, dim):
    """Writes the vectors of all words, in the format of GloVe."""
    text = io.StringIO()
    for word, vector in zip(*demo_definitions.vectors(dim=dim)):
        text.write(f"{word} {' '.join(f'{x:.5f}' for x in vector)}\n")
    chunks.write_atomically(
        path, lambda file: file.write(text.getvalue().encode())
    )


def groups(texts):
    """Which group each example is of, an array of names.

    Args:
        texts: `WordTexts` to test: without an invented word (`plain`), with
            those of training (`seen`) or with others (`unseen`).
    """
    plain = set(demo_definitions.plain_words())
    unseen = demo_definitions.unseen_words()
    words = texts.words
    found = []
    for i in range(len(texts)):
        numbers = np.concatenate([x[i] for x in texts.texts.values()])
        invented = {words[number] for number in numbers} - plain
        is_seen = not invented & unseen
        found.append(GROUPS[(0 if is_seen else 1) + 1 if invented else 0])
    return np.array(found)


def gap_closed(results, baseline, best, score):
    """How much of the way from one system to another the others have come.

    Args:
        results: System to its results, which hold those of `score` for each
            of the groups, as `groups`.
        baseline: The system that cannot know the words.
        best: The one that does.
        score: Name of a score.

    Returns:
        System to a dict of groups with invented words to percent.
    """
    if not {baseline, best} <= results.keys():
        return {}
    values = {
        name: {group: x["groups"][group][score] for group in GROUPS[1:]}
        for name, x in results.items()
    }
    low, high = values[baseline], values[best]
    return {
        name: {
            group: round(
                100 * (x[group] - low[group]) / (high[group] - low[group]), 1
            )
            for group in x
            if high[group] != low[group]
        }
        for name, x in values.items()
        if name not in (baseline, best)
    }


def print_gap(closed, baseline, best):
    """Says so."""
    for name, shares in closed.items():
        told = " and ".join(
            f"{share:.0f} % with {group} words"
            for group, share in shares.items()
        )
        print(
            f"{name} goes {told} of the way from {baseline}, which cannot know "
            f"invented words, to {best}, which does."
        )
