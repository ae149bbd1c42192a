"""Any dataset of TensorFlow Datasets with two texts per example."""

import dataclasses
import os
from collections.abc import Mapping

from tfcopy.data.corpora import tfds_translation
from tfcopy.data.corpora.corpus import TranslationCorpus


def load(
    name: str,
    data_dir: str | os.PathLike | None = None,
    *,
    source_feature: str | None = None,
    target_feature: str | None = None,
    source_language: str = "en",
    target_language: str = "en",
    splits: Mapping[str, str] | None = None,
    download: bool = True,
) -> TranslationCorpus:
    """Opens a dataset whose examples have a source and a target text.

    Args:
        name: The dataset's name in TFDS, such as `"xsum"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        source_feature: Name of the text to read, for example `"document"`. By
            default TFDS's own choice.
        target_feature: Name of the text to write, for example `"summary"`.
        source_language: ISO 639 code of the source.
        target_language: ISO 639 code of the target.
        splits: The TFDS splits to use as `"train"`, `"validation"` and
            `"test"`, if the names differ or only a part is wanted, such as
            `{"validation": "train[:1%]"}`.
        download: Whether to download and prepare what is not there yet.
    """
    corpus = tfds_translation.load(
        name,
        data_dir,
        source_language=source_feature,
        target_language=target_feature,
        splits=splits,
        download=download,
    )
    return dataclasses.replace(
        corpus,
        source_language=source_language,
        target_language=target_language,
    )
