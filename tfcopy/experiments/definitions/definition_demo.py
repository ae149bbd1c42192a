"""The demos of models that read definitions: their vectors and groups.

Some words of the demos are invented. A model that reads word vectors knows
them all; the baseline learns those of training, and cannot know the others. A
dictionary should close the gap between the two.
"""

import io
from collections.abc import Callable

import numpy as np

from tfcopy.atomic_files import write_atomically
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.generated import demo_definitions
from tfcopy.experiments.definitions.definition_flags import DefinitionsConfig

GROUPS = ("plain", "seen", "unseen")


def write_vectors(path, dim: int):
    """Writes the vectors of all words, in the format of GloVe."""
    text = io.StringIO()
    for word, vector in zip(*demo_definitions.vectors(dim=dim)):
        text.write(f"{word} {' '.join(f'{x:.5f}' for x in vector)}\n")
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def group_scores(
    config: DefinitionsConfig, texts: WordTexts, score: Callable
) -> dict:
    """Scores of the demo's groups of examples.

    Args:
        config: The recipe's config.
        texts: The texts to test.
        score: Function of the numbers of examples that gives their scores.

    Returns:
        `{"groups": scores}` by group; without the demo nothing.
    """
    if config.corpus != "demo":
        return {}
    names = groups(texts)
    return {
        "groups": {
            group: score(np.flatnonzero(names == group)) for group in GROUPS
        }
    }


def groups(texts: WordTexts) -> np.ndarray:
    """The names of the groups that examples belong to.

    Those without an invented word are `plain`; those whose invented words are
    in the training text, too, are `seen`; others are `unseen`.

    Args:
        texts: The texts to test.
    """
    plain = set(demo_definitions.plain_words())
    unseen = demo_definitions.unseen_words()
    names = []
    for i in range(len(texts)):
        numbers = np.concatenate([x[i] for x in texts.texts.values()])
        invented = {texts.words[number] for number in numbers} - plain
        if not invented:
            names.append("plain")
        else:
            names.append("unseen" if invented & unseen else "seen")
    return np.array(names)
