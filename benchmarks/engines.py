"""Answers by TensorFlow and without it, beside CTranslate2, on Multi30k.

    pip install ctranslate2
    python -m benchmarks.engines --multi30k DATA/multi30k/tok --workdir engines
    python -m benchmarks.engines --run tensorboard_logs/pydocs_ps/r/copynet \\
        --texts test.en --references test.es --set must_copy=true --workdir w

Trains, once, the models of docs/results.md's Multi30k (2,000 updates each, 45
minutes in all): a Transformer with a softmax, one with pointer softmax, and the
GRU with pointer softmax. Exports each of them for TensorFlow, in float32 and
bfloat16, and for the runtime, as LiteRT's programs in float32 and int8. The
softmax Transformer has no deep output, so that CTranslate2 can run its weights.
Its search ends when 5 hypotheses have ended, while 5 others go on; in ours each
that ends leaves one less. So it ends sooner, with answers that are less likely;
with patience 2 it waits for 10, and gives nearly always the answers of ours.

Then all engines translate the 1,000 test sentences with 5 beams: two batches at
a time, one thread each, of 1, 8 and 32 sentences, and 300 sentences one after
the other. Each is a process of its own, and they take turns. Figures are
quartiles of the rounds; "changed" are answers other than those of the first
engine of the same model. OpenNMT-py with the GRU: `multi30k_speed.py`.
"""

import contextlib
import dataclasses
import functools
import gzip
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks import flags, timing
from benchmarks.multi30k_speed import recipe_config

# Of each model: the sizes of multi30k_speed, and the system of the recipe.
MODELS = {
    "transformer softmax": ("transformer", "softmax"),
    "transformer pointer softmax": ("transformer", "pointer_softmax"),
    "gru pointer softmax": ("gru", "pointer_softmax"),
}
# Of each engine: kind and option of engine_side, and the folder it reads.
ENGINES = {
    "TensorFlow float32": ("export", "tensorflow", "float32"),
    "TensorFlow bfloat16": ("export", "tensorflow", "bfloat16"),
    "runtime float32": ("export", "litert", "float32"),
    "runtime int8": ("export", "litert", "int8"),
    "CTranslate2 float32": ("ctranslate2", "float32", "ctranslate2_float32"),
    "CTranslate2 int8": ("ctranslate2", "int8", "ctranslate2_int8"),
    "CTranslate2 float32, patience 2": (
        "ctranslate2",
        "float32 2",
        "ctranslate2_float32",
    ),
    "CTranslate2 int8, patience 2": (
        "ctranslate2",
        "int8 2",
        "ctranslate2_int8",
    ),
}
SETTINGS = {
    "float32": {"litert": "float32"},
    "int8": {"litert": "int8"},
    "bfloat16": {"precision": "mixed_bfloat16"},
}


def main():
    parser = flags.make_parser(
        __doc__,
        ("rounds", 5, "of all engines in turn"),
        ("updates", 2_000, "of training"),
        ("batches", [1, 8, 32], "sentences"),
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--multi30k", help="folder of the publisher's .gz files")
    which.add_argument("--run", help="folder of a system of a finished run")
    parser.add_argument(
        "--texts", type=Path, help="with --run: a file of lines"
    )
    parser.add_argument("--references", type=Path, help="likewise")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="of exports"
    )
    parser.add_argument(
        "--workdir",
        required=True,
        type=Path,
        help="one for each run and its settings: exports there are used again",
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, default=ENGINES
    )
    options = parser.parse_args()
    if options.multi30k:
        source, target = (
            _test_lines(options.multi30k, language) for language in ("en", "fr")
        )
    elif options.texts is None or options.references is None:
        parser.error("--run needs --texts and --references.")
    else:
        source, target = (
            x.read_text("utf-8").splitlines()
            for x in (options.texts, options.references)
        )
    texts = options.workdir / "test.txt"
    options.workdir.mkdir(parents=True, exist_ok=True)
    texts.write_text("".join(f"{x}\n" for x in source), encoding="utf-8")
    own = dict(x.split("=", 1) for x in options.set)
    for name in (
        options.models if options.multi30k else [Path(options.run).name]
    ):
        folder = options.workdir / name.replace(" ", "_")
        if not (folder / "ready").exists():
            run = options.run or train(name, options, folder)
            export(run, own, folder)
            if MODELS.get(name, ("", ""))[1] == "softmax":
                write_ctranslate2(run, folder)
            (folder / "ready").touch()
        report = race(name, folder, texts, target, options)
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        print(f"\n{name}\n\n{table(report)}", flush=True)


def _test_lines(folder, language):
    path = Path(folder) / f"test_2016_flickr.lc.norm.tok.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [" ".join(line.split()) for line in file]


def train(name, options, folder):
    """Trains a model on Multi30k; returns the folder of its system."""
    from tfcopy import models
    from tfcopy.recipes import europarl_ps

    sizes, system = MODELS[name]
    run = folder / "run"
    config = recipe_config(options.multi30k, "float32", sizes, run)
    config = dataclasses.replace(
        config,
        systems=[system],
        updates=options.updates,
        warmup=min(config.warmup, options.updates // 5),
        eval_every=250,
        savedmodel_dir=str(folder / "of_recipe"),
        litert="none",
    )
    change = without_deep_output if system == "softmax" else lambda make: make
    changed = change(models.translator)
    with mock.patch.object(models, "translator", changed):
        europarl_ps.run(config)
    (stored,) = run.glob("*/servable.json")  # named by its sizes as well
    return str(stored.parent)


def export(run, own, folder):
    """Writes what our engines read.

    Args:
        run: The folder of a system of a run.
        own: Settings of all exports, as of `export --set`.
        folder: Where to.
    """
    from tfcopy.serving import saved_model
    from tfcopy.serving.servables import storage

    for kind, settings in SETTINGS.items():
        stored = storage.load(run, own | settings)
        saved_model.export(
            stored.served,
            str(folder / kind),
            warmup_texts=stored.warmup_texts,
            details=stored.details,
        )


def write_ctranslate2(run, folder):
    """Writes what CTranslate2 reads, of the same weights."""
    if find_spec("ctranslate2") is None:
        print("CTranslate2 is not installed, and is left out.", flush=True)
        return
    from benchmarks import ctranslate2_model
    from tfcopy.serving.servables import storage

    served = storage.load(run, {}).served
    sides = served.source_vocabulary, served.target_vocabulary
    for precision in ("float32", "int8"):
        ctranslate2_model.write(
            served.model,
            [side.words for side in sides],
            str(folder / f"ctranslate2_{precision}"),
            precision,
        )


def without_deep_output(make):
    """Makes models whose words are read from the hidden state alone."""
    import keras

    from tfcopy import layers, models

    @functools.wraps(make)
    def plain(*args, **kwargs):
        config = make(*args, **kwargs).get_config()
        readout = layers.Readout(name="deep_output")
        config["deep_output"] = keras.saving.serialize_keras_object(readout)
        return models.Seq2Seq.from_config(config)

    return plain


def race(name, folder, texts, references, options):
    """What all engines take, by name: a dict that JSON can hold."""
    import sacrebleu

    engines = {
        engine: (*ENGINES[engine][:2], folder / ENGINES[engine][2])
        for engine in options.engines
        if (folder / ENGINES[engine][2]).exists()
    }
    report = {"matrix_gflops": [timing.matrix_rate() / 1e9]}
    with contextlib.ExitStack() as stack:
        sides = {
            engine: stack.enter_context(Side(*parts, texts))
            for engine, parts in engines.items()
        }
        found = {engine: {} for engine in engines}
        for size in (0, *options.batches):
            for side in sides.values():
                side.ask(size, WARM_UP)
            for number in range(options.rounds):
                for engine in list(sides)[:: -1 if number % 2 else 1]:
                    done = sides[engine].ask(size)
                    found[engine].setdefault(size, []).append(done)
    first = None
    for engine, by_size in found.items():
        row = {
            "first_answer": sides[engine].loaded["seconds"],
            "size_mib": sum(
                x.stat().st_size
                for x in engines[engine][2].rglob("*")
                if x.is_file()
            )
            / 2**20,
        }
        for size, rounds in by_size.items():
            row["mib"] = rounds[-1]["mib"]
            if size:
                seconds = [x["seconds"] for x in rounds]
                row[f"by {size}"] = list(np.quantile(seconds, QUARTILES))
                answers = rounds[-1]["answers"]
            else:
                each = np.quantile(
                    [x["latencies"] for x in rounds], [0.5, 0.99], axis=1
                )
                row["p50"], row["p99"] = np.median(each, axis=1).tolist()
        first = first or answers
        row["changed"] = sum(x != y for x, y in zip(first, answers))
        row["bleu"] = sacrebleu.corpus_bleu(
            answers, [references], tokenize="none", force=True
        ).score
        report[engine] = row
    report["matrix_gflops"].append(timing.matrix_rate() / 1e9)
    return report


QUARTILES = [0.25, 0.5, 0.75]
# Texts before the first round of a size.
WARM_UP = 128


class Side:
    """An engine in a process of its own."""

    def __init__(self, kind, option, folder, texts):
        command = [sys.executable, "-m", "benchmarks.engine_side"]
        self.process = subprocess.Popen(
            [*command, kind, str(folder), option, str(texts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.loaded = self._read()

    def ask(self, size, most=None):
        print(size, most or "", file=self.process.stdin, flush=True)
        return self._read()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended.")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def table(report):
    """A Markdown table of a report."""
    rates = " and ".join(f"{x:.0f}" for x in report.pop("matrix_gflops"))
    sizes = [x for x in next(iter(report.values())) if x.startswith("by ")]
    heads = ["", "p50, p99 ms", *(f"s, {x}" for x in sizes)]
    heads += ["BLEU", "changed", "MiB", "files, MiB", "first answer, s"]
    lines = [heads, ["---"] * len(heads)]
    for engine, row in report.items():
        latency = [f"{1000 * row[x]:.1f}" for x in ("p50", "p99") if x in row]
        quartiles = [
            "{1:.2f} ({0:.2f} to {2:.2f})".format(*row[x]) for x in sizes
        ]
        rest = [f"{row['bleu']:.2f}", row["changed"], f"{row['mib']:.0f}"]
        rest += [f"{row['size_mib']:.0f}", f"{row['first_answer']:.1f}"]
        lines.append([engine, ", ".join(latency), *quartiles, *map(str, rest)])
    lines = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([*lines, "", f"Matrix rate: {rates} GFLOP/s"])


if __name__ == "__main__":
    main()
