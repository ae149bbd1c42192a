"""Corpora, dictionaries and vectors of recipes that read definitions."""

import collections
import dataclasses
import functools
import os

import numpy as np

from tfcopy import tokens
from tfcopy.data.definitions import (
    DefinitionLookup,
    Definitions,
    word_vectors,
    wordnet,
)
from tfcopy.data.definitions.word_texts import WordNumbers, WordTexts
from tfcopy.data.generated import demo_definitions
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions import definition_demo

NUM_SPECIALS = len(tokens.SPECIAL_TOKENS)


@dataclasses.dataclass(frozen=True)
class Data:
    """A corpus made ready: the words of its three parts, and what they mean.

    Attributes:
        name: Of the corpus.
        train, validation, test: `WordTexts` that share their numbers.
        counts: How often each word occurs in training.
        definitions: `Definitions`, or `None` if no system needs them.
        lookup: Of these definitions.
        vectors: File of word vectors, or `None`.
        tokenizer: What cut the texts into words.
    """

    name: str
    train: WordTexts
    validation: WordTexts
    test: WordTexts
    counts: collections.Counter
    definitions: Definitions | None
    lookup: DefinitionLookup | None
    vectors: str | None
    tokenizer: object

    @property
    def words(self):
        """All words of the corpus, by their numbers."""
        return self.train.words

    @property
    def vocabulary(self):
        """All words of the training text, the most frequent first."""
        return Vocabulary.build(self.counts)

    @property
    def identity(self):
        """What must not change between a run and its resumption."""
        identity = {"training data": self.train.checksum}
        if self.definitions is not None:
            identity["definitions"] = self.definitions.fingerprint
        return identity


def prepare(config, corpus, examples, systems, demo, count=WordTexts.counts):
    """Reads a corpus, and the dictionary and vectors that systems need.

    Args:
        config: The recipe's config.
        corpus: `Corpus`.
        examples: Function of a `Split`, which yields what
            `WordTexts.from_examples` takes.
        systems: Dict from a name to a `System`; those of the config count.
        demo: Whether dictionary and vectors are the demo's, where the flags
            name no others.
        count: Function of the training `WordTexts` to the counts of its
            words.

    Returns:
        `Data`.
    """
    wanted = [systems[name] for name in config.systems]
    definitions = vectors = None
    if any(system.needs_definitions for system in wanted):
        definitions = load_definitions(config, demo)
    if any(system.needs_vectors for system in wanted):
        vectors = find_vectors(config, demo)
    numbers = WordNumbers()
    parts = {}
    for name, split in corpus.splits.items():
        try:
            parts[name] = WordTexts.from_examples(examples(split), numbers)
        except ValueError as error:
            raise ValueError(f"{corpus.name}, {name}: {error}") from error
    train = parts["train"]
    data = Data(
        corpus.name,
        **parts,
        counts=definition_demo.counts(train) if demo else count(train),
        definitions=definitions,
        lookup=definitions and DefinitionLookup(definitions),
        vectors=vectors,
        tokenizer=tokenizer_of(corpus),
    )
    print(
        f"{data.name}: {len(data.train):,} examples to train on,"
        f" {len(data.validation):,} to validate, {len(data.test):,} to test;"
        f" {len(data.words):,} distinct words"
    )
    if definitions is not None:
        number = sum(map(len, definitions.definitions))
        print(
            f"Dictionary: {number:,} definitions of"
            f" {len(definitions.headwords):,} headwords"
        )
    if len(data.train) < config.batch_size:
        raise ValueError(
            f"--batch_size must be at most {len(data.train)}, the number of "
            f"examples to train on. Received: {config.batch_size}."
        )
    return data


def tokenizer_of(corpus):
    """What cuts the texts of a corpus into words; case is kept."""
    return Tokenizer(mode="space" if corpus.tokenized else "moses")


def load_definitions(config, demo):
    """The dictionary that `--dictionary` or `--wordnet` names."""
    if config.dictionary is not None:
        return reporting.load_file(
            Definitions, config.dictionary, "--dictionary"
        )
    if config.wordnet is not None:
        try:
            return wordnet.read(config.wordnet)
        except (OSError, ValueError) as error:
            raise type(error)(f"--wordnet: {error}") from error
    if demo:
        return demo_definitions.dictionary()
    raise ValueError(
        "--dictionary or --wordnet must name where the definitions are: a "
        "file of `headword<TAB>definition` lines, or a folder of WordNet's "
        "database (Debian: apt install wordnet-base, then "
        "/usr/share/wordnet). Or leave out the --systems that read them."
    )


def find_vectors(config, demo):
    """The file of word vectors."""
    if config.vectors is not None:
        if not os.path.exists(config.vectors):
            raise OSError(f"--vectors: cannot read {config.vectors}.")
        return config.vectors
    if demo:
        path = os.path.join(config.log_dir, "demo_vectors.txt")
        definition_demo.write_vectors(path, config.vectors_dim)
        return path
    raise ValueError(
        "--vectors must name a file of word vectors, such as GloVe's "
        "glove.840B.300d.txt. Or leave out the --systems that read them."
    )


def matrix(config, data, words):
    """The vectors of the words of a `Vocabulary`; zeros where there is none."""
    return _matrix(data.vectors, words, config.vectors_dim)


@functools.lru_cache(maxsize=1)  # Such files are large.
def _matrix(path, words, dim):
    try:
        found = word_vectors.load(path, words, dim, scale=0.0)
    except (OSError, ValueError) as error:
        raise type(error)(f"--vectors: {error}") from error
    print(f"{found.coverage:.1f} % of the words have a vector")
    return found.matrix


def restricted(config, data):
    """The words that have both a definition and a vector.

    Sources that tell of no others can be compared; the paper's (R).

    Returns:
        `Vocabulary`.
    """
    if data.definitions is None or data.vectors is None:
        raise ValueError(
            "--restricted needs --systems that read definitions and ones that "
            "read vectors. Received: "
            f"{', '.join(config.systems)}."
        )
    words = Vocabulary.build(dict.fromkeys(filter(None, data.words), 1))
    has_vector = matrix(config, data, words).any(axis=1)
    has_entry = data.lookup.entries_of_all(words.words)[:, 0] > 0
    both = np.flatnonzero(has_vector & has_entry)
    return Vocabulary.build(
        {words.word(i): 1 for i in both if i >= NUM_SPECIALS}
    )


def definition_vocabulary(data, max_size):
    """The words that are most frequent in the definitions of a text.

    Each definition counts as often as training has words that it defines, as
    in the authors' code.

    Args:
        data: `Data`.
        max_size: Largest size, the special words included.

    Returns:
        `Vocabulary`.
    """
    counts = collections.Counter()
    words = list(data.counts)
    times = collections.Counter()
    for word, row in zip(words, data.lookup.entries_of_all(words)):
        for entry in row[row > 0]:
            times[int(entry) - 1] += data.counts[word]
    for entry, number in times.items():
        for definition in data.definitions.definitions[entry]:
            for word in definition:
                counts[word] += number
    return Vocabulary.build(counts, max_size)
