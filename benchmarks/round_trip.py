"""How many texts come back when tokenised and detokenised?

    python -m benchmarks.round_trip data/train.en.gz data/train.es.gz \\
        --protect rst printf brace --sentencepiece_model pieces.model

Prints, for words (as Moses separates them) and for pieces, the share of lines
that are as before but for repeated blanks, and but for any blanks at all.
"""

import argparse
import gzip
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer

_LINES = 2_000  # at once


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python -m benchmarks.round_trip",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a text a line, or gzipped"
    )
    parser.add_argument("--protect", nargs="+", required=True)
    parser.add_argument("--sentencepiece_model")
    parser.add_argument("--language", default="en", help="whose words")
    options = parser.parse_args(arguments)
    made = {"words": Tokenizer(mode="moses", language=options.language)}
    if options.sentencepiece_model:
        made["pieces"] = SentencepieceTokenizer(options.sentencepiece_model)
    print(f"{'':24}{'lines':>10}{'% same':>10}{'% but for blanks':>20}")
    for path in options.files:
        lines = _read(path)
        for name, inner in made.items():
            tokenizer = ProtectedTokenizer(inner, tuple(options.protect))
            same, letters = _shares(lines, tokenizer)
            row = f"{os.path.basename(path)} {name}"
            print(f"{row:24}{len(lines):10,}{same:10.2f}{letters:20.2f}")


def _read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return [line.rstrip("\n") for line in file]


def _shares(lines, tokenizer):
    same = letters = 0
    for start in range(0, len(lines), _LINES):
        before = lines[start : start + _LINES]
        found = tokenizer.detokenize(tokenizer.tokenize(tf.constant(before)))
        after = [text.decode() for text in found.numpy()]
        pairs = list(zip(map(str.split, before), map(str.split, after)))
        same += sum(x == y for x, y in pairs)
        letters += sum("".join(x) == "".join(y) for x, y in pairs)
    return 100 * same / len(lines), 100 * letters / len(lines)


if __name__ == "__main__":
    main()
