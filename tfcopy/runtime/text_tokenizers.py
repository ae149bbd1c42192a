"""Tokenizers of texts, from what an export declares of them.

Each has the methods of its twin in `tfcopy.data.text`, for one text: there it
is a graph, here plain Python. Texts and tokens are bytes of UTF-8.
"""

import bisect
import itertools
import json
import re
from collections.abc import Mapping

from tfcopy.runtime.text_rules import (
    BLANKS,
    Blanks,
    Pattern,
    Rules,
    check_characters,
    decode,
    join,
    join_texts,
    lower,
)
from tfcopy.tokens import BLANK, EDGE, LOST, SPAN, START, SURFACE

_SPAN, _EDGE, _LOST = SPAN.encode(), EDGE.encode(), LOST.encode()
_SURFACE = SURFACE.encode()
_BLANK, _START = BLANK.encode(), START.encode()


def make(facts: Mapping, files: Mapping[str, bytes]):
    """Makes a tokenizer.

    Args:
        facts: Dict whose `kind` is a name of `KINDS`, and what this declares.
        files: Content of the files that it may name.
    """
    return KINDS[facts["kind"]](facts, files)


class _Tokenizer:
    """Tokenizer without spans, which does not change the case of words.

    Attributes:
        cuts_words: Whether tokens may be parts of words.
        in_pieces: Whether tokens may be marked pieces of spans.
        in_place: Whether these are the pieces of a text as it stands.
    """

    cuts_words = in_pieces = in_place = False

    def fold(self, word):
        return word

    def unmark(self, token: bytes) -> bytes:
        """Removes the mark of a span's subword."""
        return token

    def is_tie(self, tokens, others) -> bool:
        """Returns whether a text is equally well cut in another way."""
        return False


class Words(_Tokenizer):
    """Words by ordered rules, or characters; see `Tokenizer`."""

    _SWAPPED = {b" ": _BLANK, _BLANK: 2 * _BLANK}

    def __init__(self, facts, files):
        self.blanks = Blanks(facts)
        self._cut, self._join = Rules(facts["cut"]), Rules(facts["join"])
        self._edge, self._separator = (
            facts[x].encode() for x in ("edge", "separator")
        )
        if len(self._edge + self._separator) > 9:
            raise ValueError("tokens are too far apart")
        self._swapped = self._SWAPPED if facts["characters"] else None
        self._lowercase = facts["lowercase"]

    def tokenize(self, text):
        text = self._cut(self.blanks.normalize(text))
        if self._swapped is None:
            return text.split()
        characters = (x.encode() for x in text.decode())
        return [self._swapped.get(x, x) for x in characters]

    def detokenize(self, tokens):
        if self._swapped is not None:
            swapped = {y: x for x, y in self._swapped.items()}
            tokens = [swapped.get(x, x) for x in tokens]
        text = join(tokens, self._separator)
        text = self._join(self._edge + text + self._edge)
        return text.strip(BLANKS) if self._edge else text

    def fold(self, word):
        return lower(word) if self._lowercase else word


class SentencePieces(_Tokenizer):
    """Subwords of a SentencePiece model; see `SentencepieceTokenizer`."""

    cuts_words = True

    def __init__(self, facts, files):
        import sentencepiece  # late: exports of words need none

        self.blanks, self.prefix = (
            Blanks(facts),
            facts.get("prefix", "").encode(),
        )
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(files[facts["file"]])
        except RuntimeError as error:
            raise ValueError(f"no model of SentencePiece ({error})") from None

    def tokenize(self, text):
        text = self.blanks.normalize(text).decode()
        tokens = [x.encode() for x in self._model.encode(text, out_type=str)]
        return [self.prefix, *tokens] if self.prefix and tokens else tokens

    def tokenize_with_offsets(self, text):
        """Cuts a normalised text; yields each token with `start, end` in it."""
        text, first = text.decode(), 0
        pieces = self._model.encode(text, out_type=str)
        # The pieces of a text are its normalised form.
        _, places = self._model.normalize(text, with_offsets=True)
        if self.prefix and pieces:
            yield self.prefix, 0, 0
        ends = [0, *itertools.accumulate(len(x.encode()) for x in text)]
        for piece in pieces:
            last = first + len(piece)
            yield piece.encode(), ends[places[first]], ends[places[last]]
            first = last

    def is_tie(self, tokens, others):
        scores = [
            sum(self._model.get_score(self._model.piece_to_id(x)) for x in cut)
            for cut in (tokens, others)
        ]
        is_same_text = b"".join(tokens) == b"".join(others)
        return is_same_text and abs(scores[0] - scores[1]) < 1e-3

    def detokenize(self, tokens):
        join_texts(tokens)  # refuses what becomes too long
        text = self._model.decode([x.decode() for x in tokens]).encode()
        return text.replace(_BLANK, b" ").strip(BLANKS)


class BytePairs(_Tokenizer):
    """Byte pairs of a published vocabulary; see `BytePairTokenizer`.

    Its file has `pieces`, the texts of symbols; `bytes`, the symbol of each
    byte; and `merges`, triples of two symbols and the one that they make.
    """

    cuts_words = True
    _BYTE = re.compile(rb"(?:<0x[0-9A-F]{2}>)+")

    def __init__(self, facts, files):
        content = json.loads(files[facts["file"]])
        self.blanks, self._word = Blanks(facts), Pattern(facts["word"])
        # Merging takes the square of it.
        self._longest, self._start = min(facts["longest"], 999), facts["start"]
        self._pieces = [x.encode() for x in content["pieces"]]
        self._of_bytes = content["bytes"]
        self._merges = {}
        for rank, (left, right, merged) in enumerate(content["merges"]):
            self._merges.setdefault((left, right), (rank, merged))

    def tokenize(self, text):
        text = self._word.replace(
            self.blanks.normalize(text), lambda match: _EDGE + match[0]
        )
        size = self._longest
        words = [
            word[i : i + size]
            for word in text.split(_EDGE)
            for i in range(0, len(word), size)
        ]
        tokens = [token for word in words for token in self._merge(word)]
        return [_START, *tokens] if self._start and tokens else tokens

    def _merge(self, word):
        if word == _SPAN:
            return [_SPAN]
        symbols, merges = [self._of_bytes[x] for x in word], self._merges
        nothing = len(merges), None
        while len(symbols) > 1:
            found = [merges.get(x, nothing) for x in zip(symbols, symbols[1:])]
            best = min(found, key=lambda x: x[0])
            if best is nothing:
                break
            place = found.index(best)
            symbols[place : place + 2] = [best[1]]
        return [self._pieces[x] for x in symbols]

    def detokenize(self, tokens):
        return decode(join([*map(self._text_of, tokens)])).strip(BLANKS)

    def _text_of(self, token):
        if self._BYTE.fullmatch(token):
            return bytes.fromhex(re.sub(rb"<0x|>", b"", token).decode())
        return b"" if token == _START else token.replace(_BLANK, b" ")


class Spans(_Tokenizer):
    """Spans of markup apart from the rest; see `ProtectedTokenizer`."""

    def __init__(self, facts, files):
        if facts["inner"]["kind"] == "spans":
            raise ValueError("spans within spans")
        for characters in (*facts["ascii"].items(), facts["marks"]):
            check_characters(characters)
        self._inner = make(facts["inner"], files)
        self.blanks, self.cuts_words = (
            self._inner.blanks,
            self._inner.cuts_words,
        )
        self.in_pieces = facts["in_pieces"]
        self.in_place = facts.get("in_place", False)
        self._ascii = [
            (x.encode(), y.encode()) for x, y in facts["ascii"].items()
        ]
        self._is = {
            name: Pattern(x).matches for name, x in facts["matches"].items()
        }
        self._span, self._mark, self._last_word = (
            Pattern(facts[x]) for x in ("span", "mark", "last_word")
        )
        self._is_term = self._mark.matches
        self._marks = [x.encode() for x in facts["marks"]]
        self._plural_blank = facts["plural_blank"].encode()

    def cut(self, text: bytes) -> list[bytes]:
        """Cuts a text into parts: every second one is a span."""
        parts = self._span.split(self.to_ascii(text))
        for blank, code in self._ascii:
            parts = [x.replace(code, blank) for x in parts]
        return parts

    def to_ascii(self, text: bytes) -> bytes:
        """Replaces blanks that are kept by those that `\\s` matches."""
        for blank, code in self._ascii:
            text = text.replace(blank, code)
        return text

    def tokenize(self, text):
        text = self.blanks.normalize(text).replace(_SPAN, _LOST)
        parts = self.cut(text)
        spans = parts[1::2]
        if self.in_place:
            return [*self._find_runs(parts)]
        if not self.in_pieces:
            parts[1::2] = [_SPAN] * len(spans)
            spans = iter(spans)
            tokens = self._separate(b"".join(parts))
            return [next(spans) if x == _SPAN else x for x in tokens]
        is_term = [self._is_term(x) for x in spans]
        parts[1::2] = [
            _SPAN if x else b"%b%b%b" % (_SPAN, span, _SPAN)
            for x, span in zip(is_term, spans)
        ]
        return [*self._mark_runs(self._separate(b"".join(parts)), spans)]

    def tokenize_term(self, term: bytes) -> list[bytes]:
        """Cuts a translation into a run that no encoder reads."""
        first, later = self._marks[3:]
        return [*self._find_runs([b"", term, b""], (first, first, later))]

    def _find_runs(self, parts, marks=None):
        """Yields tokens, with marks before those that overlap spans."""
        first_one, first_in_turn, later = marks or self._marks[:3]
        ends = [*itertools.accumulate(map(len, parts))]
        starts, ends, last_before = ends[:-1:2], ends[1::2], -1
        text, prefix = b"".join(parts), self._inner.prefix
        tokens = self._inner.tokenize_with_offsets(text)
        for place, (token, start, end) in enumerate(tokens):
            first = bisect.bisect_right(ends, start)
            last = bisect.bisect_left(starts, end) - 1
            if marks is not None:  # A first blank has no characters.
                last = max(last, first)
            if first > last:
                yield token
            else:
                is_ordered = self._is["ordered"](parts[2 * first + 1])
                mark = first_in_turn if is_ordered else first_one
                if first <= last_before:
                    mark = later
                # Only the text's first piece has a blank without characters.
                has_blank = place == bool(prefix) and token.startswith(_BLANK)
                surface = b" " * has_blank + text[start:end]
                yield mark + token + _SURFACE + surface
            last_before = last

    def _separate(self, text):
        """Tokenizes a text, and separates spans from words around them."""
        words = (x.split(_SPAN) for x in self._inner.tokenize(text))
        for first, *others in words:
            if first:
                yield first
            for word in others:
                yield _SPAN
                if word:
                    yield word

    def _mark_runs(self, tokens, spans):
        """Yields tokens, with marks before the subwords of spans."""
        spans, mark = iter(spans), None
        for token in tokens:
            if token == _SPAN and mark is not None:
                mark = None
            elif token == _SPAN:
                span = next(spans)
                if self._is_term(span):
                    yield span
                    continue
                is_ordered = self._is["ordered"](span)
                mark = self._marks[is_ordered]
            elif mark is None:
                yield token
            else:
                yield mark + token
                mark = self._marks[2]

    def unmark(self, token):
        if not self.in_pieces or not self._is_piece(token):
            return token
        return token[1:].partition(_SURFACE)[0]

    def is_tie(self, tokens, others):
        cuts = ([*map(self.unmark, x)] for x in (tokens, others))
        return self._inner.is_tie(*cuts)

    def _is_piece(self, token):
        return token[:1] in self._marks

    def fold(self, word):
        if self.in_pieces:
            return self._inner.fold(self.unmark(word))
        return word if self.is_span(word) else self._inner.fold(word)

    def is_span(self, word: bytes) -> bool:
        """Returns whether a word is a span."""
        return self._span.matches(self.to_ascii(word))

    def mark_needed(self, word: bytes) -> int:
        """Returns the number of a word's kind, as in `ProtectedTokenizer`."""
        if self.in_pieces:
            if self._is_piece(word):
                return 1 + self._marks.index(word[:1])
            return int(self._is_term(word))
        return self.is_span(word) * (2 if self._is["ordered"](word) else 1)

    def detokenize(self, tokens, beside=None):
        """Joins tokens.

        Args:
            tokens: The tokens.
            beside: Result of `find_adjacent` for the source. Any other
                placeholder with a letter right beside it gets a blank there.
                If not given, none does.
        """
        parts, spans = self._parts_of(tokens)
        text, had = [], False
        for i, (part, span) in enumerate(zip(parts, spans)):
            after, following = (
                x[i + 1] if i + 1 < len(spans) else b"" for x in (parts, spans)
            )
            previous = spans[i - 1] if i else b""
            before, behind = self._blanks_beside(
                *map(self.to_ascii, (previous, part, span, after, following))
            )
            if had and part == b"":
                before = b""
            had = behind != b""
            letter_before, letter_after = (
                beside is not None and x
                for x in self._touches(part, span, after)
            )
            if letter_before and (b"<", span) not in beside:
                before = b" "
            if letter_after and (b">", span) not in beside:
                behind = b" "
            text += [part, before, span, behind]
        return join_texts(text)

    def find_adjacent(self, tokens) -> set:
        """Returns the placeholders with a letter right before or after them."""
        parts, spans = self._parts_of(tokens)
        found = set()
        for part, span, after in zip(parts, spans, parts[1:]):
            sides = zip((b"<", b">"), self._touches(part, span, after))
            found |= {(side, span) for side, is_there in sides if is_there}
        return found

    def _touches(self, part, span, after):
        is_placeholder = span != b"" and self._is["placeholder"](span)
        return (
            is_placeholder and self._is["ends_with_letter"](part),
            is_placeholder and self._is["begins_with_letter"](after),
        )

    def _parts_of(self, tokens):
        """Returns the texts around spans, and the spans after them."""
        rest, spans = [], []
        for token, is_span in self._with_whole_spans(tokens):
            blank = b""
            if is_span and self.in_place and token.startswith(b" "):
                blank, token = _BLANK, token[1:]
            rest.append(blank + _SPAN if is_span else token)
            spans += [token] * is_span
        parts = self._inner.detokenize(rest).split(_SPAN, len(spans))
        # Bytes may form the character that stands for a span.
        parts[-1] = parts[-1].replace(_SPAN, b"")
        if self.in_place:
            parts, spans = self._cut_runs(parts, spans)
        return parts, [*spans, b""]

    def _cut_runs(self, texts, runs):
        """Returns the texts around the spans of runs, and these."""
        parts, spans = texts[:1], []
        for run, text in zip(runs, texts[1:]):
            first, *others = self.cut(run)
            parts[-1] += first
            spans += others[::2]
            parts += others[1::2]
            parts[-1] += text
        return parts, spans

    def _with_whole_spans(self, tokens):
        """Yields tokens, runs of marked pieces joined, and which are spans."""
        if not self.in_pieces:
            yield from ((x, self.is_span(x)) for x in tokens)
            return
        runs = []
        for token in tokens:
            is_later = token[:1] in self._marks[2::2]
            if is_later and runs and self._is_piece(runs[-1][0]):
                runs[-1].append(token)
            else:
                runs.append([token])
        for run, (after, *_) in zip(runs, [*runs[1:], [b""]]):
            pieces = [self.unmark(x) for x in run]
            if self._is_piece(run[0]) and run[0][:1] not in self._marks[2::2]:
                whole = b"".join(x.partition(_SURFACE)[2] for x in run)
                if not self.in_place:
                    whole = self._inner.detokenize(pieces)
                elif run[-1][:1] in self._marks[3:]:
                    # Beside a term are no letters, as beside a mark.
                    whole += b" " * self._is["begins_word"](after)
                yield whole, True
            else:
                yield pieces[0], self._is_term(pieces[0])

    def _blanks_beside(self, previous, part, span, after, following):
        """Returns the blanks that a span needs before and after it.

        Args:
            previous, part, span, after, following: A span, the text up to the
                next, this span, the text after it, and the span after that.
        """
        if not span:
            return b"", b""
        last_word, word = self._word_of(previous), self._word_of(span)
        right = after + self._word_of(following)
        left = self._last_word.replace(part, lambda match: match[1])
        before = left != b"" and self._is_lost(left, span, b"")
        if part == b"" and last_word:
            alone = self._hide_spans(last_word) + self._hide_spans(word)
            before |= self._hide_spans(last_word + word) != alone
        touches = right[:1].strip(BLANKS) != b""
        behind = touches and self._is_lost(b"", span, right)
        is_mark, left = word != span, part or last_word
        is_markup = self._is["markup"](span)
        ends_markup = is_markup or self._is["target"](span)
        before |= is_mark and self._is["ends_word"](left)
        before |= is_markup and self._is["no_begin"](left)
        behind |= is_mark and self._is["begins_word"](right)
        behind |= ends_markup and self._is["no_end"](right)
        is_plural = ends_markup and self._is["plural"](right)
        blank = self._plural_blank if is_plural else b" "
        return b" " if before else b"", blank if behind else b""

    def _word_of(self, span):
        return self._mark.replace(span, b"word")

    def _hide_spans(self, text):
        return self._span.replace(text, _EDGE)

    def _is_lost(self, left, span, right):
        """Returns whether a span is none between two texts."""
        text = self._span.replace(left + span + right, _EDGE, everywhere=False)
        return text != left + _EDGE + right


KINDS = {
    "words": Words,
    "sentencepiece": SentencePieces,
    "byte_pairs": BytePairs,
    "spans": Spans,
}
