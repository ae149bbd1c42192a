"""Flags of models that read definitions, and where they get vectors from.

This file imports nothing heavy, so that recipes can name their systems before
they are run.
"""

import dataclasses
from typing import Literal

from tfcopy.experiments import config
from tfcopy.flags import NonNegativeInt, PositiveFloat, PositiveInt


@dataclasses.dataclass(frozen=True)
class WordSources:
    """Sources of a system's word vectors.

    Attributes:
        reads: What the system reads as the definitions of a word:
            `"definitions"` of a dictionary; `"headwords"`, the
            headwords that are found for it; their `"spellings"`; its
            `"vector"`, one that is fixed; or `None`.
        reader: As in `DefinitionEmbedding`.
        combine: As in `DefinitionEmbedding`.
        spelling: Whether the system reads the spelling of words as well.
        stop_gradient: As in `DefinitionEmbedding`.
        shares_reader: Whether the model's own LSTM reads definitions.
        fixed: Whether the words' own embeddings are fixed vectors, for all
            words of the corpus.
    """

    reads: Literal["definitions", "headwords", "spellings", "vector"] | None = (
        None
    )
    reader: Literal["mean", "lstm"] = "mean"
    combine: Literal["bands", "transform", "sum", "replace"] = "transform"
    spelling: bool = False
    stop_gradient: bool = False
    shares_reader: bool = False
    fixed: bool = False

    @property
    def needs_dictionary(self) -> bool:
        """Returns whether the system needs a dictionary."""
        return self.reads not in (None, "vector")

    @property
    def needs_vectors(self) -> bool:
        """Returns whether the system needs a file of word vectors."""
        return self.fixed or self.reads == "vector"

    @property
    def reads_more(self) -> bool:
        """Returns whether it reads more about a word than its own embedding."""
        return self.reads is not None or self.spelling


@config.group
class DefinitionsConfig(
    config.ModelConfig, config.TrainingConfig, config.RunConfig
):
    """Models that read definitions of the words that they do not know.

    Attributes:
        corpus: demo (invented words), files, or the name of a dataset in
            TensorFlow Datasets (TFDS).
        data_dir: Folder where TFDS keeps its datasets.
        num_train: Number of training examples of the demo.
        dictionary: File of `headword<TAB>definition` lines, plain or
            compressed.
        wordnet: Folder of WordNet's database, instead of a --dictionary.
        vectors: File of word vectors, such as GloVe's, for the system that
            reads them.
        vectors_dim: Dimension of the --vectors.
        vocabulary_size: Number of words with embeddings of their own, the four
            special ones included.
        definition_vocabulary_size: Number of words in definitions with
            embeddings of their own; definitions share those of the text if not
            given.
        max_definitions: Maximum number of definitions read per entry.
        max_definition_length: Definitions are truncated to this many words.
        dropout: Dropout rate of states or hidden layers.
        embedding_dropout: Dropout rate of embeddings, before they are combined.
        initializers: Weight initializers: keras (embeddings normal with
            standard deviation 1, all else by Keras's defaults), glorot_uniform,
            or uniform (-0.05 to 0.05, as in the paper's code).
        learning_rate: Learning rate of the optimizer.
    """

    corpus: str = config.data.common("demo", corpus="dataset")
    data_dir: str | None = config.corpus_file(corpus="place")
    num_train: PositiveInt = config.data.common(20_000)
    dictionary: str | None = config.file.common()
    wordnet: str | None = config.file.common()
    vectors: str | None = config.file.common()
    vectors_dim: PositiveInt = config.data(48)
    vocabulary_size: PositiveInt = config.data.common(3_000)
    definition_vocabulary_size: PositiveInt | None = config.data(None)
    max_definitions: PositiveInt = config.model(20)
    max_definition_length: PositiveInt = config.model(30)
    embedding_dropout: config.Share = config.model(0.0)
    initializers: Literal["keras", "glorot_uniform", "uniform"] = config.model(
        "keras"
    )
    learning_rate: PositiveFloat = config.training.common(3e-3)


@config.group
class LabelledTextsConfig(DefinitionsConfig):
    """Texts with labels, whose most frequent words are not looked up.

    Attributes:
        train_file: Training file.
        validation_file: Validation file; held out from --train_file if not
            given.
        test_file: Test file; held out from --train_file if not given.
        num_held_out: Examples held out for a split without a file; one in
            twenty if not given.
        baseline_vocabulary_size: The baseline's --vocabulary_size, if it
            differs.
        exclude_top_k: Do not look up this many of the most frequent words.
    """

    train_file: str | None = config.corpus_file()
    validation_file: str | None = config.file.common()
    test_file: str | None = config.file.common(role="test")
    num_held_out: PositiveInt | None = config.data(None)
    baseline_vocabulary_size: PositiveInt | None = config.data(None)
    exclude_top_k: NonNegativeInt = config.model(0)
