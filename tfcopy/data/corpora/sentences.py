"""Text for language models: one sentence per line, in any number of files."""

import dataclasses
import functools
import itertools
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping

from tfcopy import file_forms, filesystem
from tfcopy.data.corpora import held_out, tfds_builders
from tfcopy.data.corpora.corpus import Corpus, CorpusError, Split
from tfcopy.data.corpora.held_out import CheckedPairs
from tfcopy.data.corpora.text_pairs import read_lines

PathLike = str | os.PathLike | zipfile.Path

_ADVICE = "Give files with one sentence a line."
_MAX_HELD_OUT = 2000  # sentences


def load(
    train: PathLike | Iterable[PathLike],
    validation: PathLike | Iterable[PathLike] | None = None,
    test: PathLike | Iterable[PathLike] | None = None,
    *,
    hold_out: str = "sentences",
    num_held_out: int | None = None,
    seed: int = 0,
    tagged: bool = False,
    tokenized: bool = True,
    name: str | None = None,
) -> Corpus:
    """Reads a corpus whose examples are sentences, `str`, in UTF-8.

    Each split is a file, plain or compressed; a folder or a zip archive, whose
    files are all read in the order of their names; a pattern such as
    `"news.en-0000*"`; or several of these. Blank lines are left out. All files
    are checked from their first line to their last before anything is returned.

    Args:
        train: The training text.
        validation: The validation text. If `None`, some of `train` is held out.
        test: The test text, likewise.
        hold_out: `"sentences"`, which is right if they are shuffled; or
            `"files"`, if neighbours resemble each other.
        num_held_out: How many of them to hold out for each split that has no
            text. They are spread evenly over `train`; by default one in twenty,
            at most 2,000.
        seed: Chooses what is held out.
        tagged: Whether each token has a tag, `word/tag`, which is left out.
        tokenized: Whether the lines are already tokens between blanks.
        name: Name of the corpus; by default that of the first file or folder.

    Raises:
        CorpusError: naming file and line.
    """
    if hold_out not in ("sentences", "files"):
        raise ValueError(
            '`hold_out` must be "sentences" or "files". '
            f"Received: {hold_out!r}."
        )
    paths_of = {"train": train, "validation": validation, "test": test}
    files = {
        split: find_files(paths)
        for split, paths in paths_of.items()
        if paths is not None
    }
    if hold_out == "files":
        files = _with_held_out(files, num_held_out, seed)
    checked = {
        split: check_files(paths, tagged) for split, paths in files.items()
    }
    pairs = held_out.splits(
        checked["train"],
        checked.get("validation"),
        checked.get("test"),
        num_held_out=num_held_out,
        seed=seed,
    )
    return Corpus(
        name=name or os.path.basename(os.path.normpath(str(_listed(train)[0]))),
        splits={split: as_sentences(part) for split, part in pairs.items()},
        tokenized=tokenized or tagged,
    )


def load_tfds(
    name: str = "lm1b",
    data_dir: str | os.PathLike | None = None,
    *,
    feature: str = "text",
    splits: Mapping[str, str] | None = None,
    tokenized: bool = True,
    download: bool = True,
) -> Corpus:
    """Opens a dataset of TensorFlow Datasets whose examples hold a sentence.

    Args:
        name: The dataset's name in TFDS; `"lm1b"` is One Billion Words.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        feature: Name of the text.
        splits: The TFDS splits to use as `"train"`, `"validation"` and
            `"test"`. By default the splits with these names; without one for
            validation, the first sentences of `train`, one in twenty and at
            most 2,000, are held out.
        tokenized: Whether the texts are already tokens between blanks.
        download: Whether to download and prepare what is not there yet.

    Raises:
        CorpusError: naming the dataset and what it lacks.
    """
    builder = tfds_builders.load(name, data_dir, download=download)
    tfds_builders.check_features(builder, (feature,))
    names = tfds_builders.split_names(
        builder, {**_default_splits(builder), **(splits or {})}
    )
    return Corpus(
        name=builder.info.full_name,
        splits={
            split: tfds_builders.split(
                builder,
                tfds_split,
                functools.partial(_read_tfds, builder, tfds_split, feature),
                feature,
            )
            for split, tfds_split in names.items()
        },
        tokenized=tokenized,
    )


def find_files(paths: PathLike | Iterable[PathLike]) -> list[PathLike]:
    """The files that `load` reads for one of its splits, in order."""
    files = list(itertools.chain(*map(_files, _listed(paths))))
    if not files:
        raise CorpusError(f"No file among {_listed(paths)}. {_ADVICE}")
    return files


def check_files(files: list[PathLike], tagged: bool = False) -> CheckedPairs:
    """All sentences of some files, as tuples of one text."""
    place = str(files[0])
    if len(files) > 1:
        place += f" and {len(files) - 1:,} more"
    read = functools.partial(_read, tuple(files), tagged)
    return CheckedPairs.check(place, read, _ADVICE, noun="sentence")


def as_sentences(split: Split) -> Split:
    """A split of tuples of one text, as texts."""
    return dataclasses.replace(
        split, read=functools.partial(_unpacked, split.read)
    )


def _listed(paths):
    is_one = isinstance(paths, (str, os.PathLike, zipfile.Path))
    return [paths] if is_one else list(paths)


def _files(path: PathLike) -> list[PathLike]:
    if isinstance(path, zipfile.Path):
        return [path]
    path = os.fspath(path)
    if filesystem.isdir(path):
        found = [
            os.path.join(folder, name)
            for folder, _, names in filesystem.walk(path)
            for name in names
        ]
        return sorted(
            (
                file
                for file in found
                if file_forms.is_visible(
                    filesystem.relpath(file, path).split(os.sep)
                )
                and filesystem.isfile(file)
            ),
            key=lambda file: file.split(os.sep),
        )
    if filesystem.exists(path):
        return _members(path) if _is_archive(path) else [path]
    return sorted(filesystem.glob(path)) or [path]


def _is_archive(path: str) -> bool:
    with filesystem.open(path, "rb") as file:
        return zipfile.is_zipfile(file)


def _members(path: str) -> list[zipfile.Path]:
    archive = zipfile.ZipFile(filesystem.open(path, "rb"))
    return [
        zipfile.Path(archive, name)
        for name in file_forms.visible_members(archive)
    ]


def _with_held_out(files, num_held_out, seed):
    """Gives whole files of "train" to the splits that have none."""
    missing = [x for x in ("validation", "test") if x not in files]
    train = files["train"]
    owners = held_out.draw(
        len(train),
        missing,
        num_held_out,
        seed,
        place=str(train[0]) + ", ...",
        noun="file",
    )
    drawn = {split: [] for split in ("train", *missing)}
    for i, file in enumerate(train):
        drawn[owners.get(i, "train")].append(file)
    return {**files, **drawn}


def _read(files, tagged) -> Iterator[tuple[str]]:
    for file in files:
        for number, line in enumerate(read_lines(file), start=1):
            if tagged:
                line = _without_tags(file, number, line)
            if line and not line.isspace():
                yield (line,)


def _without_tags(file, number, line) -> str:
    words = []
    for token in line.split():
        word, slash, _ = token.rpartition("/")
        if not word or not slash:
            raise CorpusError(
                f"{file}, line {number}: expected tokens such as word/tag. "
                f"Received: {token[:40]!r}."
            )
        words.append(word)
    return " ".join(words)


def _unpacked(read: Callable) -> Iterator[str]:
    return (text for (text,) in read())


def _default_splits(builder) -> dict[str, str]:
    sizes = builder.info.splits
    if "validation" in sizes or "train" not in sizes:
        return {}
    count = min(_MAX_HELD_OUT, max(1, sizes["train"].num_examples // 20))
    return {"train": f"train[{count}:]", "validation": f"train[:{count}]"}


def _read_tfds(builder, tfds_split, feature) -> Iterator[str]:
    for (text,) in tfds_builders.read(builder, tfds_split, (feature,)):
        if text.strip():
            yield text
