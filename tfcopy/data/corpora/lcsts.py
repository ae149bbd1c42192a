"""LCSTS: short Chinese microblog texts and their summaries.

The owners provide the corpus on request, for research only. Part I is for
training, part II for validation and part III for testing. Annotators scored the
pairs of the last two from 1 to 5 by how well the summary fits.

The files resemble XML, but are not:

    <doc id=0>
        <human_label>5</human_label>
        <summary>
            one line of text
        </summary>
        <short_text>
            one line of text
        </short_text>
    </doc>

The attribute has no quotes, text may hold a bare `&` or `<`, and the label is
in parts II and III only. Therefore the files are read line by line.

References:
    [Hu et al., 2015](https://arxiv.org/abs/1506.05865).
    [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.2.
"""

import functools
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.data.corpora import corpus
from tfcopy.data.corpora.text_pairs import line_error, read_lines

_SECTIONS = {"<summary>": "</summary>", "<short_text>": "</short_text>"}
_LABEL = re.compile(r"<human_label>\s*([1-5])\s*</human_label>")


class Record(NamedTuple):
    """A pair of a file.

    Attributes:
        line: Number of the line where it begins.
        score: 1 to 5, or `None` where there is none.
        short_text: The source, `""` if missing.
        summary: The target, `""` if missing.
    """

    line: int
    score: int | None
    short_text: str
    summary: str


def read_records(path: str | os.PathLike) -> Iterator[Record]:
    """Yields the records of a file, including those with an empty side.

    The lines of a text are joined without blanks. The first line of the file,
    which is damaged in some editions, opens a record whatever it is.

    Args:
        path: The file, in UTF-8.

    Raises:
        CorpusError: naming the line.
    """
    opened = section = None  # line where the record begins; opening tag
    is_first = True
    number, score, texts = 0, None, {}
    for number, line in enumerate(map(str.strip, read_lines(path)), start=1):
        if not line:
            continue
        starts = line.startswith("<doc id=")
        if opened is None:
            if not (starts or is_first):
                raise line_error(path, number, "<doc id=...>", line[:40])
            opened, score, texts, is_first = number, None, {}, False
        elif starts or (section and line == "</doc>"):
            expected = _SECTIONS.get(section, "</doc>")
            expected = f"{expected} before it"
            raise line_error(path, number, expected, line[:40])
        elif section:
            if line == _SECTIONS[section]:
                section = None
            else:
                texts[section].append(line)
        elif line == "</doc>":
            short_text, summary = (
                "".join(texts.get(x, ())) for x in ("<short_text>", "<summary>")
            )
            yield Record(opened, score, short_text, summary)
            opened = None
        elif line in _SECTIONS and line not in texts:
            section, texts[line] = line, []
        elif match := _LABEL.fullmatch(line):
            score = int(match[1])
        else:
            expected = (
                "<human_label> with 1 to 5, one <summary>, one <short_text>, "
                "or </doc>"
            )
            raise line_error(path, number, expected, line[:40])
    if opened is not None:
        raise corpus.CorpusError(
            f"{path}, line {number:,}: the file ends within the record of line "
            f"{opened:,}. Was it cut off? Copy it again."
        )


# Published numbers of pairs; in parts II and III with scores 1 to 5.
NUM_TRAIN = 2_400_591
SCORE_COUNTS = {
    "validation": (942, 1039, 2019, 3128, 3538),
    "test": (165, 216, 227, 301, 197),
}

_PARTS = {"train": "PART_I", "validation": "PART_II", "test": "PART_III"}


def load(
    data_dir: str | os.PathLike, *, words: bool = False, min_score: int = 3
) -> corpus.TranslationCorpus:
    """Reads the three parts from a folder.

    They are `PART_I.txt` (or `PART_full.txt`), `PART_II.txt` and
    `PART_III.txt`, in the folder itself or in one called `DATA` or as the
    part, or in one of these within the other. They are UTF-8, with or without
    a byte-order mark.

    Every file is checked from its first line to its last before anything is
    returned; no more than a thousand pairs are in memory at a time. A pair with
    a blank side is skipped and counted. Editions differ: if the number of pairs
    is not the published one, there is a warning.

    Args:
        data_dir: The folder.
        words: Whether jieba, in its default mode, cuts both sides, which must
            be Chinese, into words between blanks. If not, the text is as typed.
        min_score: Least score of the pairs for validation and testing.

    Raises:
        CorpusError: naming file and line.
        ImportError: if jieba is needed and missing.
    """
    jieba = _import_jieba() if words else None
    checked = {}
    for name in _PARTS:
        path = _find(os.fspath(data_dir), name)
        checked[name] = corpus.CheckedPairs.check(
            path,
            functools.partial(_pairs, path, name, min_score),
            "Give a file with the <doc> records of LCSTS.",
        )
        _compare_counts(checked[name], name, min_score)
    parts = corpus.splits(**checked)
    if words:
        parts = corpus.map_examples(
            parts, functools.partial(_cut, jieba), "jieba", jieba.__version__
        )
    return corpus.TranslationCorpus(
        name="lcsts",
        source_language="zh",
        target_language="zh",
        splits=parts,
        tokenized=words,
    )


def _find(folder: str, name: str) -> str:
    part = _PARTS[name]
    files = [f"{part}.txt"] + ["PART_full.txt"] * (name == "train")
    places = ("", "DATA", part, f"DATA/{part}", f"{part}/DATA")
    for place in places:
        for file in files:
            if filesystem.exists(path := os.path.join(folder, place, file)):
                return path
    raise corpus.CorpusError(
        f"{folder}: there is no {' or '.join(files)}, neither there nor in "
        f"{', '.join(places[1:])}. Give the folder that holds the three parts "
        "with --data_dir."
    )


def _pairs(path, name, min_score) -> Iterator[tuple[str, str]]:
    """Yields the pairs with the required scores, including blank ones."""
    for record in read_records(path):
        if name != "train":
            if record.score is None:
                raise corpus.CorpusError(
                    f"{path}, line {record.line:,}: the record that begins "
                    "here has no <human_label>. Expected one in each record "
                    "of PART_II and PART_III."
                )
            if record.score < min_score:
                continue
        yield record.short_text, record.summary


def _compare_counts(checked: corpus.CheckedPairs, name: str, min_score: int):
    number = checked.num_pairs + checked.num_skipped
    expected = NUM_TRAIN
    if name != "train":
        expected = sum(SCORE_COUNTS[name][max(min_score, 1) - 1 :])
    if number != expected:
        print(
            f"Warning: {checked.place}: {number:,} pairs for {name}, where the "
            f"published {_PARTS[name]} of LCSTS has {expected:,}. It may be "
            "another edition, or a part of it.",
            file=sys.stderr,
        )


def _import_jieba():
    with warnings.catch_warnings():  # of modules that jieba imports
        warnings.simplefilter("ignore")
        import jieba
    jieba.setLogLevel("WARNING")
    return jieba


def _cut(jieba, pair: tuple[str, str]) -> tuple[str, str]:
    return tuple(" ".join(" ".join(jieba.cut(x)).split()) for x in pair)
