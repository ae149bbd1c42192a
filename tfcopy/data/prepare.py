"""Prepares a corpus of any size for training, with Apache Beam.

    python -m tfcopy.data.prepare --train a.en a.fr --output prepared/
    python -m tfcopy.data.prepare --train memory.tmx --output prepared/
    python -m tfcopy.recipes.europarl_ps --prepared prepared/

Counts words, leaves out pairs by --max_ratio and --remove_duplicates, and
encodes the rest into shards with checksums. --output then holds vocabularies,
shards and prepared.json, which lists them with all settings. The recipe on the
same files, with the same flags, has the same words and ids in the same order.
Repeating an interrupted command continues it.

--runner names any runner of Beam; its options follow after --, such as `--
--direct_running_mode=multi_processing --direct_num_workers=4`. Runners on
several machines need the files under the same paths. It needs the extra `beam`.
"""

import dataclasses
import os
import sys
import time
from collections.abc import Iterable
from typing import Literal

from tfcopy import terminal
from tfcopy.atomic_files import check_files
from tfcopy.data import parallel
from tfcopy.data.corpora import corpus, text_pairs
from tfcopy.data.preparation import MANIFEST
from tfcopy.flags import File, Folder, Parser, PositiveFloat, PositiveInt


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Files, words, and limits of pairs.

    Attributes:
        train: Two text files, source and target, one sentence a line; or one
            translation memory, TMX or XLIFF, of which the units in
            --source_language and --target_language count; plain or compressed.
        output: Folder to write.
        validation: Validation files; held out from --train if not given.
        test: Test files; held out from --train if not given.
        seed: Seed of the held-out pairs, like the recipe's --seed.
        source_language: Language code of the source.
        target_language: Language code of the target.
        tokenization: How both sides are cut into words: moses; space, if they
            already are; characters; or sentencepiece.
        sentencepiece_model: One model file for both sides, or two.
        lowercase: Lowercase the vocabulary.
        source_vocabulary: Vocabulary file of the source; counted if not given.
        target_vocabulary: Vocabulary file of the target; counted if not given.
        source_vocabulary_size: Size of the source vocabulary, special words
            included.
        target_vocabulary_size: Size of the target vocabulary, special words
            included.
        vocabulary_size: Size of one vocabulary for both sides instead.
        min_count: Rarer words are left out of vocabularies.
        max_length: Pairs with more words on a side are left out; ignored with
            --max_source_length and --max_target_length.
        max_source_length: Sources are cut after so many words.
        max_target_length: Targets are cut after so many words, the end
            included.
        append_eos: Whether sources end with a mark; false for cnn_dailymail_pg.
        unmatched: Label of unknown target words that the source lacks:
            attention_argmax or unk.
        dictionary: TSV file for pointer labels, as in the recipe.
        max_ratio: Leave out training pairs one side of which has over so many
            times the characters of the other.
        remove_duplicates: Keep only the first of equal training pairs.
        pairs_per_shard: Pairs of a shard.
        runner: Runner of Beam.
    """

    train: list[File]
    output: Folder
    validation: list[File] | None = None
    test: list[File] | None = None
    seed: int = 0
    source_language: str = "en"
    target_language: str = "fr"
    tokenization: Literal["moses", "space", "characters", "sentencepiece"] = (
        "moses"
    )
    sentencepiece_model: list[File] | None = None
    lowercase: bool = False
    source_vocabulary: File | None = None
    target_vocabulary: File | None = None
    source_vocabulary_size: PositiveInt = 2_000
    target_vocabulary_size: PositiveInt = 2_000
    vocabulary_size: PositiveInt | None = None
    min_count: PositiveInt = 1
    max_length: PositiveInt = 50
    max_source_length: PositiveInt | None = None
    max_target_length: PositiveInt | None = None
    append_eos: bool = True
    unmatched: Literal["attention_argmax", "unk"] = "attention_argmax"
    dictionary: File | None = None
    max_ratio: PositiveFloat | None = None
    remove_duplicates: bool = False
    pairs_per_shard: PositiveInt = 50_000
    runner: str = "DirectRunner"


def run(config: Config, beam_flags: Iterable[str] = ()) -> None:
    """Reads the corpus, encodes it and writes the folder.

    Raises:
        OSError, ValueError: If files cannot be read or written, or flags make
            no sense.
    """
    start = time.monotonic()
    if not config.output:
        raise ValueError("--output: must not be empty. Name a folder.")
    files = {f"--{x}": getattr(config, x) or () for x in corpus.SPLITS}
    check_files({"--output": os.path.join(config.output, MANIFEST)}, files)
    with terminal.quiet():
        from tfcopy.data.preparation import corpus_preparation
        from tfcopy.data.preparation.prepared_corpus import read_manifest

    corpus_preparation.prepare(
        text_pairs.load(
            *text_pairs.file_pairs(config, memories=True),
            source_language=config.source_language,
            target_language=config.target_language,
            tokenized=config.tokenization == "space",
            seed=config.seed,
        ),
        _settings(config),
        config.output,
        pairs_per_shard=config.pairs_per_shard,
        runner=config.runner,
        beam_flags=beam_flags,
    )
    print(_summary(read_manifest(config.output), time.monotonic() - start))


def _summary(manifest, seconds):
    from tfcopy.data.preparation.prepared_corpus import pairs_of

    counts = pairs_of(manifest).items()
    num_shards = len(manifest["splits"]["train"]["shards"])
    return "\n".join(
        (
            f"{manifest['corpus']['name']}: {num_shards:,} training shards, "
            f"{seconds / 60:.1f} minutes",
            *[text_pairs.counts_line(name, found) for name, found in counts],
        )
    )


# === Flags ===


def _settings(config):
    from tfcopy.data.preparation.prepared_corpus import Settings
    from tfcopy.data.text.sentencepiece_tokenizer import make_tokenizers

    tokenizers = make_tokenizers(
        config.tokenization,
        (config.source_language, config.target_language),
        config.lowercase,
        config.sentencepiece_model or [],
    )
    sizes = {
        "source": config.source_vocabulary_size,
        "target": config.target_vocabulary_size,
    }
    files = {
        "source": config.source_vocabulary,
        "target": config.target_vocabulary,
    }
    if config.vocabulary_size is not None:
        if any(files.values()):
            raise ValueError(
                "--vocabulary_size counts one vocabulary for both sides: "
                "leave out --source_vocabulary and --target_vocabulary."
            )
        sizes, files = {"both": config.vocabulary_size}, {}
    truncate = config.max_source_length, config.max_target_length
    is_cut = truncate != (None, None)
    return Settings(
        tuple(tokenizers),
        sizes,
        {side: file for side, file in files.items() if file},
        config.min_count,
        None if is_cut else config.max_length,
        truncate if is_cut else None,
        config.append_eos,
        config.unmatched,
        config.dictionary,
        config.remove_duplicates,
        config.max_ratio,
    )


def main(arguments=None) -> int:
    """Returns the exit status."""
    arguments, beam_flags = parallel.split_flags(arguments)
    config = Parser(Config, __doc__, from_files=True).parse(arguments)
    return terminal.run(
        "prepare", lambda: run(config, beam_flags), tolerant=True
    )


if __name__ == "__main__":
    sys.exit(main())
