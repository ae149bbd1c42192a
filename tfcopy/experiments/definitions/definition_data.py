"""Data of models that read definitions: corpora, dictionaries, vectors.

Some words of the demos are invented. A model that reads word vectors knows them
all; the baseline learns the words of training, and cannot know the others. A
dictionary should close the gap between the two.
"""

import collections
import dataclasses
import functools
import io
import os
from collections.abc import Callable, Mapping

import numpy as np

from tfcopy import filesystem, tokens
from tfcopy.atomic_files import write_atomically
from tfcopy.data.corpora.corpus import Corpus
from tfcopy.data.definitions import (
    DefinitionLookup,
    Definitions,
    word_vectors,
    wordnet,
)
from tfcopy.data.definitions.word_texts import WordNumbers, WordTexts
from tfcopy.data.generated import demo_definitions, demo_definitions_lexicon
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.definitions import definition_flags
from tfcopy.experiments.training_choices import Batching
from tfcopy.flags import load_file, name_flag

GROUPS = ("plain", "seen", "unseen")


def write_vectors(path, dim: int):
    """Writes the vectors of all words, in the format of GloVe."""
    text = io.StringIO()
    for word, vector in zip(*demo_definitions.vectors(dim=dim)):
        text.write(f"{word} {' '.join(f'{x:.5f}' for x in vector)}\n")
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))


def group_scores(corpus: str, texts: WordTexts, score: Callable) -> dict:
    """Scores of the demo's groups of examples.

    Args:
        corpus: The value of `--corpus`.
        texts: The texts to test.
        score: Function of the numbers of examples that returns their scores.

    Returns:
        `{"groups": scores}` by group; without the demo nothing.
    """
    if corpus != "demo":
        return {}
    names = groups(texts)
    return {
        "groups": {
            group: score(np.flatnonzero(names == group)) for group in GROUPS
        }
    }


def groups(texts: WordTexts) -> np.ndarray:
    """Returns the names of the groups that examples belong to.

    Those without an invented word are `plain`; those whose invented words are
    in the training text, too, are `seen`; others are `unseen`.

    Args:
        texts: The texts to test.
    """
    plain = set(demo_definitions_lexicon.plain_words())
    unseen = demo_definitions.get_unseen_words()
    names = []
    for i in range(len(texts)):
        numbers = np.concatenate([x[i] for x in texts.texts.values()])
        invented = {texts.words[number] for number in numbers} - plain
        if not invented:
            names.append("plain")
        else:
            names.append("unseen" if invented & unseen else "seen")
    return np.array(names)


@dataclasses.dataclass(frozen=True)
class DefinitionData:
    """A corpus made ready: the words of its three parts, and definitions.

    Attributes:
        name: The name of the corpus.
        train: `WordTexts` to train on.
        validation: `WordTexts` to validate on, with the same numbers of words.
        test: `WordTexts` to test on, with the same numbers of words.
        counts: How often each word occurs in training.
        definitions: The `Definitions`, or `None` if no system needs them.
        lookup: The `DefinitionLookup` of these definitions, or `None`.
        vectors: A file of word vectors, or `None`.
        vectors_dim: Their dimension.
        tokenizer: The tokenizer of the texts.
    """

    name: str
    train: WordTexts
    validation: WordTexts
    test: WordTexts
    counts: collections.Counter
    definitions: Definitions | None
    lookup: DefinitionLookup | None
    vectors: str | None
    vectors_dim: int
    tokenizer: Tokenizer

    @property
    def words(self) -> list[str]:
        """Returns all words of the corpus, ordered by number."""
        return self.train.words

    @property
    def vocabulary(self) -> Vocabulary:
        """Returns all words of the training text, the most frequent first."""
        return Vocabulary.build(self.counts)

    @property
    def examples(self) -> list[dict]:
        """Returns a few texts of the test set, by name."""
        test = self.test
        return [
            {name: " ".join(test.tokens(name, i)) for name in test.texts}
            for i in range(min(4, len(test)))
        ]

    def vectors_of(self, words: Vocabulary) -> np.ndarray:
        """Returns the vectors of words; zeros where there is none."""
        return _load_vectors(self.vectors, words, self.vectors_dim)

    @property
    def identity(self) -> dict:
        """Returns the data that must stay the same in a resumed run."""
        identity = {
            "training data": self.train.checksum,
            # The best scores of two validation sets cannot be compared.
            "validation data": self.validation.checksum,
        }
        if self.definitions is not None:
            identity["definitions"] = self.definitions.fingerprint
        return identity


def prepare(
    config: definition_flags.DefinitionsConfig,
    corpus: Corpus,
    read: Callable,
    systems: Mapping[str, definition_flags.WordSources],
    count: Callable = WordTexts.counts,
) -> DefinitionData:
    """Reads a corpus, and the dictionary and the vectors that systems need.

    Args:
        config: The recipe's config.
        corpus: The corpus.
        read: Function of a split, the tokenizer and the split's name that
            returns the examples for `WordTexts.from_examples`.
        systems: The `WordSources` of the recipe's systems.
        count: Function of the training `WordTexts` that returns the counts of
            the words.

    Raises:
        OSError, ValueError: naming the flag, if there is no dictionary or
            there are no vectors; or the split, if it is empty.
    """
    sources = [systems[name] for name in config.systems]
    definitions = vectors = None
    if any(x.needs_dictionary for x in sources):
        definitions = load_definitions(config)
    if any(x.needs_vectors for x in sources):
        vectors = find_vectors(config)
    tokenizer, numbers = tokenizer_of(corpus), WordNumbers()
    texts = {}
    for name, split in corpus.splits.items():
        examples = read(split, tokenizer, name)
        try:
            texts[name] = WordTexts.from_examples(examples, numbers)
        except ValueError as error:
            raise ValueError(f"{corpus.name}, {name}: {error}") from error
    data = DefinitionData(
        corpus.name,
        **texts,
        counts=count(texts["train"]),
        definitions=definitions,
        lookup=definitions and DefinitionLookup(definitions),
        vectors=vectors,
        vectors_dim=config.vectors_dim,
        tokenizer=tokenizer,
    )
    _print_sizes(data)
    from_flags(Batching, config).check(data.train.lengths)
    return data


def _print_sizes(data):
    print(
        f"{data.name}: {len(data.train):,} training examples,"
        f" {len(data.validation):,} validation, {len(data.test):,} test;"
        f" {len(data.words):,} distinct words"
    )
    if data.definitions is not None:
        number = sum(map(len, data.definitions.definitions))
        print(
            f"Dictionary: {number:,} definitions of"
            f" {len(data.definitions.headwords):,} headwords"
        )


def tokenizer_of(corpus: Corpus) -> Tokenizer:
    """Returns the tokenizer of a corpus, which keeps the case of words."""
    return Tokenizer("space" if corpus.tokenized else "moses", keeps="")


def load_labelled(
    config: definition_flags.LabelledTextsConfig, reader, demo: Callable
) -> Corpus:
    """Loads the corpus of files or of TFDS that the flags name, or the demo's.

    Args:
        config: The recipe's config.
        reader: Module with `load` of files and `load_tfds` of a dataset.
        demo: Function of `num_train` that generates the demo's.

    Raises:
        ValueError: naming `--train_file`, if it is not given.
    """
    if config.corpus == "demo":
        return demo(num_train=config.num_train)
    if config.corpus != "files":
        return reader.load_tfds(config.corpus, config.data_dir)
    if config.train_file is None:
        raise ValueError(
            "--train_file must be given. Received: --corpus files without it."
        )
    return reader.load(
        config.train_file,
        config.validation_file,
        config.test_file,
        num_held_out=config.num_held_out,
    )


def load_definitions(config: definition_flags.DefinitionsConfig) -> Definitions:
    """Loads the dictionary of `--dictionary` or `--wordnet`, or the demo's.

    Raises:
        OSError, ValueError: naming the flag, if there is none.
    """
    if config.dictionary is not None:
        return load_file(Definitions, config.dictionary, "--dictionary")
    if config.wordnet is not None:
        with name_flag("--wordnet", config.wordnet):
            return wordnet.read(config.wordnet)
    if config.corpus == "demo":
        return demo_definitions.dictionary()
    raise ValueError(
        "--dictionary or --wordnet must name the definitions: a file of "
        "`headword<TAB>definition` lines, or the folder of WordNet's database "
        "(Debian: apt install wordnet-base, then /usr/share/wordnet). Or "
        "leave out the --systems that read them."
    )


def find_vectors(config: definition_flags.DefinitionsConfig) -> str:
    """Returns the file of `--vectors`, or writes the demo's.

    Raises:
        OSError, ValueError: naming the flag, if there is none.
    """
    if config.vectors is not None:
        # They are read only after systems without vectors are trained.
        with name_flag("--vectors", config.vectors):
            filesystem.open(config.vectors, "rb").close()
        return config.vectors
    if config.corpus == "demo":
        path = os.path.join(
            config.log_dir, f"demo_vectors_{config.vectors_dim}.txt"
        )
        write_vectors(path, config.vectors_dim)
        return path
    raise ValueError(
        "--vectors must name a file of word vectors, such as GloVe's "
        "glove.840B.300d.txt. Or leave out the --systems that read them."
    )


NUM_SPECIALS = len(tokens.SPECIAL_TOKENS)


@functools.lru_cache(maxsize=1)  # Such files are large.
def _load_vectors(path, words, dim):
    with name_flag("--vectors", path):
        loaded = word_vectors.load(path, words, dim, scale=0.0)
    print(f"{loaded.coverage:.1f} % of the words have a vector")
    return loaded.matrix


def definition_vocabulary(data: DefinitionData, max_size: int) -> Vocabulary:
    """Returns the most frequent words in the definitions of a text.

    Each definition counts as often as training has words that it defines, as
    in the authors' code.

    Args:
        data: The corpus and the definitions.
        max_size: Largest size, the special words included.
    """
    words = list(data.counts)
    uses = collections.Counter()  # of each entry
    for word, entries in zip(words, data.lookup.entries_of_all(words)):
        for entry in entries[entries > 0]:
            uses[int(entry) - 1] += data.counts[word]
    counts = collections.Counter()
    for entry, number in uses.items():
        for definition in data.definitions.definitions[entry]:
            for word in definition:
                counts[word] += number
    return Vocabulary.build(counts, max_size)
