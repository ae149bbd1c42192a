"""How many programs XLA compiles for a corpus, and what padding they cost.

    python -m benchmarks.compiled_shapes multi30k/train.en.gz \
        multi30k/train.fr.gz --batch_size 64

Counts the shapes of the batches of five epochs as they are, padded to multiples
of 4, 8 and 16, and with the few shapes that the recipes choose where XLA
compiles (`tfcopy.data.pairs.pipeline`). Cells are the positions of sources
and targets. Nothing is trained.
"""

import functools
import gzip
import sys
import time

import numpy as np

from benchmarks import flags
from tfcopy.data.epoch_batches import epoch_order
from tfcopy.data.pairs.pipeline import choose_shapes, shape_for


def main(arguments=None):
    parser = flags.make_parser(
        __doc__,
        ("batch_size", 64, "pairs"),
        ("max_length", 50, "longest sentence, longer ones are left out"),
        ("epochs", 5, "to count"),
    )
    parser.add_argument("source", help="text, plain or gzipped")
    parser.add_argument("target", help="text, plain or gzipped")
    arguments = parser.parse_args(arguments)
    sides = [read_lengths(x) for x in (arguments.source, arguments.target)]
    kept = np.maximum(*sides) <= arguments.max_length + 1
    sides = [x[kept] for x in sides]
    size = arguments.batch_size
    epochs = [
        batch_lengths(sides, size, epoch) for epoch in range(arguments.epochs)
    ]
    words = len(epochs) * sum(x.sum() for x in sides)
    print(f"{kept.sum():,} pairs, batches of {size}, {len(epochs)} epochs")
    print(f"{'':24}{'programs':>10}{'words / cells':>16}{'seconds':>10}")
    for multiple in (1, 4, 8, 16):

        def rounded(lengths, multiple=multiple):
            return tuple(-(-n // multiple) * multiple for n in lengths)

        report(f"multiples of {multiple}", rounded, epochs, size, words)
    longest = tuple(x.max() for x in sides)
    for number in (4, 8, 16, 32):
        start = time.monotonic()
        shapes = choose_shapes([*epochs[0], longest], number)
        seconds = time.monotonic() - start
        fitting = functools.partial(shape_for, shapes=shapes)
        report(f"{number} shapes", fitting, epochs, size, words, seconds)


def read_lengths(path):
    """Words and the end of each line."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return np.array([len(line.split()) + 1 for line in file])


def batch_lengths(sides, size, epoch):
    """The longest of both sides of each batch."""
    source, target = sides
    order = epoch_order((target, source), size, seed=0, epoch=epoch)
    starts = np.arange(0, len(order), size)
    longest = (np.maximum.reduceat(x[order], starts) for x in sides)
    return list(zip(*(x.tolist() for x in longest)))


def report(name, shape_of, epochs, size, words, seconds=0.0):
    """Prints the programs and the share of words of one way to pad."""
    shapes = [shape_of(lengths) for epoch in epochs for lengths in epoch]
    share = words / (size * sum(map(sum, shapes)))
    print(f"{name:24}{len(set(shapes)):10}{share:16.1%}{seconds:10.2f}")


if __name__ == "__main__":
    sys.exit(main())
