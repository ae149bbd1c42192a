"""Text for language models: one sentence per line, in any number of files."""

import functools
import itertools
import operator
import os
import re
import zipfile
from collections.abc import Iterable, Iterator

from tfcopy import file_formats, filesystem
from tfcopy.data.corpora import corpus, text_pairs, tfds_corpora

PathLike = str | os.PathLike | zipfile.Path

_SENTENCE = operator.itemgetter(0)  # of a tuple of one text
_ADVICE = "Give files with one sentence a line."


def load(
    train: PathLike | Iterable[PathLike],
    validation: PathLike | Iterable[PathLike] | None = None,
    test: PathLike | Iterable[PathLike] | None = None,
    *,
    whole_files: bool = False,
    num_held_out: int | None = None,
    seed: int = 0,
    tagged: bool = False,
    name: str | None = None,
) -> corpus.Corpus:
    """Reads a corpus whose examples are sentences, `str`, in UTF-8.

    The lines are tokens between blanks. Each split is a file, plain or
    compressed; a folder or a zip archive, whose files are all read in the order
    of their names; a pattern such as `"news.en-0000*"`; or several of these.
    Blank lines are left out. All files are checked from their first line to
    their last before anything is returned.

    Args:
        train: The training text.
        validation: The validation text. If `None`, some of `train` is held out.
        test: The test text; held out as well if `None`.
        whole_files: Whether to hold out whole files, since neighbours
            resemble each other.
        num_held_out: Number of them to hold out for each split that has no
            text. They are spread evenly over `train`; by default one in twenty,
            at most 2,000.
        seed: Seed of the choice of held-out sentences.
        tagged: Whether each token has a tag, `word/tag`, which is left out.
        name: Name of the corpus; by default the name of the first file or
            folder.

    Raises:
        CorpusError: naming file and line.
    """
    paths_of = {"train": train, "validation": validation, "test": test}
    files = {
        split: find_files(paths)
        for split, paths in paths_of.items()
        if paths is not None
    }
    if whole_files:
        files = _hold_out_files(files, num_held_out, seed)
    checked = {
        split: check_files(paths, tagged) for split, paths in files.items()
    }
    pairs = corpus.splits(**checked, num_held_out=num_held_out, seed=seed)
    return corpus.Corpus(
        name=name
        or os.path.basename(os.path.normpath(str(_to_list(train)[0]))),
        splits=corpus.map_examples(pairs, _SENTENCE),
        tokenized=True,
    )


def load_tfds(
    name: str = "lm1b", data_dir: str | os.PathLike | None = None
) -> corpus.Corpus:
    """Opens a dataset of TensorFlow Datasets whose examples hold a sentence.

    The sentences are the feature `text`, tokens between blanks. Without a
    split for validation, the first sentences of `train`, one in twenty and at
    most 2,000, are held out.

    Args:
        name: The dataset's name in TFDS; `"lm1b"` is One Billion Words.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.

    Raises:
        CorpusError: naming the dataset and the split or feature that it lacks.
    """
    builder = tfds_corpora.builder_of(name, data_dir, ("text",))
    return corpus.Corpus(
        name=builder.info.full_name,
        splits=tfds_corpora.splits_of(
            builder,
            _default_splits(builder),
            ("text",),
            lambda text: text if text.strip() else None,
            "text",
        ),
        tokenized=True,
    )


def find_files(paths: PathLike | Iterable[PathLike]) -> list[PathLike]:
    """Finds the files that `load` reads for one of its splits, in order."""
    files = list(itertools.chain(*map(_files, _to_list(paths))))
    if not files:
        raise corpus.CorpusError(
            f"No files found in {_to_list(paths)}. {_ADVICE}"
        )
    return files


def check_files(
    files: list[PathLike], tagged: bool = False
) -> corpus.CheckedPairs:
    """Reads all sentences of some files once, as tuples of one text."""
    place = str(files[0])
    if len(files) > 1:
        place += f" and {len(files) - 1:,} more"
    read = functools.partial(_read, tuple(files), tagged)
    return corpus.CheckedPairs.check(place, read, _ADVICE, noun="sentence")


def _to_list(paths):
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
                if file_formats.is_visible(
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
        for name in file_formats.visible_members(archive)
    ]


def _hold_out_files(files, num_held_out, seed):
    """Moves whole files of "train" to the splits that have none."""
    missing = [x for x in ("validation", "test") if x not in files]
    train = files["train"]
    place = f"{train[0]}, ..."
    owners = corpus.sample_held_out(
        len(train), missing, num_held_out, seed, place=place, noun="file"
    )
    drawn = {split: [] for split in ("train", *missing)}
    for i, file in enumerate(train):
        drawn[owners.get(i, "train")].append(file)
    return {**files, **drawn}


def _read(files, tagged) -> Iterator[tuple[str]]:
    for file in files:
        for number, line in enumerate(text_pairs.read_lines(file), start=1):
            if tagged:
                line = _remove_tags(file, number, line)
            if line and not line.isspace():
                yield (line,)


def _remove_tags(file, number, line) -> str:
    words = []
    for token in line.split():
        word, slash, _ = token.rpartition("/")
        if not word or not slash:
            expected = "tokens such as word/tag"
            raise text_pairs.line_error(file, number, expected, token[:40])
        words.append(word)
    return " ".join(words)


def _default_splits(builder) -> dict[str, str]:
    sizes = builder.info.splits
    if "validation" in sizes or "train" not in sizes:
        return {}
    count = corpus.share_held_out(sizes["train"].num_examples)
    return {"train": f"train[{count}:]", "validation": f"train[:{count}]"}


# === Brown: a million words of American English, of 1961 ===

_BROWN = re.compile("c[a-r][0-9][0-9]")


def load_brown(
    path: str | os.PathLike, *, num_held_out: int | None = None
) -> corpus.Corpus:
    """Reads the sentences of the Brown corpus, tokens between blanks.

    Its 500 texts are tagged, `The/at Fulton/np-tl County/nn-tl`, in the edition
    that NLTK distributes, the files `ca01` to `cr09` in a folder or a zip
    archive.

    Whole texts are held out, since the sentences of one resemble each other.
    They are spread evenly over the genres.

    Args:
        path: The folder, or the archive, `brown.zip`.
        num_held_out: Number of texts to hold out for validation, and for
            testing as well. By default one in twenty.

    Raises:
        CorpusError: naming file and line.

    Reference: Francis and Kucera, 1979, Brown Corpus Manual.
    """
    texts = [
        file
        for file in find_files(path)
        if _BROWN.fullmatch(os.path.basename(str(file)))
    ]
    if not texts:
        raise corpus.CorpusError(
            f"{path}: no text of the Brown corpus there. Give the folder or "
            "the zip archive that holds the files ca01 to cr09."
        )
    return load(
        texts,
        whole_files=True,
        num_held_out=num_held_out,
        tagged=True,
        name="Brown",
    )


# === One Billion Words: shuffled sentences of news, tokenised ===

_TRAIN = "training-monolingual.tokenized.shuffled/news.en-{:05}-of-00100"
_HELD_OUT = (
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-{:05}-of-00050"
)
_NUM_SHARDS = 99  # Shard 0 is divided into the held-out shards.


def load_one_billion_words(
    data_dir: str | os.PathLike,
    *,
    num_shards: int = _NUM_SHARDS,
    num_validation: int = 2000,
) -> corpus.Corpus:
    """Reads the folder of One Billion Words, its shards plain or gzipped.

    As in Bahdanau et al., the last sentences of the training text are the
    validation set, and the first held-out shard is the test set.

    Args:
        data_dir: The folder that holds
            `training-monolingual.tokenized.shuffled` and
            `heldout-monolingual.tokenized.shuffled`.
        num_shards: Number of training shards to read, starting with the first;
            one is about a hundredth of the text.
        num_validation: Number of validation sentences.

    Raises:
        CorpusError: naming the file that is missing, or file and line.

    Reference:
        [Chelba et al., 2014](https://arxiv.org/abs/1312.3005);
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286).
    """
    if not 1 <= num_shards <= _NUM_SHARDS:
        raise ValueError(
            f"`num_shards` must be 1 to {_NUM_SHARDS}. Received: {num_shards}."
        )
    folder = os.fspath(data_dir)
    train = check_files(
        [_shard(folder, _TRAIN.format(i)) for i in range(1, num_shards + 1)]
    )
    test = check_files([_shard(folder, _HELD_OUT.format(0))])
    size = train.num_pairs
    if not 0 < num_validation < size:
        raise corpus.CorpusError(
            f"Cannot hold out {num_validation:,} sentences: there are {size:,} "
            f"in {train.place}."
        )
    owners = dict.fromkeys(range(size - num_validation, size), "validation")
    splits = {
        "train": train.split(owners, "train"),
        "validation": train.split(owners, "validation"),
        "test": test.split(),
    }
    return corpus.Corpus(
        name="One Billion Words",
        splits=corpus.map_examples(splits, _SENTENCE),
        tokenized=True,
    )


def _shard(folder: str, name: str) -> str:
    if path := text_pairs.plain_or_gzipped(folder, name):
        return path
    raise corpus.CorpusError(
        f"{os.path.join(folder, name)}: no such file, plain or .gz. Give the "
        "folder 1-billion-word-language-modeling-benchmark-r13output."
    )
