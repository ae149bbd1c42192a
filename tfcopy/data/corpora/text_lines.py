"""Lines of text files, plain or compressed."""

import os
import stat
import zipfile
from collections.abc import Iterator

from tfcopy import file_forms, filesystem
from tfcopy.data.corpora.corpus import CorpusError


def read_lines(
    path: str | os.PathLike | zipfile.Path,
    keep_ends: bool = False,
    *,
    errors: str = "strict",
    once: bool = False,
) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, as `file_forms.plain` reads it.

    Lines end at "\\n" alone, and come without their ends ("\\n" or "\\r\\n")
    unless `keep_ends`; other line separators of Unicode stay inside the line.
    The file may be a member of a zip archive, too.

    Args:
        path: The file.
        keep_ends: Whether lines keep their ends.
        errors: What becomes of bytes that are no UTF-8, as in `bytes.decode`.
        once: Whether it is read only once, and so may be a pipe.

    Raises:
        CorpusError: naming the file, if it cannot be read.
    """
    number = 0
    try:
        if not once:
            _check_repeatable(path)
        with file_forms.open_plain(path) as file:
            for number, line in enumerate(file, start=1):
                if not keep_ends:
                    line = line.removesuffix(b"\n").removesuffix(b"\r")
                yield line.decode(errors=errors)
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}, line {number}: not valid UTF-8 (byte "
            f"0x{error.object[error.start]:02x} at position {error.start + 1} "
            "of the line). Convert the file to UTF-8, for example with iconv, "
            "or mend this line."
        ) from error
    except file_forms.FormError as error:
        raise CorpusError(str(error)) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "Check the path and its permissions."
        ) from error


def _check_repeatable(path):
    """Refuses what would be empty, or another, or endless, the next time."""
    if isinstance(path, zipfile.Path) or filesystem.is_url(path):
        return
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise CorpusError(
            f"{path}: a pipe or a device, which cannot be read again. Write "
            "its lines to a file first."
        )
