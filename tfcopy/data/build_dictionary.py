r"""Builds the dictionaries that pointing needs from any parallel text.

    python -m tfcopy.data.build_dictionary --source a.en --target a.fr \
        --output fr-en.tsv --reverse_output en-fr.tsv

Line n of one file, plain or compressed, translates line n of the other.
--output lists target words with their source senses (for labels: --dictionary
of the recipes), --reverse_output source words with their translations.

The words of each pair are aligned in lower case, by IBM Model 1 or with the
links of --alignment. The senses of a word are the words that it is linked to,
one to one, in at least --min_probability of its links. A word whose likeliest
sense is a function word or punctuation is left out.
"""

import dataclasses
import sys
import time
from typing import Annotated, Literal

import numpy as np

from tfcopy import flags, terminal
from tfcopy.atomic_files import check_files
from tfcopy.data.alignment import aligners, word_links
from tfcopy.data.corpora import text_pairs

_Share = Annotated[
    float, flags.Check("a number from 0 to 1", lambda x: 0 <= x <= 1)
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Files, alignment, and choice of entries.

    Attributes:
        source: File of sentences, plain or compressed.
        target: File of their translations.
        output: TSV file to write: target words and their senses in the source.
        reverse_output: TSV file to write: source words and their senses in the
            target.
        source_language: Language code of the source.
        target_language: Language code of the target.
        tokenization: moses, or space for text that is already tokenised; as
            in the recipe that will use the dictionary.
        max_length: Pairs with a longer sentence, in words, are not aligned.
        rounds: Passes of IBM Model 1 over all pairs.
        alignment: File of links from another aligner, between the words after
            --tokenization: one line such as "0-0 1-2" per pair.
        write_alignment: File to write the links to, in the same format.
        only_outside: Vocabulary file whose words get no entry in --output.
        max_senses: Maximum number of senses per word.
        min_probability: Smallest share of a word's links for a sense.
        function_words: Number of the most frequent words that count as
            function words; more for speeches (30), fewer for captions (10).
    """

    source: flags.File
    target: flags.File
    output: flags.File
    reverse_output: flags.File | None = None
    source_language: str = "en"
    target_language: str = "fr"
    tokenization: Literal["moses", "space"] = "moses"
    max_length: flags.PositiveInt = 50
    rounds: flags.PositiveInt = 5
    alignment: flags.File | None = None
    write_alignment: flags.File | None = None
    only_outside: flags.File | None = None
    max_senses: flags.PositiveInt = 5
    min_probability: _Share = 0.1
    function_words: flags.NonNegativeInt = 20


def run(config: Config) -> None:
    """Reads and aligns the texts, and writes the dictionaries."""
    start = time.monotonic()
    written = ("output", "reverse_output", "write_alignment")
    read = ("source", "target", "alignment", "only_outside")
    outputs = {f"--{flag}": getattr(config, flag) for flag in written}
    inputs = {f"--{flag}": [getattr(config, flag)] for flag in read}
    check_files(outputs, inputs)
    with terminal.quiet():
        # It imports TensorFlow.
        from tfcopy.data.alignment import likely_translations

    shortlist = _shortlist(config.only_outside)
    source, target = _read(config)
    if config.alignment is not None:
        sides = source.sentences.lengths, target.sentences.lengths
        links = word_links.read(config.alignment, np.stack(sides, axis=1))
    else:
        links = _align(source.folded, target.folded, config)
    if config.write_alignment is not None:
        word_links.write(config.write_alignment, links, len(source.sentences))
    options = {
        name: getattr(config, name)
        for name in ("max_senses", "min_probability", "function_words")
    }
    dictionary = likely_translations.build(
        target, source, links.reverse(), only_outside=shortlist, **options
    )
    _save(dictionary, config.output)
    if config.reverse_output is not None:
        reverse = likely_translations.build(source, target, links, **options)
        _save(reverse, config.reverse_output)
    minutes = (time.monotonic() - start) / 60
    print(
        f"{len(source.sentences):,} pairs, {len(links.pair):,} links "
        f"({config.alignment or 'IBM Model 1'}), {minutes:.1f} minutes"
    )


def _shortlist(path):
    from tfcopy.data.text.vocabulary import Vocabulary

    if path is None:
        return ()
    with flags.name_flag("--only_outside", path):
        return frozenset(Vocabulary.load(path).words)


def _read(config):
    """Reads the two sides as `TokenizedText`."""
    from tfcopy.data.alignment.likely_translations import TokenizedText
    from tfcopy.data.text.tokenization import Tokenizer

    paths = config.source, config.target
    total = sum(1 for _ in text_pairs.iter_aligned_lines(paths))
    if not total:
        raise ValueError(f"{paths[0]} and {paths[1]} have no lines.")
    languages = config.source_language, config.target_language
    return [
        TokenizedText.read(
            path, Tokenizer(config.tokenization, language), total=total
        )
        for path, language in zip(paths, languages)
    ]


def _align(source, target, config):
    """Aligns all pairs but blank and long ones, whose number is printed."""
    lengths = np.stack([source.lengths, target.lengths])
    is_kept = lengths.max(axis=0) <= config.max_length
    is_blank = lengths.min(axis=0) == 0
    too_long = int(np.sum(~is_kept & ~is_blank))
    left = int(np.sum(is_kept & ~is_blank))
    counts = text_pairs.count_pairs(len(source), left, too_long=too_long)
    print(text_pairs.counts_line("alignment", counts))
    source, target = source.keep(is_kept), target.keep(is_kept)
    return aligners.align(source, target, rounds=config.rounds, progress=True)


def _save(dictionary, path):
    dictionary.save(path)
    num_senses = sum(1 for _ in dictionary)
    print(f"{path}: {len(dictionary):,} words, {num_senses:,} senses")


def main(arguments=None) -> int:
    """Returns the exit status."""
    config = flags.Parser(Config, __doc__, from_files=True).parse(arguments)
    return terminal.run("build_dictionary", lambda: run(config), tolerant=True)


if __name__ == "__main__":
    sys.exit(main())
