"""First sentences and headlines: Gigaword of TFDS, and files with tags.

TFDS's Gigaword is made with the scripts of Rush et al. (2015): text in lower
case, tokens between blanks, digits as `#`. Its rare words are already `UNK`, on
both sides, so that it is unknown which source word an unknown word of the
headline was. Without capitals, names cannot be distinguished from other words
either. The corpus of the pointer softmax paper is the licensed one behind it,
whose tokens a tagger can label.

Reference:
    [Rush et al., 2015](https://arxiv.org/abs/1509.00685), section 7.1.
"""

import dataclasses
import functools
import os
import re
from collections.abc import Iterator

from tfcopy.data.corpora import tfds_corpora
from tfcopy.data.corpora.corpus import (
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    map_examples,
    translation_corpus,
)
from tfcopy.data.corpora.text_pairs import iter_aligned_lines, line_error
from tfcopy.data.text import blanks
from tfcopy.data.text.entities import MARK, NO_TAG
from tfcopy.tokens import SPECIAL_TOKENS, UNK

NAME = "gigaword"

_UNK = re.compile(r"(?<!\S)UNK(?!\S)")


def load(
    data_dir: str | os.PathLike | None = None, version: str | None = None
) -> TranslationCorpus:
    """Opens TFDS's `gigaword`; its `UNK` comes as `<unk>`, the special word.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        version: The version, for example `"1.2.0"`; by default the newest.
    """
    corpus = tfds_corpora.load(
        f"{NAME}:{version}" if version else NAME,
        data_dir,
        source="document",
        target="summary",
        languages=("en", "en"),
    )
    splits = map_examples(corpus.splits, _replace_unk, "unk")
    return dataclasses.replace(corpus, tokenized=True, splits=splits)


def _replace_unk(pair: tuple[str, str]) -> tuple[str, str]:
    return tuple(_UNK.sub(SPECIAL_TOKENS[UNK], text) for text in pair)


FilePair = tuple[str | os.PathLike, str | os.PathLike]


def load_tagged(
    train: FilePair,
    train_tags: FilePair,
    validation: FilePair | None = None,
    validation_tags: FilePair | None = None,
    test: FilePair | None = None,
    test_tags: FilePair | None = None,
    **options,
) -> TranslationCorpus:
    """Reads pairs of text files whose tokens a tagger has labelled.

    Each text file has a file of tags, line by line and token by token:

        smith of acme corp        PER O ORG ORG

    `O` marks no entity, anything else does; IOB tags (`B-ORG`) are read, too.
    The tags are attached to the text, `smith￨PER of acme￨ORG corp￨ORG`, as
    `Entities(pattern=None)` reads it. Requests to a model have the same form.
    The files are UTF-8, plain or compressed.

    Tokens are separated by blanks. As in `text_pairs.load`, everything is
    checked before anything is returned, and a pair with a blank side is skipped
    and counted.

    Args:
        train: The source and the target file of the training pairs.
        train_tags: Their tag files.
        validation: The files of the validation pairs. If `None`, pairs spread
            evenly over `train` are held out.
        validation_tags: Their tag files.
        test: The files of the test pairs; held out as well if `None`.
        test_tags: Their tag files.
        **options: `source_language`, `target_language`, `num_held_out` (for
            each split that has no files), `seed`: as in
            `translation_corpus`.

    Raises:
        CorpusError: naming the files and the line.
    """
    tags = (train_tags, validation_tags, test_tags)
    return translation_corpus(
        map(_check, (train, validation, test), tags),
        os.path.basename(train[0]),
        tokenized=True,
        **options,
    )


def _check(texts: FilePair | None, tags: FilePair | None):
    if not texts:
        return None
    return CheckedPairs.check(
        f"{texts[0]} and {texts[1]}",
        functools.partial(_read, tuple(texts), tuple(tags)),
        "Give two files with one text a line.",
    )


def _read(texts, tags) -> Iterator[tuple[str, str]]:
    """Yields pairs of marked texts."""
    paths = (texts[0], tags[0], texts[1], tags[1])
    for number, lines in enumerate(iter_aligned_lines(paths), start=1):
        places = list(zip(paths, lines))
        yield _mark(number, *places[:2]), _mark(number, *places[2:])


def _mark(number, text, tags):
    """Marks the entities of a line; the paths are for errors."""
    words, labels = (blanks.normalize(y, "").split() for _, y in (text, tags))
    if len(words) != len(labels):
        expected = f"a tag for each of the {len(words)} tokens of {text[0]}"
        raise line_error(tags[0], number, expected, len(labels))
    for path, tokens in ((text[0], words), (tags[0], labels)):
        strange = next((token for token in tokens if MARK in token), None)
        if strange is not None:
            raise CorpusError(
                f"{path}, line {number}: {MARK} (U+FFE8) marks entities and "
                f"may not be part of a token. Received: {strange!r}."
            )
    return " ".join(
        word if label == NO_TAG else f"{word}{MARK}{label}"
        for word, label in zip(words, labels)
    )
