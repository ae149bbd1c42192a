"""Single-turn dialogues, made from patterns whose slots are filled.

Modelled on the corpus of [Gu et al., 2016](https://arxiv.org/abs/1603.06393),
section 5.3, which was not published: 173 pairs of our own patterns, in English
(`tables/dialogue_patterns.txt`), for 121 inputs, 52 of which have two
responses. In DS-I training and test share their fillers; in DS-II no filler of
the test set, nor any of its words except function words, occurs in a training
sentence, so that only a model that copies can respond.
"""

import collections
import dataclasses
import functools
import os
import random
from collections.abc import Iterable

from tfcopy.data.corpora.corpus import (
    SPLITS,
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    translation_corpus,
)
from tfcopy.data.generated import dialogue_patterns
from tfcopy.data.generated.copy_rules import write_changed
from tfcopy.data.generated.dialogue_patterns import PATTERNS

# The least number of uses of each pattern, if there are enough pairs.
_MIN_USES = {"train": 20, "validation": 0, "test": 4}
_MAX_DRAWS = 1000  # tries to find a new pair

Row = tuple[str, str, int]  # input, response, number of the pattern


@dataclasses.dataclass(frozen=True)
class DialogueCorpus:
    """Dialogues, and the best possible accuracy on them.

    Args:
        corpus: Inputs as sources, responses as targets.
        ceiling_top1: The best possible accuracy on this test set, in percent:
            the share of pairs whose response has the test set's most frequent
            pattern for their input pattern. Top-1 accuracy stays below 100, as
            no model can know which of two responses is expected. With equally
            many pairs of each pattern it would be 121/173, 69.9.
        test_patterns: Index in `PATTERNS` of each test pair.
    """

    corpus: TranslationCorpus
    ceiling_top1: float
    test_patterns: tuple[int, ...]


def load(
    folder: str | os.PathLike,
    dataset: str,
    *,
    num_train: int = 6500,
    num_validation: int = 325,
    num_test: int = 1500,
    seed: int = 0,
) -> DialogueCorpus:
    """Generates the dialogues in half a second.

    `train.tsv`, `validation.tsv` and `test.tsv` below `folder` and the name of
    the dataset show them: input, response and number of the pattern, from 1.
    Other files of these names are replaced. Patterns are drawn uniformly, but
    each at least 20 times for training and 4 times for testing; then their
    fillers. No pair occurs twice. The validation pairs share the fillers of the
    training pairs.

    Args:
        folder: Folder of the files.
        dataset: `"DS-I"` or `"DS-II"`.
        num_train: Number of training pairs. With fewer than 20 for each
            pattern, each still gets at least an equal share.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs; the same holds with fewer than 4 for
            each.
        seed: Seed of the pairs; they are the same on every machine.

    Returns:
        The dialogues, with the best accuracy that is possible on them.

    Raises:
        CorpusError: if a pattern has no more new dialogues.
        OSError: naming the file that cannot be written.
    """
    sizes = num_train, num_validation, num_test
    rows, checked = generate(dataset, dict(zip(SPLITS, sizes)), seed), []
    for name, some in rows.items():
        path = os.path.join(folder, dataset, f"{name}.tsv")
        lines = ["\t".join(map(str, row)) + "\n" for row in some]
        write_changed(path, "".join(lines).encode())
        read = functools.partial(iter, [row[:2] for row in some])
        checked.append(CheckedPairs.check(path, read, ""))
    corpus = translation_corpus(
        checked,
        f"dialogues {dataset}",
        source_language="en",
        target_language="en",
    )
    corpus = dataclasses.replace(corpus, generated=True)
    test_patterns = tuple(number - 1 for *_, number in rows["test"])
    return DialogueCorpus(corpus, _ceiling_top1(test_patterns), test_patterns)


def generate(
    dataset: str, sizes: dict[str, int], seed: int = 0
) -> dict[str, list[Row]]:
    """Draws the rows of each split without storing them anywhere.

    Args:
        dataset: `"DS-I"` or `"DS-II"`.
        sizes: The number of pairs of each split.
        seed: Any integer.
    """
    seen = set()
    rows = {}
    for name in SPLITS:
        rng = random.Random(f"{dataset}/{seed}/{name}")
        pools = _pools(dataset, "test" if name == "test" else "train")
        rows[name] = [
            (*_new_pair(PATTERNS[index], pools, seen, rng), index + 1)
            for index in _draw_patterns(sizes[name], _MIN_USES[name], rng)
        ]
    return rows


# === Drawing ===


def _pools(dataset, half) -> dict[str, tuple[str, ...]]:
    """Returns the fillers of each type, of one half in DS-II."""
    if dataset == "DS-II":
        return dialogue_patterns.pools(half)
    halves = [
        dialogue_patterns.pools(half) for half in dialogue_patterns.HALVES
    ]
    return {type: halves[0][type] + halves[1][type] for type in halves[0]}


def _draw_patterns(size, min_uses, rng) -> list[int]:
    """Indices of patterns: each `min_uses` times, the others at random."""
    everyone = range(len(PATTERNS))
    drawn = [*everyone] * min(min_uses, size // len(PATTERNS))
    drawn += rng.choices(everyone, k=size - len(drawn))
    rng.shuffle(drawn)
    return drawn


def _new_pair(pattern, pools, seen, rng) -> tuple[str, str]:
    for _ in range(_MAX_DRAWS):
        fillers = {
            slot: rng.choice(pools[type])
            for slot, type in pattern.slots.items()
        }
        pair = pattern.fill(fillers)
        if pair not in seen and not _share_a_word(fillers.values()):
            seen.add(pair)
            return pair
    raise CorpusError(
        f"There are no more new dialogues of the pattern {pattern.input!r}. "
        "Generate fewer pairs."
    )


def _share_a_word(fillers) -> bool:
    words = [set(dialogue_patterns.content_words(text)) for text in fillers]
    return sum(map(len, words)) > len(set().union(*words))


def _ceiling_top1(indices: Iterable[int]) -> float:
    """Returns the percentage of pairs with the most frequent response."""
    uses = collections.Counter(indices)
    most = collections.Counter()
    for index, count in uses.items():
        input = PATTERNS[index].input
        most[input] = max(most[input], count)
    return 100 * most.total() / uses.total()
