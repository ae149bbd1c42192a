"""Gigaword of TensorFlow Datasets: first sentences and headlines.

It is made with the scripts of Rush et al. (2015): text in lower case, tokens
between blanks, digits as `#`. Its rare words are already `UNK`, on both sides,
so that it is unknown which source word an unknown word of the headline was;
without capitals, names cannot be told from other words either. The corpus of
the pointer softmax paper is the licensed one behind it.

Reference:
    [Rush et al., 2015](https://arxiv.org/abs/1509.00685), section 7.1.
"""

import dataclasses
import os
import re

from tfcopy import tokens
from tfcopy.data.corpora import tfds_corpora
from tfcopy.data.corpora.corpus import TranslationCorpus, map_examples

NAME = "gigaword"

_UNK = re.compile(r"(?<!\S)UNK(?!\S)")


def load(
    data_dir: str | os.PathLike | None = None,
    version: str | None = None,
    *,
    download: bool = True,
) -> TranslationCorpus:
    """Opens TFDS's `gigaword`; its `UNK` comes as `<unk>`, the special word.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        version: The version, for example `"1.2.0"`; by default the newest.
        download: Whether to download and prepare what is not there yet.
    """
    corpus = tfds_corpora.load(
        f"{NAME}:{version}" if version else NAME,
        data_dir,
        source="document",
        target="summary",
        languages=("en", "en"),
        download=download,
    )
    splits = map_examples(corpus.splits, _with_unk, "unk")
    return dataclasses.replace(corpus, tokenized=True, splits=splits)


def _with_unk(pair: tuple[str, str]) -> tuple[str, str]:
    unk = tokens.SPECIAL_TOKENS[tokens.UNK]
    return tuple(_UNK.sub(unk, text) for text in pair)
