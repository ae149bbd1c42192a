"""Flags of models that read definitions of the words they do not know."""

from typing import Literal

from jsonargparse.typing import NonNegativeInt, PositiveFloat, PositiveInt

from tfcopy.experiments.config import (
    ModelConfig,
    RunConfig,
    Share,
    TrainingConfig,
    data,
    group,
    model,
    training,
)


@group
class DefinitionsConfig(ModelConfig, TrainingConfig, RunConfig):
    """Models that read definitions of the words that they do not know."""

    corpus: str = data(
        "demo",
        "demo (invented words), files, or the name of a dataset of TensorFlow "
        "Datasets (TFDS).",
    )
    data_dir: str | None = data(None, "Folder where TFDS keeps its datasets.")
    num_train: PositiveInt = data(20_000, "Examples of the demo to train on.")
    dictionary: str | None = data(
        None, "File of `headword<TAB>definition` lines, plain or gzipped."
    )
    wordnet: str | None = data(
        None, "Folder of WordNet's database, instead of a --dictionary."
    )
    vectors: str | None = data(
        None,
        "File of word vectors, such as GloVe's, for the system that reads "
        "them.",
    )
    vectors_dim: PositiveInt = data(48, "Size of the --vectors.")
    vocabulary_size: PositiveInt = data(
        3_000,
        "Words that have embeddings of their own; the four special ones count.",
    )
    definition_vocabulary_size: PositiveInt | None = data(
        None,
        "Words of definitions that have embeddings of their own; they share "
        "those of the text if not given.",
    )
    num_characters: PositiveInt = data(
        1_000, "Characters that spellings are made of."
    )
    max_definitions: PositiveInt = model(
        20, "Most definitions of an entry that are read."
    )
    max_definition_length: PositiveInt = model(
        30, "Most words of a definition that are read."
    )
    depth: NonNegativeInt = model(
        0, "How deep the definitions of the words of definitions are read."
    )
    phrases: bool = model(False, "Look for headwords of several words.")
    dropout: Share = model(
        0.0, "Share of states or hidden layers dropped in training."
    )
    embedding_dropout: Share = model(
        0.0, "Share of the embeddings dropped before they are combined."
    )
    initializers: Literal["keras", "glorot_uniform", "uniform"] = model(
        "keras",
        "Initializers of all weights: keras (embeddings normal of deviation 1, "
        "all else as Keras does), glorot_uniform, or uniform (-0.05 to 0.05, "
        "as in the paper's code).",
    )
    learning_rate: PositiveFloat = training(
        3e-3, "Learning rate of the optimizer."
    )


@group
class LabelledTextsConfig(DefinitionsConfig):
    """Texts with labels, whose most frequent words are not looked up."""

    train_file: str | None = data(None, "File to train on.")
    validation_file: str | None = data(
        None, "File to validate; held out from --train_file if not given."
    )
    test_file: str | None = data(
        None, "File to test; held out from --train_file if not given."
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
        0, "So many of the most frequent words are not looked up."
    )
