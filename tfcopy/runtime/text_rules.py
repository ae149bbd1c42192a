"""Replacements in texts: rules of RE2, blanks, a glossary's terms, entities.

These are the twins of code in `tfcopy.data.text` that is part of graphs: here
they take one text. Texts and tokens are bytes of UTF-8.
"""

import functools
import re
from collections.abc import Mapping, Sequence

from tfcopy.tokens import EDGE, LOST, WORD_EDGE

_EDGE, _WORD_EDGE = EDGE.encode(), WORD_EDGE.encode()
BLANKS = b" \t\n\v\f\r"
# Letters with a case that are younger than TensorFlow's ICU, whose Unicode is
# 13. To it, they are no letters.
_YOUNGER = re.compile(
    "([\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7e2\uab6c\uab6d"
    "\U00010570-\U000105bc\U00010d50-\U00010d85\U00016ea0-\U00016ed3"
    "\U0001d6a6\U0001df00-\U0001df96]+)"
)
# Bytes of a text times instructions of an expression, and bytes of a text that
# is made.
_MOST_WORK, _LONGEST = 1 << 32, 1 << 26
_LONG = 1 << 16  # bytes of a text that may be too long for any export
# Rules of a list, bytes of a rewrite, and how many times as long a text may
# become: no export's rules do more than double one.
_MOST_RULES, _LONGEST_REWRITE, _MOST_GROWTH = 100, 16, 16
# A character of RE2, to which any byte of no character is one itself.
_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    rb"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|(?s:.)|$"
)


class TextTooLong(ValueError):
    """A text is too long to be encoded; the export is no reason."""


class Pattern:
    """Regular expression of RE2, matched in bytes of UTF-8.

    Args:
        pattern: The expression.

    Raises:
        ValueError: If it is none, or too large.
    """

    def __init__(self, pattern: str):
        import re2  # late: some exports need none

        options = re2.Options()
        options.log_errors = False
        try:
            self._compiled = re2.compile(pattern.encode(), options)
        except re2.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        # Its work grows with the groups, too; rewrites have ten at most.
        self._size = self._compiled.programsize * (
            1 + self._compiled.groups // 10
        )

    def matches(self, text: bytes) -> bool:
        """Returns whether all of a text matches."""
        self._check_work(text)
        return self._compiled.fullmatch(text) is not None

    def replace(self, text: bytes, rewrite, everywhere: bool = True) -> bytes:
        """Replaces matches as RE2's `GlobalReplace` and `Replace` do.

        Args:
            text: The text.
            rewrite: Bytes, or a function of a match.
            everywhere: Whether to replace all matches, not the first alone.
        """
        self._check_work(text)
        search = self._compiled.search
        parts, place, last = [], 0, -1
        while place <= len(text) and (match := search(text, place)):
            start, stop = match.span()
            parts.append(text[place:start])
            if start == stop == last:
                # An empty match is none at the end of the last one.
                place = _CHARACTER.match(text, place).end() or 1
                place = max(place, stop + 1)
                parts.append(text[stop:place])
                continue
            parts.append(rewrite(match) if callable(rewrite) else rewrite)
            place = last = stop
            if not everywhere:
                break
        return join_texts([*parts, text[place:]]) if parts else text

    def split(self, text: bytes) -> list[bytes]:
        """Cuts a text at matches: outside, inside, outside and so on."""
        edged = self.replace(text, lambda match: _EDGE + match[0] + _EDGE)
        return edged.split(_EDGE)

    def _check_work(self, text):
        if len(text) * self._size > _MOST_WORK:
            if len(text) < _LONG:
                raise ValueError("a regular expression is too large")
            raise TextTooLong(f"a text of {len(text):,} bytes is too long")


class Rules:
    """Replacements that are applied in their order.

    Args:
        rules: Lists of a regular expression of RE2 and its rewrite.

    Raises:
        ValueError: If one is none. So does a call whose result grows too much.
    """

    def __init__(self, rules):
        if len(rules) > _MOST_RULES:
            raise ValueError(f"{len(rules)} rules are too many")
        self._rules = [(Pattern(x), _make_rewrite(y)) for x, y in rules]

    def __call__(self, text: bytes) -> bytes:
        most = _MOST_GROWTH * (len(text) + _LONGEST_REWRITE)
        for pattern, rewrite in self._rules:
            text = pattern.replace(text, rewrite)
            if len(text) > most:
                raise ValueError("rules make a text too long")
        return text


def _make_rewrite(rewrite):
    r"""Returns a text, or the function of a match that fills groups in."""
    parts = re.split(rb"\\([0-9\\])", rewrite.encode())
    if len(rewrite) > _LONGEST_REWRITE:
        raise ValueError(f"a rewrite is too long: {rewrite[:80]!r}")
    if len(parts) == 1:
        return parts[0]
    groups = [x if x == b"\\" else int(x) for x in parts[1::2]]

    def write(match):
        written = parts.copy()
        written[1::2] = (x if x == b"\\" else match[x] or b"" for x in groups)
        return b"".join(written)

    return write


def join_texts(parts, separator: bytes = b"") -> bytes:
    """Joins texts.

    Raises:
        ValueError: If they are too long.
    """
    if sum(map(len, parts)) + len(separator) * len(parts) > _LONGEST:
        raise ValueError("a text becomes too long")
    return separator.join(parts)


def check_characters(texts) -> None:
    """Raises a ValueError if a text is not one character."""
    for text in texts:
        if len(text) != 1:
            raise ValueError(f"{text[:80]!r} is not one character")


def decode(text: bytes) -> bytes:
    """Makes a text valid UTF-8: other bytes become U+FFFD."""
    return text if text.isascii() else text.decode(errors="replace").encode()


def lower(word: bytes) -> bytes:
    """Lowers a word of any script, as TensorFlow does."""
    word = word.replace(b"I", b"i").replace("İ".encode(), b"i\xcc\x87")
    # TensorFlow passes it as a string of C, which ends at NUL.
    parts = _YOUNGER.split(word.partition(b"\0")[0].decode(errors="replace"))
    parts[::2] = map(str.lower, parts[::2])
    return "".join(parts).encode()


def join(parts: Sequence[bytes], separator: bytes = b"") -> bytes:
    """Joins texts; TensorFlow has no separator after empty ones that begin."""
    first = next((i for i, x in enumerate(parts) if x), 0)
    return join_texts(parts[first:], separator)


class Blanks:
    """Blanks of texts: single spaces, or kept.

    Args:
        facts: Dict of `spaces`, the regular expression of a run of blanks that
            are not kept, and `blank`, that of a text of blanks alone.
    """

    def __init__(self, facts):
        self._spaces = Pattern(facts["spaces"])
        self._blank = Pattern(facts["blank"])

    def normalize(self, text: bytes) -> bytes:
        """Makes a text valid UTF-8 whose blanks are single spaces, or kept."""
        text = decode(text)
        if self._blank.matches(text):
            return b""
        return self._spaces.replace(text, b" ").strip(BLANKS)


class Glossary:
    """Terms of an export, and how they are marked in texts.

    Args:
        facts: Dict of the regular expressions `mark`, `word` and `private`,
            the sides of a mark `edges`, the rules `phrase` that make a phrase
            a regular expression, `terms`, a list of pairs or `None`, and two
            sorts of blanks: `blanks` of phrases, and `kept` of translations.
        tokenizer: The source's `Spans`, in which no phrase is found.

    Attributes:
        is_always: Whether it has terms of its own.
        is_mark: Function of a token, whether it is a mark.
    """

    def __init__(self, facts: Mapping, tokenizer):
        self._tokenizer = tokenizer
        self._mark, self._word, self._private = (
            Pattern(facts[x]) for x in ("mark", "word", "private")
        )
        self._open, self._close = (x.encode() for x in facts["edges"])
        check_characters(facts["edges"])
        self._escape = Rules(facts["phrase"])
        self._blanks = Blanks(facts["blanks"])
        self._kept = Blanks(facts["kept"])
        self.is_always = facts["terms"] is not None
        self._terms = [
            (phrase.encode(), translation.encode())
            for phrase, translation in facts["terms"] or ()
        ]
        self.is_mark = self._mark.matches
        self._phrases = self._phrases_of(self._terms)

    def marks(self, lines: Sequence[Sequence[bytes]]):
        """Makes functions that replace phrases in texts by marks.

        Args:
            lines: For each text lines `phrase<TAB>translation`, which come
                before the export's terms; lines of any other form are ignored.

        Returns:
            A function for each text, and all terms by the numbers of their
            marks.
        """
        own = [[*map(self._term_of, row)] for row in lines]
        terms, marks, count = [x for row in own for x in row], [], 0
        for row in own:
            pairs = (self._phrases_of(row), count), (self._phrases, len(terms))
            marks.append(functools.partial(self._mark_all, pairs))
            count += len(row)
        return marks, [*terms, *self._terms]

    def _mark_all(self, phrases, text):
        text = self._tokenizer.blanks.normalize(text)
        text = self._private.replace(text, LOST.encode())
        for some, first in phrases:
            text = self._mark_phrases(text, some, first)
        return text

    def _term_of(self, line):
        phrase, translation = [*line.split(b"\t"), b""][:2]
        phrase = self._blanks.normalize(phrase)
        translation = self._kept.normalize(translation)
        is_term = phrase != b"" and translation != b""
        return (phrase, translation) if is_term else (b"", b"")

    def _phrases_of(self, terms):
        """Returns the phrases' numbers, and the pattern that finds one."""
        numbers = {}
        for number, (phrase, _) in enumerate(terms):
            if phrase:
                numbers.setdefault(phrase, number)
        longest = sorted(numbers, key=len, reverse=True)
        patterns = (self._escape(self._delimit(x)).decode() for x in longest)
        return numbers, Pattern("|".join(patterns))

    def _mark_phrases(self, text, phrases, first):
        numbers, pattern = phrases
        if not numbers:
            return text

        def mark(match):
            plain = match[0].replace(_WORD_EDGE, b"")
            number = numbers.get(self._blanks.normalize(plain))
            if number is None:
                return plain
            return b"%b%d%b" % (self._open, first + number, self._close)

        parts = self._tokenizer.cut(self._kept.normalize(text))
        for i in range(0, len(parts), 2):
            marked = pattern.replace(self._delimit(parts[i]), mark)
            parts[i] = marked.replace(_WORD_EDGE, b"")
        return b"".join(parts)

    def _delimit(self, text):
        return self._word.replace(
            text, lambda match: _WORD_EDGE + match[0] + _WORD_EDGE
        )

    def demand(self, text: bytes, terms):
        """Replaces marks by phrases; returns the translations as well."""
        phrases, translations = ([x[i] for x in terms] for i in (0, 1))
        marks = self._mark.split(text)[1::2]
        wanted = (self.unmark(x, translations) for x in marks)
        wanted = [self._private.replace(x, LOST.encode()) for x in wanted]
        return self.unmark(text, phrases), wanted

    def unmark(self, text: bytes, texts: Sequence[bytes]) -> bytes:
        """Replaces marks by texts of their numbers, if there are such."""

        def text_of(match):
            number = int(match[0][len(self._open) : -len(self._close)])
            return texts[number] if number < len(texts) else match[0]

        return self._mark.replace(text, text_of)


class Entities:
    """Named entities as numbered placeholders.

    Args:
        facts: Dict of the regular expressions `entity`, `other`, `placeholder`
            and `one_capital`, the rules `surface`, the words `common`, and
            whether to ignore case, `lowercase`.
    """

    def __init__(self, facts: Mapping):
        self._is_entity, self._is_other, self._is_placeholder = (
            Pattern(facts[x]).matches
            for x in ("entity", "other", "placeholder")
        )
        self._has_one_capital = Pattern(facts["one_capital"]).matches
        self.surface = Rules(facts["surface"])
        self._lowercase = facts["lowercase"]
        self._common = {x.encode() for x in facts["common"]}
        self._unknown = facts["unknown"].encode()

    def keys(self, words: Sequence[bytes]) -> list[bytes]:
        """Returns words without tags, and placeholders for entities."""
        numbers, keys = {}, []
        for word in words:
            key = self.surface(word)
            if self._is_named(word, key):
                name = lower(key) if self._lowercase else key
                key = b"@%d" % numbers.setdefault(name, len(numbers) + 1)
            keys.append(key)
        return keys

    def _is_named(self, word, surface):
        is_named = self._is_entity(word) and not self._is_other(word)
        if is_named and self._common and self._has_one_capital(word):
            is_named = lower(word) not in self._common
        is_named = is_named or self._is_placeholder(surface)
        return is_named and surface != self._unknown

    def restore(self, key: bytes, keys: Sequence[bytes], words) -> bytes:
        """Returns the first word of a placeholder, or any other key itself."""
        if not self._is_placeholder(key):
            return key
        words = (word for x, word in zip(keys, words) if x == key)
        return next(words, self._unknown)
