"""Corpora of recipes that summarise: files, tables, TFDS, or the demo's."""

from tfcopy.data.corpora import (
    cnn_dailymail,
    gigaword,
    prepared_corpus,
    tables,
    text_pairs,
    tfds_texts,
)
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments import flag_checks
from tfcopy.experiments.pairs.corpus_flags import SummariesConfig


def check(config: SummariesConfig):
    """Raises a ValueError that names a flag which makes no sense."""
    flag_checks.check_files(config)
    if config.min_summary_length >= config.max_summary_length:
        raise ValueError(
            "--min_summary_length must be below --max_summary_length "
            f"({config.max_summary_length}). "
            f"Received: {config.min_summary_length}."
        )
    has_columns = config.train is not None or config.tfds is not None
    for flag, column in (
        ("source_column", config.source_column),
        ("target_column", config.target_column),
    ):
        if column is not None and not has_columns:
            raise ValueError(f"--{flag} needs --train or --tfds as well.")


def load_corpus(config: SummariesConfig, demo, seed=0):
    """The corpus that `--train`, `--prepared` or `--tfds` names.

    Args:
        config: The flags.
        demo: Module of the corpus that is generated without any.
        seed: Chooses what is held out.
    """
    if config.train is not None:
        return _load_files(config, seed)
    if config.prepared is not None:
        return prepared_corpus.load(config.prepared)
    if config.tfds is not None:
        return _load_tfds(config)
    return demo.load()


def check_one_corpus(flags):
    """Raises a ValueError if several flags name a corpus.

    Args:
        flags: Dict from a flag to its value, `None` where it is not given.
    """
    given = [flag for flag, value in flags.items() if value is not None]
    if len(given) > 1:
        *first, last = flags
        raise ValueError(
            f"Only one of {', '.join(first)} and {last} can name the corpus. "
            f"Received: {', '.join(given)}."
        )


def make_tokenizer(config: SummariesConfig, corpus) -> Tokenizer:
    """The tokenizer of both sides."""
    return Tokenizer(
        mode="space" if corpus.tokenized else config.tokenization,
        language="en",
        lowercase=config.lowercase,
    )


def _load_tfds(config):
    columns = config.source_column, config.target_column
    name, _, version = config.tfds.partition(":")
    readers = {"cnn_dailymail": cnn_dailymail, "gigaword": gigaword}
    if name in readers and columns == (None, None):
        options = {"version": version} if version else {}
        return readers[name].load(config.data_dir, **options)
    return tfds_texts.load(
        config.tfds,
        config.data_dir,
        source_feature=config.source_column,
        target_feature=config.target_column,
    )


def _load_files(config, seed):
    options = {"tokenized": config.tokenization == "space", "seed": seed}
    if len(config.train) > 1:
        return text_pairs.load(
            *flag_checks.file_pairs(config),
            source_language="en",
            target_language="en",
            **options,
        )
    files = [
        _table(files, flag)
        for files, flag in (
            (config.train, "--train"),
            (config.validation, "--validation"),
            (config.test, "--test"),
        )
    ]
    for flag, column in (
        ("source_column", config.source_column),
        ("target_column", config.target_column),
    ):
        if column is None:
            raise ValueError(f"A table needs --{flag}.")
    return tables.load(
        *files,
        source_column=config.source_column,
        target_column=config.target_column,
        **options,
    )


def _table(files, flag):
    if files is None:
        return None
    if len(files) != 1:
        raise ValueError(
            f"{flag} takes one table, as --train does: {flag} '[a.csv]'. "
            f"Received: {files}."
        )
    return files[0]
