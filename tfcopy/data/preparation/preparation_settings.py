"""What a prepared corpus was made with, and what it is made of."""

import dataclasses
import functools
import os

from tfcopy import checked_files, filesystem
from tfcopy.data.corpora.corpus import fingerprint
from tfcopy.data.pairs import pair_counts
from tfcopy.data.text.dictionary import Dictionary

MANIFEST = "prepared.json"
# Part of each manifest: raise it when older folders cannot be read.
FORMAT = 1
# What a manifest tells of a `TranslationCorpus`, under the same names.
ABOUT = (
    *("name", "source_language", "target_language"),
    *("tokenized", "generated"),
)
_FIELDS = {
    "settings": dict,
    "corpus": {"fingerprints": {...: str}, "num_skipped": {...: int}},
    "texts": {"sizes": {...: [int]}, "checksums": {...: str}},
    "vocabularies": {...: {"file": str, "checksum": str}},
    "splits": {...: {"shards": [dict], "checksum": str}},
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """How texts become words and ids.

    Attributes:
        tokenizers: Those of source and target.
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
        """The options of `encoding.encode_arrays`."""
        return {
            "max_length": self.max_length,
            "truncate": self.truncate,
            "append_eos": self.append_eos,
            "unmatched": self.unmatched,
            "dictionary": self.dictionary and _dictionary(self.dictionary),
        }

    def identity(self) -> dict:
        """All that vocabularies and ids depend on besides the texts."""
        return {
            **counting_identity(self.tokenizers, self.sizes, self.min_count),
            **encoding_identity(self.tokenizers, **self.encoding_options()),
            "vocabulary files": {
                side: _content_key(path)
                for side, path in self.vocabulary_files.items()
            },
            "remove_duplicates": self.remove_duplicates,
            "max_ratio": self.max_ratio,
        }


def counting_identity(tokenizers, sizes, min_count) -> dict:
    """What vocabularies depend on besides the texts, by name."""
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
    """What ids depend on besides texts and vocabularies, by name.

    Args:
        tokenizers: Those of source and target.
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
    """What a finished folder holds.

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
    corpus = manifest.get("corpus")
    if isinstance(corpus, dict) and isinstance(corpus.get("num_skipped"), int):
        # As releases before wrote it.
        corpus["num_skipped"] = {"train": corpus["num_skipped"]}
    checked_files.check_fields(path, manifest, _FIELDS)
    return manifest


def vocabulary_name(side: str) -> str:
    """The name of the file of the vocabulary of a side, or of both."""
    return "vocabulary.txt" if side == "both" else f"{side}_vocabulary.txt"


def files_of(manifest) -> dict[str, str]:
    """The SHA-256 of each file that a manifest lists, by its name."""
    listed = [
        *manifest["vocabularies"].values(),
        *(x for split in manifest["splits"].values() for x in split["shards"]),
    ]
    shards = {x["file"]: x["checksum"] for x in listed}
    return {**shards, **manifest["texts"]["checksums"]}


def pairs_of(manifest) -> dict[str, dict[str, int]]:
    """The `pair_counts` of each split."""
    texts, num_skipped = manifest["texts"], manifest["corpus"]["num_skipped"]
    found = {}
    for name, sizes in texts["sizes"].items():
        written = sum(sizes)
        unlike = texts["num_unlike"] if name == "train" else 0
        total = {"num_read": written, "pairs": written, "num_too_long": 0}
        if name in manifest["splits"]:
            shards = manifest["splits"][name]["shards"]
            total = {x: sum(shard[x] for shard in shards) for x in total}
        found[name] = pair_counts.count(
            written + unlike + num_skipped.get(name, 0),
            total["pairs"],
            too_long=total["num_too_long"],
            duplicates=written - total["num_read"],
            unlike=unlike,
        )
    return found


# A graph is made for each dictionary, even if it is equal to another.
_dictionary = functools.lru_cache(maxsize=1)(Dictionary.load)


def _tokenizers(tokenizers):
    sides = zip(("source", "target"), tokenizers)
    return {f"tokenizer of the {side}": x.fingerprint for side, x in sides}


def _content_key(path) -> str:
    """What the content of a small file is told by."""
    with filesystem.open(path, "rb") as file:
        return fingerprint(file.read())
