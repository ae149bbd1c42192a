"""Europarl v7: the proceedings of the European Parliament (Koehn, 2005).

The paper's corpus. The publisher's files are read unchanged: either the two
text files, plain or gzipped, or an archive that holds them.
"""

import contextlib
import os
import shutil
import tarfile
import urllib.request
import zlib

import tqdm

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.checked_files import checksum_of
from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import CorpusError, TranslationCorpus

URL = "https://www.statmt.org/europarl/v7/{other}-en.tgz"

_OTHER_LANGUAGES = (
    "bg cs da de el es et fi fr hu it lt lv nl pl pt ro sk sl sv".split()
)
_WMT_ARCHIVE = "training-parallel-europarl-v7.tgz"  # also holds cs, de, es, fr
# As in TensorFlow Datasets 4.9.10, in url_checksums/wmt14_translate.txt. The
# publisher provides no checksums. The checksums of other archives are written
# beside them after the download, and compared from then on.
_CHECKSUMS = {
    _WMT_ARCHIVE: (
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"
    )
}
_BLOCK = 1 << 20
_TIMEOUT = 30  # seconds


def load(
    data_dir: str | os.PathLike,
    *,
    source_language: str = "en",
    target_language: str = "fr",
    download: bool = False,
    num_held_out: int | None = None,
    seed: int = 0,
) -> TranslationCorpus:
    """Reads Europarl from a folder, after downloading it if necessary.

    The folder holds `europarl-v7.fr-en.en` and `europarl-v7.fr-en.fr`, plain
    or with `.gz`, or `fr-en.tgz`. `newstest2010.en` and `.fr`, if they are
    there as plain text, become the validation set, and `newstest2011.en` and
    `.fr` the test set, as in the paper; otherwise pairs of Europarl are held
    out.

    Args:
        data_dir: The folder.
        source_language: `"en"`, or any other language of Europarl v7.
        target_language: Any language of Europarl v7; one of the two must be
            English.
        download: Whether to fetch the archive if the folder lacks the text.
        num_held_out: Number of pairs to hold out for each missing set. By
            default one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
    """
    languages = source_language, target_language
    other = _other_language(languages)
    folder = os.fspath(data_dir)
    names = [f"europarl-v7.{other}-en.{language}" for language in languages]
    return text_pairs.load(
        _find(folder, names) or _unpack(folder, names, other, download),
        validation=_find(folder, [f"newstest2010.{x}" for x in languages]),
        test=_find(folder, [f"newstest2011.{x}" for x in languages]),
        source_language=source_language,
        target_language=target_language,
        num_held_out=num_held_out,
        seed=seed,
        name=f"Europarl v7 {source_language}-{target_language}",
    )


def _other_language(languages: tuple[str, str]) -> str:
    others = [language for language in languages if language != "en"]
    if len(others) != 1 or others[0] not in _OTHER_LANGUAGES:
        raise CorpusError(
            "Europarl v7 pairs English (en) with one of "
            f"{', '.join(_OTHER_LANGUAGES)}. Received: "
            f"{languages[0]} and {languages[1]}."
        )
    return others[0]


def _find(folder: str, names: list[str]) -> tuple[str, ...] | None:
    """Finds the files with these names, plain or gzipped, if all exist."""
    found = tuple(text_pairs.plain_or_gzipped(folder, name) for name in names)
    return found if all(found) else None


def _unpack(folder, names, other, download) -> tuple[str, ...]:
    archive = os.path.join(folder, f"{other}-en.tgz")
    choices = [archive, os.path.join(folder, _WMT_ARCHIVE)]
    present = list(filter(filesystem.exists, choices))
    if not present and not download:
        raise CorpusError(
            f"No Europarl in {folder}: neither {' and '.join(names)} (plain or "
            f".gz) nor {other}-en.tgz. Fetch {URL.format(other=other)} and "
            "give the folder that holds it with --data_dir."
        )
    if not present:
        _download(URL.format(other=other), archive)
        present = [archive]
    _verify(present[0])
    _extract(present[0], folder, names)
    return tuple(os.path.join(folder, name) for name in names)


def _extract(archive: str, folder: str, names: list[str]):
    """Writes the members under these names, whole or not at all."""
    wanted = set(names)
    try:
        with (
            filesystem.open(archive, "rb") as file,
            tarfile.open(fileobj=file, mode="r|gz") as tar,
        ):
            for member in tar:
                name = os.path.basename(member.name)
                if name not in wanted or not member.isfile():
                    continue
                with tar.extractfile(member) as source:
                    write_atomically(
                        os.path.join(folder, name),
                        lambda out: shutil.copyfileobj(source, out, _BLOCK),
                    )
                wanted.remove(name)
                if not wanted:
                    return
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{archive}: damaged or cut off ({error}). Delete it and fetch it "
            "again."
        ) from error
    except OSError as error:
        raise CorpusError(
            f"Cannot unpack {archive} into {folder} "
            f"({error.strerror or error}). Make room, or give another folder "
            "with --data_dir."
        ) from error
    raise CorpusError(
        f"{archive} does not hold {' and '.join(sorted(wanted))}. Is it the "
        f"archive of this language pair?"
    )


# === Downloading ===


def _download(url: str, path: str):
    """Fetches a file, continuing an earlier attempt."""
    folder, name = os.path.split(path)
    if filesystem.is_url(path):
        raise CorpusError(
            f"No Europarl in {folder}, and an interrupted download could not "
            f"go on there. Fetch {url} to it, or give a local folder with "
            "--data_dir."
        )
    part = f"{path}.part"
    try:
        os.makedirs(folder, exist_ok=True)
        start = os.path.getsize(part) if os.path.exists(part) else 0
        request = urllib.request.Request(url)
        if start:
            request.add_header("Range", f"bytes={start}-")
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            resumed = response.status == 206
            start = start if resumed else 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            with open(part, "ab" if resumed else "wb") as out:
                options = {"desc": name, "initial": start, "total": total}
                with tqdm.tqdm.wrapattr(out, "write", **options) as shown:
                    shutil.copyfileobj(response, shown, _BLOCK)
        size = os.path.getsize(part)
        if total not in (None, size):
            raise OSError(f"received {size:,} of {total:,} bytes")
        os.replace(part, path)
    except OSError as error:  # also errors of urllib
        if getattr(error, "code", None) == 416:  # nothing is left to fetch
            os.remove(part)
            return _download(url, path)
        reason = getattr(error, "reason", None) or error
        raise CorpusError(
            f"Could not download {url} to {folder} ({reason}). Repeat the "
            "command to resume it; without a network, download that "
            "file, or its two text files, on another machine and give the "
            "folder that holds them with --data_dir."
        ) from error


def _verify(archive: str):
    """Compares the checksum with the known one, or records it."""
    checksum = checksum_of(archive)
    name, record = os.path.basename(archive), f"{archive}.sha256"
    expected = _CHECKSUMS.get(name)
    if expected is None and filesystem.exists(record):
        with filesystem.open(record) as file:
            expected = file.read().split()[0]
    if expected is None:
        text = f"{checksum}  {name}\n".encode()
        with contextlib.suppress(OSError):  # a folder that is read only
            write_atomically(record, lambda file: file.write(text))
    elif checksum != expected:
        raise CorpusError(
            f"{archive}: its SHA-256 is {checksum}, expected {expected}. It is "
            f"damaged or was changed: delete it and {name}.sha256, and fetch "
            "it again."
        )
