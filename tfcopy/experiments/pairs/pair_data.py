"""Pairs of texts made ready: subwords, vocabularies, ids, a test set."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfcopy import checked_files
from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import fingerprint, is_blank
from tfcopy.data.definitions import word_vectors
from tfcopy.data.pairs import encoding
from tfcopy.data.preparation import prepared_corpus
from tfcopy.data.text import vocabulary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.experiments.config import from_flags, has_backbone
from tfcopy.experiments.pairs import pretrained
from tfcopy.experiments.pairs.corpus_flags import FilesConfig
from tfcopy.experiments.pairs.model_flags import PairsConfig
from tfcopy.experiments.training_choices import Batching
from tfcopy.flags import load_file

SIDES = ("source", "target")


@dataclasses.dataclass(frozen=True)
class PairData:
    """A corpus made ready.

    Attributes:
        corpus: `TranslationCorpus`.
        tokenizers: The tokenizers of source and target.
        vocabularies: The vocabularies of source and target, which may be one.
        train: `EncodedCorpus` to train on.
        validation: `EncodedCorpus` to validate on.
        test: List of pairs of texts.
        entities: `Entities` that words are replaced by, or `None`.
        vectors: `WordVectors` of source and target that initialise the
            embeddings; `None` for random ones.
    """

    corpus: Any
    tokenizers: tuple
    vocabularies: tuple
    train: encoding.EncodedCorpus
    validation: encoding.EncodedCorpus
    test: list
    entities: Entities | None = None
    vectors: tuple = (None, None)

    @property
    def examples(self) -> list[str]:
        """Returns a few sources of the test set."""
        return [source for source, _ in self.test[:8]]

    @property
    def pairs(self) -> dict[str, dict[str, int]]:
        """Returns the `text_pairs.count_pairs` of each split."""
        parts = {"train": self.train, "validation": self.validation}
        return {
            name: text_pairs.count_split(
                split,
                len(parts.get(name, self.test)),
                parts[name].num_too_long if name in parts else 0,
            )
            for name, split in self.corpus.splits.items()
        }

    @property
    def identity(self) -> dict:
        """Returns the data that must stay the same in a resumed run."""
        identity = {
            "training data": self.train.checksum,
            # The best scores of two validation sets cannot be compared.
            "validation data": self.validation.checksum,
        }
        for side, tokenizer, words, vectors in zip(
            SIDES, self.tokenizers, self.vocabularies, self.vectors
        ):
            identity[f"tokenizer of the {side}"] = tokenizer.fingerprint
            identity[f"vocabulary of the {side}"] = words.fingerprint
            if vectors is not None:
                identity[f"vectors of the {side}"] = word_vectors.checksum(
                    vectors.matrix
                )
        if self.entities is not None:
            identity["entities"] = self.entities.fingerprint
        return identity


def load_files(
    config: FilesConfig,
    source_language="en",
    target_language="en",
    memories=False,
    **options,
):
    """Loads the corpus that `--train` or `--prepared` names, if one does.

    Args:
        config: The flags; `--seed` chooses the pairs that are held out.
        source_language, target_language, memories, **options: As in
            `text_pairs.load` and `text_pairs.file_pairs`.
    """
    if config.prepared is not None:
        return prepared_corpus.load(config.prepared)
    if config.train is None:
        return None
    return text_pairs.load(
        *text_pairs.file_pairs(config, memories),
        source_language=source_language,
        target_language=target_language,
        seed=config.seed,
        **options,
    )


def prepare(
    config: PairsConfig,
    corpus,
    tokenizers,
    folder,
    counted: Mapping = {},
    **options,
) -> PairData:
    """Counts words, and turns a corpus into ids; both are kept in a folder.

    Args:
        config: The flags; a batch must hold the longest training pair.
        corpus: `TranslationCorpus`.
        tokenizers: The tokenizers of source and target.
        folder: Where vocabularies and ids are kept.
        counted: Dict of arguments of `count_vocabularies`. Without `sizes`
            there is a vocabulary for each side, of the size or file of its
            flags.
        **options: More arguments of `encoding.encode`.
    """
    if has_backbone(config):  # It has its own words.
        vocabularies = pretrained.pieces(config.backbone, folder).vocabularies
    else:
        if "sizes" not in counted:
            counted = {**_get_vocabulary_flags(config), **counted}
        vocabularies = count_vocabularies(corpus, tokenizers, folder, **counted)
    encoded = {
        name: _encode(
            corpus.splits[name], name, vocabularies, tokenizers, folder, options
        )
        for name in ("train", "validation")
    }
    data = PairData(
        corpus=corpus,
        tokenizers=tuple(tokenizers),
        vocabularies=tuple(vocabularies),
        # Test sets are not filtered by length.
        test=[
            (as_text(source), as_text(target))
            for source, target in corpus.test
            if not is_blank((as_text(source),))
        ],
        entities=options.get("entities"),
        **encoded,
    )
    _print_sizes(data)
    batching = from_flags(Batching, config)
    batching.check([data.train.source_lengths, data.train.target_lengths])
    return data


def _get_vocabulary_flags(config):
    """Returns the sizes and files of the vocabularies of both sides."""
    names = {side: f"{side}_vocabulary" for side in SIDES}
    flags = vars(config)
    return {
        "sizes": {side: flags.get(f"{x}_size") for side, x in names.items()},
        "files": {side: flags.get(x) for side, x in names.items()},
    }


def _encode(split, name, vocabularies, tokenizers, folder, options):
    if isinstance(split, prepared_corpus.PreparedSplit):
        return split.encode(vocabularies, tokenizers, **options)
    return encoding.encode(
        split,
        *vocabularies,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        cache_dir=folder,
        name=name,
        **options,
    )


def _print_sizes(data):
    sizes = dict.fromkeys(f"{words.size:,}" for words in data.vocabularies)
    if len(set(map(id, data.vocabularies))) > 1:
        sizes = [f"{words.size:,}" for words in data.vocabularies]
    print(f"{data.corpus.name}: {' and '.join(sizes)} words")
    for name, counts in data.pairs.items():
        print(text_pairs.counts_line(name, counts))


def count_vocabularies(
    corpus,
    tokenizers,
    folder,
    *,
    sizes: Mapping[str, int | None],
    files: Mapping[str, str | None] = {},
    min_count: int = 1,
    texts: Callable | None = None,
    texts_key=None,
) -> tuple:
    """Counts the vocabularies of source and target once, and keeps them.

    Args:
        corpus: `TranslationCorpus`, whose training pairs are counted.
        tokenizers: The tokenizers of source and target.
        folder: Where the vocabularies are kept.
        sizes: The largest size of the vocabulary of `source` and of `target`,
            or of `both` sides together; `None` for no limit.
        files: Vocabulary files to use instead, by the same names.
        min_count: Rarer words are left out.
        texts: Function without arguments that returns other pairs to count, and
            their tokenizers.
        texts_key: What those pairs depend on.

    Raises:
        OSError, ValueError: naming the flag of a file that is no vocabulary.
    """
    names = {
        side: "vocabulary" if side == "both" else f"{side}_vocabulary"
        for side in sizes
    }
    given = {
        side: load_file(vocabulary.Vocabulary, files.get(side), f"--{name}")
        for side, name in names.items()
    }
    if isinstance(corpus, prepared_corpus.PreparedCorpus):
        vocabularies = corpus.vocabularies(tokenizers, sizes, given, min_count)
        return vocabularies if len(vocabularies) == 2 else vocabularies * 2

    def make():
        if all(given.values()):
            return list(given.values())
        pairs, cut = (corpus.train, tokenizers) if texts is None else texts()
        counts = vocabulary.count_words(
            pairs, cut, total=corpus.train.num_pairs
        )
        if "both" in sizes:
            counts = [counts[0] + counts[1]]
        return [
            given[side]
            or vocabulary.Vocabulary.build(count, sizes[side], min_count)
            for side, count in zip(sizes, counts)
        ]

    vocabularies = make_once(
        folder,
        [f"{name}-{{}}.txt" for name in names.values()],
        [
            corpus.fingerprint,
            [tokenizer.fingerprint for tokenizer in tokenizers],
            list(sizes.values()),
            min_count,
            texts_key,
            [words and words.words for words in given.values()],
        ],
        make,
    )
    return vocabularies if len(vocabularies) == 2 else vocabularies * 2


def make_once(folder, names, parts, make, load=vocabulary.Vocabulary.load):
    """Files that are made once, such as vocabularies, and read from then on.

    Their names contain a hash of `parts`, so that files of other sizes
    are left alone. Their checksums are written last, in the format of
    `sha256sum`: without them, or if they are wrong, all are made again.

    Args:
        folder: Where they are kept.
        names: The name of each, with `{}` for the hash.
        parts: All that they depend on, as plain values.
        make: Function without arguments that returns the objects to save, each
            with a `save`.
        load: Function of a path.

    Returns:
        Tuple of the objects, loaded or just made.
    """
    key = fingerprint(*parts)
    names = [name.format(key) for name in names]
    paths = [os.path.join(folder, name) for name in names]
    record = f"{os.path.splitext(paths[0])[0]}.sha256"
    if checked_files.match_checksums(record, paths):
        with contextlib.suppress(OSError, ValueError):
            return tuple(map(load, paths))
    made = tuple(words.save(path) for words, path in zip(make(), paths))
    checked_files.write_checksums(record, paths)
    return made


def as_text(text) -> str:
    """Returns text as `str`; some corpora yield bytes."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


@dataclasses.dataclass(frozen=True)
class Pieces:
    """A model of subwords, learned when it is saved.

    Attributes:
        texts: What it is learned from; read several times.
        size: The value of the flag.
        flag: The flag that asks for it, for messages.
        train: `train_sentencepiece.train` or `train_bpe`.
        protect: Spans that are not cut.
    """

    texts: Any
    size: int
    flag: str
    train: Callable
    protect: Sequence[str] = ()

    def save(self, path) -> SentencepieceTokenizer:
        print(f"Learning the pieces of {self.flag} {self.size:,}.")
        try:
            self.train(self.texts, self.size, path, protect=self.protect)
        except ValueError as error:
            raise ValueError(f"{self.flag}: {error}") from error
        return SentencepieceTokenizer(path)


class Sides:
    """The texts of some sides of training pairs, one after the other."""

    def __init__(self, pairs: Iterable[tuple], sides: Sequence[int] = (0, 1)):
        self.pairs = pairs
        self.sides = sides

    def __iter__(self):
        for pair in self.pairs:
            for side in self.sides:
                yield as_text(pair[side])


def learn_once(
    folder, name: str, corpus, pieces: Pieces
) -> SentencepieceTokenizer:
    """Learns the tokenizer of subwords, or loads the one learned before.

    Args:
        folder: Where the model is kept.
        name: The name of its file, with `{}` for the hash.
        corpus: `TranslationCorpus`, whose training pairs have the texts.
        pieces: `Pieces`.
    """
    parts = [corpus.splits["train"].fingerprint, pieces.size]
    if pieces.protect:
        parts.append(list(pieces.protect))
    (tokenizer,) = make_once(
        folder, [name], parts, lambda: [pieces], SentencepieceTokenizer
    )
    return tokenizer
