"""Flags of corpora of pairs of texts, and of recipes that translate them."""

from typing import Literal

from tfcopy.experiments.config import (
    POINTING,
    PointingHead,
    VocabularySize,
    corpus_file,
    data,
    file,
    group,
    part,
    results,
    search,
    systems,
    training,
)
from tfcopy.experiments.pairs.model_flags import PointerSoftmaxConfig
from tfcopy.flags import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)


@group
class FilesConfig:
    """Pairs of texts from the user's files."""

    train: list[str] | None = corpus_file(
        "Two text files to train on, source and target, one example per line, "
        "plain or compressed: a.en a.fr."
    )
    validation: list[str] | None = file.common(
        "Validation files; held out from --train if not given."
    )
    test: list[str] | None = file.common(
        "Test files; held out from --train if not given.", role="test"
    )
    prepared: str | None = corpus_file(
        "Folder that tfcopy.data.prepare has written, instead of --train: the "
        "same words, ids and batches, read from its shards.",
        "folder",
        common=False,
    )


@group
class CorpusConfig(FilesConfig):
    """Pairs of texts from files or TensorFlow Datasets."""

    tfds: str | None = corpus_file(
        "Name of a dataset in TensorFlow Datasets (TFDS).", "dataset"
    )
    data_dir: str | None = corpus_file(
        "Folder where TFDS keeps its datasets.", "place"
    )


@group
class VocabulariesConfig:
    """A vocabulary for each side."""

    source_vocabulary: str | None = file(
        "Vocabulary file of the source; built from the training data if "
        "not given."
    )
    target_vocabulary: str | None = file(
        "Vocabulary file of the target; built from the training data if "
        "not given."
    )
    source_vocabulary_size: VocabularySize = data.common(
        2_000, "Size of the source vocabulary, special words included."
    )
    target_vocabulary_size: VocabularySize = data.common(
        2_000, "Size of the target vocabulary, special words included."
    )


@group
class TranslationConfig(CorpusConfig, VocabulariesConfig):
    """Sentences in two languages."""

    train: list[str] | None = corpus_file(
        "Two text files to train on, source and target, one example per line, "
        "or one translation memory, TMX or XLIFF, of which the units in "
        "--source_language and --target_language count; plain or compressed."
    )
    catalogs: str | None = corpus_file(
        "Folder of gettext catalogues (.po) with translations; files are held "
        "out whole for validation and test.",
        "folder",
    )
    source_language: str = data.common("en", "Language code of the source.")
    target_language: str = data.common("fr", "Language code of the target.")
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = results(
        "13a",
        "Tokenisation by sacreBLEU: 13a, intl, zh, char, or none for text "
        "that is already tokenised.",
    )


@group
class DemoConfig:
    """The sentences of a parliament that are generated."""

    demo: Literal["small", "large"] = data(
        "large",
        "Size of the corpus that is generated where no flag names one: small "
        "or large.",
        fixed=False,
    )


@group
class CaseConfig:
    """Words with or without regard to case."""

    lowercase: bool = data(
        False,
        "Lowercase the vocabulary; copied words keep their case.",
    )


@group
class SummariesConfig(CorpusConfig, CaseConfig):
    """Long texts and their summaries, from files, tables or TFDS."""

    train: list[str] | None = corpus_file(
        "Two text files to train on, source and target, plain or compressed; "
        "or one table: a.csv, .tsv or .jsonl."
    )
    source_column: str | None = data.common(
        None,
        "Column of the source: its name, or its number (from 1) in a table "
        "without a header; in a TFDS dataset, the feature.",
    )
    target_column: str | None = data.common(
        None, "Column or feature of the target, like --source_column."
    )
    tokenization: Literal["moses", "space"] = data.common(
        "moses", "moses, or space for text that is already tokenised."
    )
    max_source_length: PositiveInt = data.common(
        100, "Sources are truncated to this many words."
    )
    max_target_length: PositiveInt = data(
        50,
        "Training targets are truncated to this many words, end of "
        "sequence included.",
    )
    min_summary_length: NonNegativeInt = search(
        0, "Minimum length of an output, in words."
    )
    max_summary_length: PositiveInt = search(
        60, "Maximum length of an output, in words, end of sequence included."
    )
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = results(
        "13a",
        "Tokenisation by sacreBLEU: 13a, intl, zh, char, or none for text "
        "that is already tokenised.",
    )


@group
class EntitiesConfig:
    """Named entities as placeholders that can be pointed at."""

    pointers: Literal["unk", "entity"] = data.common(
        "unk",
        "What is pointed at: unk (out-of-vocabulary words), or entity (these, "
        "and the placeholders of named entities).",
    )
    entity_pattern: str | None = data(
        None,
        "Regular expression (RE2) that must match a whole token for it to be "
        "an entity; if not given, an initial capital or a digit makes a token "
        "one, even at the start of a sentence.",
    )
    entity_exceptions: str | None = data(
        None,
        "Regular expression (RE2) of tokens that are not entities even so; if "
        "not given, English function words.",
    )
    entity_truecase: bool = data(
        False,
        "Do not take a word for an entity if the training sources have it in "
        "lower case at least as often as capitalised: for headlines in title "
        "case.",
    )
    train_tags: list[str] | None = file(
        "Two files of entity tags instead, for sources and headlines: one tag "
        "per token of --train, O for no entity. The trained model then "
        "expects tagged text, such as `acme￨ORG of`.",
    )
    validation_tags: list[str] | None = file(
        "Tag files for --validation, like --train_tags."
    )
    test_tags: list[str] | None = file(
        "Tag files for --test, like --train_tags.", role="test"
    )


SYSTEMS = ("nmt", "pointer_softmax")


@group
class TranslatorConfig(PointerSoftmaxConfig, TranslationConfig, CaseConfig):
    """Words or pieces, the baseline (nmt) and a model that points."""

    tokenization: Literal["moses", "space", "sentencepiece"] = data.common(
        "moses",
        "moses; space for text that is already tokenised; or sentencepiece "
        "for the pieces of --sentencepiece_model, which are then what other "
        "flags call words.",
    )
    sentencepiece_model: list[str] | None = file(
        "One model file for both languages, or two: en.model fr.model; "
        "tfcopy.data.train_sentencepiece trains them."
    )
    pieces: PositiveInt | None = data(
        None,
        "Learn a model of this many pieces, one for both languages, where "
        "--tokenization sentencepiece has no --sentencepiece_model.",
    )
    sample_pieces: PositiveFloat | None = data(
        None,
        "Cut training texts anew in each epoch, into pieces that are drawn: "
        "each of the 64 most probable ways to cut a text by its probability "
        "to this power (0.1 to 0.5; Kudo, 2018). Needs a unigram model.",
    )
    protect: list[str] | None = data(
        None,
        "Spans that are one word each, copied as they are: links, rst, "
        "markdown, html, placeholders, printf, brace, a format of gettext "
        "(qt-format), or a regular expression (RE2), such as rst html.",
    )
    protect_as: Literal["token", "pieces"] = data(
        "token",
        "What spans of --protect are to the model: one token each, or pieces, "
        "which a pretrained network can read and of which --must_copy lets "
        "each follow the one before.",
    )
    dictionary: str | None = file.common(
        "TSV file of target words and their source translations, for pointer "
        "labels."
    )
    guided_alignment: str | None = file(
        "File with a line 0-0 1-2 ... (Pharaoh's format) for each line of "
        "--train: which source and target words are linked. Training draws the "
        "attention to them; tfcopy.data.build_dictionary --write_alignment "
        "writes one."
    )
    guided_alignment_weight: NonNegativeFloat = training(
        0.1, "Weight of --guided_alignment's cost relative to the loss."
    )
    output_dictionary: str | None = file(
        "TSV file of source words and their translations; words pointed at "
        "are translated by it where it has them.",
        topic="search",
    )
    must_copy: bool = search(
        False,
        "With --protect: an answer has every protected span of its source "
        "exactly as often as the source, and no other.",
    )
    glossary: str | None = file(
        "With --protect: TSV file of phrases and their translations; where a "
        "phrase stands in a source, the answer has the translation.",
        topic="search",
    )
    max_length: PositiveInt = data(
        50,
        "Maximum length in words of training sentences; longer pairs are "
        "left out.",
    )
    systems: list[Literal[SYSTEMS]] = systems(
        list(SYSTEMS), "Systems to train, any of nmt and pointer_softmax."
    )
    plain = ("nmt",)
    head: PointingHead = part.common(
        "pointer_softmax",
        "Output head of the system that points, which is named after it: "
        f"{POINTING}",
        is_name=True,
    )
    max_target_length: PositiveInt = search(
        60, "Maximum length of a translation, in words."
    )
    merge: Literal["max", "sum"] | None = search(
        None,
        "How search combines several ways to produce a word (generating, "
        "copying): max (the paper's) or sum; if not given, max with the "
        "pointer softmax and sum with other heads.",
    )
