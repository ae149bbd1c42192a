"""Datasets of TensorFlow Datasets: found, prepared, cut into splits."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping

import tensorflow_datasets as tfds

from tfcopy.atomic_files import scratch_folder
from tfcopy.data.corpora.corpus import SPLITS, CorpusError, Split, fingerprint

_READ_BATCH = 1024


def load(
    name: str,
    data_dir: str | os.PathLike | None = None,
    *,
    download: bool = True,
) -> tfds.core.DatasetBuilder:
    """The builder of a dataset, which is prepared if necessary.

    Args:
        name: The dataset's name in TFDS, such as `"wmt14_translate/fr-en"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        download: Whether to download and prepare what is not there yet.

    Raises:
        CorpusError: naming the dataset and the folder.
    """
    place = data_dir or "the default folder of TFDS"
    try:
        builder = tfds.builder(name, data_dir=data_dir, try_gcs=False)
    except (ValueError, KeyError, AssertionError) as error:
        raise CorpusError(
            f"TFDS has no dataset {name!r} ({_first_line(error)}), nor is one "
            f"prepared in {place}. Check the name and config, such as "
            "wmt14_translate/fr-en, and --data_dir."
        ) from error
    if not builder.is_prepared():
        if not download:
            raise CorpusError(
                f"TFDS dataset {name!r} is not prepared in {place}. Allow the "
                "download, or give the folder that holds it with --data_dir."
            )
        _keep_tidy()
        try:
            _prepare(name, builder)
            return tfds.builder(name, data_dir=data_dir, try_gcs=False)
        except Exception as error:  # of any kind: network, disk, manual steps
            raise CorpusError(
                f"TFDS dataset {name!r} is not prepared in {place}, and "
                f"preparing it failed ({_first_line(error)}). Without a "
                "network, prepare it on another machine and give its folder "
                "with --data_dir."
            ) from error
    return builder


def _prepare(name, builder):
    """Prepares a dataset in a scratch folder, then moves it to its place.

    So the next process removes what a killed one leaves.
    """
    place = os.path.normpath(builder.data_dir)
    root = place.removesuffix(os.path.join(os.sep, builder.info.full_name))
    os.makedirs(root, exist_ok=True)
    with scratch_folder(root, ".preparing-") as scratch:
        made = tfds.builder(name, data_dir=scratch, try_gcs=False)
        made.download_and_prepare(download_dir=os.path.join(root, "downloads"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            os.rename(made.data_dir, place)
        except OSError:
            if not os.path.isdir(place):  # Else another process was faster.
                raise


def split_names(
    builder: tfds.core.DatasetBuilder, given: Mapping[str, str]
) -> dict[str, str]:
    """The TFDS splits used for training, validation and test.

    Args:
        builder: The builder of a prepared dataset.
        given: TFDS splits for some of `"train"`, `"validation"` and `"test"`;
            the others are the splits with these names.

    Raises:
        CorpusError: naming the split that is not there.
    """
    unknown = [name for name in given if name not in SPLITS]
    if unknown:
        raise CorpusError(
            f"No split is called {unknown[0]!r} here. "
            f"Choose TFDS splits for: {', '.join(SPLITS)}."
        )
    names = {split: given.get(split, split) for split in SPLITS}
    for split, tfds_split in names.items():
        try:
            builder.info.splits[tfds_split]
        except (KeyError, ValueError) as error:
            raise CorpusError(
                f"TFDS dataset {builder.info.full_name} has no split "
                f"{tfds_split!r}; it has: {', '.join(builder.info.splits)}. "
                f"Say which one is for {split}, for example "
                f"'train[:1%]', and for training then 'train[1%:]'."
            ) from error
    return names


def check_features(
    builder: tfds.core.DatasetBuilder, names: tuple[str, ...]
) -> None:
    """Raises a CorpusError unless the examples have all these features."""
    for name in names:
        if name not in builder.info.features:
            raise CorpusError(
                f"TFDS dataset {builder.info.full_name} has no {name!r}. "
                f"Its features are: {', '.join(builder.info.features)}."
            )


def split(
    builder: tfds.core.DatasetBuilder,
    tfds_split: str,
    read: Callable[[], Iterator],
    *parts,
) -> Split:
    """A `Split` of a dataset, with its size and fingerprint.

    Args:
        builder: The builder of a prepared dataset.
        tfds_split: The split in TFDS's notation, such as `"train[:1%]"`.
        read: As in `Split`.
        *parts: Further values that the examples depend on.
    """
    info = builder.info.splits[tfds_split]
    return Split(
        read=read,
        fingerprint=fingerprint(
            builder.info.full_name,
            tfds_split,
            *parts,
            info.num_examples,
            sorted(
                (name, list(split.shard_lengths), split.num_bytes)
                for name, split in builder.info.splits.items()
            ),
        ),
        num_pairs=info.num_examples,
    )


def read(
    builder: tfds.core.DatasetBuilder, tfds_split: str, features: tuple
) -> Iterator[tuple]:
    """Yields these features of each example, always in the same order.

    Texts are `str`, numbers are NumPy's.
    """
    dataset = _dataset(builder, tfds_split, _READ_BATCH)
    for batch in dataset.as_numpy_iterator():
        for values in zip(*(batch[name] for name in features)):
            yield tuple(_decoded(value) for value in values)


def read_nested(
    builder: tfds.core.DatasetBuilder, tfds_split: str
) -> Iterator[dict]:
    """Yields examples that hold sequences, as NumPy arrays."""
    return _dataset(builder, tfds_split, None).as_numpy_iterator()


def _dataset(builder, tfds_split, batch_size):
    return builder.as_dataset(
        split=tfds_split,
        batch_size=batch_size,
        shuffle_files=False,
        read_config=tfds.ReadConfig(try_autocache=False),
    )


def _decoded(value):
    return value.decode() if isinstance(value, bytes) else value


def _keep_tidy():
    """Hides messages of failed connections, and bars outside of terminals."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().split("\n")
    return lines[0] or type(error).__name__
