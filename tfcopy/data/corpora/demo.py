"""The demo corpus: a small parliament that speaks English and French.

Its sentences come from a grammar (`demo_grammar.py`) and are full of names of
people, places, companies, reports and sums of money, most of which are too
rare for any vocabulary. The names of the validation and test sentences are
never seen in training, so only a model that copies can translate them.
"""

import contextlib
import dataclasses
import functools
import io
import os
from collections.abc import Iterator

import absl.logging
import tensorflow_datasets as tfds
import tqdm

from tfcopy.data.corpora import (
    demo_lexicon,
    demo_names,
    demo_patterns,
    tfds_translation,
)
from tfcopy.data.corpora.corpus import (
    CorpusError,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.corpora.demo_grammar import Grammar


def load(
    data_dir: str | os.PathLike | None = None,
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 500,
    seed: int = 0,
    source_language: str = "en",
) -> TranslationCorpus:
    """Generates the demo corpus, or reads it if it was generated before.

    Args:
        data_dir: Where TFDS keeps its datasets; by default where it always
            does, `~/tensorflow_datasets`.
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        seed: The same seed gives the same sentences on every machine.
        source_language: `"en"` or `"fr"`.
    """
    config = DemoConfig(
        seed=seed,
        num_train=num_train,
        num_validation=num_validation,
        num_test=num_test,
    )
    try:
        with _without_messages():
            builder = TfcopyDemo(config=config, data_dir=data_dir)
            builder.download_and_prepare()
    except OSError as error:
        place = data_dir or "the default folder of TFDS"
        raise CorpusError(
            f"Cannot write the demo corpus to {place} "
            f"({error.strerror or error}). Choose another folder with "
            "--data_dir."
        ) from error
    return tfds_translation.from_builder(builder, source_language)


def examples() -> list[tuple[str, str]]:
    """Sentences with names of all shapes and scripts, and their translations.

    None of these names can stand in the training pairs.
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


@dataclasses.dataclass
class DemoConfig(tfds.core.BuilderConfig):
    """Which sentences, and how many; each choice is a dataset of its own."""

    name: str = ""  # follows from the rest
    seed: int = 0
    num_train: int = 20_000
    num_validation: int = 500
    num_test: int = 500

    def __post_init__(self):
        sizes = (self.num_train, self.num_validation, self.num_test)
        if min(sizes) < 1:
            raise CorpusError(
                "The demo corpus needs at least one pair in each split. "
                f"Received: {sizes[0]} for training, {sizes[1]} for validation "
                f"and {sizes[2]} for testing."
            )
        numbers = "_".join(map(str, (self.seed, *sizes)))
        self.name = f"{numbers}_{_grammar_fingerprint()}"


class TfcopyDemo(tfds.core.GeneratorBasedBuilder):
    """Builds the demo corpus; TFDS stores, checks and reads it."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=__doc__,
            features=tfds.features.Translation(languages=("en", "fr")),
            supervised_keys=("en", "fr"),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        config = self.builder_config
        sizes = {
            "train": config.num_train,
            "validation": config.num_validation,
            "test": config.num_test,
        }
        return {
            split: self._generate_examples(split, num_pairs)
            for split, num_pairs in sizes.items()
        }

    def _generate_examples(self, split, num_pairs):
        pairs = generate(split, num_pairs, self.builder_config.seed)
        title = f"Demo corpus, {split}"
        for i, (en, fr) in enumerate(_progress(pairs, num_pairs, title)):
            yield i, {"en": en, "fr": fr}


def generate(split: str, num_pairs: int, seed: int = 0) -> Iterator:
    """Yields English-French pairs without storing them anywhere."""
    grammar = Grammar(seed, split)
    for _ in range(num_pairs):
        yield grammar.sentence()


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that no stale corpus is ever read."""
    modules = (demo_lexicon, demo_names, demo_patterns)
    tables = [
        (name, repr(table))
        for module in modules
        for name, table in sorted(vars(module).items())
        if isinstance(table, (str, dict, tuple)) and name.strip("_").isupper()
    ]
    return fingerprint(tables, list(generate("train", 200)))[:8]


def _progress(pairs, total, title):
    return tqdm.tqdm(pairs, title, total, unit=" pairs", disable=None)


@contextlib.contextmanager
def _without_messages():
    """Leaves one bar of ours on the screen instead of many of TFDS."""
    verbosity = absl.logging.get_verbosity()
    absl.logging.set_verbosity(absl.logging.ERROR)
    tfds.disable_progress_bar()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.enable_progress_bar()
        absl.logging.set_verbosity(verbosity)
