"""Flags of corpora of pairs of texts, and of their vocabularies."""

from typing import Literal

from jsonargparse.typing import NonNegativeInt, PositiveInt

from tfcopy.experiments.config import (
    data,
    group,
    results,
    search,
)


@group
class FilesConfig:
    """Pairs of texts from the user's files."""

    train: list[str] | None = data(
        None,
        "Two text files to train on, source and target, one example a line, "
        "plain or gzipped: '[a.en, a.fr]'.",
    )
    validation: list[str] | None = data(
        None, "Files to validate; held out from --train if not given."
    )
    test: list[str] | None = data(
        None, "Files to test; held out from --train if not given."
    )


@group
class CorpusConfig(FilesConfig):
    """Pairs of texts from files or TensorFlow Datasets."""

    tfds: str | None = data(
        None, "Name of a dataset of TensorFlow Datasets (TFDS)."
    )
    data_dir: str | None = data(None, "Folder where TFDS keeps its datasets.")


@group
class VocabulariesConfig:
    """A vocabulary for each side."""

    source_vocabulary: str | None = data(
        None, "Vocabulary file of the source, instead of counting words."
    )
    target_vocabulary: str | None = data(
        None, "Vocabulary file of the target, instead of counting words."
    )
    source_vocabulary_size: PositiveInt = data(
        2_000, "Most frequent source words to keep."
    )
    target_vocabulary_size: PositiveInt = data(
        2_000, "Most frequent target words to keep."
    )


@group
class TranslationConfig(CorpusConfig, VocabulariesConfig):
    """Sentences in two languages."""

    source_language: str = data("en", "Code of the language of sources.")
    target_language: str = data("fr", "Code of the language of targets.")
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = results(
        "13a",
        "Tokenisation of sacrebleu: 13a, or none for text that is tokenised "
        "already.",
    )


@group
class SummariesConfig(CorpusConfig):
    """Long texts and their summaries, from files, tables or TFDS."""

    train: list[str] | None = data(
        None,
        "Two text files to train on, source and target, plain or gzipped; or "
        "one table: '[a.csv]', .tsv or .jsonl.",
    )
    source_column: str | None = data(
        None,
        "Column of a table's source, by name, or by number (from 1) in a "
        "table without a header; of a TFDS dataset, the feature.",
    )
    target_column: str | None = data(
        None, "Column or feature of the target, like --source_column."
    )
    tokenization: Literal["moses", "space"] = data(
        "moses", "moses, or space for text that is tokenised already."
    )
    lowercase: bool = data(
        False,
        "Know words in lower case; what is copied comes back as typed.",
    )
    max_source_length: PositiveInt = data(
        100, "Most words of a source that are read."
    )
    max_target_length: PositiveInt = data(
        50, "Most words of a target that are trained on, with its end."
    )
    min_summary_length: NonNegativeInt = search(
        0, "Fewest words of an answer before its end."
    )
    max_summary_length: PositiveInt = search(
        60, "Most words of an answer, with its end."
    )
    no_repeat_ngram: NonNegativeInt = search(
        0, "Say no sequence of so many words twice; 0 allows any."
    )
    forbid_unk: bool = search(False, "Never generate <unk>.")
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = results(
        "13a",
        "Tokenisation of sacrebleu: 13a, or none for text that is tokenised "
        "already.",
    )


@group
class EntitiesConfig:
    """Named entities as placeholders that can be pointed at."""

    pointers: Literal["unk", "entity"] = data(
        "unk",
        "What is pointed at: unk (words outside of the vocabulary), or entity "
        "(these, and the placeholders of entities).",
    )
    entity_pattern: str | None = data(
        None,
        "Regular expression (RE2) of a whole token that is an entity; if not "
        "given, a token with a capital in front or a figure anywhere, wherever "
        "it stands.",
    )
    entity_exceptions: str | None = data(
        None,
        "Regular expression of tokens that are none nevertheless; if not "
        "given, English function words.",
    )
    entity_truecase: bool = data(
        False,
        "Let words that the training sources have in lower case at least as "
        "often as with a capital be none either: for headlines with capitals "
        "throughout.",
    )
    train_tags: list[str] | None = data(
        None,
        "Two files that tell entities instead, source and headlines: a tag for "
        "each token of --train, O or anything else. A model so trained is "
        "asked with text as `acme￨ORG of`.",
    )
    validation_tags: list[str] | None = data(
        None, "Files of tags for --validation, like --train_tags."
    )
    test_tags: list[str] | None = data(
        None, "Files of tags for --test, like --train_tags."
    )
