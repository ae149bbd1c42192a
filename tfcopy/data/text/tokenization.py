"""Moses-style tokenisation and its inverse, as core TensorFlow string ops.

Text may be cut into its characters instead; see `tokenize`.

The same functions run in the training pipeline and in the served graph, so that
the two cannot drift apart. A tokenizer here is one regular expression that
matches whole tokens (a lexer), since RE2 has no look-around; the two places
that depend on the following text are marked beforehand with control characters,
which can no longer occur in the text.

A blank that carries meaning, such as U+00A0, is a token; see `blanks`.

It departs from the Moses script to keep words whole, because a model that
copies must return a word as it was typed: names with an apostrophe, URLs,
e-mail addresses, numbers with `:` or `/`, codes with parentheses, `and/or`,
emoji sequences. Nothing is escaped.

Shapes: B batch; tokens are ragged, (B, None).

Reference: `tokenizer.perl` and `detokenizer.perl` of the Moses toolkit
(Koehn et al., 2007).
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfcopy.data.parallel import map_each
from tfcopy.data.ragged_rows import join, keep, rows_of
from tfcopy.data.text.blanks import KEPT, facts, spaces
from tfcopy.tokens import BLANK, STOP, SUFFIX


def string_tensor(texts: Iterable) -> tf.Tensor:
    """Strings or bytes to a string tensor; lone surrogates become `?`."""
    encoded = [
        x if isinstance(x, bytes) else x.encode("utf-8", "replace")
        for x in texts
    ]
    return tf.constant(encoded, tf.string)


def token_rows(texts: Iterable, tokenizer, **options) -> Iterator[list[bytes]]:
    """Yields the tokens of each text.

    Args:
        texts: Strings.
        tokenizer: Cuts them into tokens.
        **options: Options of `map_chunks`.
    """
    return map_each(
        lambda chunk: tokenizer.tokenize(string_tensor(chunk)).to_list(),
        texts,
        **options,
    )


MODES = ("moses", "space", "characters")
LANGUAGES = ("en", "fr", "zh", "other")

# Part of the fingerprint of encoded corpora: raise it with every change here
# that changes a token.
VERSION = 2

_APOSTROPHE = "['’]"
# Punctuation and symbols are separate tokens; everything else, unassigned
# characters included, is part of a word. Ranges instead of Unicode classes keep
# the automaton small: with classes RE2 runs out of memory and becomes slow.
_PUNCTUATION = (
    r"¡-©«¬®-±´¶-¸»¿×÷\x{2010}-\x{2027}\x{2030}-\x{205E}\x{20A0}-\x{20CF}"
    r"\x{3001}-\x{3004}\x{3008}-\x{3020}\x{30FB}\x{FF01}-\x{FF0F}"
    r"\x{FF1A}-\x{FF20}\x{FF3B}-\x{FF40}\x{FF5B}-\x{FF65}،؛؟۔।॥։՜-՞׀׃"
    r"\x{1361}-\x{1368}\x{17D4}-\x{17DA}\x{104A}-\x{104F}\x{0F0B}-\x{0F12}"
    rf"{KEPT}"
)
_SYMBOLS = (
    r"\x{2190}-\x{2BFF}\x{3030}\x{303D}\x{3297}\x{3299}\x{1F000}-\x{1FAFF}"
)
_LETTER = rf"[^\x00-@\[-`{{-\x7F{_PUNCTUATION}{_SYMBOLS}]"
_CONNECTOR = r"(?:-+|[‐‑–'’._@&/+=~*\\·・])"
_PIECE = rf"(?:[0-9]+(?:[,:][0-9]+)*|{_LETTER}+)+"
_WORD = (
    rf"[-@#~+._/\\]?{_PIECE}"
    rf"(?:{_CONNECTOR}{_PIECE}|\({_PIECE}\)(?:{_PIECE})?)*"
    rf"(?:[+#]+|{STOP})?"
)
_MARKS = r"\x{0300}-\x{036F}\x{20D0}-\x{20FF}\x{FE00}-\x{FE0F}"
_EMOJI_PART = rf"[{_SYMBOLS}{_MARKS}\x{{E0020}}-\x{{E007F}}]"  # tags: flags
_EMOJI = rf"[{_SYMBOLS}](?:{_EMOJI_PART}|\x{{200D}}\S)*"
_URL = (
    rf"(?i:https?://|ftp://|www\.)[^ {KEPT}<>\"«»“”]*"
    rf"[^ {KEPT}<>\"«»“”.,;:!?'’)\]}}{STOP}{SUFFIX}]"
)
_ACRONYM = rf"{_LETTER}(?:\.{_LETTER}{{1,2}})+\."
_ABBREVIATIONS = {
    "en": (
        r"[A-ZÀ-ÖØ-Þ]|Mr|Mrs|Ms|Messrs|Dr|Drs|Prof|Rev|Hon|Gen|Col|Lt|Capt|Maj"
        r"|Sgt|Gov|Sen|Rep|Adm|St|Jr|Sr|vs|Ltd|Inc|Corp|Bros|Mt|viz|cf"
    ),
    "fr": r"[A-ZÀ-ÖØ-Þ]|MM|Dr|Prof|Mgr|St|Ste|cf|vs|etc|env|ndlr|Jr|Sr",
    "other": r"[A-ZÀ-ÖØ-Þ]|Dr|Prof|St",
}
_BEFORE_FIGURE = (
    rf"\b(Nos?|nos?|Nr|Art|Arts|art|pp?|vol|Vol|chap)\.([ {KEPT}]*[0-9])"
)
_CONTRACTION = r"s|t|re|ve|ll|d|m|S|T|RE|VE|LL|D|M"
_ELISION = (
    r"(?i:[cdjlmnst]|qu|aujourd|entr|jusqu|lorsqu|presqu|puisqu|quelqu|quoiqu)"
)


def _lexer(language):
    """Returns the regular expression of one token."""
    abbreviations = _ABBREVIATIONS.get(language, _ABBREVIATIONS["other"])
    alternatives = [
        f"[{KEPT}]",
        _URL,
        r"<unk>",
        r"[:;]-[)(DPp|]",
        rf"(?:{_ACRONYM}|(?:{abbreviations})\.)(?:{_WORD})?",
        _WORD,
        r"\.\.+",
        _EMOJI,
        r"[-*=_~#+<>|^\\/]+",
        rf"\S(?:[{_MARKS}]|{STOP})*",
    ]
    if language == "en":
        alternatives.insert(3, rf"{_APOSTROPHE}{SUFFIX}[A-Za-z]+{STOP}?")
    if language == "fr":
        alternatives.insert(3, rf"{_ELISION}{_APOSTROPHE}")
    return "(?:" + "|".join(alternatives) + ")"


def normalize_blanks(text, kept: str = KEPT):
    """Makes text valid UTF-8 whose blanks are single spaces, or kept.

    Invalid bytes become U+FFFD; control characters and all Unicode blanks
    (with the zero-width space and the byte-order mark) that are not kept become
    spaces. A text of blanks alone becomes empty.

    Args:
        text: String tensor of any shape.
        kept: The blanks that are kept, some of `blanks.KEPT`.

    Returns:
        String tensor of the same shape.
    """
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    text = _empty_blank_texts(text, kept)
    text = tf.strings.regex_replace(text, spaces(kept), " ")
    return tf.strings.strip(text)


def _empty_blank_texts(text, blanks):
    is_blank = f"^{spaces('')}$" if blanks else "^$"
    return tf.strings.regex_replace(text, is_blank, "")


def _check(mode, language):
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {MODES}. Received: {mode!r}.")
    if language not in LANGUAGES:
        raise ValueError(
            f"`language` must be one of {LANGUAGES}. Received: {language!r}."
        )


def tokenize(text, *, mode="moses", language="en", blanks=KEPT):
    """Cuts text into tokens.

    ```python
    data.tokenize(["l'eau."], language="fr")  # l' eau .
    ```

    Args:
        text: String tensor of shape `(B,)`.
        mode: `"moses"`; `"space"` for text that is tokenised already; or
            `"characters"`, where every code point is a token. There a blank is
            `"▁"` (U+2581), and that character itself is `"▁▁"`.
        language: `"en"` splits contractions (`don 't`, `Parliament 's`),
            `"fr"` elisions (`l' eau`), `"zh"` and `"other"` neither. In `"zh"`
            spaces are not tokens.
        blanks: The blanks that are tokens, some of `blanks.KEPT`; others are
            spaces.

    Returns:
        Ragged string tensor of shape `(B, None)`; no token is empty or holds a
        blank, unless it is one of `blanks`; blank text has no tokens.
    """
    _check(mode, language)
    text = normalize_blanks(text, blanks)
    for pattern, rewrite in _cuts(mode, language, blanks):
        text = tf.strings.regex_replace(text, pattern, rewrite)
    if mode != "characters":
        return tf.strings.split(text)
    text = tf.strings.unicode_split(text, "UTF-8")
    # If the text has `BLANK` itself, its token is doubled.
    return _swap(_swap(text, BLANK, 2 * BLANK), " ", BLANK)


def _swap(tokens, old, new):
    """Replaces `old` by `new` in ragged tokens."""
    values = tokens.flat_values
    return tokens.with_flat_values(tf.where(values == old, new, values))


def _cuts(mode, language, blanks):
    """Returns (pattern, rewrite) pairs that put spaces between tokens."""
    if mode == "characters":
        return [(" ", "")] if language == "zh" else []
    if mode == "space":
        return [(f"[{blanks}]", r" \0 ")] if blanks else []
    # A full stop before a lower-case word ends an abbreviation.
    stop = rf"\1{STOP}\2"
    before_lower = rf"([\pL\pM\pN])\.([ {KEPT}]\p{{Ll}})"
    rules = [(before_lower, stop), (_BEFORE_FIGURE, stop)]
    if language == "en":
        before = rf"([\pL\pM\pN.])({_APOSTROPHE})({_CONTRACTION})"
        after = rf"([^\pL\pM\pN\p{{Cf}}]|[{KEPT}]|$)"
        rules.append((before + after, rf"\1 \2{SUFFIX}\3\4"))
    return [*rules, (_lexer(language), r" \0"), (STOP, "."), (SUFFIX, "")]


_CLOSING = r",!?%)\]}”…"
_BESIDE_KEPT = rf" ?([{KEPT}]) ?", r"\1"
_CJK = r"。，、！？；：「」『』（）《》【】〈〉"


def detokenize(tokens, *, mode="moses", language="en"):
    """Joins tokens to text: the inverse of `tokenize` on normal text.

    Only blanks between tokens are dropped; no token changes, except for the
    tokens of `"characters"` for a blank and for `"▁"`. There is no space beside
    a token that is a blank of `blanks.KEPT`.

    ```python
    tokens = tf.ragged.constant([["l'", "eau", "."]])
    data.detokenize(tokens, language="fr")  # l'eau.
    ```

    Args:
        tokens: Ragged string tensor of shape `(B, None)`.
        mode: `"moses"`; `"space"` to join with spaces, in `"zh"` without any;
            or `"characters"`.
        language: `"en"`, `"fr"` (space before `; : ! ? % »`), `"zh"`, or
            `"other"`.

    Returns:
        String tensor of shape `(B,)`.
    """
    _check(mode, language)
    if mode == "characters":
        tokens = _swap(_swap(tokens, BLANK, " "), 2 * BLANK, BLANK)
    text = join(tokens, _separator(mode, language))
    if mode == "moses":
        text = tf.strings.join([" ", text, " "])
    for pattern, rewrite in _joints(mode, language):
        text = tf.strings.regex_replace(text, pattern, rewrite)
    return tf.strings.strip(text) if mode == "moses" else text


def _separator(mode, language):
    is_dense = mode == "characters" or (mode == "space" and language == "zh")
    return "" if is_dense else " "


def _joints(mode, language):
    """Returns (pattern, rewrite) pairs that drop blanks, in order."""
    if mode != "moses":
        return [] if mode == "characters" else [_BESIDE_KEPT]
    closing = r",)\]}”…" if language == "fr" else _CLOSING
    stops = "." if language == "fr" else ".;:"
    after = rf"[ {closing}{stops}\"]"
    rules = []
    if language == "fr":
        rules += [(rf"([ '’(\[\"“«-]{_ELISION}{_APOSTROPHE}) ", r"\1")] * 2
    rules += [
        (rf" ([{closing}])", r"\1"),
        (rf" ([{stops}]+)({after})", r"\1\2"),
        (r"([(\[{“‘¿¡]) ", r"\1"),
        (rf" ?([{_CJK}]) ?", r"\1"),
        (r'" ([^"]*) "', r'"\1"'),
        (r'( ") ([^ ])', r"\1\2"),
        (rf"^ ({_APOSTROPHE}) ", r" \1"),
    ]
    if language != "fr":
        rules += [(r"( [$£€¥]) (\pN)", r"\1\2"), (r"« ", "«"), (r" »", "»")]
    if language == "en":
        rules += [
            (rf" ({_APOSTROPHE}(?:{_CONTRACTION}))([^\pL\pM\pN])", r"\1\2"),
            (rf"([sS]) ({_APOSTROPHE}) ", r"\1\2 "),
        ]
    rules += [
        (rf" (') ([^ ].*?) (')({after})", r" \1\2\3\4"),
        (rf" ({_APOSTROPHE})({after})", r"\1\2"),
    ]
    return [*rules, _BESIDE_KEPT]


def lower(words):
    """Lowers words of any script.

    Args:
        words: String tensor or ragged tensor of any shape, valid UTF-8.

    Returns:
        The same shape. `İ` becomes `i` and a combining dot.
    """
    # With a Turkish locale, TensorFlow would lower `I` to `ı`: a served model
    # must not depend on the locale.
    words = tf.strings.regex_replace(words, "I", "i")
    words = tf.strings.regex_replace(words, "İ", "i\u0307")
    return tf.strings.lower(words, encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Tokenizer:
    """The tokenisation of one side of a corpus, as one value.

    ```python
    tokenizer = data.Tokenizer(language="en")
    tokens = tokenizer.tokenize(["It's a river."])
    tokenizer.detokenize(tokens)
    ```

    Args:
        mode: `"moses"`, `"space"` or `"characters"`, as in `tokenize`.
        language: ISO 639 code; one without rules of its own is `"other"`.
        lowercase: Whether words that differ only in case are one word of the
            vocabulary, and match. Tokens still stay as typed, so that a copied
            word comes back with its capitals; see `fold`.
        keeps: The blanks that are tokens, as in `tokenize`; see `adapt`.
    """

    mode: str = "moses"
    language: str = "en"
    lowercase: bool = False
    keeps: str = KEPT

    # If a text is cut off, so many of its last tokens may differ; a word such
    # as `a-b(c)` is three tokens without its end.
    reach: ClassVar[int] = 8
    # True if the tokens of a word depend on all of the word.
    cuts_words: ClassVar[bool] = False

    def __post_init__(self):
        has_rules = self.language in LANGUAGES
        if self.mode == "moses" and self.language == "zh":
            has_rules = False
        if not has_rules:
            object.__setattr__(self, "language", "other")
        _check(self.mode, self.language)

    def tokenize(self, text):
        """Cuts text of shape `(B,)` into ragged tokens, `(B, None)`."""
        return tokenize(
            text, mode=self.mode, language=self.language, blanks=self.keeps
        )

    def fold(self, words):
        """Folds words to the form that is counted, looked up and matched.

        Args:
            words: String tensor or ragged tensor of any shape.

        Returns:
            The same shape: `words`, in lower case if `lowercase`.
        """
        return lower(words) if self.lowercase else words

    def detokenize(self, tokens):
        """Joins ragged tokens, `(B, None)`, to text of shape `(B,)`."""
        return detokenize(tokens, mode=self.mode, language=self.language)

    def declare(self, files: dict) -> dict:
        """Returns the facts of `runtime.text_tokenizers.Words`."""
        mode, language = self.mode, self.language
        return {
            **{"kind": "words", "lowercase": self.lowercase},
            **facts(self.keeps),
            "cut": _cuts(mode, language, self.keeps),
            "join": _joints(mode, language),
            "separator": _separator(mode, language),
            "edge": " " if mode == "moses" else "",
            "characters": mode == "characters",
        }

    @property
    def blanks(self) -> str:
        """The blanks of `blanks.KEPT` that are tokens."""
        return self.keeps

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other tokens."""
        case = "-lower" if self.lowercase else ""
        # Without these blanks tokens are those of version 1.
        version = VERSION if self.keeps else 1
        known = "" if self.keeps == KEPT else names_of(self.keeps)
        return f"{self.mode}-{self.language}-{version}{case}{known}"


def names_of(blanks: str) -> str:
    """Returns the part of a fingerprint that names blanks that are kept."""
    return "".join(f"-{ord(x):x}" for x in blanks)


def adapt(tokenizer, vocabulary):
    """Returns a tokenizer that reads blanks outside a vocabulary as spaces.

    A text pasted from a web page has U+00A0; a model that never saw one reads
    and answers as if it were a space.

    Args:
        tokenizer: A tokenizer, perhaps of another one.
        vocabulary: The `Vocabulary` of its tokens.
    """
    for name in {"inner", "tokenizer"} & vars(tokenizer).keys():
        known = {name: adapt(getattr(tokenizer, name), vocabulary)}
        return dataclasses.replace(tokenizer, **known)
    letters = set().union(*vocabulary.words)
    had = getattr(tokenizer, "blanks", "")
    keeps = "".join(x for x in had if x in letters)
    same = keeps == had
    return tokenizer if same else dataclasses.replace(tokenizer, keeps=keeps)


def tokenize_with_offsets(text, tokenizer: Tokenizer):
    """Cuts text into tokens with their positions.

    Args:
        text: String tensor of shape `(B,)`.
        tokenizer: Cuts it into tokens; SentencePiece is not supported, as its
            pieces may differ from the text.

    Returns:
        `(tokens, starts, ends)`, ragged tensors of shape `(B, None)`: the
        tokens of `tokenizer.tokenize`, and int32 offsets into the text in code
        points, such that the token is `text[start:end]`. In character mode, the
        token of a blank has the position of the first of several.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise ValueError(
            "`tokenizer` must be a `Tokenizer`, whose tokens are parts of "
            f"the text. Received: {tokenizer!r}."
        )
    tokens = tokenizer.tokenize(text)
    places = _places(text, tokenizer)
    if tokenizer.mode == "characters":
        lengths = tf.ones_like(tokens.flat_values, tf.int32)
    else:
        lengths = tf.strings.length(tokens.flat_values, unit="UTF8_CHAR")
    last = tf.cumsum(lengths) - 1
    starts = tf.gather(places.flat_values, last - lengths + 1)
    ends = tf.gather(places.flat_values, last) + 1
    return tokens, *map(tokens.with_flat_values, (starts, ends))


def cut_out(text, starts, ends, first, last):
    """Cuts out the text from the first to the last token of a span.

    Args:
        text: String tensor of shape `(B,)`.
        starts: Ragged, `(B, None)`, from `tokenize_with_offsets`.
        ends: Ragged, `(B, None)`, from `tokenize_with_offsets`.
        first: int32 `(B,)`, the span's first token.
        last: int32 `(B,)`, the token after its last one; there may be fewer.

    Returns:
        String tensor of shape `(B,)`; `""` where the span has no token.
    """
    last = tf.minimum(last, tf.cast(starts.row_lengths(), tf.int32))
    begins = offset_at(starts, first, last <= first)
    stops = offset_at(ends, last - 1, last <= first)
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    return tf.strings.substr(text, begins, stops - begins, unit="UTF8_CHAR")


def offset_at(offsets, place, is_absent):
    """Returns the offset of a token of each text.

    Args:
        offsets: Ragged, `(B, None)`, from `tokenize_with_offsets`.
        place: int32 `(B,)`, the number of the token.
        is_absent: bool `(B,)`, whether there is none.

    Returns:
        int32 `(B,)`; 0 where there is none.
    """
    place = tf.cast(offsets.row_starts(), tf.int32) + place
    # One more, so that there is a value even without any token.
    values = tf.concat([offsets.flat_values, [0]], 0)
    found = tf.gather(values, tf.where(is_absent, 0, place))
    return tf.where(is_absent, 0, found)


def find_covering_span(
    starts: np.ndarray, ends: np.ndarray, start: int, end: int
) -> tuple[int, int]:
    """Finds the fewest tokens that cover a part of their text.

    Args:
        starts: int array, the start offsets of one text's tokens; see
            `tokenize_with_offsets`.
        ends: int array, their end offsets.
        start: Where the part begins, in code points.
        end: Where it ends, exclusive.

    Returns:
        `(first, last)`: the first of these tokens, and the one after the last;
        the same number twice where there is none.
    """
    first = int(np.searchsorted(ends, start, side="right"))
    return first, max(first, int(np.searchsorted(starts, end, side="left")))


def _places(text, tokenizer):
    """Returns positions of the code points in tokens: ragged `(B, None)`."""
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    text = _empty_blank_texts(text, tokenizer.blanks)
    characters = tf.strings.unicode_split(text, "UTF-8")
    is_blank = tf.strings.regex_full_match(
        characters.flat_values, spaces(tokenizer.blanks)
    )
    is_kept = characters.with_flat_values(~is_blank)
    places = tf.ragged.range(tf.cast(characters.row_lengths(), tf.int32))
    places = characters.with_flat_values(places.flat_values)
    if tokenizer.mode == "characters" and tokenizer.language != "zh":
        is_kept = _keep_first_blanks(is_kept, places)
    return keep(places, is_kept.values)


def _keep_first_blanks(is_kept, places):
    """Marks the first blank between two characters that are kept, too."""
    values = is_kept.flat_values
    after_kept = tf.concat([[False], values[:-1]], 0) & (places.flat_values > 0)
    # The last one of each text, or -1.
    kept = tf.where(values, places.flat_values, -1)
    last = tf.reduce_max(places.with_flat_values(kept), axis=1)
    last = tf.gather(last, rows_of(places))
    return is_kept.with_flat_values(
        values | (after_kept & (places.flat_values < last))
    )


# Bytes for each token to begin with; most have fewer.
_BYTES = 64
_GROWTH = 16


def readable_text(text, tokenizer, count: int):
    """Cuts off the text far behind its first tokens.

    A model that reads 200 words of a text need not cut all of its ten million
    characters into words. The first tokens are the same as for the whole text:
    the kept part has `tokenizer.reach` more tokens, since only so many depend
    on the end of a text.

    Args:
        text: Strings, `(B,)`.
        tokenizer: `Tokenizer` or `SentencepieceTokenizer`.
        count: Number of tokens that are read.

    Returns:
        Strings, `(B,)`.
    """
    lengths = tf.cast(tf.strings.length(text), tf.int64)

    def beginning(size):
        begun = tf.strings.substr(text, tf.zeros_like(size), size)
        if tokenizer.cuts_words:
            whole = tf.strings.regex_replace(begun, r"\S*$", "", False)
            begun = tf.where(lengths > size, whole, begun)
        return begun

    def is_too_short(size):
        tokens = tokenizer.tokenize(beginning(size)).row_lengths()
        has_too_few = tokens < count + tokenizer.reach
        return tf.reduce_any((lengths > size) & has_too_few)

    def goes_on(size):
        return tf.cond(
            tf.reduce_any(lengths > size),
            lambda: is_too_short(size),
            lambda: tf.constant(False),
        )

    first = tf.constant(_BYTES * (count + tokenizer.reach), tf.int64)
    (size,) = tf.while_loop(goes_on, lambda size: [size * _GROWTH], [first])
    return beginning(size)
