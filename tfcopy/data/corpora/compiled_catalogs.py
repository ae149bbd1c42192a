"""Entries of compiled gettext catalogues, `.mo` files.

Reference: the manual of GNU gettext, "The Format of GNU MO Files".
"""

import struct

from tfcopy.data.corpora.catalog_lines import Entry, charset_of
from tfcopy.data.corpora.corpus import CorpusError

# Of each byte order.
MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_CONTEXT, _PLURAL = "\x04", "\x00"


def entries_of(path, content: bytes) -> tuple[str, list[Entry]]:
    """Parses a compiled catalogue.

    Entries are numbered in the order of the file. It has no comments and flags.
    Strings that depend on the system (`PRIu64`) are left out.

    Args:
        path: Path of the catalogue, for messages.
        content: Its bytes.

    Returns:
        The charset of the header, and the entries.

    Raises:
        CorpusError: If it is damaged, or not in its charset.
    """
    try:
        sources, targets = _strings(content)
    except (struct.error, ValueError) as error:
        raise CorpusError(
            f"{path}: a damaged compiled catalogue (.mo). Compile it again, by "
            "`msgfmt`, or remove it."
        ) from error
    charset = charset_of(path, dict(zip(sources, targets)).get(b"", b""))
    try:
        texts = [[x.decode(charset) for x in y] for y in (sources, targets)]
    except UnicodeError as error:
        raise CorpusError(
            f"{path}: not {charset}, the charset of its header. Compile it "
            "again, after `msgconv --to-code UTF-8`."
        ) from error
    return charset, [_entry(i, *x) for i, x in enumerate(zip(*texts))]


def _strings(content):
    """Returns the sources and the translations."""
    order = MAGIC[content[:4]]
    version, count, *tables = struct.unpack_from(f"{order}4I", content, 4)
    if version >> 16 > 1:
        raise ValueError("a later format")
    for table in tables:
        numbers = struct.unpack_from(f"{order}{2 * count}I", content, table)
        places = [*zip(numbers[1::2], numbers[::2])]
        # Strings that overlap could need any amount of memory.
        if sum(numbers[::2]) > len(content) or any(
            begin + length > len(content) for begin, length in places
        ):
            raise ValueError("strings that the file lacks")
        yield [content[begin : begin + length] for begin, length in places]


def _entry(number, source, target):
    # A text may have the sign, too.
    context, sign, text = source.partition(_CONTEXT)
    context, text = (context, text) if sign else (None, source)
    singular, *plural = text.split(_PLURAL)
    forms = target.split(_PLURAL) if plural else [target]
    return Entry(
        number,
        range(0),
        context=context,
        singular=singular,
        plural=plural[0] if plural else None,
        translations=dict(enumerate(forms)),
    )
