r"""Makes a file of definitions from WordNet's database.

    python -m tfcopy.data.build_definitions \
        --wordnet /usr/share/wordnet --output wordnet.tsv.gz

The database may come from Debian's `wordnet-base` (apt install wordnet-base),
from NLTK (corpora/wordnet), or from another wordnet in the same format. The
file includes its licence, as the licence requires. --words reports how many
words of text files, plain or compressed, have definitions.
"""

import collections
import dataclasses
import glob
import os
import sys
from collections.abc import Iterable, Mapping

from tfcopy import filesystem, terminal
from tfcopy.atomic_files import check_files
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.flags import File, Folder, Parser


def coverage(lookup, counts: Mapping[str, int]) -> tuple[float, float]:
    """Computes the share of words that have an entry.

    Args:
        lookup: The `DefinitionLookup` that finds the entries.
        counts: Words and the number of their occurrences. Words without a
            letter, such as numbers and punctuation, do not count.

    Returns:
        The share among all words of the text, and the share among distinct
        words; 0 without words.
    """
    words = [word for word in counts if any(map(str.isalpha, word))]
    is_found = (lookup.entries_of_all(words)[:, 0] > 0).tolist()
    covered = sum(counts[word] for word, known in zip(words, is_found) if known)
    total = sum(counts[word] for word in words)
    return covered / max(1, total), sum(is_found) / max(1, len(words))


def run(folder, path, texts: Iterable = ()) -> None:
    """Reads WordNet, writes the file and looks up the words of texts.

    Args:
        folder: Where WordNet's files are.
        path: The file to write; gzipped if its name ends in `.gz`.
        texts: Text files, plain or compressed, whose words are looked up.

    Raises:
        ValueError, OSError: naming the file.
    """
    texts = list(texts)
    database = filesystem.glob(os.path.join(glob.escape(folder), "*"))
    inputs = {"--words": texts, "--wordnet": [folder, *database]}
    check_files({"--output": path}, inputs)
    with terminal.quiet():
        from tfcopy.data.definitions import DefinitionLookup, wordnet

    counts = {text: _count(text) for text in texts}  # to fail early
    definitions = wordnet.read(folder)
    definitions.save(path, wordnet.licence(folder))
    lengths = [len(x) for senses in definitions.definitions for x in senses]
    print(
        f"{path}: {len(definitions.headwords):,} headwords, "
        f"{len(lengths):,} definitions of "
        f"{sum(lengths) / max(1, len(lengths)):.1f} tokens on average"
    )
    lookup = DefinitionLookup(definitions)
    for text, words in counts.items():
        of_text, of_distinct = coverage(lookup, words)
        print(
            f"{text}: {of_text:.1%} of the words and {of_distinct:.1%} of the "
            "distinct words have definitions"
        )


def _count(path) -> collections.Counter:
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.data.text.vocabulary import count_words

    lines = ((line,) for line in read_lines(path, once=True))
    return count_words(lines, [Tokenizer(keeps="")])[0]


@dataclasses.dataclass(kw_only=True)
class Options:
    """Files of WordNet and of texts.

    Attributes:
        wordnet: folder of WordNet's database
        output: file to write; gzipped if its name ends in .gz
        words: text files whose words are looked up
    """

    wordnet: Folder
    output: File
    words: list[File] | None = None


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, __doc__).parse(arguments)
    return terminal.run(
        "build_definitions",
        lambda: run(options.wordnet, options.output, options.words or ()),
        tolerant=True,
    )


if __name__ == "__main__":
    sys.exit(main())
