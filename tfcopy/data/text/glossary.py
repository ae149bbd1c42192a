"""Glossaries: translations of phrases, `phrase<TAB>translation` a line, or TBX.

In a source, a mark replaces each phrase: one token that a model points at, as
at a span of markup. In the answer the translation replaces the mark. UTF-8;
blank lines and lines that start with `# ` are skipped.

Shapes: B texts, R lines of each, G phrases.
"""

import collections
import functools
import os
from collections.abc import Iterable

import tensorflow as tf

from tfcopy import file_formats
from tfcopy.data.corpora.text_pairs import iter_lines, line_error
from tfcopy.data.ragged_rows import join
from tfcopy.data.text import exchange_formats
from tfcopy.data.text.blanks import IN_ASCII, KEPT, facts, normalize
from tfcopy.data.text.tokenization import normalize_blanks
from tfcopy.tokens import EDGE, LOST, MARK_CLOSE, MARK_OPEN, SPAN, WORD_EDGE

MARK = f"{MARK_OPEN}[0-9]+{MARK_CLOSE}"
_MARK_EDGES = f"[{SPAN}{MARK_OPEN}{MARK_CLOSE}]"
_WORD = r"[\pL\pN\pM_]+"
_PUNCTUATION = r"[!-/:-@\[-^`{-~]"  # of ASCII, all but the underscore


class Glossary:
    """Phrases and their translations.

    Args:
        terms: `(phrase, translation)` pairs; no phrase is listed twice.
    """

    def __init__(self, terms: Iterable[tuple[str, str]]):
        self.terms = tuple((normalize(str(x), ""), str(y)) for x, y in terms)
        phrases = [x for x, _ in self.terms]
        for phrase, count in collections.Counter(phrases).items():
            if not phrase or count > 1:
                raise ValueError(
                    "Phrases must be different, and not blank. "
                    f"Received: {phrase!r}."
                )

    @classmethod
    def load(cls, path, languages=(None, None)) -> "Glossary":
        """Reads a file of lines, CSV or TBX, depending on its name.

        If a phrase has several translations in TBX, the first one counts; the
        number of others is printed.

        Args:
            path: The file.
            languages: Codes of source and target, which terms of TBX have.

        Raises:
            OSError: If it cannot be read.
            ValueError: naming the file and the line of a bad term.
        """
        path, terms, left_out = os.fspath(path), {}, 0
        form = os.path.splitext(file_formats.plain_name(path))[1].lower()
        read = _lines
        if form in (".csv", ".tbx"):
            read = functools.partial(
                exchange_formats.read_terms, languages=languages
            )
        for place, *fields in read(path):
            phrase, translation = map(normalize, fields, ("", KEPT))
            if not phrase or not translation:
                raise ValueError(f"{place}: a blank phrase or translation.")
            if terms.setdefault(phrase, translation) is not translation:
                if form != ".tbx":
                    raise ValueError(f"{place}: {phrase!r} is listed twice.")
                left_out += terms[phrase] != translation
        if left_out:
            print(f"{path}: {left_out:,} further translations of phrases.")
        return cls(terms.items())

    def to_bytes(self) -> bytes:
        """Returns the content of a file that `load` reads."""
        return "".join(f"{x}\t{y}\n" for x, y in self.terms).encode()

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def phrases(self):
        """Strings `(G,)`."""
        return tf.constant([x for x, _ in self.terms], tf.string)

    @property
    def translations(self):
        """Strings `(G,)`."""
        return tf.constant([x for _, x in self.terms], tf.string)


def _lines(path):
    """Yields `(place, phrase, translation)` of lines with a tabulator."""
    for number, text in enumerate(iter_lines(path), start=1):
        if not text.strip() or text.startswith("# "):
            continue
        fields = text.split("\t")
        if len(fields) != 2 or not all(map(str.strip, fields)):
            expected = "phrase<TAB>translation"
            raise line_error(path, number, expected, text.strip()[:80])
        yield f"{path}, line {number}", *fields


def fields_of(lines):
    """Phrases and translations of lines of a request.

    A line of any other form is ignored: a server must not refuse a whole batch
    for one line.

    Args:
        lines: Strings of any shape.

    Returns:
        Two tensors of strings, of the same shape.
    """
    flat = tf.strings.split(tf.reshape(lines, [-1]), "\t")
    flat = flat.to_tensor("", shape=[None, 2])
    phrases, translations = tf.unstack(flat, axis=1)
    phrases = normalize_blanks(phrases, "")
    translations = normalize_blanks(translations)
    is_term = (phrases != "") & (translations != "")
    return tuple(
        tf.reshape(tf.where(is_term, x, ""), tf.shape(lines))
        for x in (phrases, translations)
    )


def remove_marks(text):
    """Replaces the private characters of marks and spans in texts."""
    return tf.strings.regex_replace(text, _MARK_EDGES, LOST)


def mark(text, phrases, protect: str, numbers=None):
    """Replaces phrases in texts by marks, the longest first.

    A phrase is found as whole words, in the case in which it is given, whatever
    blanks there are between its words.

    Args:
        text: Strings, `(B,)`.
        phrases: Strings, `(G,)`; blank ones are nowhere.
        protect: Regular expression of spans that hold no phrase.
        numbers: int32 `(G,)`, the numbers in the marks; by default the
            positions of the phrases.
    """
    if numbers is None:
        numbers = tf.range(tf.size(phrases))
    text = normalize_blanks(text)
    places = tf.where(phrases != "")[:, 0]
    phrases, numbers = tf.gather(phrases, places), tf.gather(numbers, places)

    def insert_marks():
        parts, is_span = cut(text, f"(?:{protect})", KEPT)
        flat = parts.flat_values
        delimited = tf.where(is_span, flat, _delimit(flat))
        pattern = tf.strings.join(["(?:", _any_of(phrases), ")"])
        written = _replace_phrases(*cut(delimited, pattern), phrases, numbers)
        flat = tf.where(is_span, flat, written)
        return join(parts.with_flat_values(flat))

    return tf.cond(tf.size(phrases) > 0, insert_marks, lambda: text)


def mark_each(text, lines, protect: str):
    """Marks as `mark` does, with phrases of its own for each text.

    The marks have the numbers of the lines, row by row.

    Args:
        text: Strings, `(B,)`.
        lines: Strings, `(B, R)`, as `fields_of` reads them.
        protect: As in `mark`.

    """
    phrases, _ = fields_of(lines)
    return tf.map_fn(
        lambda row: mark(row[0][None], row[1], protect, row[2])[0],
        (text, phrases, tf.reshape(tf.range(tf.size(lines)), tf.shape(lines))),
        fn_output_signature=tf.TensorSpec([], tf.string),
    )


def is_mark(words):
    """Returns which words are marks, boolean of their shape."""
    return tf.strings.regex_full_match(words, MARK)


def unmark(text, translations):
    """Replaces marks in texts by translations.

    Args:
        text: Strings of any shape.
        translations: Strings `(G,)`, by the marks' numbers.
    """
    parts, marked = cut(tf.reshape(text, [-1]), MARK)
    flat = parts.flat_values
    digits = tf.strings.regex_replace(flat, _MARK_EDGES, "")
    number = tf.strings.to_number(tf.where(marked, digits, "0"), tf.int32)
    # A mark that a text came with has no translation.
    known = marked & (number < tf.size(translations))
    padded = tf.concat([translations, [""]], axis=0)
    flat = tf.where(known, tf.gather(padded, tf.where(known, number, 0)), flat)
    return tf.reshape(join(parts.with_flat_values(flat)), tf.shape(text))


def cut(text, pattern, blanks=""):
    """Cuts texts at matches; returns ragged parts, and which of them match.

    Args:
        text: Strings `(B,)`.
        pattern: Regular expression of RE2.
        blanks: Some of `blanks.KEPT`, which patterns take for blanks.
    """
    text = to_ascii(text, blanks)
    edged = tf.strings.regex_replace(text, pattern, rf"{EDGE}\0{EDGE}")
    for blank in blanks:
        edged = tf.strings.regex_replace(edged, IN_ASCII[blank], blank)
    # Outside, inside, outside and so on; there may be nothing outside.
    parts = tf.strings.split(edged, EDGE)
    return parts, tf.ragged.range(parts.row_lengths()).flat_values % 2 == 1


def to_ascii(text, blanks: str):
    """Replaces some of `blanks.KEPT` by blanks of ASCII, `\\s` to RE2."""
    for blank in blanks:
        text = tf.strings.regex_replace(text, blank, IN_ASCII[blank])
    return text


def _delimit(text):
    """Puts an edge before and after each word of texts, so that words match."""
    return tf.strings.regex_replace(text, _WORD, rf"{WORD_EDGE}\0{WORD_EDGE}")


def declare(glossary: Glossary | None) -> dict:
    """Returns the facts of `runtime.text_rules.Glossary`."""
    return {
        **{"mark": MARK, "word": _WORD, "private": _MARK_EDGES},
        "edges": [MARK_OPEN, MARK_CLOSE],
        "phrase": [[_PUNCTUATION, r"\\\0"], [" ", f"[ {KEPT}]+"]],
        **{"blanks": facts(""), "kept": facts(KEPT)},
        "terms": None if glossary is None else glossary.terms,
    }


def _any_of(phrases):
    """Returns one pattern of phrases in delimited text, the longest first."""
    order = tf.argsort(
        tf.strings.length(phrases), direction="DESCENDING", stable=True
    )
    delimited = _delimit(tf.gather(phrases, order))
    escaped = tf.strings.regex_replace(delimited, _PUNCTUATION, r"\\\0")
    escaped = tf.strings.regex_replace(escaped, " ", f"[ {KEPT}]+")
    return tf.strings.reduce_join(escaped, separator="|")


def _replace_phrases(parts, is_match, phrases, numbers):
    """Replaces the phrases among the parts of delimited texts by marks."""
    flat = tf.strings.regex_replace(parts.flat_values, WORD_EDGE, "")
    both = tf.unique(tf.concat([phrases, normalize_blanks(flat, "")], axis=0))
    count = tf.size(phrases)
    first = tf.math.unsorted_segment_min(
        tf.range(tf.size(both.idx)), both.idx, tf.size(both.y)
    )
    indices = tf.gather(first, both.idx[count:])
    is_phrase = is_match & (indices < count)
    number = tf.gather(numbers, tf.where(is_phrase, indices, 0))
    marks = tf.strings.join(
        [MARK_OPEN, tf.strings.as_string(number), MARK_CLOSE]
    )
    flat = tf.where(is_phrase, marks, flat)
    return join(parts.with_flat_values(flat))
