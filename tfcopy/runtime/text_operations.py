"""Operations of text programs on texts, regular expressions and subwords.

Values and arguments are as in `number_operations`.
"""

import functools
import math
import re

import numpy as np

from tfcopy.runtime.number_operations import (
    DTYPES,
    LIST,
    ProgramError,
    array_of,
    budget,
    check_size,
    integers_of,
    operation,
    splits_of,
    strings,
    value_of,
)

# Bytes of a text times instructions of a regular expression.
_WORK, _MUCH_WORK = 1 << 32, 1 << 20
# Rewritings that are kept.
_KEPT = 1000
# The bytes of a character after its first, in UTF-8.
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_CHARACTER = re.compile(rb"(?s).[\x80-\xbf]*")
# Letters with a case that are younger than TensorFlow's ICU, whose Unicode is
# 13. To it, they are no letters.
_YOUNGER = re.compile(
    "([\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7e2\uab6c\uab6d"
    "\U00010570-\U000105bc\U00010d50-\U00010d85\U00016ea0-\U00016ed3"
    "\U0001d6a6\U0001df00-\U0001df96]+)"
)


def _each(function, x, *others):
    """Applies a function to each string, beside those of other arrays."""
    if not isinstance(x, np.ndarray):
        return function(x, *others)
    others = (np.broadcast_to(y, x.shape).ravel().tolist() for y in others)
    return map(function, x.ravel().tolist(), *others), x.shape


def _texts(found):
    if type(found) is bytes:
        budget.spend(len(found))
        return found
    texts, shape = [], found[1]
    for text in budget.watched(found[0]):
        texts.append(text)
        budget.spend(len(text) + LIST)
    return strings(texts, shape)


def _check_pieces(texts):
    """Refuses texts with too many characters to make an object of each."""
    check_size(sum(map(len, texts)) * LIST)


def _joined(separator, parts):
    check_size(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _numbers(found, dtype=int):
    if not isinstance(found, tuple):
        return found
    return np.array([*budget.watched(found[0])], dtype).reshape(found[1])


@operation("StringLength")
def _string_length(x, *, unit=b"BYTE"):
    if unit == b"BYTE":
        return _numbers(_each(len, x))
    return _numbers(
        _each(lambda text: len(text.translate(None, _CONTINUATIONS)), x)
    )


@operation("Substr")
def _substr(x, begins, lengths, *, unit=b"BYTE"):
    def part(text, begin, length):
        if unit == b"BYTE":
            begin += len(text) if begin < 0 else 0
            return text[begin : begin + length]
        _check_pieces([text])
        characters = _CHARACTER.findall(text)
        begin += len(characters) if begin < 0 else 0
        return b"".join(characters[begin : begin + length])

    if not isinstance(x, np.ndarray) and np.ndim(begins):
        x = np.broadcast_to(array_of(x), np.shape(begins))
    return _texts(_each(part, x, begins, lengths))


@operation("StringStrip")
def _strip(x):
    return _texts(_each(lambda text: text.strip(b" \t\n\v\f\r"), x))


@operation("StringLower")
def _lower(x, *, encoding=b""):
    def lower(text):
        if text.isascii() and b"\0" not in text:
            return text.lower()
        # TensorFlow passes it as a string of C, which ends at NUL.
        text = text.partition(b"\0")[0].decode("utf-8", "replace")
        parts = _YOUNGER.split(text)
        parts[::2] = map(str.lower, parts[::2])
        return "".join(parts).encode()

    return _texts(_each(lower if encoding else bytes.lower, x))


@operation("UnicodeTranscode")
def _transcode(x):
    def valid(text):
        return text.decode("utf-8", "replace").encode()

    return _texts(_each(valid, x))


@operation("UnicodeDecode")
def _unicode_decode(x):
    _check_pieces(x.tolist())
    rows = [text.decode("utf-8", "replace") for text in x.tolist()]
    splits = splits_of([len(row) for row in rows])
    return splits, np.array([ord(y) for row in rows for y in row], int)


@operation("UnicodeEncode")
def _unicode_encode(codes, splits):
    text = "".join("\ufffd" if 0xD800 <= x < 0xE000 else chr(x) for x in codes)
    splits = splits.tolist()
    rows = (text[i:j].encode() for i, j in zip(splits, splits[1:]))
    return _texts((rows, -1))


@operation("StringSplitV2")
def _split(x, separator):
    _check_pieces(x.tolist())
    rows = [text.split(separator or None) for text in x.tolist()]
    lengths = np.array([len(row) for row in rows], int)
    return _sparse(strings(word for row in rows for word in row), lengths)


def _sparse(words, lengths):
    """Returns the indices, the values and the shape of a sparse tensor."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(row)) - np.repeat(splits_of(lengths)[:-1], lengths)
    shape = np.array([len(lengths), lengths.max(initial=0)])
    return np.stack([row, column], 1), words, shape


@operation("StringSplit")
def _split_bytes(x, delimiter):
    if delimiter != b"":
        raise ProgramError("it splits texts at several characters")
    _check_pieces(x.tolist())
    lengths = _numbers(_each(len, x))
    joined = b"".join(x.tolist())
    words = strings(joined[i : i + 1] for i in range(len(joined)))
    return _sparse(words, lengths)


@operation("DecodePaddedRaw")
def _decode_raw(x, length, *, out_type):
    if out_type != "uint8":
        raise ProgramError(f"it reads texts as numbers of {out_type}")
    x = array_of(x)
    check_size(x.size * length)
    data = b"".join(text[:length].ljust(length, b"\0") for text in x.flat)
    return np.frombuffer(data, np.uint8).reshape(*x.shape, length)


@operation("StringJoin")
def _join(*values, separator=b""):
    arrays = [x for x in values if isinstance(x, np.ndarray)]
    if not arrays:
        return _texts(_joined(separator, values))
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    check_size(math.prod(shape) * len(values))
    values = (
        np.broadcast_to(array_of(x), shape).ravel().tolist() for x in values
    )
    rows = zip(*values)
    return _texts(((_joined(separator, row) for row in rows), shape))


@operation("ReduceJoin")
def _reduce_join(x, axes, *, keep_dims=False, separator=b""):
    axis = integers_of(axes)
    if len(axis) != 1:
        raise ProgramError("it joins texts along several axes")
    rows = np.moveaxis(x, axis[0], -1)
    shape = rows.shape[:-1]
    flat = rows.reshape(int(np.prod(shape)), rows.shape[-1]).tolist()
    joined = _texts(((_joined(separator, row) for row in flat), shape))
    return np.expand_dims(joined, axis[0]) if keep_dims else value_of(joined)


@operation("UnsortedSegmentJoin")
def _segment_join(x, segments, count, *, separator=b""):
    check_size(count)
    rows = [[] for _ in range(count)]
    parts = zip(x.ravel().tolist(), segments.ravel().tolist())
    for text, place in budget.watched(parts):
        # TensorFlow writes no separator after nothing.
        if place >= 0 and (text or rows[place]):
            rows[place].append(text)
    return _texts(((_joined(separator, row) for row in rows), (count,)))


@operation("AsString")
def _as_string(x):
    return _texts(_each(lambda number: b"%d" % number, x))


@operation("StringToNumber")
def _to_number(x, *, out_type):
    return _numbers(_each(int, x), DTYPES[out_type])


@operation("StringToHashBucketFast")
def _hash(x, *, num_buckets):
    """Hashes texts, unlike TensorFlow: programs compare hashes alone."""

    def fnv(text):
        value = 0xCBF29CE484222325
        for byte in text:
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return value % num_buckets

    return _numbers(_each(fnv, x))


@operation("LookupTableFindV2")
def _find(table, keys, default):
    if not isinstance(keys, np.ndarray):
        return table.get(keys, default)
    keys, shape = budget.watched(keys.ravel().tolist()), keys.shape
    found = [table.get(key, default) for key in keys]
    if type(default) is bytes:
        return strings(found, shape)
    return np.array(found, int).reshape(shape)


# Regular expressions.

# A character of RE2, to which any byte of no character is one itself.
_VALID = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|[\xe1-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    rb"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)


# The automaton of each may take 8 MB.
@functools.lru_cache(128)
def compiled(pattern: bytes):
    """Compiles a regular expression of RE2.

    Raises:
        ProgramError: If it is none, or too large.

    Returns:
        It, and the number of its instructions.
    """
    import re2  # late: a program for words alone needs none

    budget.look()
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
        return found, found.programsize
    except re2.error as error:
        raise ProgramError(f"no regular expression: {error}") from error


@operation("StaticRegexFullMatch")
def _full_match(x, *, pattern):
    return _matches(x, pattern)


@operation("RegexFullMatch")
def _matches(x, pattern):
    found, size = compiled(pattern)

    fullmatch = found.fullmatch

    def match(text):
        if len(text) * size > _MUCH_WORK:
            _check_work(text, size)
        return fullmatch(text) is not None

    return _numbers(_each(match, x), bool)


def _check_work(text, size):
    """Refuses regular expressions that would run for long on a text."""
    if len(text) * size > _WORK * budget.scale:
        budget.refuse()
    budget.look()


@operation("StaticRegexReplace")
def _static_replace(x, *, pattern, rewrite, replace_global=True):
    return _replace(x, pattern, rewrite, replace_global=replace_global)


@operation("RegexReplace")
def _replace(x, pattern, rewrite, *, replace_global=True):
    found, size = compiled(pattern)
    check_size(len(rewrite) * _KEPT)
    written = _rewriting(rewrite)

    def replace(text):
        if len(text) * size > _MUCH_WORK:
            _check_work(text, size)
        return _sub(found, written, text, replace_global)

    return _texts(_each(replace, x))


@functools.lru_cache(_KEPT)
def _rewriting(rewrite):
    """Returns a text, or the function of a match that makes it."""
    parts = re.split(rb"\\([0-9\\])", rewrite)
    if len(parts) == 1:
        return rewrite
    texts, escapes = parts[::2], parts[1::2]
    groups = [x if x == b"\\" else int(x) for x in escapes]

    def write(match):
        written = [texts[0]]
        for group, text in zip(groups, texts[1:]):
            is_text = type(group) is bytes
            written += [group if is_text else match[group] or b"", text]
        written = b"".join(written)
        budget.spend(len(written))
        return written

    return write


def _sub(pattern, rewrite, text, everywhere):
    """Replaces matches as RE2's `GlobalReplace` and `Replace` do."""
    pieces, place, last = [], 0, -1
    while place <= len(text) and (match := pattern.search(text, place)):
        budget.look()
        start, stop = match.span()
        pieces.append(text[place:start])
        if start == stop == last:
            # An empty match is none at the end of the last one.
            character = _VALID.match(text, place)
            stop = character.end() if character else place + 1
            pieces.append(text[place:stop])
            place = stop
            continue
        pieces.append(rewrite(match) if callable(rewrite) else rewrite)
        place = last = stop
        if not everywhere:
            break
    return _joined(b"", [*pieces, text[place:]]) if pieces else text


# Subwords: a model of SentencePiece is a value.


@operation("SentencepieceTokenizeOp")
def _cut_pieces(model, x, nbest, alpha, bos, eos, reverse, *, out_type):
    if nbest not in (0, 1) or bos or eos or reverse:
        raise ProgramError("it samples pieces, or adds marks to them")
    _check_pieces(x.tolist())
    kind = str if out_type == "string" else int
    rows = [
        model.encode(text.decode("utf-8", "replace"), out_type=kind)
        for text in x.tolist()
    ]
    pieces = [piece for row in rows for piece in row]
    if kind is int:
        values = np.array(pieces, int)
    else:
        values = strings(piece.encode() for piece in pieces)
    return values, splits_of([len(row) for row in rows])


@operation("SentencepieceDetokenizeOp")
def _join_pieces(model, values, splits, bos, eos, reverse):
    values, splits = values.tolist(), splits.tolist()
    rows = (
        model.decode([x.decode() for x in values[i:j]]).encode()
        for i, j in zip(splits, splits[1:])
    )
    return _texts((rows, -1))
