"""Definitions as one file of JSON, exact to the last token.

Unlike the readable files that `Definitions.save` writes, it can hold all that a
`Definitions` can: headwords that look like comments, and definitions that occur
twice.
"""

import dataclasses
import gzip
import json
import sys

from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.json_text import parse_json


def to_bytes(definitions: Definitions) -> bytes:
    """The content of the file: gzipped JSON."""
    fields = dataclasses.fields(definitions)
    content = {field.name: getattr(definitions, field.name) for field in fields}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)


def from_bytes(data: bytes) -> Definitions:
    """Reads what `to_bytes` wrote.

    Raises:
        ValueError, KeyError, TypeError, OSError, EOFError: If it is damaged.
    """
    text = gzip.decompress(data).decode("utf-8", "surrogatepass")
    content = parse_json(text)

    def tokens(texts):
        return tuple(sys.intern(text) for text in texts)

    return Definitions(
        headwords=tuple(content["headwords"]),
        definitions=tuple(
            tuple(map(tokens, senses)) for senses in content["definitions"]
        ),
        lemmas={form: tuple(x) for form, x in content["lemmas"].items()},
        parts_of_speech=tuple(content["parts_of_speech"]),
    )
