"""Any dataset of TensorFlow Datasets with two texts an example."""

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
        name: As TFDS knows it, for example `"xsum"`.
        data_dir: Where TFDS keeps its datasets; by default where it always
            does, `~/tensorflow_datasets`.
        source_feature: Name of the text to read, for example `"document"`. By
            default TFDS's own choice.
        target_feature: Name of the text to write, for example `"summary"`.
        source_language: ISO 639 code of the source.
        target_language: ISO 639 code of the target.
        splits: Which TFDS split to take for `"train"`, `"validation"` and
            `"test"`, where the names differ or a part is wanted, for example
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
