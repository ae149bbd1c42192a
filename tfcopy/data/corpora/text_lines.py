"""Lines of text files, plain or gzipped."""

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import CorpusError


def read_lines(
    path: str | os.PathLike | zipfile.Path, keep_ends: bool = False
) -> Iterator[str]:
    """Yields the lines of a plain or gzipped UTF-8 file.

    Lines end at "\\n" alone, and come without their ends ("\\n" or "\\r\\n")
    unless `keep_ends`; other line separators of Unicode stay inside the line.
    The file may be a member of a zip archive, too.
    """
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # byte order mark
                if not keep_ends:
                    line = line.removesuffix(b"\n").removesuffix(b"\r")
                yield line.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}, line {number}: not valid UTF-8 (byte "
            f"0x{error.object[error.start]:02x} at position {error.start + 1} "
            "of the line). Convert the file to UTF-8, for example with iconv, "
            "or mend this line."
        ) from error
    except (
        EOFError,
        zlib.error,
        gzip.BadGzipFile,
        zipfile.BadZipFile,
    ) as error:
        raise CorpusError(
            f"{path}: the gzip or zip data is damaged or cut off after line "
            f"{number} ({error}). Fetch the file again."
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "Check the path and its permissions."
        ) from error


def _open(path):
    if isinstance(path, zipfile.Path):
        return path.open("rb")
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else open(path, "rb")
