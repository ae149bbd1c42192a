"""Flags of corpora of pairs of texts, and of recipes that translate them."""

from typing import Literal

from tfcopy import flags
from tfcopy.experiments.config import (
    POINTING,
    PointingHead,
    VocabularySize,
    corpus_file,
    data,
    file,
    group,
    results,
    search,
    systems,
    training,
    variant_flag,
)
from tfcopy.experiments.pairs.model_flags import PointerSoftmaxConfig


@group
class FilesConfig:
    """Pairs of texts from the user's files.

    Attributes:
        train: Two text files to train on, source and target, one example per
            line, plain or compressed: a.en a.fr.
        validation: Validation files; held out from --train if not given.
        test: Test files; held out from --train if not given.
        prepared: Folder that tfcopy.data.prepare has written, instead of
            --train: the same words, ids and batches, read from its shards.
    """

    train: list[str] | None = corpus_file()
    validation: list[str] | None = file.common()
    test: list[str] | None = file.common(role="test")
    prepared: str | None = corpus_file(corpus="folder", common=False)


@group
class CorpusConfig(FilesConfig):
    """Pairs of texts from files or TensorFlow Datasets.

    Attributes:
        tfds: Name of a dataset in TensorFlow Datasets (TFDS).
        data_dir: Folder where TFDS keeps its datasets.
    """

    tfds: str | None = corpus_file(corpus="dataset")
    data_dir: str | None = corpus_file(corpus="place")


@group
class VocabulariesConfig:
    """A vocabulary for each side.

    Attributes:
        source_vocabulary: Vocabulary file of the source; built from the
            training data if not given.
        target_vocabulary: Vocabulary file of the target; built from the
            training data if not given.
        source_vocabulary_size: Size of the source vocabulary, special words
            included.
        target_vocabulary_size: Size of the target vocabulary, special words
            included.
    """

    source_vocabulary: str | None = file(replaced=True)
    target_vocabulary: str | None = file(replaced=True)
    source_vocabulary_size: VocabularySize = data.common(2_000, replaced=True)
    target_vocabulary_size: VocabularySize = data.common(2_000, replaced=True)


@group
class TranslationConfig(CorpusConfig, VocabulariesConfig):
    """Sentences in two languages.

    Attributes:
        train: Two text files to train on, source and target, one example per
            line, or one translation memory, TMX or XLIFF, of which the units in
            --source_language and --target_language count; plain or compressed.
        catalogs: Folder of gettext catalogues with translations, .po or
            compiled, such as /usr/share/locale. Files are held out whole for
            validation and test, and of compiled ones whole programs. A program
            is a file's name without language: git for fr/LC_MESSAGES/git.mo.
        hold_out: Programs of --catalogs to test on, such as git bash, instead
            of those that a hash of their names chooses.
        names: Read lists of names (iso-codes), too, of compiled --catalogs.
        source_language: Language code of the source.
        target_language: Language code of the target.
        bleu_tokenize: Tokenisation by sacreBLEU: 13a, intl, zh, char, or none
            for text that is already tokenised. If not given: zh for Chinese,
            char for Japanese and Thai, else 13a.
    """

    catalogs: str | None = corpus_file(corpus="folder")
    hold_out: list[str] = data([], fixed=False)
    names: bool = data(False, fixed=False)
    source_language: str = data.common("en")
    target_language: str = data.common("fr")
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] | None = (
        results(None)
    )


def bleu_tokenize(config: TranslationConfig) -> str:
    """Returns --bleu_tokenize, or that of the target language."""
    from tfcopy.data.text import languages

    own = languages.bleu_tokenize(config.target_language)
    return config.bleu_tokenize or own


@group
class DemoConfig:
    """The sentences of a parliament that are generated.

    Attributes:
        demo: Size of the corpus that is generated where no flag names one:
            small or large.
    """

    demo: Literal["small", "large"] = data("large", fixed=False)


@group
class CaseConfig:
    """Words with or without regard to case.

    Attributes:
        lowercase: Lowercase the vocabulary; copied words keep their case.
    """

    lowercase: bool = data(False, replaced=True)


@group
class SummariesConfig(CorpusConfig, CaseConfig):
    """Long texts and their summaries, from files, tables or TFDS.

    Attributes:
        train: Two text files to train on, source and target, plain or
            compressed; or one table: a.csv, .tsv or .jsonl.
        source_column: Column of the source: its name, or its number (from 1) in
            a table without a header; in a TFDS dataset, the feature.
        target_column: Column or feature of the target, like --source_column.
        tokenization: moses, or space for text that is already tokenised.
        max_source_length: Sources are truncated to this many words.
        max_target_length: Training targets are truncated to this many words,
            end of sequence included.
        min_summary_length: Minimum length of an output, in words.
        max_summary_length: Maximum length of an output, in words, end of
            sequence included.
        bleu_tokenize: Tokenisation by sacreBLEU: 13a, intl, zh, char, or none
            for text that is already tokenised.
    """

    source_column: str | None = data.common(None)
    target_column: str | None = data.common(None)
    tokenization: Literal["moses", "space"] = data.common(
        "moses", replaced=True
    )
    max_source_length: flags.PositiveInt = data.common(100)
    max_target_length: flags.PositiveInt = data(50)
    min_summary_length: flags.NonNegativeInt = search(0)
    max_summary_length: flags.PositiveInt = search(60)
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = results("13a")


@group
class EntitiesConfig:
    """Named entities as placeholders that can be pointed at.

    Attributes:
        pointers: Words to point at: unk (out-of-vocabulary words), or entity
            (these, and the placeholders of named entities).
        entity_pattern: Regular expression (RE2) that must match a whole token
            for it to be an entity; if not given, an initial capital or a digit
            makes a token one, even at the start of a sentence.
        entity_exceptions: Regular expression (RE2) of tokens that are no
            entities although they match; if not given, English function words.
        entity_truecase: Do not take a word for an entity if the training
            sources have it in lower case at least as often as capitalised: for
            headlines in title case.
        train_tags: Two files of entity tags instead, for sources and headlines:
            one tag per token of --train, O for no entity. The trained model
            then expects tagged text, such as `acme￨ORG of`.
        validation_tags: Tag files for --validation, like --train_tags.
        test_tags: Tag files for --test, like --train_tags.
    """

    pointers: Literal["unk", "entity"] = data.common("unk", replaced=True)
    entity_pattern: str | None = data(None)
    entity_exceptions: str | None = data(None)
    entity_truecase: bool = data(False)
    train_tags: list[str] | None = file()
    validation_tags: list[str] | None = file()
    test_tags: list[str] | None = file(role="test")


SYSTEMS = ("nmt", "pointer_softmax")
# The demo preset of recipes for catalogues.
DEMO_CATALOGS = {
    "systems": list(SYSTEMS),
    "target_language": "es",
    "protect": ["rst", "html", "placeholders"],
    "pieces": 1_000,
    "source_vocabulary_size": 2_000,
    "target_vocabulary_size": 2_000,
    "max_length": 50,
    "max_target_length": 60,
    "embedding_dim": 64,
    "units": 128,
    "encoder_units": 64,
    "dropout": 0.0,
    "learning_rate": 1e-2,
    "schedule": "linear",
    "warmup": 60,
    "batch_size": 128,
    "updates": 500,
    "eval_every": 125,
    "patience": 5,
    "precision": "float32",
}

# Sizes for the catalogues of many programs.
LARGE_CATALOGS = {
    "pieces": 4_000,
    "source_vocabulary_size": 4_500,
    "target_vocabulary_size": 4_500,
    "embedding_dim": 256,
    "units": 512,
    "encoder_units": 256,
    "learning_rate": 1e-3,
    "eval_every": 500,
    "patience": 12,
    "max_length": 100,
    "max_target_length": 160,
}


@group
class TranslatorConfig(PointerSoftmaxConfig, TranslationConfig, CaseConfig):
    """Words or subwords, the baseline (nmt) and a model that points.

    Attributes:
        tokenization: moses; space for text that is already tokenised; or
            sentencepiece for the subwords of --sentencepiece_model, which are
            then what other flags call words.
        sentencepiece_model: One model file for both languages, or two: en.model
            fr.model; tfcopy.data.train_sentencepiece trains them.
        pieces: Learn a model of this many pieces, one for both languages, where
            --tokenization sentencepiece has no --sentencepiece_model.
        sample_pieces: Cut training texts again in each epoch, into pieces that
            are drawn: each of the 64 most probable ways to cut a text by its
            probability to this power (0.1 to 0.5; Kudo, 2018). Needs a unigram
            model.
        protect: Spans that are one word each, copied as they are: links, rst,
            markdown, html, placeholders, printf, brace, a format of gettext
            (qt-format), or a regular expression (RE2), such as rst html.
        protect_as: Form of the spans of --protect in the model: one token each,
            or pieces, subwords that a pretrained network can read; --must_copy
            then lets each follow the one before.
        dictionary: TSV file of target words and their source translations, for
            pointer labels.
        guided_alignment: File with a line 0-0 1-2 ... (Pharaoh's format) for
            each line of --train: the links of source and target words. Training
            draws the attention to them; tfcopy.data.build_dictionary
            --write_alignment writes one.
        guided_alignment_weight: Weight of --guided_alignment's cost relative to
            the loss.
        output_dictionary: TSV file of source words and their translations;
            words pointed at are translated by it where it has them.
        must_copy: With --protect: an answer has every protected span of its
            source exactly as often as the source, and no other.
        glossary: With --protect: TSV file of phrases and their translations;
            where a phrase stands in a source, the answer has the translation.
        max_length: Maximum length in words of training sentences; longer pairs
            are left out.
        systems: Systems to train, any of nmt and pointer_softmax.
        max_target_length: Maximum length of a translation, in words.
        merge: Combination of several ways to produce a word (generating,
            copying) in search: max (the paper's) or sum; if not given, max with
            the pointer softmax and sum with other heads.
    """

    tokenization: Literal["moses", "space", "sentencepiece"] = data.common(
        "moses", replaced=True
    )
    sentencepiece_model: list[str] | None = file(replaced=True)
    pieces: flags.PositiveInt | None = data(None, replaced=True)
    sample_pieces: flags.PositiveFloat | None = data(None, replaced=True)
    protect: list[str] | None = data(None)
    protect_as: Literal["token", "pieces"] = data("token")
    dictionary: str | None = file.common()
    guided_alignment: str | None = file()
    guided_alignment_weight: flags.NonNegativeFloat = training(0.1)
    output_dictionary: str | None = file(topic="search")
    must_copy: bool = search(False)
    glossary: str | None = file(topic="search")
    max_length: flags.PositiveInt = data(50)
    systems: list[Literal[SYSTEMS]] = systems(list(SYSTEMS))
    plain = ("nmt",)
    head: PointingHead = variant_flag.common(
        "pointer_softmax",
        "Output head of the system that points, which is named after it: "
        f"{POINTING}",
        is_name=True,
    )
    max_target_length: flags.PositiveInt = search(60)
    merge: Literal["max", "sum"] | None = search(None)
