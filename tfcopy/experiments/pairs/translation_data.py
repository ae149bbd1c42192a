"""Corpora and tokenizers of recipes that translate."""

import dataclasses

import tensorflow as tf

from tfcopy.data import train_sentencepiece
from tfcopy.data.alignment.word_links import GuidedAlignment
from tfcopy.data.corpora import (
    europarl,
    gettext_catalogs,
    text_pairs,
    tfds_corpora,
)
from tfcopy.data.generated import demo_parliament
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import (
    BothCuttings,
    SentencepieceTokenizer,
    sample_subwords,
)
from tfcopy.data.text.span_patterns import check_flag
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments.config import check_corpus, check_needed, from_flags
from tfcopy.experiments.pairs import pair_data, pretrained
from tfcopy.experiments.pairs.corpus_flags import (
    TranslationConfig,
    TranslatorConfig,
)
from tfcopy.flags import load_file, name_flag
from tfcopy.tokens import SPAN


def load_corpus(
    config: TranslationConfig,
    demo=demo_parliament,
    *,
    download: bool = False,
    tokenized: bool = False,
    **demo_options,
):
    """Loads the corpus that the flags name.

    `--train` names two files, `--prepared` a folder of shards made from such,
    `--catalogs` a folder of gettext catalogues,
    `--tfds` a dataset, `--data_dir` a folder with Europarl; without any of them
    the demo corpus is generated.

    Args:
        config: The flags; --seed chooses the pairs that are held out, and with
            --preset paper the corpus is Europarl where no flag names one.
        demo: Module of the demo corpus, with `load` and `LANGUAGES`.
        download: Whether Europarl is fetched if it is not there.
        tokenized: Whether files are tokenised already.
        **demo_options: More arguments of `demo.load`.
    """
    pair = languages(config)
    check_corpus(config)
    check_needed(config, "catalogs", ("hold_out", "names"))
    corpus = pair_data.load_files(
        config, memories=True, tokenized=tokenized, **pair
    )
    if corpus is not None:
        return corpus
    if config.catalogs is not None:
        return from_flags(
            gettext_catalogs.load, config, folder=config.catalogs, **pair
        )
    if config.tfds is not None:
        return tfds_corpora.load(config.tfds, config.data_dir, *pair.values())
    if config.data_dir is not None or download or config.preset == "paper":
        return europarl.load(
            config.data_dir or "data/europarl",
            download=download,
            seed=config.seed,
            **pair,
        )
    if set(pair.values()) != set(demo.LANGUAGES):
        raise ValueError(
            f"The demo corpus has the languages {' and '.join(demo.LANGUAGES)}."
            f" Received: --source_language {config.source_language} "
            f"--target_language {config.target_language}."
        )
    return demo.load(source_language=config.source_language, **demo_options)


def add_alignment(config: TranslatorConfig, encoded: EncodedCorpus):
    """Adds the links of `--guided_alignment` to the training pairs."""
    if config.guided_alignment is None:
        return encoded
    lines = text_pairs.train_lines(
        *text_pairs.file_pairs(config, memories=True),
        **languages(config),
        seed=config.seed,
    )
    alignment = load_file(
        GuidedAlignment,
        config.guided_alignment,
        "--guided_alignment",
        encoded,
        *lines,
    )
    return dataclasses.replace(encoded, alignment=alignment)


def check(config: TranslatorConfig):
    """Raises an error that names a flag of the corpus that lacks another."""
    check_flag(config.protect or ())
    for name in ("must_copy", "glossary", "protect_as"):
        if getattr(config, name) not in (False, None, "token"):
            if not config.protect:
                raise ValueError(f"--{name} needs --protect.")
    glossary(config, config.head)
    if config.guided_alignment is not None and config.train is None:
        raise ValueError(
            "--guided_alignment needs --train, whose lines it has links of."
        )
    if config.sample_pieces is None:
        return
    if config.tokenization != "sentencepiece":
        raise ValueError(
            "--sample_pieces needs --tokenization sentencepiece; it is "
            f"{config.tokenization}."
        )
    for name in ("prepared", "guided_alignment"):
        if getattr(config, name) is not None:
            raise ValueError(
                f"--sample_pieces cuts texts again in each epoch; --{name} is "
                "about texts that were cut once. Leave one of them out."
            )


def sample_counted_texts(alpha, corpus, tokenizers) -> dict:
    """Returns the texts that `--sample_pieces` adds to the counts.

    Args:
        alpha: The value of the flag, `None` for one cutting of each text.
        corpus: `TranslationCorpus`.
        tokenizers: The tokenizers of source and target.

    Returns:
        Arguments of `pair_data.count_vocabularies`.
    """
    if alpha is None:
        return {}
    try:
        cut = [BothCuttings(x, sample_subwords(x, alpha)) for x in tokenizers]
    except ValueError as error:
        raise ValueError(f"--sample_pieces: {error}") from error
    return {"texts": lambda: (corpus.train, cut), "texts_key": alpha}


def make_tokenizers(config: TranslatorConfig, corpus, folder) -> tuple:
    """Builds the tokenizers of source and target.

    Args:
        config: The flags.
        corpus: `TranslationCorpus`.
        folder: Where learned subwords are kept.
    """
    protect = tuple(config.protect or ())
    made = _tokenizers(config, corpus, folder, protect)
    if not protect:
        return made
    in_pieces = config.protect_as == "pieces"
    # As its network has learnt to read texts.
    in_place = in_pieces and getattr(made[0], "as_typed", False)
    return tuple(
        ProtectedTokenizer(x, protect, in_pieces, in_place) for x in made
    )


def _tokenizers(config, corpus, folder, protect):
    """Returns the tokenizers of text without protected spans."""
    mode, files = config.tokenization, config.sentencepiece_model or []
    if config.backbone is not None:
        return pretrained.pieces(config.backbone, folder).tokenizers
    if mode != "sentencepiece":
        for flag in ("sentencepiece_model", "pieces"):
            if getattr(config, flag):
                raise ValueError(
                    f"--{flag} needs --tokenization sentencepiece; it is "
                    f"{getattr(config, flag)}, and null is none."
                )
        mode = "space" if corpus.tokenized else mode
        pair = corpus.source_language, corpus.target_language
        return tuple(Tokenizer(mode, x, config.lowercase) for x in pair)
    if config.lowercase:
        raise ValueError(
            "--lowercase is for words: subwords are spelt as the text is. Give "
            "--tokenization moses or space, or a lower-cased corpus."
        )
    if not files and config.pieces:
        pieces = pair_data.Pieces(
            pair_data.Sides(corpus.train),
            config.pieces,
            "--pieces",
            train_sentencepiece.train,
            protect,
        )
        name = "pieces-{}.model"
        return (pair_data.learn_once(folder, name, corpus, pieces),) * 2
    if len(files) not in (1, 2):
        raise ValueError(
            "--tokenization sentencepiece takes --pieces, or one or two files "
            f"as --sentencepiece_model FILE. Received: {files}."
        )
    made = [sentencepiece_tokenizer(file) for file in files]
    for tokenizer in made if protect else ():
        pieces = tokenizer.tokenize(tf.constant([f"a {SPAN}a"])).to_list()[0]
        if SPAN.encode() not in b"".join(pieces):
            raise ValueError(
                f"--sentencepiece_model: {files} cuts "
                f"the character that stands for a span ({SPAN!a}). Train it "
                "with --protect."
            )
    return made[0], made[-1]


def sentencepiece_tokenizer(file) -> SentencepieceTokenizer:
    """Loads the tokenizer of a model's file; an error names the flag."""
    tokenizer = SentencepieceTokenizer(file)
    with name_flag("--sentencepiece_model", file):
        tokenizer.tokenize(tf.constant([""]))
    return tokenizer


def load_dictionary(config: TranslatorConfig, name):
    """Loads the `Dictionary` of a flag's file, if there is one."""
    return load_file(Dictionary, getattr(config, name), f"--{name}")


def glossary(config: TranslatorConfig, head):
    """Loads the `Glossary` of a system that can copy."""
    found = load_file(
        Glossary,
        config.glossary,
        "--glossary",
        tuple(languages(config).values()),
    )
    return None if head == "softmax" else found


def languages(config: TranslationConfig) -> dict:
    """Returns the flags that name the languages, as arguments."""
    names = "source_language", "target_language"
    return {name: getattr(config, name) for name in names}
