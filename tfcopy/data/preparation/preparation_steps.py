"""The steps of a preparation: each reads files and writes one.

A step that finds its file does nothing, so that what was interrupted goes on.
Where a step has to wait for all of an earlier one, the pipeline says so
(`beam_pipeline.py`). Nothing but names and numbers passes between steps.
"""

import dataclasses
import functools
import os

from tfcopy import checked_files, filesystem
from tfcopy.data.pairs import encoded_shards, encoding
from tfcopy.data.preparation import duplicate_pairs, text_shards, word_counts
from tfcopy.data.preparation.preparation_settings import (
    FORMAT,
    MANIFEST,
    Settings,
)
from tfcopy.data.text import vocabulary

_MOST_SECTIONS = 64


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A corpus in text shards, on its way to ids.

    Attributes:
        folder: Where the prepared corpus will be.
        work: Where files are that only the steps need.
        settings: `Settings`.
        sizes: Pairs of each text shard, by split: `train` and `validation`.
        about: What else the manifest tells.
    """

    folder: str
    work: str
    settings: Settings
    sizes: dict[str, list[int]]
    about: dict

    @property
    def num_train(self) -> int:
        """Number of shards of the training pairs."""
        return len(self.sizes["train"])

    @property
    def num_sections(self) -> int:
        """Number of sections of the counts of words."""
        return min(self.num_train, _MOST_SECTIONS)

    @property
    def shards(self) -> list[tuple[str, int]]:
        """Split and number of all shards that become ids."""
        return [
            (x, i) for x, sizes in self.sizes.items() for i in range(len(sizes))
        ]

    @property
    def num_files(self) -> int:
        """How many files there are in `work` at the end."""
        counted = len(self._counted) * (self.num_train + self.num_sections)
        hashes = 2 * self.num_train * self.settings.remove_duplicates
        texts = self.num_train + 1
        return texts + hashes + counted + len(self.shards)

    # === Steps ===

    def hash_pairs(self, number: int) -> None:
        """Hashes the pairs of a training shard."""
        path = self._work("hashes", number, "npy")
        if not filesystem.exists(path):
            pairs = text_shards.read(self._texts("train", number))
            start = self._start(number)
            duplicate_pairs.write_hashes(path, pairs, start)

    def find_duplicates(self, part: int) -> None:
        """Finds the pairs to leave out in a range of hashes."""
        path = self._work("duplicates", part, "npy")
        if not filesystem.exists(path):
            hashes = self._all_work("hashes", "npy")
            found = duplicate_pairs.find(hashes, part, self.num_train)
            duplicate_pairs.write_array(path, found)

    def count_words(self, number: int) -> None:
        """Counts the words of a training shard."""
        paths = {
            side: self._work(f"{side}-counts", number, "txt")
            for side in self._counted
        }
        if all(map(filesystem.exists, paths.values())):
            return
        counts = vocabulary.count_words(
            self._pairs("train", number),
            self.settings.tokenizers,
            progress=False,
        )
        if self.settings.sides == ["both"]:
            counts = [counts[0] + counts[1]]
        counts = dict(zip(self.settings.sides, counts))
        for side, path in paths.items():
            word_counts.write(path, counts[side], self.num_sections)

    def merge_counts(self, section: int) -> None:
        """Finds the most frequent words of a section of all shards."""
        settings = self.settings
        for side in self._counted:
            size = settings.sizes[side]
            path = self._work(f"{side}-frequent", section, "txt")
            if filesystem.exists(path):
                continue
            files = self._all_work(f"{side}-counts", "txt")
            found = word_counts.most_frequent(
                files, section, size, settings.min_count
            )
            word_counts.write(path, found, 1)

    def make_vocabularies(self) -> None:
        """Writes the vocabularies."""
        settings = self.settings
        for side, size in settings.sizes.items():
            path = self._vocabulary(side)
            given = settings.vocabulary_files.get(side)
            if filesystem.exists(path):
                continue
            if given is not None:
                made = vocabulary.Vocabulary.load(given)
            else:
                counts = {}
                for section in range(self.num_sections):
                    file = self._work(f"{side}-frequent", section, "txt")
                    counts.update(word_counts.read(file, 0))
                made = vocabulary.Vocabulary.build(
                    counts, size, settings.min_count
                )
            made.save(path)

    def encode(self, split: str, number: int) -> None:
        """Turns a shard into ids."""
        record = self._work(split, number, "json")
        if filesystem.exists(record):
            return
        arrays = encoding.encode_arrays(
            self._pairs(split, number),
            _vocabularies(*map(self._vocabulary, self.settings.sides)),
            self.settings.tokenizers,
            **self.settings.encoding_options(),
            progress=False,
        )
        count = len(self.sizes[split])
        name = f"{split}-{number:05d}-of-{count:05d}.npy"
        shard = encoded_shards.write(self.folder, name, arrays)
        checked_files.write_json(record, dataclasses.asdict(shard))

    def write_manifest(self) -> None:
        """Says that all is there, and what it is."""
        splits = {}
        for split, sizes in self.sizes.items():
            records = [
                checked_files.read_json(self._work(split, number, "json"))
                for number in range(len(sizes))
            ]
            shards = [encoded_shards.Shard(**record) for record in records]
            splits[split] = {
                "checksum": encoded_shards.corpus_checksum(self.folder, shards),
                "shards": records,
            }
        content = {
            "format": FORMAT,
            **self.about,
            "settings": self.settings.identity(),
            "vocabularies": {
                side: {
                    "file": os.path.basename(self._vocabulary(side)),
                    "checksum": encoded_shards.checksum_of(
                        self._vocabulary(side)
                    ),
                }
                for side in self.settings.sides
            },
            "splits": splits,
        }
        checked_files.write_json(os.path.join(self.folder, MANIFEST), content)

    # === Files ===

    @property
    def _counted(self):
        """The sides whose words are counted."""
        given = self.settings.vocabulary_files
        return [side for side in self.settings.sides if side not in given]

    def _pairs(self, split, number):
        """The pairs of a shard without duplicates, as they are read."""
        pairs = text_shards.read(self._texts(split, number))
        if split != "train" or not self.settings.remove_duplicates:
            return pairs
        start = self._start(number)
        files = self._all_work("duplicates", "npy")
        end = start + self.sizes["train"][number]
        left_out = duplicate_pairs.between(files, start, end) - start
        left_out = frozenset(left_out.tolist())
        return (pair for i, pair in enumerate(pairs) if i not in left_out)

    def _start(self, number):
        """The number of the first pair of a training shard."""
        return sum(self.sizes["train"][:number])

    def _texts(self, split, number):
        folder = self.work if split == "train" else self.folder
        return text_shards.path_of(folder, split, number)

    def _work(self, name, number, extension):
        return os.path.join(self.work, f"{name}-{number:05d}.{extension}")

    def _all_work(self, name, extension):
        count = self.num_train
        return [self._work(name, i, extension) for i in range(count)]

    def _vocabulary(self, side):
        name = "vocabulary" if side == "both" else f"{side}_vocabulary"
        return os.path.join(self.folder, f"{name}.txt")


# A process encodes many shards.
@functools.lru_cache(maxsize=1)
def _vocabularies(*paths):
    made = tuple(map(vocabulary.Vocabulary.load, paths))
    return made if len(made) == 2 else made * 2
