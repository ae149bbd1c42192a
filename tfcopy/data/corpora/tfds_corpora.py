"""Datasets of TensorFlow Datasets, as corpora.

A dataset whose examples hold two texts is a corpus of pairs, such as
translations.
"""

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import tensorflow_datasets as tfds

from tfcopy.atomic_files import scratch_folder
from tfcopy.data.corpora import corpus

_READ_BATCH = 1024


def load(
    name: str,
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
    target: str | None = None,
    *,
    languages: tuple[str, str] | None = None,
    splits: Mapping[str, str] | None = None,
) -> corpus.TranslationCorpus:
    """Opens a dataset whose examples have two texts, such as translations.

    Args:
        name: The dataset's name in TFDS, such as `"wmt14_translate/fr-en"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        source: Name of the text to read, for example `"en"` or `"document"`.
            By default TFDS's own choice; if only one is given, the other one is
            inferred.
        target: Name of the text to write.
        languages: ISO 639 codes of both, if the texts are not named so.
        splits: The TFDS splits to use as `"train"`, `"validation"` and
            `"test"`, if the names differ or only a part is wanted, such as
            `{"validation": "train[:1%]"}`.
    """
    builder = builder_of(name, data_dir)
    texts = _text_features(builder, source, target)
    source_language, target_language = languages or texts

    def example(*pair):
        return None if corpus.is_blank(pair) else pair

    return corpus.TranslationCorpus(
        name=builder.info.full_name,
        source_language=source_language,
        target_language=target_language,
        splits=splits_of(builder, splits or {}, texts, example, texts),
    )


def builder_of(
    name: str,
    data_dir: str | os.PathLike | None = None,
    features: Iterable[str] = (),
) -> tfds.core.DatasetBuilder:
    """Returns the builder of a dataset, which is prepared if necessary.

    Args:
        name: The dataset's name in TFDS, such as `"wmt14_translate/fr-en"`.
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        features: Names of features that it must have.

    Raises:
        CorpusError: naming the dataset, and the folder or the missing feature.
    """
    place = data_dir or "the default folder of TFDS"
    try:
        builder = _builder(name, data_dir)
    except (ValueError, KeyError, AssertionError) as error:
        raise corpus.CorpusError(
            f"TFDS has no dataset {name!r} ({_first_line(error)}), nor is one "
            f"prepared in {place}. Check the name and config, such as "
            "wmt14_translate/fr-en, and --data_dir."
        ) from error
    if not builder.is_prepared():
        _keep_tidy()
        try:
            _prepare(name, builder)
            builder = _builder(name, data_dir)
        except Exception as error:  # of any kind: network, disk, manual steps
            raise corpus.CorpusError(
                f"TFDS dataset {name!r} is not prepared in {place}, and "
                f"preparing it failed ({_first_line(error)}). Without a "
                "network, prepare it on another machine and give its folder "
                "with --data_dir."
            ) from error
    for feature in features:
        if feature not in builder.info.features:
            raise corpus.CorpusError(
                f"TFDS dataset {builder.info.full_name} has no {feature!r}. "
                f"Its features are: {', '.join(builder.info.features)}."
            )
    return builder


def _builder(name, data_dir):
    """Returns the builder of a dataset, and imports nothing that it names.

    A prepared dataset names the classes of its features, whose modules TFDS
    4.9.10 would import.
    """
    kind = tfds.features.FeatureConnector
    imported = vars(kind)["cls_from_name"]

    def get_known(cls, name):
        module = name.rpartition(".")[0]
        if name.startswith("tensorflow_datasets.") or module in sys.modules:
            return imported.__get__(None, cls)(name)
        raise ValueError(f"it names {name}: import {module} first")

    kind.cls_from_name = classmethod(get_known)
    try:
        return tfds.builder(name, data_dir=data_dir, try_gcs=False)
    finally:
        kind.cls_from_name = imported


def _prepare(name, builder):
    """Prepares a dataset in a scratch folder, then moves it to its place.

    The next process thus removes the files of a killed one.
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
    """Returns the TFDS splits used for training, validation and test.

    Args:
        builder: The builder of a prepared dataset.
        given: TFDS splits for some of `"train"`, `"validation"` and `"test"`;
            the others are the splits with these names.

    Raises:
        CorpusError: naming the split that is not there.
    """
    unknown = [name for name in given if name not in corpus.SPLITS]
    if unknown:
        raise corpus.CorpusError(
            f"No split is called {unknown[0]!r} here. "
            f"Choose TFDS splits for: {', '.join(corpus.SPLITS)}."
        )
    names = {split: given.get(split, split) for split in corpus.SPLITS}
    for split, tfds_split in names.items():
        try:
            builder.info.splits[tfds_split]
        except (KeyError, ValueError) as error:
            raise corpus.CorpusError(
                f"TFDS dataset {builder.info.full_name} has no split "
                f"{tfds_split!r}; it has: {', '.join(builder.info.splits)}. "
                f"Say which one is for {split}, for example "
                f"'train[:1%]', and for training then 'train[1%:]'."
            ) from error
    return names


def splits_of(
    builder: tfds.core.DatasetBuilder,
    given: Mapping[str, str],
    features: Sequence[str],
    example: Callable,
    *parts,
) -> dict[str, corpus.Split]:
    """Makes the splits of a dataset, with their sizes and fingerprints.

    Args:
        builder: The builder of a prepared dataset.
        given: As in `split_names`.
        features: Names of the features of an example.
        example: Called with these, texts as `str`, numbers as NumPy's; returns
            an example, or `None` to leave it out.
        *parts: Further values that the examples depend on.
    """
    shards = sorted(
        (name, list(split.shard_lengths), split.num_bytes)
        for name, split in builder.info.splits.items()
    )
    found = {}
    for name, tfds_split in split_names(builder, given).items():
        size = builder.info.splits[tfds_split].num_examples
        key = (builder.info.full_name, tfds_split, *parts, size, shards)
        read = functools.partial(_read, builder, tfds_split, features, example)
        found[name] = corpus.Split(
            read, corpus.fingerprint(*key), num_pairs=size
        )
    return found


def _read(builder, tfds_split, features, example) -> Iterator:
    for batch in _dataset(builder, tfds_split, _READ_BATCH).as_numpy_iterator():
        for values in zip(*(batch[name] for name in features)):
            made = example(*map(_decode, values))
            if made is not None:
                yield made


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


def _decode(value):
    return value.decode() if isinstance(value, bytes) else value


def _text_features(builder, source, target) -> tuple[str, str]:
    name = builder.info.full_name
    features = builder.info.features
    texts = [
        key for key in features if isinstance(features[key], tfds.features.Text)
    ]
    for language in (source, target):
        if language is not None and language not in texts:
            raise corpus.CorpusError(
                f"TFDS dataset {name} has no text in {language!r}. "
                f"Its texts are: {', '.join(texts) or 'none'}."
            )
    defaults = builder.info.supervised_keys or texts
    if len(texts) < 2 or len(defaults) != 2 or not set(defaults) <= set(texts):
        if source is None or target is None:
            raise corpus.CorpusError(
                f"Cannot choose two texts of TFDS dataset {name}. "
                f"Give both languages, out of: {', '.join(texts) or 'none'}."
            )
        return source, target
    if source is None and target is None:
        return tuple(defaults)
    others = [key for key in defaults if key not in (source, target)]
    return source or others[0], target or others[0]


def _keep_tidy():
    """Hides messages of failed connections, and bars outside of terminals."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
