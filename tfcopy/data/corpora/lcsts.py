"""LCSTS: short Chinese microblog texts and their summaries.

The owners provide the corpus on request, for research only. Part I is for
training, part II for validation and part III for testing. Annotators scored the
pairs of the last two from 1 to 5 by how well the summary fits.

References:
    [Hu et al., 2015](https://arxiv.org/abs/1506.05865).
    [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.2.
"""

import dataclasses
import functools
import os
import warnings
from collections.abc import Iterator

from tfcopy import filesystem
from tfcopy.data.corpora.corpus import (
    CorpusError,
    Split,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.corpora.held_out import CheckedPairs, splits
from tfcopy.data.corpora.lcsts_records import encoding_of, read_records

# Published numbers of pairs; in parts II and III with scores 1 to 5.
NUM_TRAIN = 2_400_591
SCORE_COUNTS = {
    "validation": (942, 1039, 2019, 3128, 3538),
    "test": (165, 216, 227, 301, 197),
}

_PARTS = {"train": "PART_I", "validation": "PART_II", "test": "PART_III"}


def load(
    data_dir: str | os.PathLike,
    *,
    words: bool = False,
    min_score: int = 3,
    language: str = "zh",
) -> TranslationCorpus:
    """Reads the three parts from a folder.

    They are `PART_I.txt` (or `PART_full.txt`), `PART_II.txt` and
    `PART_III.txt`, in the folder itself or in one called `DATA` or as the
    part, or in one of these within the other; `lcsts_records.py` shows their
    form. They are UTF-8, with or without a byte-order mark, or else GB18030.

    Every file is checked from its first line to its last before anything is
    returned; no more than a thousand pairs are in memory at a time. A pair with
    a blank side is skipped and counted. Editions differ: if the number of pairs
    is not the published one, there is a warning.

    Args:
        data_dir: The folder.
        words: Whether jieba, in its default mode, cuts both sides into words
            between blanks. If not, the text is as typed.
        min_score: Least score of the pairs for validation and testing.
        language: `"zh"`; or `"en"` for the generated stand-in (`newsgen.py`),
            for which no number of pairs is expected.

    Raises:
        CorpusError: naming file and line.
        ImportError: if jieba is needed and missing.
    """
    if language not in ("zh", "en") or (words and language != "zh"):
        raise ValueError(
            '`language` must be "zh" or "en", and "zh" for `words`, as jieba '
            f"cuts Chinese. Received: language={language!r}, words={words}."
        )
    jieba = _import_jieba() if words else None
    checked = {}
    for name in _PARTS:
        path = _find(os.fspath(data_dir), name)
        checked[name] = CheckedPairs.check(
            path,
            functools.partial(_pairs, path, name, min_score, encoding_of(path)),
            "Give a file with the <doc> records of LCSTS.",
        )
        if language == "zh":
            _compare_counts(checked[name], name, min_score)
    parts = splits(**checked)
    if words:
        parts = {name: _segmented(part, jieba) for name, part in parts.items()}
    return TranslationCorpus(
        name="lcsts" if language == "zh" else "newsgen",
        source_language=language,
        target_language=language,
        splits=parts,
        tokenized=words,
        generated=language == "en",
    )


def _find(folder: str, name: str) -> str:
    part = _PARTS[name]
    files = [f"{part}.txt"] + ["PART_full.txt"] * (name == "train")
    places = ("", "DATA", part, f"DATA/{part}", f"{part}/DATA")
    for place in places:
        for file in files:
            if filesystem.exists(path := os.path.join(folder, place, file)):
                return path
    raise CorpusError(
        f"{folder}: there is no {' or '.join(files)}, neither there nor in "
        f"{', '.join(places[1:])}. Give the folder that holds the three parts "
        "with --data_dir."
    )


def _pairs(path, name, min_score, encoding) -> Iterator[tuple[str, str]]:
    """The pairs with the required scores, including blank ones."""
    for record in read_records(path, encoding):
        if name != "train":
            if record.score is None:
                raise CorpusError(
                    f"{path}, line {record.line:,}: the record that begins "
                    "here has no <human_label>. Expected one in each record "
                    "of PART_II and PART_III."
                )
            if record.score < min_score:
                continue
        yield record.short_text, record.summary


def _compare_counts(checked: CheckedPairs, name: str, min_score: int):
    number = checked.num_pairs + checked.num_skipped
    expected = NUM_TRAIN
    if name != "train":
        expected = sum(SCORE_COUNTS[name][max(min_score, 1) - 1 :])
    if number != expected:
        warnings.warn(
            f"{checked.place}: {number:,} pairs for {name}, where the "
            f"published {_PARTS[name]} of LCSTS has {expected:,}. It may be "
            "another edition, or a part of it."
        )


def _import_jieba():
    try:
        with warnings.catch_warnings():  # of modules that jieba imports
            warnings.simplefilter("ignore")
            import jieba
    except ImportError as error:
        raise ImportError(
            "Cutting Chinese into words needs jieba. Install it with "
            '`pip install "tfcopy[jieba]"`, or take characters instead.'
        ) from error
    jieba.setLogLevel("WARNING")
    return jieba


def _segmented(split: Split, jieba) -> Split:
    def segment(text):
        return " ".join(" ".join(jieba.cut(text)).split())

    def read():
        for pair in split:
            yield tuple(map(segment, pair))

    return dataclasses.replace(
        split,
        read=read,
        fingerprint=fingerprint(split.fingerprint, "jieba", jieba.__version__),
    )
