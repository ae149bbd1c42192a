"""Whether a definition that is edited changes what depends on it alone.

    python -m benchmarks.definition_editing savedmodels/snli_definitions

Asks an export of `snli_definitions` (its demo) all test pairs twice, as a
server would, in batches: as they are, and with a definition that is edited in
the request of each: one of the invented words is said to be another thing.
Prints how many answers changed of the pairs with this word, and of the
others, whose probabilities must be the same bit for bit; the exit status is 1
if any of these is not. So for several words.
"""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfcopy.data.generated import demo_definitions
from tfcopy.serving.client_library.local_model import find_version

MEANINGS = ("any green dish", "a tool from the north", "a white animal")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="folder of the export")
    parser.add_argument(
        "--words", type=int, default=20, help="that are edited (default: 20)"
    )
    parser.add_argument("--batch_size", type=int, default=32)
    arguments = parser.parse_args()
    model = tf.saved_model.load(find_version(arguments.model))
    pairs = list(demo_definitions.entailments().test)
    plain = set(demo_definitions.plain_words())
    words = [sorted(set(pair.premise.split()) - plain) for pair in pairs]
    known = sorted({word for row in words for word in row})

    def ask(line):
        """Probabilities of all pairs, with one line in each request."""
        rows = []
        for start in range(0, len(pairs), arguments.batch_size):
            part = pairs[start : start + arguments.batch_size]
            found = model.signatures["with_dictionary"](
                premise=tf.constant([pair.premise for pair in part]),
                hypothesis=tf.constant([pair.hypothesis for pair in part]),
                dictionary=tf.constant([[line]] * len(part)),
            )
            rows.append(found["probabilities"].numpy())
        return np.concatenate(rows)

    before = ask("")
    changed, dependent, others = 0, 0, 0
    for number, word in enumerate(known[:: len(known) // arguments.words]):
        after = ask(f"{word}\t{MEANINGS[number % len(MEANINGS)]}")
        has_word = np.array([word in row for row in words])
        moved = (after != before).any(axis=1)
        others += int(moved[~has_word].sum())
        dependent += int(moved[has_word].sum())
        labels = after.argmax(1) != before.argmax(1)
        changed += int(labels[has_word].sum())
        print(
            f"{word}: of {has_word.sum()} pairs with it "
            f"{moved[has_word].sum()} have other probabilities and "
            f"{labels[has_word].sum()} another label; of "
            f"{(~has_word).sum()} others {moved[~has_word].sum()}"
        )
    print(
        f"{dependent} answers moved with the word that was edited, "
        f"{changed} of them to another label; {others} others moved"
    )
    return int(others > 0 or not changed)


if __name__ == "__main__":
    sys.exit(main())
