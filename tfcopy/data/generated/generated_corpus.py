"""Corpora that the package generates itself, kept by TensorFlow Datasets.

A corpus has a config (`Sizes`), a builder (`Generated`) and a grammar; TFDS
stores, checks and reads what the grammar writes.
"""

import contextlib
import dataclasses
import io

import absl.logging
import tensorflow_datasets as tfds
import tqdm

from tfcopy.data.corpora.corpus import CorpusError, fingerprint


@dataclasses.dataclass
class Sizes(tfds.core.BuilderConfig):
    """How many examples, of which seed; each choice is a dataset of its own.

    Attributes:
        grammar: Fingerprint of the grammar, so that no stale corpus is read.
    """

    name: str = ""  # follows from the rest
    seed: int = 0
    num_train: int = 1
    num_validation: int = 1
    num_test: int = 1
    grammar: str = ""

    def __post_init__(self):
        sizes = list(self.splits.values())
        if min(sizes) < 1:
            raise CorpusError(
                "A demo corpus needs at least one example in each split. "
                f"Received: {sizes[0]} for training, {sizes[1]} for validation "
                f"and {sizes[2]} for testing."
            )
        numbers = "_".join(map(str, (self.seed, *sizes)))
        self.name = f"{numbers}_{self.grammar}"

    @property
    def splits(self) -> dict[str, int]:
        """Number of examples of each split."""
        return {
            "train": self.num_train,
            "validation": self.num_validation,
            "test": self.num_test,
        }


class Generated(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Builder of a generated corpus.

    A subclass has `_info`, whose supervised keys name source and target, and
    `_pairs`, an iterable of pairs.
    """

    VERSION = tfds.core.Version("1.0.0")

    def _split_generators(self, dl_manager):
        return {
            split: self._generate_examples(split, number)
            for split, number in self.builder_config.splits.items()
        }

    def _generate_examples(self, split, number):
        pairs = self._pairs(split, number, self.builder_config.seed)
        title = f"{self.TITLE}, {split}"
        pairs = tqdm.tqdm(pairs, title, number, unit=" pairs", disable=None)
        for i, pair in enumerate(pairs):
            yield i, dict(zip(self.info.supervised_keys, pair))


def prepare(builder_class, config, data_dir):
    """The builder of a corpus, which is generated if it is not there yet."""
    try:
        with _without_messages():
            builder = builder_class(config=config, data_dir=data_dir)
            builder.download_and_prepare()
    except OSError as error:
        place = data_dir or "the default folder of TFDS"
        raise CorpusError(
            f"Cannot write the demo corpus to {place} "
            f"({error.strerror or error}). Choose another folder with "
            "--data_dir."
        ) from error
    return builder


def grammar_fingerprint(modules, sample) -> str:
    """Changes with a grammar's tables, and with what it writes of them.

    Args:
        modules: Those with the tables: constants in capitals.
        sample: Some of its examples.
    """
    tables = [
        (name, repr(table))
        for module in modules
        for name, table in sorted(vars(module).items())
        if name.strip("_").isupper() and "object at" not in repr(table)
    ]
    return fingerprint(tables, sample)[:8]


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
