"""Corpora and tokenizers of recipes that translate."""

import numpy as np
import tensorflow as tf

from tfcopy.data.alignment import likely_translations
from tfcopy.data.corpora import europarl, text_pairs, tfds_translation
from tfcopy.data.generated import demo_parliament
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import flag_checks
from tfcopy.experiments.pairs.corpus_flags import TranslationConfig
from tfcopy.experiments.pairs.model_flags import PointerSoftmaxConfig


def load_corpus(
    config: TranslationConfig,
    *,
    preset: str,
    download: bool = False,
    tokenized: bool = False,
    seed: int = 0,
):
    """The corpus that the flags ask for.

    `--train` names two files, `--tfds` a dataset, `--data_dir` a folder with
    Europarl; without any of them the demo corpus is generated.

    Args:
        config: The flags.
        preset: With "paper" the corpus is Europarl where the flags name none.
        download: Whether Europarl is fetched if it is not there.
        tokenized: Whether files are tokenised already.
        seed: Chooses what is held out.
    """
    languages = {
        "source_language": config.source_language,
        "target_language": config.target_language,
    }
    given = {
        "--train": config.train,
        "--tfds": config.tfds,
        "--data_dir": config.data_dir,
    }
    given = [flag for flag, value in given.items() if value is not None]
    if len(given) > 1 and given != ["--tfds", "--data_dir"]:
        raise ValueError(
            "Only one of --train, --tfds and --data_dir can name the corpus. "
            f"Received: {', '.join(given)}."
        )
    if config.train is not None:
        return text_pairs.load(
            *flag_checks.file_pairs(config),
            tokenized=tokenized,
            seed=seed,
            **languages,
        )
    if config.tfds is not None:
        return tfds_translation.load(config.tfds, config.data_dir, **languages)
    if config.data_dir is not None or download or preset == "paper":
        return europarl.load(
            config.data_dir or "data/europarl",
            download=download,
            seed=seed,
            **languages,
        )
    if set(languages.values()) != {"en", "fr"}:
        raise ValueError(
            "The demo corpus is English (en) and French (fr). Received: "
            f"--source_language {config.source_language} "
            f"--target_language {config.target_language}."
        )
    return demo_parliament.load(source_language=config.source_language)


def make_tokenizers(mode, models, corpus) -> tuple:
    """The tokenizers of source and target.

    Args:
        mode: `--tokenization`.
        models: `--sentencepiece_model`, one or two files, or `None`.
        corpus: `TranslationCorpus`.
    """
    files = models or []
    if mode == "sentencepiece":
        if len(files) not in (1, 2):
            raise ValueError(
                "--tokenization sentencepiece takes one or two files as "
                f"--sentencepiece_model '[FILE]'. Received: {files}."
            )
        made = [sentencepiece_tokenizer(file) for file in files]
        return made[0], made[-1]
    if files:
        raise ValueError(
            "--sentencepiece_model needs --tokenization sentencepiece."
        )
    return tuple(
        Tokenizer(mode="space" if corpus.tokenized else mode, language=language)
        for language in (corpus.source_language, corpus.target_language)
    )


def sentencepiece_tokenizer(file) -> SentencepieceTokenizer:
    """The tokenizer of a model's file; an error names the flag."""
    tokenizer = SentencepieceTokenizer(file)
    try:
        tokenizer.tokenize(tf.constant([""]))
    except OSError as error:
        raise OSError(
            f"--sentencepiece_model: cannot read {file} "
            f"({error.strerror or error})."
        ) from error
    except ValueError as error:
        raise ValueError(f"--sentencepiece_model: {error}") from error
    return tokenizer


def load_dictionary(path, flag):
    """The `Dictionary` of the file that a flag names, if it does."""
    return flag_checks.load_file(Dictionary, path, flag)


def shortlist(config: PointerSoftmaxConfig, data):
    """The `Dictionary` of words that search generates; `None` for all."""
    if config.shortlist != "dictionary":
        return load_dictionary(config.shortlist, "--shortlist")
    return likely_translations.learn(
        data.train, *data.vocabularies, progress=True
    )


def search_candidates(config: PointerSoftmaxConfig, data):
    """Ids of the words that search generates; `None` for all."""
    count = config.search_candidates
    size = data.vocabularies[1].size
    return None if count is None else np.arange(min(count, size), dtype="int32")
