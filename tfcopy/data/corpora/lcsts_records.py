"""Records of LCSTS files: text that resembles XML, but is not.

    <doc id=0>
        <human_label>5</human_label>
        <summary>
            one line of text
        </summary>
        <short_text>
            one line of text
        </short_text>
    </doc>

The attribute has no quotes, text may hold a bare `&` or `<`, and the label is
in parts II and III only. Therefore the files are read line by line.
"""

import codecs
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from tfcopy import file_forms
from tfcopy.data.corpora.corpus import CorpusError

_SECTIONS = {"<summary>": "</summary>", "<short_text>": "</short_text>"}
_LABEL = re.compile(r"<human_label>\s*([1-5])\s*</human_label>")
_BLOCK = 1 << 20  # bytes


class Record(NamedTuple):
    """A pair as it is written in a file.

    Attributes:
        line: Number of the line where it begins.
        score: 1 to 5, or `None` where there is none.
        short_text: The source, `""` if missing.
        summary: The target, `""` if missing.
    """

    line: int
    score: int | None
    short_text: str
    summary: str


def encoding_of(path: str | os.PathLike) -> str:
    """Returns `"utf-8"` if the whole file is valid UTF-8, else `"gb18030"`."""
    # The first lines may be valid in both by chance.
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _open(path) as file:
            while block := file.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8"


def read_records(
    path: str | os.PathLike, encoding: str = "utf-8"
) -> Iterator[Record]:
    """Yields the records of a file, including those with an empty side.

    The lines of a text are joined without blanks. The first line of the file,
    which is damaged in some editions, opens a record whatever it is.

    Args:
        path: The file.
        encoding: `"utf-8"` or `"gb18030"`, with or without a byte-order mark.

    Raises:
        CorpusError: naming the line.
    """
    opened = section = None  # line where the record begins; opening tag
    is_first = True
    number, score, texts = 0, None, {}
    for number, line in _lines(path, encoding):
        starts = line.startswith("<doc id=")
        if opened is None:
            if not (starts or is_first):
                raise _error(path, number, "<doc id=...>", line)
            opened, score, texts, is_first = number, None, {}, False
        elif starts or (section and line == "</doc>"):
            expected = _SECTIONS.get(section, "</doc>")
            raise _error(path, number, f"{expected} before it", line)
        elif section:
            if line == _SECTIONS[section]:
                section = None
            else:
                texts[section].append(line)
        elif line == "</doc>":
            short_text, summary = (
                "".join(texts.get(x, ())) for x in ("<short_text>", "<summary>")
            )
            yield Record(opened, score, short_text, summary)
            opened = None
        elif line in _SECTIONS and line not in texts:
            section, texts[line] = line, []
        elif match := _LABEL.fullmatch(line):
            score = int(match[1])
        else:
            expected = (
                "<human_label> with 1 to 5, one <summary>, one <short_text>, "
                "or </doc>"
            )
            raise _error(path, number, expected, line)
    if opened is not None:
        raise CorpusError(
            f"{path}, line {number:,}: the file ends within the record of line "
            f"{opened:,}. Was it cut off? Copy it again."
        )


def _lines(path, encoding) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, stripped, with their numbers."""
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode(encoding).lstrip("\ufeff").strip()
            except UnicodeDecodeError as error:
                raise _encoding_error(path, number, encoding) from error
            if text:
                yield number, text


def _encoding_error(path, number, encoding):
    places = [f"line {number:,} is not {encoding.upper()}"]
    if encoding != "utf-8":
        with _open(path) as file:
            for other, line in enumerate(file, start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    places.insert(0, f"line {other:,} is not UTF-8")
                    break
    return CorpusError(
        f"{path}: {', and '.join(places)}. The file must be UTF-8 or GB18030 "
        "throughout. Mend the line, or copy the file again."
    )


def _open(path):
    try:
        return file_forms.open_plain(path)
    except file_forms.FormError as error:
        raise CorpusError(str(error)) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "Check the path and its permissions."
        ) from error


def _error(path, number, expected, line):
    return CorpusError(
        f"{path}, line {number:,}: expected {expected}. Received: "
        f"{line[:40]!r}."
    )
