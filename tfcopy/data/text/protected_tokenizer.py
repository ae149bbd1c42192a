"""Tokenizer that keeps spans of markup apart from the rest of a text.

A span is a match of a pattern: code, a link, a placeholder, a tag. It is one
token: one character that no text has replaces it, the rest is cut into words or
pieces, and the span replaces the character again. Or it is a run of pieces,
which a pretrained model can read, separate from the text around it; marks
distinguish them from other pieces. Or, for a published translator, it is the
run of those pieces of the text that overlap it, with the characters that they
stand for. Either way it comes back to the letter.

Shapes: B texts; tokens are ragged, (B, None).
"""

import dataclasses
from typing import Any

import tensorflow as tf

from tfcopy.data.ragged_rows import append, join, keep, rows_of
from tfcopy.data.text import answer_check, rst_markup
from tfcopy.data.text.blanks import IN_ASCII, KEPT
from tfcopy.data.text.glossary import MARK, cut, to_ascii
from tfcopy.data.text.span_patterns import NOTHING, ORDERED, pattern_of
from tfcopy.data.text.tokenization import normalize_blanks
from tfcopy.tokens import BLANK, EDGE, LOST, PIECE_MARKS, SPAN, SURFACE

_LETTER = r"[\pL\pN_]"
_ENDS_WORD, _BEGINS_WORD = rf"(?s).*{_LETTER}", rf"(?s){_LETTER}.*"
_LAST_WORD = r"(?s)^(?:.*\s)?(\S*)$"
_FIRST, _FIRST_IN_TURN, _LATER, _FIRST_UNREAD, _LATER_UNREAD = PIECE_MARKS
_ANY_MARK = f"[{''.join(PIECE_MARKS)}]"
_ANY_LATER = f"[{_LATER}{_LATER_UNREAD}]"
_ANY_UNREAD = f"[{_FIRST_UNREAD}{_LATER_UNREAD}]"
# First and last characters of spans, as patterns spell them.
_SPAN_EDGES = ("`", "<", ">", r"\{", r"\}", r"\|")


def cut_out(text, names, blanks=KEPT):
    """Replaces each span of texts by `SPAN`; returns the spans as well.

    Args:
        text: Strings `(B,)`.
        names: As `ProtectedTokenizer`'s `protect`.
        blanks: The blanks that stay, some of `blanks.KEPT`.

    Returns:
        `(rest, spans)`: strings `(B,)`, and all spans in their order, `(N,)`.
    """
    parts, is_span, spans = _parts(text, names, blanks)
    rest = parts.with_flat_values(tf.where(is_span, SPAN, parts.flat_values))
    return join(rest), spans


def _parts(text, names, blanks):
    """Cuts texts into ragged parts; returns which are spans, and the spans."""
    text = normalize_blanks(text, blanks)
    text = tf.strings.regex_replace(text, SPAN, LOST)
    parts, is_span = cut(text, f"(?:{pattern_of(names)})", blanks)
    return parts, is_span, tf.gather(parts.values, tf.where(is_span)[:, 0])


@dataclasses.dataclass(frozen=True)
class ProtectedTokenizer:
    """Tokenizer that keeps spans apart, and lets another one cut the rest.

    Args:
        inner: A `Tokenizer`, a `BytePairTokenizer`, or a
            `SentencepieceTokenizer` that does not join the character `SPAN`
            with others.
        protect: Names of `PATTERNS`, or regular expressions of RE2.
        in_pieces: Whether the other tokenizer cuts spans, too, each apart from
            the text around it; otherwise a span is one token.
        in_place: With `in_pieces`, whether the other tokenizer, a
            `SentencepieceTokenizer`, cuts the text as if it had no spans. A
            span is then the run of pieces that overlap it.
    """

    inner: Any
    protect: tuple[str, ...]
    in_pieces: bool = False
    in_place: bool = False

    @property
    def reach(self) -> int:
        """Like `Tokenizer.reach`."""
        # A span that is cut off may be cut into many words.
        return 64 + self.inner.reach

    @property
    def cuts_words(self) -> bool:
        """Like `Tokenizer.cuts_words`."""
        return self.inner.cuts_words

    @property
    def blanks(self) -> str:
        """Like `Tokenizer.blanks`."""
        return self.inner.blanks

    @property
    def pattern(self) -> str:
        """The regular expression of a span, or of a glossary's mark."""
        return pattern_of(self._names)

    @property
    def _names(self):
        return (MARK, *self.protect)

    @property
    def _placeholders(self):
        return [x for x in self.protect if x not in answer_check.MARKUP]

    def tokenize(self, text):
        """Cuts text of shape `(B,)` into ragged tokens, `(B, None)`.

        Subwords of spans have marks; see `unmark`.
        """
        if self.in_place:
            return self._find_runs(*_parts(text, self._names, self.blanks))
        if self.in_pieces:
            return self._cut_runs(text)
        rest, spans = cut_out(text, self._names, self.blanks)
        return _replace_spans(self._separate(self.inner.tokenize(rest)), spans)

    def _cut_runs(self, text):
        """Cuts text into tokens with marks at subwords of spans."""
        parts, is_span, spans = _parts(text, self._names, self.blanks)
        is_term = _matches(spans, MARK)
        edged = tf.strings.join([SPAN, parts.values, SPAN])
        edged = tf.where(_matches(parts.values, MARK), SPAN, edged)
        rest = join(parts.with_values(tf.where(is_span, edged, parts.values)))
        tokens = self._separate(self.inner.tokenize(rest))
        # A term has one edge, and any other span two, before and after it.
        counts = tf.where(is_term, 1, 2)
        owner = tf.repeat(tf.range(tf.size(spans)), counts)
        is_before = tf.ragged.range(counts).flat_values == 0
        values, is_edge = tokens.values, tokens.values == SPAN
        edge = tf.cumsum(tf.cast(is_edge, tf.int32))  # from 1 on
        owner = tf.gather(tf.concat([[0], owner], 0), edge)
        is_term = tf.gather(tf.concat([is_term, [False]], 0), owner)
        is_within = tf.gather(tf.concat([[False], is_before], 0), edge)
        is_within &= ~is_term & ~is_edge
        spans = tf.concat([spans, [""]], 0)
        first = tf.where(_matches(spans, ORDERED), _FIRST_IN_TURN, _FIRST)
        mark = tf.where(
            tf.concat([[False], is_edge[:-1]], 0),
            tf.gather(first, owner),
            _LATER,
        )
        values = tf.where(is_within, tf.strings.join([mark, values]), values)
        values = tf.where(is_edge, tf.gather(spans, owner), values)
        return keep(tokens.with_values(values), ~is_edge | is_term)

    def tokenize_terms(self, terms):
        """Cuts translations into runs that no encoder reads.

        Args:
            terms: Ragged strings, `(B, None)`.

        Returns:
            Ragged tokens, `(B, None)`, with marks.
        """
        nothing = tf.zeros_like(terms.values)
        parts = tf.stack([nothing, terms.values, nothing], axis=1)
        tokens = self._find_runs(
            tf.RaggedTensor.from_tensor(parts),
            tf.tile([False, True, False], tf.shape(nothing)),
            terms.values,
            (_FIRST_UNREAD, _FIRST_UNREAD, _LATER_UNREAD),
        )
        splits = tf.gather(tokens.row_splits, terms.row_splits)
        return tf.RaggedTensor.from_row_splits(tokens.values, splits)

    def _find_runs(self, parts, is_span, spans, marks=None):
        """Cuts parts of text into tokens, with marks at those in spans."""
        lengths = tf.cast(tf.strings.length(parts.values), tf.int64)
        text = join(parts)
        tokens, starts, ends = self.inner.tokenize_with_offsets(text)
        # Places in all texts, one after the other.
        begin = tf.cumsum(tf.strings.length(text), exclusive=True)
        rows = rows_of(tokens)
        begin = tf.gather(tf.cast(begin, tf.int64), rows)
        span_ends = tf.boolean_mask(tf.cumsum(lengths), is_span)
        span_starts = span_ends - tf.boolean_mask(lengths, is_span)
        # The spans that overlap each token; the last is less if there are none.
        first_span = tf.searchsorted(
            span_ends, begin + starts.flat_values, side="right"
        )
        last_span = tf.searchsorted(span_starts, begin + ends.flat_values) - 1
        if marks is not None:  # A first blank has no characters.
            last_span = tf.maximum(last_span, first_span)
        is_within = first_span <= last_span
        values = tokens.flat_values
        owner = tf.gather(tf.concat([spans, [""]], 0), first_span)
        goes_on = is_within[1:] & (first_span[1:] <= last_span[:-1])
        goes_on = tf.concat([[False], goes_on], 0)[: tf.size(values)]
        first, first_in_turn, later = marks or PIECE_MARKS[:3]
        mark = tf.where(_matches(owner, ORDERED), first_in_turn, first)
        mark = tf.where(goes_on, later, mark)
        # Only the text's first piece has a blank without characters.
        places = tf.ragged.range(tokens.row_lengths()).flat_values
        blank = (places == bool(self.inner.prefix)) & _begin_with(values, BLANK)
        found = tf.where(is_within)[:, 0]
        surfaces = tf.strings.substr(
            tf.gather(text, tf.gather(rows, found)),
            tf.gather(starts.flat_values, found),
            tf.gather(ends.flat_values - starts.flat_values, found),
        )
        runs = tf.strings.join(
            [
                *(tf.gather(x, found) for x in (mark, values)),
                SURFACE,
                tf.where(tf.gather(blank, found), " ", ""),
                surfaces,
            ]
        )
        values = tf.tensor_scatter_nd_update(values, found[:, None], runs)
        return tokens.with_values(values)

    def _separate(self, tokens):
        """Separates spans from words that were cut together with them."""
        parts, _ = cut(tokens.flat_values, SPAN)
        parts = keep(parts, parts.values != "")
        splits = tf.gather(parts.row_splits, tokens.row_splits)
        return tf.RaggedTensor.from_row_splits(
            parts.values, splits, validate=False
        )

    def fold(self, words):
        """Folds the case of words other than spans."""
        if self.in_pieces:
            return self.inner.fold(unmark(words))
        return tf.where(self.is_span(words), words, self.inner.fold(words))

    def is_span(self, words):
        """Returns which words are spans.

        If spans are cut into subwords: words that contain one, or a character
        that one begins or ends with. An answer would make spans of its own from
        these, or hide spans of the source.
        """
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.is_span(words.flat_values))
        words = to_ascii(words, self.blanks)
        if self.in_pieces:
            words = tf.strings.regex_replace(words, BLANK, " ")
            edges = [x for x in _SPAN_EDGES if x in self.pattern]
            either = "|".join([self.pattern, *edges])
            return _matches(words, f"(?s).*(?:{either}).*")
        return tf.strings.regex_full_match(words, f"(?:{self.pattern})")

    def mark_needed(self, words):
        """Returns which ragged words an answer must have, as in `beam_search`.

        int32: 2 for placeholders that are identified by position alone, such as
        `%s` and `%d`, 1 for other spans, 0 for other words. The later pieces of
        a span have 3; those of a term that no encoder reads have 4, later 5.
        """
        if self.in_pieces:
            values = words.flat_values
            needed = tf.cast(_matches(values, MARK), tf.int32)
            for number, mark in enumerate(PIECE_MARKS, 1):
                needed = tf.where(_begin_with(values, mark), number, needed)
            return words.with_flat_values(needed)
        is_span = self.is_span(words.flat_values)
        is_ordered = _matches(words.flat_values, ORDERED)
        needed = tf.where(is_ordered, 2, 1) * tf.cast(is_span, tf.int32)
        return words.with_flat_values(needed)

    def detokenize(self, tokens, beside_letters=None):
        """Joins ragged tokens, `(B, None)`, into text of shape `(B,)`.

        Args:
            tokens: Ragged strings.
            beside_letters: Result of the source tokenizer's method of this
                name for the sources, row by row. Any other placeholder with a
                letter right beside it gets a blank there. If not given, none
                does.
        """
        text, follows = self._cut(tokens)
        before, after = self._blanks(text.flat_values, follows)
        if beside_letters is not None:
            sides, keys = self._sides(text, follows)
            both = tf.concat([beside_letters, tf.reshape(keys, [-1])], 0)
            # Numbers of strings, by their first occurrence.
            numbers, count = tf.unique(both).idx, tf.size(beside_letters)
            is_known = numbers[count:] <= tf.reduce_max(numbers[:count])
            sides &= ~tf.reshape(is_known, tf.shape(sides))
            before = tf.where(sides[0], " ", before)
            after = tf.where(sides[1], " ", after)
        both = tf.strings.join([text.flat_values, before, follows, after])
        return join(text.with_flat_values(both))

    def find_adjacent(self, tokens):
        """Names the placeholders that have a letter right beside them.

        Args:
            tokens: Ragged strings, `(B, None)`.

        Returns:
            Strings, `(M,)`, each of a row, a side, and a placeholder.
        """
        sides, keys = self._sides(*self._cut(tokens))
        return tf.boolean_mask(keys, sides)

    def _sides(self, parts, spans):
        """Finds the letters right before and after each placeholder.

        Args:
            parts, spans: Results of `_cut`.

        Returns:
            Boolean `(2, N)`, and strings as in `find_adjacent`.
        """
        before = _matches(parts.flat_values, answer_check.ENDS_WITH_LETTER)
        after = _matches(parts.flat_values, answer_check.BEGINS_WITH_LETTER)
        after = tf.concat([after, [False]], 0)[1:]
        is_placeholder = _matches(spans, pattern_of(self._placeholders))
        rows = tf.strings.as_string(parts.value_rowids())
        keys = [tf.strings.join([rows, x, spans]) for x in "<>"]
        return tf.stack([before, after]) & is_placeholder, tf.stack(keys)

    def _cut(self, tokens):
        """Returns ragged texts around spans, and spans after each, `(N,)`."""
        if self.in_pieces:
            tokens, is_span = self._join_runs(tokens)
        else:
            is_span = self.is_span(tokens.flat_values)
        values, sign = tokens.flat_values, SPAN
        if self.in_place:
            has_blank = is_span & _begin_with(values, " ")
            sign = tf.where(has_blank, BLANK + SPAN, SPAN)
            after = tf.strings.regex_replace(values, "^ ", "")
            values = tf.where(has_blank, after, values)
        rest = tokens.with_flat_values(tf.where(is_span, sign, values))
        text = self.inner.detokenize(rest)
        tokens = tokens.with_flat_values(values)
        parts, spans = _split(text, keep(tokens, is_span))
        if not self.in_place:
            return parts, spans
        # A run may have other characters besides its spans.
        inner, is_span = cut(spans, f"(?:{self.pattern})", self.blanks)
        rest = join(inner.with_values(tf.where(is_span, SPAN, inner.values)))
        rest = tf.strings.join([parts.values, rest])
        owners = tf.gather(rows_of(parts), rows_of(keep(inner, is_span)))
        return _split(
            join(parts.with_values(rest)),
            tf.RaggedTensor.from_value_rowids(
                tf.boolean_mask(inner.values, is_span), owners, parts.nrows()
            ),
        )

    def _join_runs(self, tokens):
        """Joins each marked run to its span; returns which tokens are spans."""
        values, rows = tokens.flat_values, rows_of(tokens)
        has_mark = _begin_with(values, _ANY_MARK)
        # A later piece continues the marked ones before it in its row.
        follows = has_mark[:-1] & (rows[:-1] == rows[1:])
        follows = tf.concat([[False], follows], 0)[: tf.size(values)]
        is_later = _begin_with(values, _ANY_LATER)
        goes_on, is_first = is_later & follows, has_mark & ~is_later
        pieces = unmark(values)
        if self.in_place:
            pieces = tf.strings.regex_replace(
                values, f"^[^{SURFACE}]*{SURFACE}", ""
            )
            # Beside a term are no letters, as beside a mark.
            touches = _begin_with(values, _ANY_UNREAD)[:-1]
            touches &= _matches(values[1:], _BEGINS_WORD)
            touches &= rows[:-1] == rows[1:]
            touches = tf.concat([touches, [False]], 0)[: tf.size(values)]
            pieces = tf.where(touches, pieces + " ", pieces)
        groups = tf.RaggedTensor.from_value_rowids(
            pieces, tf.cumsum(tf.cast(~goes_on, tf.int64)) - 1
        )
        whole = keep(tokens.with_flat_values(unmark(values)), ~goes_on)
        is_run = tf.boolean_mask(is_first, ~goes_on)
        runs = tf.ragged.boolean_mask(groups, is_run)
        texts = join(runs) if self.in_place else self.inner.detokenize(runs)
        places = tf.where(is_run)
        values = tf.tensor_scatter_nd_update(whole.flat_values, places, texts)
        return whole.with_flat_values(values), is_run | _matches(values, MARK)

    def _blanks(self, parts, spans):
        """Returns blanks that spans need beside their neighbours.

        `{a}` is a placeholder, `{{a}` is none. Tokenised text has no such
        places, but a model may generate the pieces one after the other. A
        glossary's mark becomes a word, beside which no letters may be. Inline
        markup of reStructuredText needs blanks or punctuation around it.

        Args:
            parts: Text before each span, `(N,)`.
            spans: `(N,)`, `""` where there is none.

        Returns:
            `(before, after)`, strings `(N,)`, each a blank or nothing; before
            a plural's letter one that reStructuredText does not show.
        """
        parts, spans = (to_ascii(x, self.blanks) for x in (parts, spans))
        left = tf.strings.regex_replace(parts, _LAST_WORD, r"\1")
        words = tf.strings.regex_replace(spans, MARK, "word")
        right = tf.strings.join([parts, words])
        right = tf.concat([right, [""]], axis=0)[1:]
        touches = tf.strings.regex_full_match(right, r"(?s)\S.*")
        nothing = tf.zeros_like(left)
        before = (left != "") & self._is_lost(left, spans, nothing)
        before |= (parts == "") & self._is_lost_behind(words)
        after = touches & self._is_lost(nothing, spans, right)
        is_mark = words != spans
        is_markup = ends_markup = tf.zeros_like(is_mark)
        if "rst" in self.protect:
            is_markup = _matches(spans, rst_markup.INLINE_MARKUP)
            ends_markup = is_markup | _matches(spans, rst_markup.TARGET)
        # The end of the span before, where nothing is between them.
        left = tf.where(parts == "", tf.concat([[""], words[:-1]], 0), parts)
        before |= is_mark & _matches(left, _ENDS_WORD)
        before |= is_markup & _matches(left, rst_markup.NO_BEGIN)
        after |= is_mark & _matches(right, _BEGINS_WORD)
        after |= ends_markup & _matches(right, rst_markup.NO_END)
        is_plural = ends_markup & _matches(right, rst_markup.PLURAL)
        # One blank between two spans is enough.
        had = tf.concat([[False], after[:-1]], axis=0) & (parts == "")
        blank = tf.where(is_plural, rst_markup.PLURAL_BLANK, " ")
        return tf.where(before & ~had, " ", ""), tf.where(after, blank, "")

    def _is_lost(self, left, spans, right):
        """Returns whether the second of three strings is no span among them.

        An empty string never is lost.
        """
        found = tf.strings.regex_replace(
            tf.strings.join([left, spans, right]),
            f"(?:{self.pattern})",
            EDGE,
            replace_global=False,
        )
        is_lost = found != tf.strings.join([left, EDGE, right])
        return is_lost & (spans != "")

    def _is_lost_behind(self, spans):
        """Returns whether spans are none right after the one before."""
        pattern = f"(?:{self.pattern})"
        before = tf.concat([[""], spans], 0)[: tf.size(spans)]
        both = tf.strings.join([before, spans])
        alone = (
            tf.strings.regex_replace(x, pattern, EDGE) for x in (before, spans)
        )
        found = tf.strings.regex_replace(both, pattern, EDGE)
        return (found != tf.strings.join([*alone])) & (before != "")

    def declare(self, files: dict) -> dict:
        """Returns the facts of `runtime.text_tokenizers.Spans`."""
        inner = self.inner.declare(files)
        has_markup = "rst" in self.protect
        matches = {
            "ordered": ORDERED,
            "placeholder": pattern_of(self._placeholders),
            "ends_with_letter": answer_check.ENDS_WITH_LETTER,
            "begins_with_letter": answer_check.BEGINS_WITH_LETTER,
            "ends_word": _ENDS_WORD,
            "begins_word": _BEGINS_WORD,
            "markup": rst_markup.INLINE_MARKUP if has_markup else NOTHING,
            "target": rst_markup.TARGET if has_markup else NOTHING,
            "no_begin": rst_markup.NO_BEGIN,
            "no_end": rst_markup.NO_END,
            "plural": rst_markup.PLURAL,
        }
        return {
            **{"kind": "spans", "inner": inner, "in_pieces": self.in_pieces},
            "in_place": self.in_place,
            **{"span": f"(?:{self.pattern})", "mark": MARK},
            "matches": matches,
            "ascii": {x: IN_ASCII[x] for x in self.blanks},
            "marks": PIECE_MARKS,
            "last_word": _LAST_WORD,
            "plural_blank": rst_markup.PLURAL_BLANK,
        }

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other tokens."""
        pieces = "-in-pieces" * self.in_pieces + "-in-place" * self.in_place
        return f"{self.inner.fingerprint}-protect-{self.pattern}{pieces}"


def unmark(words):
    """Removes the marks of a span's subwords from words of any shape."""
    if isinstance(words, tf.RaggedTensor):
        return words.with_flat_values(unmark(words.flat_values))
    return tf.strings.regex_replace(words, f"(?s)^{_ANY_MARK}|{SURFACE}.*", "")


def _split(text, spans):
    """Returns ragged texts around spans, and the span after each, `(N,)`.

    Args:
        text: Strings `(B,)`, with `SPAN` for each span.
        spans: Ragged strings, `(B, None)`.
    """
    text = tf.strings.split(text, SPAN)
    # The span after each part, or nothing at the end.
    spans = append(spans, "")
    # Bytes may form the character that stands for a span: the parts after the
    # last span are one.
    rows = rows_of(text)
    places = tf.range(tf.size(rows, tf.int64))
    places += tf.gather(spans.row_splits[:-1] - text.row_splits[:-1], rows)
    places = tf.minimum(places, tf.gather(spans.row_splits[1:], rows) - 1)
    parts = tf.strings.unsorted_segment_join(
        text.values, places, tf.size(spans.values)
    )
    return spans.with_values(parts), spans.values


def _begin_with(words, pattern):
    return _matches(words, f"(?s){pattern}.*")


def _matches(text, pattern):
    return tf.strings.regex_full_match(text, pattern)


def _replace_spans(tokens, spans):
    """Replaces each `SPAN` of tokens by the next of some strings."""
    values = tokens.flat_values
    is_span = values == SPAN
    number = tf.cumsum(tf.cast(is_span, tf.int32), exclusive=True)
    padded = tf.concat([spans, [""]], axis=0)
    number = tf.minimum(number, tf.size(spans))
    return tokens.with_flat_values(
        tf.where(is_span, tf.gather(padded, number), values)
    )
