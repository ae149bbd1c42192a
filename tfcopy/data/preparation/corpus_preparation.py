"""From a corpus to a folder of shards: texts first, then Beam's steps."""

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator

import tqdm

from tfcopy import checked_files, filesystem
from tfcopy.data import beam_runners
from tfcopy.data.corpora.corpus import TranslationCorpus, fingerprint
from tfcopy.data.pairs import encoded_shards
from tfcopy.data.preparation import text_shards
from tfcopy.data.preparation.preparation_settings import (
    MANIFEST,
    Settings,
    read_manifest,
)
from tfcopy.data.preparation.preparation_steps import Preparation


def prepare(
    corpus: TranslationCorpus,
    settings: Settings,
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
        ValueError: If the folder holds another corpus or other settings.
    """
    key = fingerprint(corpus.fingerprint, settings.identity(), pairs_per_shard)
    if filesystem.exists(os.path.join(folder, MANIFEST)):
        if read_manifest(folder)["key"] != key:
            raise ValueError(
                f"--output: {folder} holds another corpus, or one prepared "
                "with other flags. Choose another folder, or remove it."
            )
        return
    work = os.path.join(folder, f"preparing-{key}")
    filesystem.makedirs(work)
    texts = _write_texts(corpus, settings, folder, work, pairs_per_shard)
    splits = ("train", "validation")
    preparation = Preparation(
        filesystem.abspath(folder),
        filesystem.abspath(work),
        settings,
        {split: texts["sizes"][split] for split in splits},
        {"key": key, "corpus": _about(corpus, settings), "texts": texts},
    )
    with _progress(preparation), beam_runners.quietly():
        # Late: --help need not wait for it.
        from tfcopy.data.preparation import beam_pipeline

        beam_pipeline.run(preparation, runner, list(beam_flags))
    filesystem.rmtree(work)


def _write_texts(corpus, settings, folder, work, size):
    """Cuts the texts into files; returns how many pairs are in each."""
    record = os.path.join(work, "texts.json")
    with contextlib.suppress(FileNotFoundError):
        return checked_files.read_json(record)
    sizes, unlike = {}, _Unlike(settings.max_ratio)
    for name, split in corpus.splits.items():
        pairs = tqdm.tqdm(
            split,
            f"Reading {name}",
            total=split.num_pairs,
            unit=" pairs",
            unit_scale=True,
            disable=None,
            leave=False,
        )
        is_train = name == "train"
        if is_train:
            pairs = unlike.left_out(pairs)
        place = work if is_train else folder
        sizes[name] = text_shards.write(pairs, place, name, size)
    if not sizes["train"]:
        raise ValueError(
            f"{corpus.name}: no training pair is left to work with "
            f"({unlike.count:,} beyond --max_ratio)."
        )
    checksums = {
        os.path.basename(path): encoded_shards.checksum_of(path)
        for name in ("validation", "test")
        for path in (
            text_shards.path_of(folder, name, number)
            for number in range(len(sizes[name]))
        )
    }
    texts = {"sizes": sizes, "num_unlike": unlike.count, "checksums": checksums}
    checked_files.write_json(record, texts)
    return texts


class _Unlike:
    """Leaves out pairs of very different length, and counts them."""

    def __init__(self, max_ratio):
        self._max_ratio = max_ratio
        self.count = 0

    def left_out(self, pairs):
        if self._max_ratio is None:
            return pairs
        return filter(self._is_alike, pairs)

    def _is_alike(self, pair):
        short, long = sorted(map(len, pair))
        is_alike = long <= self._max_ratio * short
        self.count += not is_alike
        return is_alike


def _about(corpus, settings):
    """What recipes want to know of a corpus besides its pairs."""
    train = corpus.train.fingerprint
    changes = (settings.max_ratio, settings.remove_duplicates)
    if changes != (None, False):
        train = fingerprint(train, *changes)
    others = {
        name: corpus.splits[name].fingerprint for name in ("validation", "test")
    }
    return {
        "name": corpus.name,
        "source_language": corpus.source_language,
        "target_language": corpus.target_language,
        "tokenized": corpus.tokenized,
        "generated": corpus.generated,
        "fingerprints": {"train": train, **others},
        "num_skipped": corpus.train.num_skipped,
    }


@contextlib.contextmanager
def _progress(preparation: Preparation) -> Iterator[None]:
    """A bar of the steps' files, as they appear, with the time left."""
    total = preparation.num_files
    bar = tqdm.tqdm(
        desc="Preparing", total=total, unit=" files", disable=None, leave=False
    )
    is_over = threading.Event()

    def watch():
        while not is_over.wait(1.0):
            bar.n = min(total, len(filesystem.listdir(preparation.work)))
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
