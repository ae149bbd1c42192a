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
import functools
import os
import re
from collections.abc import Callable, Iterator

from tfcopy import tokens
from tfcopy.data.corpora import tfds_texts
from tfcopy.data.corpora.corpus import TranslationCorpus, fingerprint

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
    corpus = tfds_texts.load(
        f"{NAME}:{version}" if version else NAME,
        data_dir,
        source_feature="document",
        target_feature="summary",
        download=download,
    )
    return dataclasses.replace(
        corpus,
        tokenized=True,
        splits={
            name: dataclasses.replace(
                split,
                read=functools.partial(_with_unk, split.read),
                fingerprint=fingerprint(split.fingerprint, "unk"),
            )
            for name, split in corpus.splits.items()
        },
    )


def _with_unk(read: Callable) -> Iterator[tuple[str, str]]:
    unk = tokens.SPECIAL_TOKENS[tokens.UNK]
    for pair in read():
        yield tuple(_UNK.sub(unk, text) for text in pair)
