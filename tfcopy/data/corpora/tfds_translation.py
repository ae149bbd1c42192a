"""Any translation dataset of TensorFlow Datasets, by its name."""

import functools
import logging
import os
import sys
from collections.abc import Iterator, Mapping

import tensorflow_datasets as tfds

from tfcopy.data.corpora.corpus import (
    SPLITS,
    CorpusError,
    Split,
    TranslationCorpus,
    fingerprint,
)

_READ_BATCH = 1024


def load(
    name: str,
    data_dir: str | os.PathLike | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    splits: Mapping[str, str] | None = None,
    download: bool = True,
) -> TranslationCorpus:
    """Opens a dataset whose examples are texts in two languages.

    Args:
        name: As TFDS knows it, for example `"wmt14_translate/fr-en"`.
        data_dir: Where TFDS keeps its datasets; by default where it always
            does, `~/tensorflow_datasets`.
        source_language: Feature to translate from. By default TFDS's own
            choice; if only one language is given, the other one is inferred.
        target_language: Feature to translate into.
        splits: Which TFDS split to take for `"train"`, `"validation"` and
            `"test"`, where the names differ or a part is wanted, for example
            `{"validation": "train[:1%]"}`.
        download: Whether to download and prepare what is not there yet.
    """
    place = data_dir or "the default folder of TFDS"
    try:
        builder = tfds.builder(name, data_dir=data_dir, try_gcs=False)
    except (ValueError, KeyError, AssertionError) as error:
        raise CorpusError(
            f"TFDS has no dataset {name!r} ({_first_line(error)}), nor is one "
            f"prepared in {place}. Check the name and config, such as "
            "wmt14_translate/fr-en, and --data_dir."
        ) from error
    if not builder.is_prepared():
        if not download:
            raise CorpusError(
                f"TFDS dataset {name!r} is not prepared in {place}. Allow the "
                "download, or give the folder that holds it with --data_dir."
            )
        _keep_tidy()
        try:
            builder.download_and_prepare()
        except Exception as error:  # of any kind: network, disk, manual steps
            raise CorpusError(
                f"TFDS dataset {name!r} is not prepared in {place}, and "
                f"preparing it failed ({_first_line(error)}). Without a "
                "network, prepare it on another machine and give its folder "
                "with --data_dir."
            ) from error
    return from_builder(builder, source_language, target_language, splits)


def from_builder(
    builder: tfds.core.DatasetBuilder,
    source_language: str | None = None,
    target_language: str | None = None,
    splits: Mapping[str, str] | None = None,
) -> TranslationCorpus:
    """The same for the builder of a dataset that is already prepared."""
    languages = _languages(builder, source_language, target_language)
    names = _split_names(builder, splits or {})
    return TranslationCorpus(
        name=builder.info.full_name,
        source_language=languages[0],
        target_language=languages[1],
        splits={
            split: _split(builder, tfds_split, languages)
            for split, tfds_split in names.items()
        },
    )


def _keep_tidy():
    """No lines for each failed try to connect; bars on terminals only."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()


def _split(builder, tfds_split: str, languages: tuple[str, str]) -> Split:
    info = builder.info.splits[tfds_split]
    return Split(
        read=functools.partial(_read, builder, tfds_split, languages),
        fingerprint=fingerprint(
            builder.info.full_name,
            tfds_split,
            languages,
            info.num_examples,
            sorted(
                (name, list(split.shard_lengths), split.num_bytes)
                for name, split in builder.info.splits.items()
            ),
        ),
        num_pairs=info.num_examples,
    )


def _read(builder, tfds_split, languages) -> Iterator[tuple[str, str]]:
    dataset = builder.as_dataset(
        split=tfds_split,
        batch_size=_READ_BATCH,
        shuffle_files=False,
        read_config=tfds.ReadConfig(try_autocache=False),
    )
    for batch in dataset.as_numpy_iterator():
        for pair in zip(*(batch[language] for language in languages)):
            source, target = (text.decode() for text in pair)
            if source.strip() and target.strip():
                yield source, target


def _languages(builder, source, target) -> tuple[str, str]:
    name = builder.info.full_name
    features = builder.info.features
    texts = [key for key in features if isinstance(features[key], _TEXT)]
    for language in (source, target):
        if language is not None and language not in texts:
            raise CorpusError(
                f"TFDS dataset {name} has no text in {language!r}. "
                f"Its texts are: {', '.join(texts) or 'none'}."
            )
    defaults = builder.info.supervised_keys or texts
    if len(texts) < 2 or len(defaults) != 2 or not set(defaults) <= set(texts):
        if source is None or target is None:
            raise CorpusError(
                f"Cannot tell which two texts of TFDS dataset {name} to use. "
                f"Give both languages, out of: {', '.join(texts) or 'none'}."
            )
        return source, target
    if source is None and target is None:
        return tuple(defaults)
    others = [key for key in defaults if key not in (source, target)]
    return source or others[0], target or others[0]


_TEXT = tfds.features.Text


def _split_names(builder, given: Mapping[str, str]) -> dict[str, str]:
    """Which split of TFDS plays which part."""
    unknown = [name for name in given if name not in SPLITS]
    if unknown:
        raise CorpusError(
            f"No split is called {unknown[0]!r} here. "
            f"Choose TFDS splits for: {', '.join(SPLITS)}."
        )
    names = {split: given.get(split, split) for split in SPLITS}
    for split, tfds_split in names.items():
        try:
            builder.info.splits[tfds_split]
        except (KeyError, ValueError) as error:
            raise CorpusError(
                f"TFDS dataset {builder.info.full_name} has no split "
                f"{tfds_split!r}; it has: {', '.join(builder.info.splits)}. "
                f"Say which one is for {split}, for example "
                f"'train[:1%]', and for training then 'train[1%:]'."
            ) from error
    return names


def _first_line(error: Exception) -> str:
    lines = str(error).strip().split("\n")
    return lines[0] or type(error).__name__
