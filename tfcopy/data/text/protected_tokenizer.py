"""Text whose marked-up spans are one token each, whatever cuts the rest.

A span is what a pattern matches: code, a link, a placeholder, a tag. Each is
replaced by one character that no text has, the rest is cut into words or
pieces, and the character is replaced by its span again. So a span can be
copied as a whole, and comes back to the letter.

Shapes: B texts; tokens are ragged, (B, None).
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tfcopy.data.ragged_rows import append, join, keep
from tfcopy.data.text.glossary import MARK, cut
from tfcopy.data.text.rst_markup import PLURAL_BLANK
from tfcopy.data.text.span_patterns import ORDERED, pattern_of
from tfcopy.data.text.tokenization import normalize_blanks

# What stands for a span; a private character of Unicode, so that text that has
# it loses nothing that other readers would know.
SPAN = "\ue000"
_LOST = "\ufffd"
_LETTER = r"[\pL\pN_]"
# Inline markup of reStructuredText is none right after a text, or before one.
_INLINE_MARKUP = r"(?s)``.*``|:[^`]*:`.*`|\|.*\||\[.*\]_"
# Of ASCII docutils names the signs, of the rest it takes all punctuation, but
# no bracket that is on its other side.
_NO_SIGN = r"[^\x00-\x7f\s\p{Pi}\p{Pf}\p{Pd}\p{Po}\p{%s}]"
_NO_BEGIN = rf"(?s).*(?:[!#-&)-,.0-9;=-Z\\\]-z|}}~]|{_NO_SIGN % 'Ps'})"
_NO_END = rf"(?s)(?:[#-&(*+0-9<=@-Z\[^-z{{|~]|{_NO_SIGN % 'Pe'}).*"
_PLURAL = r"(?s)s(?:[^\pL\pN_`|].*)?"
_TARGET = r"(?s)<.*>`__?"  # of a link; what is before it is the link's text
_EDGE = "\x03"  # Blanks are normalised: text holds no control characters.


def cut_out(text, names):
    """Text with `SPAN` for each span, and the spans.

    Args:
        text: Strings `(B,)`.
        names: As `ProtectedTokenizer`'s `protect`.

    Returns:
        `(rest, spans)`: strings `(B,)`, and all spans in their order, `(N,)`.
    """
    text = normalize_blanks(text)
    text = tf.strings.regex_replace(text, SPAN, _LOST)
    parts, is_span = cut(text, f"(?:{pattern_of(names)})")
    spans = tf.gather(parts.values, tf.where(is_span)[:, 0])
    rest = parts.with_flat_values(tf.where(is_span, SPAN, parts.flat_values))
    return join(rest), spans


@dataclasses.dataclass(frozen=True)
class ProtectedTokenizer:
    """Keeps spans whole, and lets another tokenizer cut the rest.

    Args:
        inner: A `Tokenizer`, or a `SentencepieceTokenizer` whose model has the
            character `SPAN` as a symbol of its own.
        protect: Names of `PATTERNS`, or regular expressions of RE2.
    """

    inner: Any
    protect: tuple[str, ...]

    @property
    def reach(self) -> int:
        """As of `Tokenizer`."""
        # A span that is cut off may be cut into many words.
        return 64 + self.inner.reach

    @property
    def cuts_words(self) -> bool:
        """As of `Tokenizer`."""
        return self.inner.cuts_words

    @property
    def pattern(self) -> str:
        """The regular expression of a span, or of a glossary's mark."""
        return pattern_of(self._names)

    @property
    def _names(self):
        return (MARK, *self.protect)

    def tokenize(self, text):
        """Text of shape `(B,)` to ragged tokens, `(B, None)`."""
        rest, spans = cut_out(text, self._names)
        return _replaced(self._separate(self.inner.tokenize(rest)), spans)

    def _separate(self, tokens):
        """A word that was cut together with a span becomes several tokens."""
        values = tf.strings.regex_replace(
            tokens.flat_values, f"({SPAN})", rf"{_EDGE}\1{_EDGE}"
        )
        parts = tf.strings.split(values, _EDGE)
        parts = keep(parts, parts.values != "")
        splits = tf.gather(parts.row_splits, tokens.row_splits)
        return tf.RaggedTensor.from_row_splits(
            parts.values, splits, validate=False
        )

    def fold(self, words):
        """The form of other words; spans stay as they are."""
        folded = self.inner.fold(words)
        if isinstance(words, tf.RaggedTensor):
            values = self._unless_span(words.flat_values, folded.flat_values)
            return words.with_flat_values(values)
        return self._unless_span(words, folded)

    def _unless_span(self, words, folded):
        return tf.where(self.is_span(words), words, folded)

    def is_span(self, words):
        """Which of some words are spans, boolean of their shape."""
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.is_span(words.flat_values))
        return tf.strings.regex_full_match(words, f"(?:{self.pattern})")

    def needed(self, words):
        """Which ragged words an answer must have, as in `beam_search`.

        int32: 2 for placeholders that their order alone tells apart, such as
        `%s` and `%d`, 1 for other spans, 0 for what is none.
        """
        is_span = self.is_span(words.flat_values)
        is_ordered = tf.strings.regex_full_match(words.flat_values, ORDERED)
        needed = tf.where(is_ordered, 2, 1) * tf.cast(is_span, tf.int32)
        return words.with_flat_values(needed)

    def detokenize(self, tokens):
        """Ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        values = tokens.flat_values
        is_span = self.is_span(values)
        rest = tokens.with_flat_values(tf.where(is_span, SPAN, values))
        text = tf.strings.split(self.inner.detokenize(rest), SPAN)
        # What follows each part: its span, or nothing at the end.
        follows = append(keep(tokens, is_span), "").values
        before, after = self._blanks(text.flat_values, follows)
        both = tf.strings.join([text.flat_values, before, follows, after])
        return join(text.with_flat_values(both))

    def _blanks(self, parts, spans):
        """Blanks where a span would be none beside what is next to it.

        `{a}` is a placeholder, `{{a}` is none. Text that was tokenised has no
        such places, but a model may say the pieces one after the other. What a
        glossary's mark stands for is a word, beside which no letters are.
        Around inline markup of reStructuredText are blanks or punctuation.

        Args:
            parts: What stands before each span, `(N,)`.
            spans: `(N,)`, `""` where there is none.

        Returns:
            `(before, after)`, strings `(N,)`, each a blank or nothing; before
            a plural's letter one that reStructuredText does not show.
        """
        left = tf.strings.regex_replace(parts, r"(?s)^(?:.*\s)?(\S*)$", r"\1")
        words = tf.strings.regex_replace(spans, MARK, "word")
        right = tf.strings.join([parts, words])
        right = tf.concat([right, [""]], axis=0)[1:]
        touches = tf.strings.regex_full_match(right, r"(?s)\S.*")
        nothing = tf.zeros_like(left)
        before = (left != "") & self._is_lost(left, spans, nothing)
        after = touches & self._is_lost(nothing, spans, right)
        is_mark = words != spans
        is_markup = ends_markup = tf.zeros_like(is_mark)
        if "rst" in self.protect:
            is_markup = _matches(spans, _INLINE_MARKUP)
            ends_markup = is_markup | _matches(spans, _TARGET)
        # The end of the span before, where nothing is between them.
        left = tf.where(parts == "", tf.concat([[""], words[:-1]], 0), left)
        before |= is_mark & _matches(left, rf"(?s).*{_LETTER}")
        before |= is_markup & _matches(left, _NO_BEGIN)
        after |= is_mark & _matches(right, rf"(?s){_LETTER}.*")
        after |= ends_markup & _matches(right, _NO_END)
        is_plural = ends_markup & _matches(right, _PLURAL)
        # One blank between two spans is enough.
        had = tf.concat([[False], after[:-1]], axis=0) & (parts == "")
        blank = tf.where(is_plural, PLURAL_BLANK, " ")
        return tf.where(before & ~had, " ", ""), tf.where(after, blank, "")

    def _is_lost(self, left, spans, right):
        """Whether the first span of three strings together is not the second.

        None is lost where there is none.
        """
        found = tf.strings.regex_replace(
            tf.strings.join([left, spans, right]),
            f"(?:{self.pattern})",
            _EDGE,
            replace_global=False,
        )
        is_lost = found != tf.strings.join([left, _EDGE, right])
        return is_lost & (spans != "")

    @property
    def fingerprint(self) -> str:
        return f"{self.inner.fingerprint}-protect-{self.pattern}"


def _matches(text, pattern):
    return tf.strings.regex_full_match(text, pattern)


def _replaced(tokens, spans):
    """Tokens with each `SPAN` replaced by the next of some strings."""
    values = tokens.flat_values
    is_span = values == SPAN
    number = tf.cumsum(tf.cast(is_span, tf.int32), exclusive=True)
    padded = tf.concat([spans, [""]], axis=0)
    number = tf.minimum(number, tf.size(spans))
    return tokens.with_flat_values(
        tf.where(is_span, tf.gather(padded, number), values)
    )
