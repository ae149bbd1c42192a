"""Europarl v7: the proceedings of the European Parliament (Koehn, 2005).

The paper's corpus. The publisher's files are read unchanged: either the two
text files, plain or gzipped, or an archive that holds them.
"""

import contextlib
import hashlib
import os
import shutil
import tarfile
import urllib.request
import zlib
from pathlib import Path

import tqdm

from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import CorpusError, TranslationCorpus

URL = "https://www.statmt.org/europarl/v7/{other}-en.tgz"

_OTHER_LANGUAGES = (
    "bg cs da de el es et fi fr hu it lt lv nl pl pt ro sk sl sv".split()
)
_WMT_ARCHIVE = "training-parallel-europarl-v7.tgz"  # also holds cs, de, es, fr
# As in TensorFlow Datasets 4.9.10, in url_checksums/wmt14_translate.txt. The
# publisher gives no checksums; those of other archives are written beside them
# when they are downloaded, and compared from then on.
_CHECKSUMS = {
    _WMT_ARCHIVE: (
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"
    ),
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
        num_held_out: How many pairs to hold out for each missing set. By
            default one in twenty, at most 2,000.
        seed: Chooses the pairs that are held out.
    """
    languages = source_language, target_language
    other = _other_language(languages)
    folder = Path(data_dir)
    names = [f"europarl-v7.{other}-en.{language}" for language in languages]
    train = _find(folder, names) or _unpack(folder, names, other, download)
    return text_pairs.load(
        train,
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


def _find(folder: Path, names: list[str]) -> tuple[Path, ...] | None:
    """The files with these names, each plain or gzipped, if all exist."""
    present_files = []
    for name in names:
        choices = [folder / name, folder / f"{name}.gz"]
        present_files += [path for path in choices if path.exists()][:1]
    return tuple(present_files) if len(present_files) == len(names) else None


def _unpack(folder, names, other, download) -> tuple[Path, ...]:
    archive = folder / f"{other}-en.tgz"
    choices = [archive, folder / _WMT_ARCHIVE]
    present = [path for path in choices if path.exists()]
    if not present and not download:
        raise CorpusError(
            f"No Europarl in {folder}: neither {' and '.join(names)} (plain or "
            f".gz) nor {archive.name}. Fetch {URL.format(other=other)} and "
            "give the folder that holds it with --data_dir."
        )
    if not present:
        _download(URL.format(other=other), archive)
        present = [archive]
    _verify(present[0])
    _extract(present[0], folder, names)
    return tuple(folder / name for name in names)


def _extract(archive: Path, folder: Path, names: list[str]):
    """Writes the members under these names, whole or not at all."""
    wanted = set(names)
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for member in tar:
                name = Path(member.name).name
                if name not in wanted or not member.isfile():
                    continue
                with tar.extractfile(member) as source:
                    _write(source, folder / name)
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


def _write(source, path: Path):
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb") as out:
            shutil.copyfileobj(source, out, _BLOCK)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# === Downloading ===


def _download(url: str, path: Path):
    """Fetches a file, continuing from what an earlier attempt has left."""
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        start = part.stat().st_size if part.exists() else 0
        request = urllib.request.Request(url)
        if start:
            request.add_header("Range", f"bytes={start}-")
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            resumed = response.status == 206
            start = start if resumed else 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            with open(part, "ab" if resumed else "wb") as out:
                _copy(response, out, path.name, start, total)
        if total is not None and part.stat().st_size != total:
            raise OSError(f"{part.stat().st_size:,} of {total:,} bytes came")
        part.replace(path)
    except OSError as error:  # also what urllib raises
        if getattr(error, "code", None) == 416:  # nothing is left to fetch
            part.unlink()
            return _download(url, path)
        reason = getattr(error, "reason", None) or error
        raise CorpusError(
            f"Could not download {url} to {path.parent} ({reason}). Repeat the "
            "command to resume it; without a network, download that "
            "file, or its two text files, on another machine and give the "
            "folder that holds them with --data_dir."
        ) from error


def _copy(response, out, title, start, total):
    bar = tqdm.tqdm(
        desc=title, initial=start, total=total, unit="B", unit_scale=True
    )
    with bar:
        while block := response.read(_BLOCK):
            out.write(block)
            bar.update(len(block))


def _verify(archive: Path):
    """Compares the checksum with the known one, or records it."""
    with open(archive, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    record = archive.with_name(f"{archive.name}.sha256")
    expected = _CHECKSUMS.get(archive.name)
    if expected is None and record.exists():
        expected = record.read_text().split()[0]
    if expected is None:
        with contextlib.suppress(OSError):  # a folder that is read only
            record.write_text(f"{checksum}  {archive.name}\n")
    elif checksum != expected:
        raise CorpusError(
            f"{archive}: its SHA-256 is {checksum}, expected {expected}. It is "
            f"damaged or was changed: delete it and {record.name}, and fetch "
            "it again."
        )
