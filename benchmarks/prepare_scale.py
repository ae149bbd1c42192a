"""Minutes and memory of preparing corpora of several sizes.

    python -m benchmarks.prepare_scale --pairs 1000000 2000000 5000000
    python -m benchmarks.prepare_scale --pairs 200000 --compare
    python -m benchmarks.prepare_scale --pairs 50000 100000 200000 400000 \\
        --processes 1 2 --picture docs/corpus_growth.png

Pairs of 5 to 30 words are drawn by Zipf's law, with a name that hardly any
other pair has in every fourth; then `tfcopy.data.prepare` runs on them in a
process of its own. The memory is that of the process and all its children at
once, looked at five times a second: resident sets, of which pages that
processes share count more than once. `--compare` encodes the same files on
today's path in this process, and says whether vocabularies, ids and the first
batches are the same. `--processes` are those of Beam's runner, each number in
turn; `--picture` shows minutes and memory against both.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import psutil

from benchmarks import flags
from tfcopy.terminal import tolerant_output

_BLOCK = 10_000  # pairs
_BEAM = ("--", "--direct_running_mode=multi_processing")


def write_corpus(folder, num_pairs, seed=0):
    """Writes two files of aligned sentences; returns their paths."""
    rng = np.random.default_rng(seed)
    paths = [os.path.join(folder, f"{num_pairs}.{x}") for x in ("en", "fr")]
    with open(paths[0], "w") as source, open(paths[1], "w") as target:
        for start in range(0, num_pairs, _BLOCK):
            lengths = rng.integers(5, 31, min(_BLOCK, num_pairs - start))
            words = rng.zipf(1.2, lengths.sum()) % 100_000
            for i, (end, length) in enumerate(zip(np.cumsum(lengths), lengths)):
                own = words[end - length : end].tolist()
                name = f" Name{start + i}" if i % 4 == 0 else ""
                source.write(" ".join(f"w{x}" for x in own) + f"{name} .\n")
                target.write(" ".join(f"m{x}" for x in own) + f"{name} .\n")
    return paths


def measured(command):
    """Runs a command.

    Returns:
        Its seconds, those of processors, and the most GB of its process tree.
    """
    start, most, cpu = time.monotonic(), 0, _cpu_seconds()
    process = subprocess.Popen(command)
    root = psutil.Process(process.pid)
    while process.poll() is None:
        total = 0
        try:
            for one in [root, *root.children(recursive=True)]:
                try:
                    total += one.memory_info().rss
                except psutil.NoSuchProcess:
                    pass
        except psutil.NoSuchProcess:
            pass
        most = max(most, total)
        time.sleep(0.2)
    if process.returncode:
        sys.exit(process.returncode)
    return time.monotonic() - start, _cpu_seconds() - cpu, most / 1e9


def _cpu_seconds():
    """Seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(paths, folder, sizes):
    """Says whether today's path gives the same."""
    from tfcopy.data.corpora import text_pairs
    from tfcopy.data.pairs import encoding, pipeline
    from tfcopy.data.preparation import prepared_corpus
    from tfcopy.data.text import vocabulary
    from tfcopy.data.text.tokenization import Tokenizer

    corpus = text_pairs.load(tuple(paths), tokenized=True)
    cut = (Tokenizer("space", "en"), Tokenizer("space", "fr"))
    start = time.monotonic()
    counts = vocabulary.count_words(corpus.train, cut)
    words = [vocabulary.Vocabulary.build(x, sizes) for x in counts]
    plain = encoding.encode(
        corpus.train, *words, source_tokenizer=cut[0], target_tokenizer=cut[1]
    )
    print(f"today's path: {(time.monotonic() - start) / 60:.1f} minutes")
    prepared = prepared_corpus.load(folder)
    own = prepared.vocabularies(cut, dict(source=sizes, target=sizes), {}, 1)
    train = prepared.train.encode(own, cut)
    same = {
        "vocabularies": [x.to_bytes() for x in own]
        == [x.to_bytes() for x in words],
        "ids": plain.checksum == train.checksum,
        "places in the corpus": np.array_equal(plain.indices, train.indices),
        "first 100 batches": all(
            np.array_equal(x[name], y[name])
            for x, y in zip(
                *(
                    pipeline.batches(x, 64, shuffle_seed=1).take(100)
                    for x in (plain, train)
                )
            )
            for name in x
        ),
    }
    for name, is_same in same.items():
        print(f"{name}: {'the same' if is_same else 'NOT the same'}")
    return all(same.values())


def main():
    options = flags.parse(
        __doc__,
        ("pairs", [50_000], "of each corpus"),
        ("words", 30_000, "of the vocabularies"),
        ("compare", False, "with today's path"),
        ("remove_duplicates", "false", "as of `tfcopy.data.prepare`"),
        ("processes", [1], "of Beam's runner"),
        ("picture", None, "PNG file to write"),
        ("folder", None, "where files are made and kept"),
    )
    folder = options.folder or tempfile.mkdtemp(prefix="prepare-scale-")
    os.makedirs(folder, exist_ok=True)
    rows, is_same = [], True
    for num_pairs in options.pairs:
        paths = write_corpus(folder, num_pairs)
        output = os.path.join(folder, f"prepared-{num_pairs}")
        given = {
            "--tokenization": "space",
            "--source_vocabulary_size": options.words,
            "--target_vocabulary_size": options.words,
            "--remove_duplicates": options.remove_duplicates,
            "--output": output,
        }
        command = [sys.executable, "-m", "tfcopy.data.prepare", "--train"]
        command += [*paths, *(str(x) for pair in given.items() for x in pair)]
        for processes in options.processes:
            shutil.rmtree(output, ignore_errors=True)
            several = [*command, *_BEAM, f"--direct_num_workers={processes}"]
            found = measured(several if processes > 1 else command)
            rows.append((num_pairs, processes, *found))
        if options.compare:
            is_same &= compare(paths, output, options.words)
        if options.folder is None:
            shutil.rmtree(output)
            for path in paths:
                os.remove(path)
    if options.folder is None:
        shutil.rmtree(folder)
    print("| pairs | processes | minutes | pairs/s | CPU seconds | peak GB |")
    print("|--:|--:|--:|--:|--:|--:|")
    for num_pairs, processes, seconds, cpu, most in rows:
        print(
            f"| {num_pairs:,} | {processes} | {seconds / 60:.1f} | "
            f"{num_pairs / seconds:,.0f} | {cpu:,.0f} | {most:.2f} |"
        )
    if options.picture:
        draw(rows, options.picture)
    return 0 if is_same else 1


def draw(rows, path):
    """Minutes and memory against the size of the corpus, a line a number."""
    from tfcopy import figures

    panels = []
    for title, column in (("minutes", 2), ("peak memory, GB", 4)):
        curves = {}
        for row in sorted(rows):
            label = f"{row[1]} process" + "es" * (row[1] > 1)
            pairs, values = curves.setdefault(label, ([], []))
            pairs.append(row[0])
            values.append(row[column] / (60 if column == 2 else 1))
        panels.append(figures.Panel(curves, title, "pairs", title, log_x=True))
    figures.save_png(path, figures.panels_figure(panels))


if __name__ == "__main__":
    with tolerant_output():
        sys.exit(main())
