"""Corpora that the package generates itself, stored by TensorFlow Datasets.

A corpus is a config (`Pairs`) of its name, its sizes and its grammar. TFDS
stores, checks and reads the generated pairs.
"""

import contextlib
import dataclasses
import io
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import absl.logging
import tensorflow_datasets as tfds
import tqdm

from tfcopy.data.corpora import tfds_corpora
from tfcopy.data.corpora.corpus import (
    SPLITS,
    CorpusError,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.generated import text_tables


@dataclasses.dataclass
class Pairs(tfds.core.BuilderConfig):
    """A corpus of pairs; each choice of sizes and seed is a separate one.

    Attributes:
        name: The full name, made from the other attributes.
        corpus: The name without the numbers, such as `"demo_news"`.
        sides: The names of source and target in the stored examples.
        generate: Called with a split, a number of pairs and the seed.
        tables: The tables of the grammar, as in `text_tables.read`.
        sizes: Number of pairs of each split.
        seed: Seed of the pairs; they are the same on every machine.
        num_sample: Number of pairs that, with the tables, identify the grammar,
            so that no stale corpus is read.
    """

    name: str = ""
    _: dataclasses.KW_ONLY
    corpus: str
    sides: tuple[str, str]
    generate: Callable[[str, int, int], Iterator]
    tables: Sequence[str]
    sizes: tuple[int, int, int]
    seed: int
    num_sample: int = 200

    def __post_init__(self):
        sample = list(self.generate("train", self.num_sample))
        grammar = grammar_fingerprint(self.tables, sample)
        parts = (self.corpus, self.seed, *self.sizes, grammar)
        self.name = "_".join(map(str, parts))
        self._sources = {}  # of the splits that were drawn to their ends

    @property
    def splits(self) -> dict[str, int]:
        """Number of examples of each split."""
        return dict(zip(SPLITS, self.sizes))

    def pairs(self, split: str) -> Iterator:
        """Yields the pairs of a split; no source occurs in an earlier one."""
        splits = list(self.splits)
        earlier = splits[: splits.index(split)]
        seen = set().union(*map(self._sources_of, earlier))
        number = self.splits[split]
        # Of the sentences without names, some come again.
        drawn = self.generate(split, 2 * number + 100, self.seed)
        fresh = (pair for pair in drawn if pair[0] not in seen)
        own = set()  # Within a split they may.
        for pair in itertools.islice(fresh, number):
            own.add(pair[0])
            yield pair
        self._sources[split] = own

    def _sources_of(self, split):
        if split not in self._sources:
            for _ in self.pairs(split):
                pass
        return self._sources[split]


def load(
    pairs: Pairs,
    data_dir: str | os.PathLike | None,
    *,
    source: str | None = None,
    languages: tuple[str, str] | None = None,
) -> TranslationCorpus:
    """Generates a corpus, or reads it if it was generated before.

    Args:
        pairs: Which corpus.
        data_dir: Where TFDS keeps its datasets; `None` for its default.
        source: The side to translate from; by default the first.
        languages: The languages of source and target, if the sides are not
            named after them.

    Raises:
        CorpusError: naming the folder that cannot be written to.
    """
    try:
        with _without_messages():
            builder = TfcopyGenerated(config=pairs, data_dir=data_dir)
            builder.download_and_prepare()
    except OSError as error:
        place = data_dir or "the default folder of TFDS"
        raise CorpusError(
            f"Cannot write the demo corpus to {place} "
            f"({error.strerror or error}). Choose another folder with "
            "--data_dir."
        ) from error
    corpus = tfds_corpora.corpus_of(builder, source, languages=languages)
    return dataclasses.replace(corpus, generated=True)


class TfcopyGenerated(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Builder of all generated corpora, which are its configs."""

    VERSION = tfds.core.Version("1.1.0")

    def _info(self):
        sides = self.builder_config.sides
        return tfds.core.DatasetInfo(
            builder=self,
            description="Generated pairs of texts.",
            features=tfds.features.FeaturesDict(
                {side: tfds.features.Text() for side in sides}
            ),
            supervised_keys=sides,
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        return {
            split: self._generate_examples(split, number)
            for split, number in self.builder_config.splits.items()
        }

    def _generate_examples(self, split, number):
        config = self.builder_config
        pairs = config.pairs(split)
        title = f"{config.corpus}, {split}"
        pairs = tqdm.tqdm(pairs, title, number, unit=" pairs", disable=None)
        for i, pair in enumerate(pairs):
            yield i, dict(zip(config.sides, pair))


def grammar_fingerprint(tables: Iterable[str], sample) -> str:
    """Changes with a grammar's tables, and with the text it makes from them.

    Args:
        tables: The tables' names, as in `text_tables.read`.
        sample: Some examples of the grammar.
    """
    texts = [list(text_tables.read(name).items()) for name in tables]
    return fingerprint(texts, sample)[:8]


@contextlib.contextmanager
def _without_messages():
    """Shows a single progress bar instead of the many of TFDS."""
    verbosity = absl.logging.get_verbosity()
    absl.logging.set_verbosity(absl.logging.ERROR)
    tfds.disable_progress_bar()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.enable_progress_bar()
        absl.logging.set_verbosity(verbosity)
