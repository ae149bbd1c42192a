"""Flags of models that read definitions, and where they get vectors from.

This file imports nothing heavy, so that recipes can name their systems before
they are run.
"""

import dataclasses
from typing import Literal

from tfcopy.experiments.config import (
    ModelConfig,
    RunConfig,
    Share,
    TrainingConfig,
    corpus_file,
    data,
    file,
    group,
    model,
    training,
)
from tfcopy.flags import NonNegativeInt, PositiveFloat, PositiveInt


@dataclasses.dataclass(frozen=True)
class WordSources:
    """Where a system gets the vectors of words from.

    Attributes:
        reads: What the system reads as the definitions of a word:
            `"definitions"`, those of a dictionary; `"headwords"`, the
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
        """Whether the system needs a dictionary."""
        return self.reads not in (None, "vector")

    @property
    def needs_vectors(self) -> bool:
        """Whether the system needs a file of word vectors."""
        return self.fixed or self.reads == "vector"

    @property
    def reads_more(self) -> bool:
        """Whether it reads anything about a word but its own embedding."""
        return self.reads is not None or self.spelling


@group
class DefinitionsConfig(ModelConfig, TrainingConfig, RunConfig):
    """Models that read definitions of the words that they do not know."""

    corpus: str = data.common(
        "demo",
        "demo (invented words), files, or the name of a dataset in TensorFlow "
        "Datasets (TFDS).",
        corpus="dataset",
    )
    data_dir: str | None = corpus_file(
        "Folder where TFDS keeps its datasets.", "place"
    )
    num_train: PositiveInt = data.common(
        20_000, "Number of training examples of the demo."
    )
    dictionary: str | None = file.common(
        "File of `headword<TAB>definition` lines, plain or compressed."
    )
    wordnet: str | None = file.common(
        "Folder of WordNet's database, instead of a --dictionary."
    )
    vectors: str | None = file.common(
        "File of word vectors, such as GloVe's, for the system that reads them."
    )
    vectors_dim: PositiveInt = data(48, "Dimension of the --vectors.")
    vocabulary_size: PositiveInt = data.common(
        3_000,
        "Number of words with embeddings of their own, the four special ones "
        "included.",
    )
    definition_vocabulary_size: PositiveInt | None = data(
        None,
        "Number of words in definitions with embeddings of their own; "
        "definitions share those of the text if not given.",
    )
    max_definitions: PositiveInt = model(
        20, "Maximum number of definitions read per entry."
    )
    max_definition_length: PositiveInt = model(
        30, "Definitions are truncated to this many words."
    )
    dropout: Share = model(0.0, "Dropout rate of states or hidden layers.")
    embedding_dropout: Share = model(
        0.0, "Dropout rate of embeddings, before they are combined."
    )
    initializers: Literal["keras", "glorot_uniform", "uniform"] = model(
        "keras",
        "Weight initializers: keras (embeddings normal with standard "
        "deviation 1, all else by Keras's defaults), glorot_uniform, or "
        "uniform (-0.05 to 0.05, as in the paper's code).",
    )
    learning_rate: PositiveFloat = training.common(
        3e-3, "Learning rate of the optimizer."
    )


@group
class LabelledTextsConfig(DefinitionsConfig):
    """Texts with labels, whose most frequent words are not looked up."""

    train_file: str | None = corpus_file("Training file.")
    validation_file: str | None = file.common(
        "Validation file; held out from --train_file if not given."
    )
    test_file: str | None = file.common(
        "Test file; held out from --train_file if not given.", role="test"
    )
    num_held_out: PositiveInt | None = data(
        None,
        "Examples held out for a split without a file; one in twenty if not "
        "given.",
    )
    baseline_vocabulary_size: PositiveInt | None = data(
        None, "The baseline's --vocabulary_size, if it differs."
    )
    exclude_top_k: NonNegativeInt = model(
        0, "Do not look up this many of the most frequent words."
    )
