"""Natural language inference: SNLI, MultiNLI, SICK and similar tables.

A premise entails a hypothesis, contradicts it, or does neither.

References:
    [Bowman et al., 2015](https://arxiv.org/abs/1508.05326), SNLI;
    [Williams et al., 2018](https://arxiv.org/abs/1704.05426), MultiNLI;
    [Marelli et al., 2014](https://aclanthology.org/L14-1314/), SICK.
"""

import functools
import os
from collections.abc import Iterator
from typing import NamedTuple

from tfcopy import file_formats
from tfcopy.data.corpora import corpus, tfds_corpora
from tfcopy.data.corpora.tables import Table

LABELS = ("contradiction", "neutral", "entailment")

# The publishers' names of the columns: premise, hypothesis, label.
_COLUMNS = (
    ("sentence1", "sentence2", "gold_label"),  # SNLI, MultiNLI
    ("sentence_A", "sentence_B", "entailment_judgment"),  # SICK, SemEval
    ("sentence_A", "sentence_B", "entailment_label"),  # SICK, complete
    ("premise", "hypothesis", "label"),
)
_NO_LABELS = ("-", "")  # The annotators did not agree; not published.
_NUMBERS = {label: number for number, label in enumerate(LABELS)}
_TFDS_FEATURES = ("premise", "hypothesis", "label")

PathLike = str | os.PathLike


class Example(NamedTuple):
    """A sentence pair.

    Attributes:
        premise: Text that is assumed to be true.
        hypothesis: Text that is judged by it.
        label: Index in `LABELS`: contradiction 0, neutral 1, entailment 2.
    """

    premise: str
    hypothesis: str
    label: int


def load(
    train: PathLike,
    validation: PathLike | None = None,
    test: PathLike | None = None,
    *,
    num_held_out: int | None = None,
    seed: int = 0,
) -> corpus.Corpus:
    """Reads a corpus of `Example`s from tables in UTF-8, plain or compressed.

    SNLI and MultiNLI are read as published, `.jsonl` or `.txt`, and SICK, too.
    Any other table can be used if its columns are `premise`, `hypothesis` and
    `label`; its name shows its format (see `tables.load`).

    Labels are contradiction, neutral and entailment, in any case. Rows
    without one, such as those that SNLI marks with `-`, or with a blank
    sentence, are skipped and counted. Every file is checked from its first
    row to its last before anything is returned.

    Args:
        train: The file of the training pairs.
        validation: The file of the validation pairs. If `None`, pairs spread
            evenly over `train` are held out.
        test: The file of the test pairs; held out as well if `None`.
        num_held_out: Number of pairs to hold out for each split that has no
            file. By default one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.

    Raises:
        CorpusError: naming file and line.
    """
    checked = [path and _check(path) for path in (train, validation, test)]
    parts = corpus.splits(*checked, num_held_out=num_held_out, seed=seed)
    return corpus.Corpus(
        os.path.basename(train), corpus.map_examples(parts, _example)
    )


def load_tfds(
    name: str = "snli", data_dir: str | os.PathLike | None = None
) -> corpus.Corpus:
    """Opens a dataset of TensorFlow Datasets as a corpus of `Example`s.

    The last two splits of MultiNLI, whose test labels are not public, are its
    matched and its mismatched validation set.

    Args:
        name: The dataset's name in TFDS: `"snli"`, `"multi_nli"` or
            `"glue/mnli"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.

    Raises:
        CorpusError: naming the dataset and the split or feature that it lacks.
    """
    builder = tfds_corpora.builder_of(name, data_dir, _TFDS_FEATURES)
    numbers = _label_numbers(builder)

    def example(premise, hypothesis, label):
        label = numbers.get(int(label))  # A missing label is -1.
        if label is not None and not corpus.is_blank((premise, hypothesis)):
            return Example(premise, hypothesis, label)

    return corpus.Corpus(
        name=builder.info.full_name,
        splits=tfds_corpora.splits_of(
            builder, _default_splits(builder), _TFDS_FEATURES, example
        ),
    )


def _check(path):
    is_tsv = file_formats.plain_name(path).endswith(".txt")
    # Rows have as many labels as there were annotators.
    options = {"format": "tsv" if is_tsv else None, "is_ragged": True}
    names = Table.open(path, (), **options).names()
    table = Table.open(path, _find_columns(path, names), **options)
    return corpus.CheckedPairs.check(
        str(path),
        functools.partial(_read, table),
        "Give tables with a premise, a hypothesis and a label in each row.",
        noun="labelled sentence pair",
    )


def _find_columns(path, names):
    for columns in _COLUMNS:
        if set(columns) <= set(names):
            return columns
    expected = ", or ".join(", ".join(columns) for columns in _COLUMNS)
    raise corpus.CorpusError(
        f"{path}: expected columns of the names {expected}. Received: "
        f"{', '.join(names)[:200] or 'none'}."
    )


def _read(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yields premise, hypothesis and label number, which may be blank."""
    for line, (premise, hypothesis, label) in table.rows():
        number = ""
        if label.strip() not in _NO_LABELS:
            number = _NUMBERS.get(label.strip().lower())
            if number is None:
                raise table.error(
                    line,
                    f"expected one of {', '.join(LABELS)}, or - for no label. "
                    f"Received: {label[:40]!r}",
                )
        yield premise, hypothesis, str(number)


def _example(row: tuple[str, str, str]) -> Example:
    premise, hypothesis, label = row
    return Example(premise, hypothesis, int(label))


def _default_splits(builder) -> dict[str, str]:
    """Returns the splits of MultiNLI, if the dataset has them."""
    names = {
        "validation": "validation_matched",
        "test": "validation_mismatched",
    }
    return names if set(names.values()) <= set(builder.info.splits) else {}


def _label_numbers(builder) -> dict[int, int]:
    """Returns our number for each label of a TFDS dataset."""
    names = getattr(builder.info.features["label"], "names", None) or []
    if not names or not set(names) <= set(LABELS):
        raise corpus.CorpusError(
            f"TFDS dataset {builder.info.full_name}: expected the labels "
            f"{', '.join(LABELS)}. Received: {', '.join(names) or 'none'}."
        )
    return {number: _NUMBERS[name] for number, name in enumerate(names)}
