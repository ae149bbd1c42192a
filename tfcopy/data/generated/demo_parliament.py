"""The demo corpus of translation: a small English-French parliament.

Its sentences come from a grammar (`demo_parliament_grammar.py`) and are full
of names of people, places, companies, reports and sums of money, most of which
are too rare for any vocabulary. The names of the validation and test sentences
never occur in training, so only a model that copies can translate them.
"""

import functools
import os
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import generated_corpus
from tfcopy.data.generated.demo_parliament_grammar import Grammar

LANGUAGES = ("en", "fr")
_NUM_TRAIN = {"small": 100_000, "large": 200_000}


def load(
    data_dir: str | os.PathLike | None = None,
    *,
    size: str = "large",
    num_train: int | None = None,
    num_validation: int = 500,
    num_test: int = 500,
    seed: int = 0,
    source_language: str = "en",
) -> TranslationCorpus:
    """Generates the demo corpus, or reads it if it was generated before.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        size: `"large"`, or `"small"`, which has half of the words and is learnt
            in a minute or two.
        num_train: Number of training pairs; by default 200,000 of the large
            corpus and 100,000 of the small one.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: The same seed gives the same sentences on every machine.
        source_language: `"en"` or `"fr"`.
    """
    pairs = generated_corpus.GeneratedPairs(
        corpus="demo_parliament",
        sides=("en", "fr"),
        generate=functools.partial(generate, size=size),
        grammar=_grammar_fingerprint(size),
        seed=seed,
        num_train=_NUM_TRAIN[size] if num_train is None else num_train,
        num_validation=num_validation,
        num_test=num_test,
    )
    return generated_corpus.load(pairs, data_dir, source=source_language)


def examples() -> list[tuple[str, str]]:
    """Sentences with names of all shapes and scripts, and their translations.

    None of these names can occur in the training pairs.
    """
    return list(_EXAMPLES)


_EXAMPLES = (
    (
        "Łukasz Özgür-Nowak asked the Commission to approve the new directive.",
        "Łukasz Özgür-Nowak a demandé à la Commission d'approuver la nouvelle "
        "directive.",
    ),
    (
        "The next meeting will be held in 北京 on Tuesday, 3 March 1999.",
        "La prochaine réunion se tiendra à 北京 le mardi 3 mars 1999.",
    ),
    (
        "I fully agree with Mrs O'Brien-Şahin.",
        "Je suis tout à fait d'accord avec Mme O'Brien-Şahin.",
    ),
    (
        "Mr Παπαδόπουλος has launched the 🦄 petition in Zürich-Oerlikon.",
        "M. Παπαδόπουλος a lancé la pétition 🦄 à Zürich-Oerlikon.",
    ),
    (
        "TransRheinTech is going to invest EUR 27 million in Łódź and in "
        "Bålsta.",
        "TransRheinTech va investir 27 millions d'euros à Łódź et à Bålsta.",
    ),
)


def generate(
    split: str, num_pairs: int, seed: int = 0, size: str = "large"
) -> Iterator:
    """Yields English-French pairs without storing them anywhere."""
    grammar = Grammar(seed, split, small=size == "small")
    for _ in range(num_pairs):
        yield grammar.sentence()


@functools.cache
def _grammar_fingerprint(size: str) -> str:
    """Changes with the grammar, so that a stale corpus is never read."""
    return generated_corpus.grammar_fingerprint(
        ("demo_names", "demo_parliament_patterns", "demo_parliament_words"),
        list(generate("train", 200, size=size)),
    )
