"""Corpora that `tfcopy.data.prepare` has turned into shards of ids."""

import dataclasses
import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

from tfcopy.data.corpora.corpus import CorpusError, Split, TranslationCorpus
from tfcopy.data.pairs import encoded_shards
from tfcopy.data.preparation import preparation_files, preparation_settings
from tfcopy.data.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class PreparedSplit(Split):
    """A split whose pairs are encoded already.

    Args:
        load: Function of vocabularies, tokenizers and options to an
            `EncodedCorpus`; see `encoded`.
    """

    load: Any = dataclasses.field(kw_only=True)

    def encoded(self, vocabularies, tokenizers, **options):
        """The pairs as ids, as `encoding.encode` would return them.

        Args:
            vocabularies: Those of source and target.
            tokenizers: Those of source and target.
            **options: Those of `encoding.encode` that say what ids there are.

        Raises:
            ValueError: If the ids were made with anything else.
        """
        return self.load(vocabularies, tokenizers, options)


@dataclasses.dataclass(frozen=True)
class PreparedCorpus(TranslationCorpus):
    """A corpus as ids, with the texts of its validation and test set.

    Args:
        folder: Where it is.
        manifest: What it was made with.
    """

    folder: str = dataclasses.field(kw_only=True)
    manifest: Mapping = dataclasses.field(kw_only=True)

    def vocabularies(
        self, tokenizers, sizes, files, min_count: int
    ) -> tuple[Vocabulary, ...]:
        """Its vocabularies, as they would be counted.

        Args:
            tokenizers: Those of source and target.
            sizes: The largest size of the vocabulary of `source` and `target`,
                or of `both` sides.
            files: Vocabularies that are to be used instead, by the same names.
            min_count: Rarer words are left out.

        Raises:
            ValueError: If they were made with anything else.
        """
        asked = preparation_settings.counting_identity(
            tokenizers, sizes, min_count
        )
        self._check(asked)
        made = []
        for side, stored in self.manifest["vocabularies"].items():
            path = os.path.join(self.folder, stored["file"])
            encoded_shards.check_file(path, stored["checksum"])
            made.append(Vocabulary.load(path))
            given = files.get(side)
            if given is not None and given.words != made[-1].words:
                raise ValueError(
                    f"--prepared: {self.folder} has another vocabulary of the "
                    f"{side} than --{stored['file'].removesuffix('.txt')}."
                )
        return tuple(made)

    def _encoded(self, split, vocabularies, tokenizers, options):
        asked = preparation_settings.encoding_identity(tokenizers, **options)
        self._check(asked)
        stored = self.manifest["splits"][split]
        return encoded_shards.load(
            self.folder,
            [encoded_shards.Shard(**shard) for shard in stored["shards"]],
            stored["checksum"],
            split,
        )

    def _check(self, asked):
        """Raises a ValueError if it was prepared with anything else."""
        settings = self.manifest["settings"]
        for name, value in json.loads(json.dumps(asked)).items():
            if settings[name] != value:
                raise ValueError(
                    f"--prepared: {self.folder} was prepared with {name} "
                    f"{settings[name]}, and this run asks for {value}. Prepare "
                    "it again, or change the run's flags."
                )


def load(folder) -> PreparedCorpus:
    """Opens a folder that `tfcopy.data.prepare` has written.

    Raises:
        CorpusError: If it holds no finished corpus, or a file is damaged.
    """
    folder = os.fspath(folder)
    try:
        manifest = preparation_settings.read_manifest(folder)
    except ValueError as error:
        raise CorpusError(f"--prepared: {error}") from error
    about, texts = manifest["corpus"], manifest["texts"]
    pairs = preparation_settings.pairs_of(manifest)

    def split(name):
        paths = [
            preparation_files.texts_path(folder, name, number)
            for number in range(len(texts["sizes"][name]))
        ]
        for path in paths:
            if name != "train":
                encoded_shards.check_file(
                    path, texts["checksums"][os.path.basename(path)]
                )

        def read():
            if name == "train":
                raise CorpusError(
                    f"--prepared: {folder} holds the training pairs as ids "
                    "alone. What reads their texts needs the corpus itself."
                )
            return itertools.chain.from_iterable(
                map(preparation_files.read_texts, paths)
            )

        counts = pairs[name]
        left_out = {x: counts[x] for x in ("duplicates", "unlike")}
        num_pairs = sum(texts["sizes"][name]) - left_out["duplicates"]
        return PreparedSplit(
            read,
            about["fingerprints"][name],
            num_pairs,
            counts["read"] - num_pairs - sum(left_out.values()),
            left_out,
            load=lambda *arguments: corpus._encoded(name, *arguments),
        )

    corpus = PreparedCorpus(
        **{name: about[name] for name in preparation_settings.ABOUT},
        splits={name: split(name) for name in ("train", "validation", "test")},
        folder=folder,
        manifest=manifest,
    )
    return corpus
