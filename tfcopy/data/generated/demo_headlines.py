"""The demo corpus of headlines: generated news of one event each.

A text has three to five sentences, its headline about twelve words, most of
them from one of the sentences. Names are made of syllables and mostly too rare
for any vocabulary; the names of validation and test never occur in training.
The stories are those of `newsgen.py` with fitting headlines.
"""

import functools
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import (
    SPLITS,
    Split,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.generated import generated_corpus, newsgen

_LEAST_SCORE = 3  # a lower score has the headline of another story


def load(
    *,
    num_train: int = 12_000,
    num_validation: int = 300,
    num_test: int = 500,
    seed: int = 0,
) -> TranslationCorpus:
    """The corpus, which is generated anew whenever it is read.

    Args:
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: The same seed gives the same pairs on every machine.
    """
    grammar = generated_corpus.grammar_fingerprint(
        newsgen.TABLES, list(newsgen.generate("test", 50))
    )
    numbers = zip(SPLITS, (num_train, num_validation, num_test))
    return TranslationCorpus(
        name="demo headlines",
        source_language="en",
        target_language="en",
        splits={
            name: Split(
                functools.partial(generate, name, number, seed),
                fingerprint(grammar, name, number, seed),
                number,
            )
            for name, number in numbers
        },
        generated=True,
    )


def generate(
    split: str, number: int, seed: int = 0
) -> Iterator[tuple[str, str]]:
    """Yields texts and headlines.

    Args:
        split: `"train"`, `"validation"` or `"test"`.
        number: How many.
        seed: The same seed gives the same pairs on every machine.
    """
    count = 0
    # Enough for the pairs kept: less than half of all have a low score.
    size = number if split == "train" else 2 * number + 5
    for score, text, headline in newsgen.generate(split, size, seed=seed):
        if count < number and (score is None or score >= _LEAST_SCORE):
            count += 1
            yield text, headline
