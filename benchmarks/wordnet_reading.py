"""Seconds to read all senses of a WordNet: our reader and NLTK's.

    python -m benchmarks.wordnet_reading
    python -m benchmarks.wordnet_reading --wordnet ~/nltk_data/corpora/wordnet

Without --wordnet a database of WordNet's size and format is generated, with
made-up words. Both look up each word of the index and the gloss of each of its
senses. Needs nltk, which comes with rouge-score.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import warnings

from benchmarks import timing
from tests.data.definitions import wndb
from tfcopy.data.definitions import wordnet

_SYNSETS = {"n": 82_000, "v": 13_700, "a": 18_000, "r": 3_600}  # WordNet 3.0's


def generate(folder):
    """Writes a database of as many synsets as WordNet 3.0 has."""
    rng = random.Random(0)
    words = [f"word{i}" for i in range(60_000)]
    synsets = [
        (
            part,
            list(dict.fromkeys(rng.choices(words, k=rng.choice((1, 1, 2, 3))))),
            " ".join(rng.choices(words, k=rng.randint(5, 15))) + '; "used so"',
        )
        for part, number in _SYNSETS.items()
        for _ in range(number)
    ]
    wndb.write(pathlib.Path(folder), synsets, {"n": ["geese goose"]})


def read_ours(folder):
    """The number of senses."""
    number = 0
    for part, name in wordnet._FILES.items():
        synsets = dict(wordnet._synsets(os.path.join(folder, f"data.{name}")))
        index = os.path.join(folder, f"index.{name}")
        for _, _, offsets in wordnet._index(index):
            number += len([synsets[offset] for offset in offsets])
    return number


def read_nltk(folder):
    """The number of senses."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    nltk.data.path.insert(0, os.path.dirname(os.path.dirname(folder)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It has no words of other languages.
        reader = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    glosses = [
        synset.definition()
        for word in reader.all_lemma_names()
        for synset in reader.synsets(word)
    ]
    return len(glosses)


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.wordnet_reading",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--wordnet", metavar="DIR", help="folder of a database")
    parser.add_argument("--rounds", type=timing.positive, default=5)
    options = parser.parse_args()
    # NLTK reads nothing outside of the folders that it knows.
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as home:
        folder = os.path.join(home, "corpora", "wordnet")
        if options.wordnet:
            shutil.copytree(options.wordnet, folder)
        else:
            generate(folder)
        _add_unused(folder)
        readers = {"NLTK": read_nltk, "ours": read_ours}
        print({name: read(folder) for name, read in readers.items()}, "senses")
        folders = [dict.fromkeys(readers, folder)] * options.rounds
        seconds = timing.race(readers, folders, warm_up=0)
    timing.print_times(seconds)
    timing.print_ratio(seconds, "NLTK", "ours")
    return 0


def _add_unused(folder):
    """Files that NLTK wants to open, empty where they are not there."""
    for name in ("lexnames", "cntlist.rev", "index.sense"):
        path = pathlib.Path(folder, name)
        if not path.exists():
            lines = (f"{i:02d}\tlexicographer.{i}\t1\n" for i in range(45))
            path.write_text("".join(lines) if name == "lexnames" else "")


if __name__ == "__main__":
    sys.exit(main())
