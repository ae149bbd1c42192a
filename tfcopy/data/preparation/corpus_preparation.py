"""From a corpus to a folder of shards: texts first, then Beam's steps.

All files are written to a folder within it, named after the corpus and its
flags. They get their places when all are complete, the manifest last. A command
thus finds only its own files in the folder, and refuses others by name.

    hash pairs -> find duplicates -> count words -> merge counts
        -> make vocabularies -> encode -> write the manifest

The steps are one pipeline of Apache Beam, whose elements are numbers of shards.
Runners that keep elements in memory (Beam's own on one machine does) thus keep
a few bytes a shard. Their workers need the folder under the same path.
"""

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Iterator

import apache_beam as beam
import tqdm

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data import parallel
from tfcopy.data.corpora.corpus import TranslationCorpus, fingerprint
from tfcopy.data.preparation import prepared_corpus, shard_files
from tfcopy.data.preparation.preparation_steps import Preparation


def run(preparation: Preparation, runner: str, flags: list[str]) -> None:
    """Runs all steps, and waits for their end.

    Args:
        preparation: The corpus to prepare.
        runner: Name of a runner of Beam.
        flags: Its options, such as `--direct_num_workers=2`.
    """
    steps = preparation
    numbers = [(i,) for i in range(steps.num_train)]
    sections = [(i,) for i in range(steps.num_sections)]
    todo = [
        ("CountWords", numbers, steps.count_words),
        ("MergeCounts", sections, steps.merge_counts),
        ("MakeVocabularies", [()], steps.make_vocabularies),
        ("Encode", steps.shards, steps.encode),
        ("WriteManifest", [()], steps.write_manifest),
    ]
    if steps.settings.remove_duplicates:
        todo = [
            ("HashPairs", numbers, steps.hash_pairs),
            ("FindDuplicates", numbers, steps.find_duplicates),
            *todo,
        ]
    with parallel.pipeline(runner, flags) as pipeline:
        before = []
        for step in todo:
            before = [_step(pipeline, *step, *before)]


def _step(pipeline, name, items, function, *before):
    """Applies a function to tuples of arguments, after all of a step before."""

    def apply(item, *_):
        function(*item)
        return item

    return (
        pipeline
        | f"{name}Items" >> beam.Create(items)
        | f"{name}Spread" >> beam.Reshuffle()
        | name >> beam.Map(apply, *map(beam.pvalue.AsList, before))
    )


_WORK = "preparing-"
_WORKED = re.compile(f"{_WORK}[0-9a-f]{{32}}")  # with a `fingerprint`
_SHARD = re.compile(r"(train|validation|test)-\d{5}(-of-\d{5}\.npy|\.jsonl)")


def prepare(
    corpus: TranslationCorpus,
    settings: prepared_corpus.Settings,
    folder,
    *,
    pairs_per_shard: int = 50_000,
    runner: str = "DirectRunner",
    beam_flags: Iterable[str] = (),
) -> None:
    """Writes a corpus as shards of ids, unless that is done already.

    Args:
        corpus: The corpus, read once from its start to its end.
        settings: How it becomes words and ids.
        folder: Where the prepared corpus will be.
        pairs_per_shard: The most pairs of a shard.
        runner: Name of a runner of Beam.
        beam_flags: Its options.

    Raises:
        ValueError: If the folder holds another corpus or other settings, whole
            or in part, or files of its own, or is another process's.
    """
    key = fingerprint(corpus.fingerprint, settings.identity(), pairs_per_shard)
    work = os.path.join(folder, f"{_WORK}{key}")
    try:
        atomic_files.lock_folder(folder)
    except BlockingIOError as error:
        raise ValueError(
            f"--output: {error.strerror} is preparing a corpus in {folder}. "
            "Wait for it to end, or choose another folder."
        ) from error
    try:
        if not filesystem.exists(
            os.path.join(folder, prepared_corpus.MANIFEST)
        ):
            _refuse_others(folder, work, settings)
            if not _is_ready(folder, work):
                filesystem.makedirs(work)
                texts = _write_texts(corpus, settings, work, pairs_per_shard)
                about = {"key": key, "corpus": _describe(corpus, settings)}
                about["texts"] = texts
                _run_steps(settings, work, about, runner, list(beam_flags))
            _publish(folder, work)
        elif prepared_corpus.read_manifest(folder)["key"] != key:
            raise ValueError(
                f"--output: {folder} holds another corpus, or one prepared "
                "with other flags. Choose another folder, or remove it."
            )
        if filesystem.exists(work):
            filesystem.rmtree(work)
    finally:
        atomic_files.unlock_folder(folder)


def _refuse_others(folder, work, settings):
    """Raises a ValueError that names a file or folder of somebody else."""
    names = {prepared_corpus.vocabulary_name(side) for side in settings.sides}
    # A command that was killed while it published has left some of its own.
    is_published = filesystem.exists(
        os.path.join(work, prepared_corpus.MANIFEST)
    )
    for name in sorted(filesystem.listdir(folder)):
        path = os.path.join(folder, name)
        if _WORKED.fullmatch(name) and name != os.path.basename(work):
            raise ValueError(
                f"--output: a command with another corpus or other flags has "
                f"begun {path}. Repeat that command, remove that folder, or "
                "choose another one."
            )
        if not is_published and (name in names or _SHARD.fullmatch(name)):
            raise _foreign(path)


def _foreign(path):
    return ValueError(
        f"--output: {path} was not written by this command, which would "
        "replace it. Move it away, or choose another folder."
    )


def _is_ready(folder, work):
    """Returns whether all parts are made; some may be published."""
    try:
        files = prepared_corpus.files_of(prepared_corpus.read_manifest(work))
    except ValueError:
        return False
    return all(
        _is_intact(os.path.join(work, name), checksum)
        or _is_intact(os.path.join(folder, name), checksum)
        for name, checksum in files.items()
    )


def _is_intact(path, checksum):
    return filesystem.isfile(path) and (
        checked_files.checksum_of(path) == checksum
    )


def _publish(folder, work):
    """Moves all files to their places, the manifest last."""
    files = prepared_corpus.files_of(prepared_corpus.read_manifest(work))
    for name, checksum in files.items():
        path = os.path.join(folder, name)
        if filesystem.exists(path) and not _is_intact(path, checksum):
            raise _foreign(path)
    for name in (*files, prepared_corpus.MANIFEST):
        made = os.path.join(work, name)
        if filesystem.exists(made):
            atomic_files.publish_file(made, os.path.join(folder, name))


def _run_steps(settings, work, about, runner, beam_flags):
    sizes = about["texts"]["sizes"]
    preparation = Preparation(
        filesystem.abspath(work),
        settings,
        {split: sizes[split] for split in ("train", "validation")},
        about,
    )
    with _progress(preparation), parallel.quietly():
        run(preparation, runner, beam_flags)


def _write_texts(corpus, settings, work, size):
    """Cuts the texts into files; returns their numbers of pairs."""
    record = os.path.join(work, "texts.json")
    seal = os.path.join(work, "texts.sha256")

    def paths(sizes, *names):
        return [
            shard_files.texts_path(work, name, number)
            for name in names
            for number in range(len(sizes[name]))
        ]

    with contextlib.suppress(FileNotFoundError, checked_files.DamagedFileError):
        texts = checked_files.read_json(record)
        if checked_files.match_checksums(
            seal, paths(texts["sizes"], *corpus.splits)
        ):
            return texts
    sizes, num_unlike = {}, 0

    def is_alike(pair):
        nonlocal num_unlike
        short, long = sorted(map(len, pair))
        is_unlike = long > settings.max_ratio * short
        num_unlike += is_unlike
        return not is_unlike

    for name, split in corpus.splits.items():
        title = f"Reading {name}"
        pairs = parallel.make_bar(title, split.num_pairs, " pairs", items=split)
        if name == "train" and settings.max_ratio is not None:
            pairs = filter(is_alike, pairs)
        sizes[name] = shard_files.write_texts(pairs, work, name, size)
    if not sizes["train"]:
        filesystem.rmtree(work)
        raise ValueError(
            f"{corpus.name}: no training pair is left to work with "
            f"({num_unlike:,} beyond --max_ratio)."
        )
    checksums = {
        os.path.basename(path): checked_files.checksum_of(path)
        for path in paths(sizes, "validation", "test")
    }
    texts = {"sizes": sizes, "num_unlike": num_unlike, "checksums": checksums}
    checked_files.write_json(record, texts)
    checked_files.write_checksums(seal, paths(sizes, *corpus.splits))
    return texts


def _describe(corpus, settings):
    """Returns the facts of a corpus that recipes read besides its pairs."""
    train = corpus.train.fingerprint
    changes = (settings.max_ratio, settings.remove_duplicates)
    if changes != (None, False):
        train = fingerprint(train, *changes)
    others = {
        name: corpus.splits[name].fingerprint for name in ("validation", "test")
    }
    return {
        **{name: getattr(corpus, name) for name in prepared_corpus.ABOUT},
        "fingerprints": {"train": train, **others},
        "num_skipped": {
            name: split.num_skipped for name, split in corpus.splits.items()
        },
        "left_out": {
            name: dict(split.left_out) for name, split in corpus.splits.items()
        },
    }


@contextlib.contextmanager
def _progress(preparation: Preparation) -> Iterator[None]:
    """Shows a bar of the files of checksums, with the time left."""
    total = preparation.num_checksums
    bar = tqdm.tqdm(
        desc="Preparing", total=total, unit=" files", disable=None, leave=False
    )
    is_over = threading.Event()

    def watch():
        while not is_over.wait(1.0):
            names = filesystem.listdir(preparation.work)
            bar.n = sum(name.endswith(".sha256") for name in names)
            bar.refresh()

    thread = threading.Thread(target=watch, daemon=True)
    with bar:
        if not bar.disable:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            if thread.is_alive():
                thread.join()
