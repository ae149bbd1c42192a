"""Corpora that `tfcopy.data.prepare` has turned into shards of ids.

A manifest beside the shards lists their corpus and settings.
"""

import dataclasses
import functools
import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

from tfcopy import checked_files, filesystem
from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import (
    CorpusError,
    Split,
    TranslationCorpus,
    fingerprint,
)
from tfcopy.data.preparation import MANIFEST, shard_files
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.vocabulary import Vocabulary

# Part of each manifest: raise it when older folders cannot be read.
FORMAT = 1
# Fields of a `TranslationCorpus` that a manifest has, too.
ABOUT = ("name", "source_language", "target_language", "tokenized", "generated")
_FIELDS = {
    "settings": dict,
    "corpus": {"fingerprints": {...: str}, "num_skipped": {...: int}},
    "texts": {"sizes": {...: [int]}, "checksums": {...: str}},
    "vocabularies": {...: {"file": str, "checksum": str}},
    "splits": {
        ...: {"shards": [{"file": str, "checksum": str}], "checksum": str}
    },
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of tokenization and encoding.

    Attributes:
        tokenizers: Tokenizers of source and target.
        sizes: The largest size of the vocabulary of `source` and of `target`,
            or of `both` sides together; `None` for no limit.
        vocabulary_files: Vocabularies to use instead, by the same names.
        min_count: Rarer words are left out of vocabularies.
        max_length, truncate, append_eos, unmatched: As in `encoding.encode`.
        dictionary: File of a `Dictionary` for pointer labels, or `None`.
        remove_duplicates: Whether only the first of equal training pairs is
            kept.
        max_ratio: Training pairs one side of which has over so many times the
            characters of the other are left out; `None` keeps all.
    """

    tokenizers: tuple
    sizes: dict[str, int | None]
    vocabulary_files: dict[str, str] = dataclasses.field(default_factory=dict)
    min_count: int = 1
    max_length: int | tuple[int, int] | None = 50
    truncate: tuple[int | None, int | None] | None = None
    append_eos: bool = True
    unmatched: str = "attention_argmax"
    dictionary: str | None = None
    remove_duplicates: bool = False
    max_ratio: float | None = None

    @property
    def sides(self) -> list[str]:
        """The names of the vocabularies."""
        return list(self.sizes)

    def encoding_options(self) -> dict:
        """Returns the options of `encoding.encode_arrays`."""
        return {
            "max_length": self.max_length,
            "truncate": self.truncate,
            "append_eos": self.append_eos,
            "unmatched": self.unmatched,
            "dictionary": self.dictionary and _dictionary(self.dictionary),
        }

    def identity(self) -> dict:
        """Returns all settings that vocabularies and ids depend on."""
        return {
            **identify_counting(self.tokenizers, self.sizes, self.min_count),
            **encoding_identity(self.tokenizers, **self.encoding_options()),
            "vocabulary files": {
                side: fingerprint(filesystem.read_bytes(path))
                for side, path in self.vocabulary_files.items()
            },
            "remove_duplicates": self.remove_duplicates,
            "max_ratio": self.max_ratio,
        }


def identify_counting(tokenizers, sizes, min_count) -> dict:
    """Returns the settings that vocabularies depend on, by name."""
    return {**_tokenizers(tokenizers), "sizes": sizes, "min_count": min_count}


def encoding_identity(
    tokenizers,
    *,
    max_length=50,
    truncate=None,
    append_eos=True,
    unmatched="attention_argmax",
    dictionary=None,
    entities=None,
) -> dict:
    """Returns the settings that ids depend on, by name.

    Args:
        tokenizers: Tokenizers of source and target.
        max_length, truncate, append_eos, unmatched, dictionary, entities: As
            in `encoding.encode`, and with the same defaults.
    """
    return {
        **_tokenizers(tokenizers),
        "max_length": max_length,
        "truncate": truncate,
        "append_eos": append_eos,
        "unmatched": unmatched,
        "dictionary": dictionary and fingerprint(*dictionary),
        "entities": entities and entities.fingerprint,
    }


def read_manifest(folder) -> dict:
    """Reads the manifest of a finished folder.

    Raises:
        ValueError: If it holds no prepared corpus, or one of another format.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        manifest = checked_files.read_json(path)
    except FileNotFoundError:
        raise ValueError(
            f"{folder}: not a folder that tfcopy.data.prepare has finished "
            f"(it has no {MANIFEST})."
        ) from None
    if manifest.get("format") != FORMAT:
        raise ValueError(
            f"{path}: expected format {FORMAT}. "
            f"Received: {manifest.get('format')}."
        )
    checked_files.check_fields(path, manifest, _FIELDS)
    checked_files.check_inside(path, files_of(manifest))
    return manifest


def vocabulary_name(side: str) -> str:
    """Returns the name of the vocabulary file of a side, or of both."""
    return "vocabulary.txt" if side == "both" else f"{side}_vocabulary.txt"


def files_of(manifest) -> dict[str, str]:
    """Returns the SHA-256 of each file that a manifest lists."""
    listed = [
        *manifest["vocabularies"].values(),
        *(x for split in manifest["splits"].values() for x in split["shards"]),
    ]
    shards = {x["file"]: x["checksum"] for x in listed}
    return {**shards, **manifest["texts"]["checksums"]}


def pairs_of(manifest) -> dict[str, dict[str, int]]:
    """Returns the `text_pairs.count_pairs` of each split."""
    texts, num_skipped = manifest["texts"], manifest["corpus"]["num_skipped"]
    found = {}
    for name, sizes in texts["sizes"].items():
        written = sum(sizes)
        unlike = texts["num_unlike"] if name == "train" else 0
        total = {"num_read": written, "pairs": written, "num_too_long": 0}
        if name in manifest["splits"]:
            shards = manifest["splits"][name]["shards"]
            total = {x: sum(shard[x] for shard in shards) for x in total}
        left_out = manifest["corpus"].get("left_out", {}).get(name, {})
        read = written + unlike + num_skipped.get(name, 0)
        found[name] = text_pairs.count_pairs(
            read + sum(left_out.values()),
            total["pairs"],
            too_long=total["num_too_long"],
            duplicates=written - total["num_read"],
            unlike=unlike,
            **left_out,
        )
    return found


# A graph is made for each dictionary, even if it is equal to another.
_dictionary = functools.lru_cache(maxsize=1)(Dictionary.load)


def _tokenizers(tokenizers):
    sides = zip(("source", "target"), tokenizers)
    return {f"tokenizer of the {side}": x.fingerprint for side, x in sides}


@dataclasses.dataclass(frozen=True)
class PreparedSplit(Split):
    """A split whose pairs are encoded already.

    Args:
        load: Function of vocabularies, tokenizers and options to an
            `EncodedCorpus`; see `encode`.
    """

    load: Any = dataclasses.field(kw_only=True)

    def encode(self, vocabularies, tokenizers, **options):
        """Returns the pairs as ids, as `encoding.encode` would.

        Args:
            vocabularies: Vocabularies of source and target.
            tokenizers: Tokenizers of source and target.
            **options: Options of `encoding.encode` that change ids.

        Raises:
            ValueError: If the ids were made with anything else.
        """
        return self.load(vocabularies, tokenizers, options)


@dataclasses.dataclass(frozen=True)
class PreparedCorpus(TranslationCorpus):
    """A corpus as ids, with the texts of its validation and test set.

    Args:
        folder: Folder of its files.
        manifest: Its corpus, settings and files.
    """

    folder: str = dataclasses.field(kw_only=True)
    manifest: Mapping = dataclasses.field(kw_only=True)

    def vocabularies(
        self, tokenizers, sizes, files, min_count: int
    ) -> tuple[Vocabulary, ...]:
        """Loads its vocabularies.

        Args:
            tokenizers: Tokenizers of source and target.
            sizes: The largest size of the vocabulary of `source` and `target`,
                or of `both` sides.
            files: Vocabularies to use instead, by the same names.
            min_count: Rarer words are left out.

        Raises:
            ValueError: If they were made with anything else.
        """
        self._check(identify_counting(tokenizers, sizes, min_count))
        made = []
        for side, stored in self.manifest["vocabularies"].items():
            path = os.path.join(self.folder, stored["file"])
            shard_files.check_file(path, stored["checksum"])
            made.append(Vocabulary.load(path))
            given = files.get(side)
            if given is not None and given.words != made[-1].words:
                raise ValueError(
                    f"--prepared: {self.folder} has another vocabulary of the "
                    f"{side} than --{stored['file'].removesuffix('.txt')}."
                )
        return tuple(made)

    def _load_encoded(self, split, vocabularies, tokenizers, options):
        self._check(encoding_identity(tokenizers, **options))
        stored = self.manifest["splits"][split]
        return shard_files.load(
            self.folder,
            [shard_files.Shard(**shard) for shard in stored["shards"]],
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
        manifest = read_manifest(folder)
    except ValueError as error:
        raise CorpusError(f"--prepared: {error}") from error
    about, texts = manifest["corpus"], manifest["texts"]
    pairs = pairs_of(manifest)

    def split(name):
        paths = [
            shard_files.texts_path(folder, name, number)
            for number in range(len(texts["sizes"][name]))
        ]
        for path in paths:
            if name != "train":
                shard_files.check_file(
                    path, texts["checksums"][os.path.basename(path)]
                )

        def read():
            if name == "train":
                raise CorpusError(
                    f"--prepared: {folder} holds the training pairs as ids "
                    "alone. What reads their texts needs the corpus itself."
                )
            return itertools.chain.from_iterable(
                map(shard_files.read_texts, paths)
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
            load=lambda *arguments: corpus._load_encoded(name, *arguments),
        )

    corpus = PreparedCorpus(
        **{name: about[name] for name in ABOUT},
        splits={name: split(name) for name in ("train", "validation", "test")},
        folder=folder,
        manifest=manifest,
    )
    return corpus
