"""Fills catalogues of which translations were removed, and checks the outcome.

    python -m benchmarks.catalog_filling MODEL locale/es/*.po --workdir DIR

Removes a share of each catalogue's translations, fills it by the command
translate_po, and tells whether every line but those of the filled entries is as
before, what `msgfmt --check` says, how much markup is kept, and how near the
filled entries are to what was removed (BLEU). Then the command, which writes
each --interval seconds, is killed at random moments after its first write, and
repeated; the outcome must be the same, byte for byte, and no other file be
left. Last, a memory has a share of what was removed: how many of these come
back exactly, and how long it takes.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import polib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tfcopy.evaluation import markup, translations

_ENDED = -9  # by SIGKILL


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.catalog_filling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="exported folder")
    parser.add_argument("files", nargs="+", metavar="FILE", help="catalogue")
    parser.add_argument("--workdir", required=True, type=pathlib.Path)
    parser.add_argument("--share", type=float, default=0.5, help="removed")
    parser.add_argument(
        "--known", type=float, default=0.3, help="of these, in a memory"
    )
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--interval", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--protect", nargs="+", default=["rst", "printf", "brace"]
    )
    options = parser.parse_args()
    print(json.dumps(measure(options), indent=2, ensure_ascii=False))


def measure(options):
    """What the command did, as a dict of figures."""
    shutil.rmtree(options.workdir, ignore_errors=True)
    cut = options.workdir / "cut"
    cut.mkdir(parents=True)
    rng = random.Random(options.seed)
    removed = {}
    for path in map(pathlib.Path, options.files):
        removed[path.name] = _remove(path, cut / path.name, options.share, rng)
    names = sorted(removed)
    filled = options.workdir / "filled"
    seconds = _fill(options, cut, filled, names)
    result = {
        "catalogues": len(names),
        "removed": sum(map(len, removed.values())),
        "seconds": round(seconds, 1),
        "msgfmt": {name: _msgfmt(filled / name) for name in names},
        "kept_lines": all(_only_filled(cut / x, filled / x) for x in names),
        **_scores(filled, removed, options.protect),
    }
    outcome = [(filled / name).read_bytes() for name in names]
    repeated = []
    longest = None
    for i in range(options.kills + bool(options.kills)):
        folder = options.workdir / f"killed{i}"
        shutil.copytree(cut, folder)
        # The first one is not killed, and tells how long others may take.
        limit = longest and rng.uniform(0, longest)
        seconds, entries = _kill(options, folder, names, limit)
        longest = longest or seconds
        left = len({*os.listdir(folder)} - {*names})
        _fill(options, folder, None, names)
        same = [(folder / name).read_bytes() for name in names] == outcome
        repeated.append(
            {
                "seconds after the first write": round(seconds, 2),
                "entries filled": entries,
                "files left": left,
                "same": same and sorted(os.listdir(folder)) == names,
            }
        )
    memory = _with_memory(options, cut, removed, rng)
    return {**result, "killed": repeated, "memory": memory}


def _remove(path, to, share, rng):
    """Removes translations; returns them by their entries."""
    catalog = polib.pofile(str(path), wrapwidth=78)
    entries = [x for x in catalog if x.msgstr and not x.fuzzy | x.obsolete]
    chosen = rng.sample(entries, round(share * len(entries)))
    texts = {(entry.msgctxt, entry.msgid): entry.msgstr for entry in chosen}
    for entry in chosen:
        entry.msgstr = ""
    catalog.save(to)
    return texts


def _with_memory(options, cut, removed, rng):
    """Fills the catalogues again, with a memory of some translations."""
    texts = [
        (source, y) for x in removed.values() for (_, source), y in x.items()
    ]
    known = dict(rng.sample(texts, round(options.known * len(texts))))
    path = options.workdir / "memory.po"
    header = '"Content-Type: text/plain; charset=UTF-8\\n"'
    rows = [f'msgid ""\nmsgstr ""\n{header}\n']
    for pair in known.items():
        source, target = (json.dumps(x, ensure_ascii=False) for x in pair)
        rows.append(f"msgid {source}\nmsgstr {target}\n")
    path.write_text("\n".join(rows), encoding="utf-8")
    filled = options.workdir / "remembered"
    seconds = _fill(
        options, cut, filled, sorted(removed), "--memory", str(path)
    )
    found = [
        entry.msgstr == known[source]
        for name, texts in removed.items()
        for entry in polib.pofile(str(filled / name))
        if (source := entry.msgid) in known and (entry.msgctxt, source) in texts
    ]
    return {
        "known": len(found),
        "exact": sum(found),
        "seconds": round(seconds, 1),
    }


def _command(options, folder, output, names):
    paths = [str(folder / name) for name in names]
    if output is not None:
        paths += ["--output", f"{output}{os.sep}"]
        output.mkdir(exist_ok=True)
    code = (
        "import sys\n"
        "from tfcopy.serving import translate_po\n"
        "from tfcopy.serving.catalogs import catalog_filling\n"
        f"catalog_filling._INTERVAL = {options.interval}\n"
        "catalog_filling._TIMES = 1\n"
        "sys.exit(translate_po.main())"
    )
    return [sys.executable, "-c", code, options.model, *paths]


def _fill(options, folder, output, names, *more):
    """Runs the command to its end; returns the seconds."""
    start = time.monotonic()
    command = [*_command(options, folder, output, names), *more]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return time.monotonic() - start


def _kill(options, folder, names, seconds):
    """Kills it some seconds after its first write, or waits for its end.

    Returns the seconds from its first write on, and the entries it has filled.
    """

    def filled():
        texts = ((folder / name).read_bytes() for name in names)
        return sum(text.count(b"# tfcopy: score") for text in texts)

    process = subprocess.Popen(
        _command(options, folder, None, names), stdout=sys.stderr
    )
    while not filled():
        assert process.poll() is None
        time.sleep(0.01)
    start = time.monotonic()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    assert process.wait() in (0, _ENDED)
    return time.monotonic() - start, filled()


def _msgfmt(path):
    """What gettext's program says of a catalogue; "" if it accepts it."""
    checked = subprocess.run(
        ["msgfmt", "--check", "--output-file", os.devnull, str(path)],
        capture_output=True,
        text=True,
    )
    return checked.stderr.strip() if checked.returncode else ""


def _only_filled(before, after):
    """Whether what was there is there still, in its order."""
    old, new = (
        # Filled entries become fuzzy.
        path.read_text(encoding="utf-8")
        .replace("#, fuzzy, ", "#, ")
        .split("\n")
        for path in (before, after)
    )
    new = iter(new)
    return all(line in new for line in old if line != 'msgstr ""')


def _scores(folder, removed, protect):
    sources, answers, references = [], [], []
    for name, texts in removed.items():
        found = {
            (x.msgctxt, x.msgid): x for x in polib.pofile(str(folder / name))
        }
        for key, reference in texts.items():
            if found[key].msgstr:
                # What stands elsewhere in the file is not.
                assert found[key].fuzzy or "from" in found[key].tcomment
                sources.append(key[1])
                answers.append(found[key].msgstr)
                references.append(reference)
    bleu = translations.bleu(answers, references, "13a")
    kept = markup.kept(sources, answers, protect)
    return {
        "filled": len(answers),
        "bleu": round(bleu["score"], 2),
        **{name: round(value, 2) for name, value in kept.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
