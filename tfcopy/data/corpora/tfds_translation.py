"""Any translation dataset of TensorFlow Datasets."""

import functools
import os
from collections.abc import Iterator, Mapping

import tensorflow_datasets as tfds

from tfcopy.data.corpora import tfds_builders
from tfcopy.data.corpora.corpus import CorpusError, Split, TranslationCorpus
from tfcopy.data.corpora.held_out import is_blank


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
        name: The dataset's name in TFDS, such as `"wmt14_translate/fr-en"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        source_language: Feature to translate from. By default TFDS's own
            choice; if only one language is given, the other one is inferred.
        target_language: Feature to translate into.
        splits: The TFDS splits to use as `"train"`, `"validation"` and
            `"test"`, if the names differ or only a part is wanted, such as
            `{"validation": "train[:1%]"}`.
        download: Whether to download and prepare what is not there yet.
    """
    builder = tfds_builders.load(name, data_dir, download=download)
    return from_builder(builder, source_language, target_language, splits)


def from_builder(
    builder: tfds.core.DatasetBuilder,
    source_language: str | None = None,
    target_language: str | None = None,
    splits: Mapping[str, str] | None = None,
) -> TranslationCorpus:
    """Opens a dataset like `load`, given its builder, already prepared."""
    languages = _languages(builder, source_language, target_language)
    names = tfds_builders.split_names(builder, splits or {})
    return TranslationCorpus(
        name=builder.info.full_name,
        source_language=languages[0],
        target_language=languages[1],
        splits={
            split: _split(builder, tfds_split, languages)
            for split, tfds_split in names.items()
        },
    )


def _split(builder, tfds_split: str, languages: tuple[str, str]) -> Split:
    read = functools.partial(_read, builder, tfds_split, languages)
    return tfds_builders.split(builder, tfds_split, read, languages)


def _read(builder, tfds_split, languages) -> Iterator[tuple[str, str]]:
    for pair in tfds_builders.read(builder, tfds_split, languages):
        if not is_blank(pair):
            yield pair


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
