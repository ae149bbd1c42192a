"""One Billion Words: shuffled sentences of news, tokenised.

Reference: [Chelba et al., 2014](https://arxiv.org/abs/1312.3005).
"""

import os

from tfcopy import filesystem
from tfcopy.data.corpora.corpus import Corpus, CorpusError
from tfcopy.data.corpora.sentences import as_sentences, check_files

_TRAIN = "training-monolingual.tokenized.shuffled/news.en-{:05}-of-00100"
_HELD_OUT = (
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-{:05}-of-00050"
)
_NUM_SHARDS = 99  # Shard 0 is divided into the held-out shards.


def load(
    data_dir: str | os.PathLike,
    *,
    num_shards: int = _NUM_SHARDS,
    num_validation: int = 2000,
) -> Corpus:
    """Reads the benchmark's folder, its shards plain or gzipped.

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
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286).
    """
    if not 1 <= num_shards <= _NUM_SHARDS:
        raise ValueError(
            f"`num_shards` must be 1 to {_NUM_SHARDS}. Received: {num_shards}."
        )
    folder = os.fspath(data_dir)
    train = check_files(
        [_find(folder, _TRAIN.format(i)) for i in range(1, num_shards + 1)]
    )
    test = check_files([_find(folder, _HELD_OUT.format(0))])
    size = train.num_pairs
    if not 0 < num_validation < size:
        raise CorpusError(
            f"Cannot hold out {num_validation:,} sentences: there are {size:,} "
            f"in {train.place}."
        )
    owners = dict.fromkeys(range(size - num_validation, size), "validation")
    splits = {
        "train": train.split(owners, "train"),
        "validation": train.split(owners, "validation"),
        "test": test.split(),
    }
    return Corpus(
        name="One Billion Words",
        splits={name: as_sentences(split) for name, split in splits.items()},
        tokenized=True,
    )


def _find(folder: str, name: str) -> str:
    plain = os.path.join(folder, name)
    for path in (plain, f"{plain}.gz"):
        if filesystem.exists(path):
            return path
    raise CorpusError(
        f"{plain}: no such file, nor is it there with .gz. Give the "
        "folder 1-billion-word-language-modeling-benchmark-r13output."
    )
