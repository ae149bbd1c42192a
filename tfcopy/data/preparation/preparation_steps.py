"""The steps of a preparation: each reads files and writes one.

A step writes checksums beside its files. A step that finds both, and finds them
equal, does nothing, so that an interrupted preparation continues. If a step
must wait for all of an earlier one, the pipeline declares it
(`corpus_preparation.py`). Nothing but names and numbers passes between steps.
"""

import dataclasses
import functools
import os

from tfcopy import checked_files
from tfcopy.data.pairs import encoding
from tfcopy.data.preparation import prepared_corpus
from tfcopy.data.preparation import shard_files as files
from tfcopy.data.text import vocabulary

_MOST_SECTIONS = 64


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A corpus in text shards, on its way to ids.

    Attributes:
        work: The folder of all files.
        settings: `Settings`.
        sizes: Pairs of each text shard, by split: `train` and `validation`.
        about: Further entries of the manifest.
    """

    work: str
    settings: prepared_corpus.Settings
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
    def num_checksums(self) -> int:
        """Final number of checksum files in `work`."""
        counted = bool(self._counted_sides)
        of_train = 2 * self.settings.remove_duplicates + counted
        of_all = 2  # Texts and vocabularies.
        of_all += counted * self.num_sections + len(self.shards)
        return of_train * self.num_train + of_all

    # === Steps ===

    def hash_pairs(self, number: int) -> None:
        """Hashes the pairs of a training shard."""
        path = self._work("hashes", number, "npy")

        def make():
            pairs = files.read_texts(self._texts("train", number))
            files.write_hashes(path, pairs, self._start(number))

        _make_unless_intact([path], make)

    def find_duplicates(self, part: int) -> None:
        """Finds the pairs to leave out in a range of hashes."""
        path = self._work("duplicates", part, "npy")

        def make():
            hashes = self._all_work("hashes", "npy")
            found = files.find_duplicates(hashes, part, self.num_train)
            files.write_array(path, found)

        _make_unless_intact([path], make)

    def count_words(self, number: int) -> None:
        """Counts the words of a training shard."""
        paths = {
            side: self._work(f"{side}-counts", number, "txt")
            for side in self._counted_sides
        }

        def make():
            counts = vocabulary.count_words(
                self._pairs("train", number),
                self.settings.tokenizers,
                progress=False,
            )
            if self.settings.sides == ["both"]:
                counts = [counts[0] + counts[1]]
            counts = dict(zip(self.settings.sides, counts))
            for side, path in paths.items():
                files.write_counts(path, counts[side], self.num_sections)

        _make_unless_intact(list(paths.values()), make)

    def merge_counts(self, section: int) -> None:
        """Finds the most frequent words of a section of all shards."""
        settings = self.settings
        paths = {
            side: self._work(f"{side}-frequent", section, "txt")
            for side in self._counted_sides
        }

        def make():
            for side, path in paths.items():
                found = files.most_frequent(
                    self._all_work(f"{side}-counts", "txt"),
                    section,
                    settings.sizes[side],
                    settings.min_count,
                )
                files.write_counts(path, found, 1)

        _make_unless_intact(list(paths.values()), make)

    def make_vocabularies(self) -> None:
        """Writes the vocabularies."""
        settings = self.settings

        def make_vocabulary(side):
            given = settings.vocabulary_files.get(side)
            if given is not None:
                return vocabulary.Vocabulary.load(given)
            counts = {}
            for section in range(self.num_sections):
                path = self._work(f"{side}-frequent", section, "txt")
                counts.update(files.read_counts(path, 0))
            return vocabulary.Vocabulary.build(
                counts, settings.sizes[side], settings.min_count
            )

        def make():
            for side in settings.sides:
                make_vocabulary(side).save(self._vocabulary(side))

        _make_unless_intact(list(map(self._vocabulary, settings.sides)), make)

    def encode(self, split: str, number: int) -> None:
        """Turns a shard into ids."""
        record = self._record(split, number)
        count = len(self.sizes[split])
        name = f"{split}-{number:05d}-of-{count:05d}.npy"

        def make():
            arrays = encoding.encode_arrays(
                self._pairs(split, number),
                _vocabularies(*map(self._vocabulary, self.settings.sides)),
                self.settings.tokenizers,
                **self.settings.encoding_options(),
                progress=False,
            )
            shard = files.write(self.work, name, arrays)
            checked_files.write_json(record, dataclasses.asdict(shard))

        _make_unless_intact([record, os.path.join(self.work, name)], make)

    def write_manifest(self) -> None:
        """Writes the manifest of a complete preparation."""
        sides = self.settings.sides
        vocabularies = {side: self._vocabulary(side) for side in sides}
        splits = {}
        for split, sizes in self.sizes.items():
            records = [
                checked_files.read_json(self._record(split, number))
                for number in range(len(sizes))
            ]
            shards = [files.Shard(**record) for record in records]
            splits[split] = {
                "checksum": files.corpus_checksum(self.work, shards),
                "shards": records,
            }
        content = {
            "format": prepared_corpus.FORMAT,
            **self.about,
            "settings": self.settings.identity(),
            "vocabularies": {
                side: {
                    "file": os.path.basename(path),
                    "checksum": checked_files.checksum_of(path),
                }
                for side, path in vocabularies.items()
            },
            "splits": splits,
        }
        content["pairs"] = prepared_corpus.pairs_of(content)
        checked_files.write_json(
            os.path.join(self.work, prepared_corpus.MANIFEST), content
        )

    # === Files ===

    @property
    def _counted_sides(self):
        """The sides whose words are counted."""
        given = self.settings.vocabulary_files
        return [side for side in self.settings.sides if side not in given]

    def _pairs(self, split, number):
        """Reads the pairs of a shard without duplicates."""
        pairs = files.read_texts(self._texts(split, number))
        if split != "train" or not self.settings.remove_duplicates:
            return pairs
        start = self._start(number)
        left_out = files.numbers_between(
            self._all_work("duplicates", "npy"),
            start,
            start + self.sizes["train"][number],
        )
        left_out = frozenset((left_out - start).tolist())
        return (pair for i, pair in enumerate(pairs) if i not in left_out)

    def _start(self, number):
        """Returns the number of the first pair of a training shard."""
        return sum(self.sizes["train"][:number])

    def _texts(self, split, number):
        return files.texts_path(self.work, split, number)

    def _work(self, name, number, extension):
        return os.path.join(self.work, f"{name}-{number:05d}.{extension}")

    def _record(self, split, number):
        return self._work(f"{split}-shard", number, "json")

    def _all_work(self, name, extension):
        return [self._work(name, i, extension) for i in range(self.num_train)]

    def _vocabulary(self, side):
        return os.path.join(self.work, prepared_corpus.vocabulary_name(side))


def _make_unless_intact(paths, make):
    """Makes files unless they are intact."""
    if not paths:
        return
    # TensorFlow's memory has no two names one of which begins the other.
    record = f"{os.path.splitext(paths[0])[0]}.sha256"
    if not checked_files.match_checksums(record, paths):
        make()
        checked_files.write_checksums(record, paths)


# A process encodes many shards.
@functools.lru_cache(maxsize=1)
def _vocabularies(*paths):
    made = tuple(map(vocabulary.Vocabulary.load, paths))
    return made if len(made) == 2 else made * 2
