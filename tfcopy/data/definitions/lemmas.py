"""Lemmas of forms, in the graph.

Shapes: N forms, C candidates of a form, R rules of a part of speech.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from tfcopy.data.definitions.dictionary_entries import PARTS_OF_SPEECH, UNKNOWN
from tfcopy.data.definitions.lemma_rules import RULES


class Lemmas(tf.Module):
    """The lemmas of forms among numbered words.

    The lemmas of a form are those listed for it; if none are, those that the
    rules give for nouns, verbs and adjectives. A rule leads only to words of
    its part of speech, or of unknown part of speech.

    Args:
        listed: Forms in lower case, and the lemmas of each, which may be none.
        number: Gives the number of a word, or 0 or `None`.
        parts_of_speech: For each number from 1 on its parts of speech, as in
            `Definitions`.
        max_listed: The most lemmas that are listed for a form.

    Reference:
        WordNet's `morphy`, https://wordnet.princeton.edu, morphy(7WN).
    """

    def __init__(
        self,
        listed: Mapping[str, Sequence[str]],
        number: Callable,
        parts_of_speech: Sequence[str],
        max_listed: int,
    ):
        super().__init__(name="lemmas")
        # `""` is no word: it stands behind the last part of a word.
        listed = {form: lemmas for form, lemmas in listed.items() if form}
        bits = [0] + [_bits(parts) for parts in parts_of_speech]
        rows = [()]
        for lemmas in listed.values():
            numbers = filter(None, map(number, lemmas))
            rows.append(tuple(numbers)[:max_listed])
        with tf.init_scope():
            self._bits = tf.constant(bits, tf.int32)
            self._forms = table({w: i for i, w in enumerate(listed, start=1)})
            self._listed = tf.constant(_padded(rows), tf.int32)

    @property
    def size(self) -> int:
        """C."""
        return self._listed.shape[1] + len(RULES)

    def numbers(self, words, forms):
        """Numbers of lemmas.

        Args:
            words: Look-up table of words to numbers, as `table` makes one.
            forms: Strings of shape `(N,)`, in lower case.

        Returns:
            int32 of shape `(N, C)`; 0 where there is none.
        """
        number = self._forms.lookup(forms)
        forms = tf.where(number == 0, forms, "")
        by_rule = [self._by_rule(words, forms, part) for part in RULES]
        listed = tf.gather(self._listed, number)
        return tf.concat([listed, tf.stack(by_rule, axis=1)], axis=1)

    def _by_rule(self, words, forms, part):
        """The lemma that rules of one part of speech give: `(N,)`, or 0."""
        stems = tf.stack(
            [tf.strings.regex_replace(forms, *rule) for rule in RULES[part]], 1
        )
        is_other = stems != forms[:, None]
        rows = words.lookup(tf.where(is_other, stems, ""))  # (N, R)
        fits = tf.gather(self._bits, rows) & _bits(part) != 0
        is_first = tf.cumsum(tf.cast(fits, tf.int32), 1, exclusive=True) == 0
        return tf.reduce_sum(tf.where(fits & is_first, rows, 0), axis=1)


def table(numbers):
    """A look-up table of words to numbers from 1 on; 0 for other words."""
    numbers = {"": 0, **numbers}  # TensorFlow refuses an empty table.
    words, values = list(numbers), list(numbers.values())
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(words), tf.constant(values, tf.int32)
        ),
        default_value=0,
    )


def _bits(parts):
    """Parts of speech as one number; a rule may lead to an unknown one."""
    if UNKNOWN in parts:
        parts = PARTS_OF_SPEECH
    return sum(1 << PARTS_OF_SPEECH.index(part) for part in set(parts))


def _padded(rows):
    """Tuples of numbers to an array, with zeros after their ends."""
    width = max(map(len, rows))
    return np.array([(*row, *[0] * (width - len(row))) for row in rows])
