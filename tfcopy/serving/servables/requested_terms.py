"""The glossary's phrases in the texts of a batch, and what answers must have.

Shapes: B texts, R lines of each.
"""

import dataclasses

import tensorflow as tf

from tfcopy.data.text import glossary as terms
from tfcopy.data.text.glossary import Glossary


class RequestedTerms:
    """Phrases as marks in texts, marks as translations in answers.

    Args:
        glossary: The translator's `Glossary`, or `None`.
        lines: Strings, `(B, R)`, a request's own terms, which count first; or
            `None`.
        protect: Regular expression of spans that hold no phrase.
    """

    def __init__(self, glossary: Glossary | None, lines, protect: str):
        self._lines = lines
        self._protect = protect
        self._phrases = self._translations = tf.zeros([0], tf.string)
        if glossary is not None:
            self._phrases = glossary.phrases
            self._translations = glossary.translations

    def mark(self, text):
        """Texts, `(B,)`, with marks for the phrases."""
        text = terms.without_marks(text)
        first = 0
        if self._lines is not None:
            rows = tf.shape(text)[0]
            # An empty batch was given a text.
            lines = tf.pad(self._lines, [[0, 1], [0, 0]])[:rows]
            tf.debugging.assert_equal(
                tf.shape(lines)[0], rows, "glossary: one row for each text."
            )
            text = terms.mark_each(text, lines, self._protect)
            phrases, translations = (
                tf.reshape(x, [-1]) for x in terms.fields_of(lines)
            )
            first = tf.size(phrases)
        numbers = first + tf.range(tf.size(self._phrases))
        text = terms.mark(text, self._phrases, self._protect, numbers)
        if self._lines is not None:
            self._phrases = tf.concat([phrases, self._phrases], 0)
            self._translations = tf.concat(
                [translations, self._translations], 0
            )
        return text

    def translated(self, text):
        """Translations in place of marks, strings of any shape."""
        return terms.unmark(text, self._translations)

    def as_typed(self, text):
        """Phrases in place of marks, strings of any shape."""
        return terms.unmark(text, self._phrases)


def what_answers_must_have(options, requested, tokenizer):
    """Options of the search, and which words of a source must be said.

    Args:
        options: `SearchOptions`.
        requested: `RequestedTerms`, or `None`.
        tokenizer: The source's tokenizer.

    Returns:
        `(options, function)`; the function is `None` if nothing must be said.
    """
    if options.must_copy:
        return options, tokenizer.is_span
    if requested is None:
        return options, None
    return dataclasses.replace(options, must_copy=True), terms.is_mark
