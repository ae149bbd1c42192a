"""Training from shards beside training from arrays in memory.

    python -m benchmarks.shard_training --workdir DIR
    python -m benchmarks.shard_training --workdir DIR --parts speed

A corpus is generated and prepared as shards, then europarl_ps is trained on the
files and on the shards, with the model of its demo:

- speed: target tokens a second of both, the reading of batches included, some
  updates of each in turn in one process;
- kills: a run on shards that is killed with SIGKILL, as soon as a new
  checkpoint is there and some updates after it, and started again, ten times;
  its best weights beside those of an undisturbed run on the files;
- workers: two workers on shards beside two, and one process, on the files, for
  20 updates. Dropout and the switch's noise are off, since each worker draws
  its own; Adagrad does not, as Adam does, make steps of the same size where
  gradients are nothing but rounding.
"""

import argparse
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np

from benchmarks import flags, prepare_scale, timing, worker_loss
from tfcopy.terminal import tolerant_output

_ENV = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
_SIZES = {"source_vocabulary_size": 8_000, "target_vocabulary_size": 8_000}


def prepare(options):
    """Flags of both corpora: the files', and the shards'."""
    folder = options.workdir / "corpus"
    shards = folder / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    files = prepare_scale.write_corpus(folder, options.pairs)
    sizes = [str(x) for key in _SIZES for x in (f"--{key}", _SIZES[key])]
    command = [sys.executable, "-m", "tfcopy.data.prepare", "--train", *files]
    command += ["--output", str(shards), *sizes]
    command += ["--pairs_per_shard", str(max(1, options.pairs // 8))]
    subprocess.run(command, check=True, env=_ENV)
    return {
        "files": ["--train", *files, *sizes],
        "shards": ["--prepared", str(shards), *sizes],
    }


def run(command):
    subprocess.run(command, check=True, env=_ENV, stdout=subprocess.DEVNULL)


def largest_difference(folder, other):
    """Of the best weights of two runs."""
    found, expected = map(worker_loss.weights, (folder, other))
    if found.keys() != expected.keys():
        sys.exit(f"{folder} and {other} have other weights.")
    return max(
        float(np.abs(found[name] - array).max())
        for name, array in expected.items()
        if array.dtype.kind == "f" and array.size
    )


def speed(options, corpora):
    """Prints tokens a second of both, and their ratio."""
    rates = {name: updates(options, x) for name, x in corpora.items()}
    found = {name: [] for name in corpora}
    for number in range(options.rounds + 1):
        for name in sorted(corpora, reverse=bool(number % 2)):
            rate = next(rates[name])
            if number:  # the first round builds the graphs
                found[name].append(rate)
    for name, each in found.items():
        low, middle, high = np.quantile(each, [0.25, 0.5, 0.75])
        print(f"{name}: {middle:,.0f} tokens/s ({low:,.0f} to {high:,.0f})")
    ratios = [y / x for x, y in zip(found["files"], found["shards"])]
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    print(f"shards / files: {middle:.3f} ({low:.3f} to {high:.3f})", flush=True)


def updates(options, corpus):
    """Yields the target tokens a second of some updates, again and again."""
    import keras

    from tfcopy import losses
    from tfcopy.experiments import command_line, training_choices
    from tfcopy.experiments.pairs import pointer_softmax_systems
    from tfcopy.recipes import europarl_ps

    folder = options.workdir / "speed" / corpus[0].strip("-")
    config = command_line.parse(
        europarl_ps.Config,
        [*corpus, "--schedule", "constant", f"--log_dir={folder}"],
    )
    data = europarl_ps.prepare(config, str(folder / "data"))
    keras.utils.set_random_seed(0)
    model = pointer_softmax_systems.make_model(config, data, "pointer_softmax")
    epochs = timing.epochs_of(config, data)
    step = timing.make_step(
        model,
        losses.observed_copy_loss,
        training_choices.make_optimizer(config, model),
        epochs(0).element_spec,
        clip_norm=1.0,
    )
    batches = itertools.chain.from_iterable(
        epochs(epoch).prefetch(2) for epoch in itertools.count()
    )
    while True:
        tokens, start = 0, time.perf_counter()
        for batch in itertools.islice(batches, options.steps):
            tokens += int(np.count_nonzero(batch["target_ids"]))
            step(batch)
        yield tokens / (time.perf_counter() - start)


def kills(options, corpora):
    """Kills a run on shards; prints how its weights differ in the end."""
    commands = {}
    for name, corpus in corpora.items():
        command = worker_loss.command(0, (), options.workdir / name, options)
        # The last of two flags is what counts.
        commands[name] = [*command, "--dropout", "0.1", *corpus]
    run(commands["files"])
    folder = options.workdir / "shards/logs/run/pointer_softmax/checkpoints"
    rng, places = np.random.default_rng(0), []
    for _ in range(options.kills):
        before = newest(folder)
        process = subprocess.Popen(
            commands["shards"], env=_ENV, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and newest(folder) == before:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 1))
        if process.poll() is not None:
            break  # the run is at its end
        process.send_signal(signal.SIGKILL)
        process.wait()
        places.append(newest(folder))
        print(f"killed after update {places[-1]} was saved", flush=True)
    run(commands["shards"])
    difference = largest_difference(*(options.workdir / x for x in corpora))
    print(f"{len(places)} kills, largest difference of a weight: {difference}")


def newest(folder):
    """The update of the newest checkpoint."""
    names = [x.stem for x in folder.glob("checkpoint-*.npz")]
    return max((int(x.rsplit("-", 1)[1]) for x in names), default=0)


def workers(options, corpora):
    """Prints how the weights of two workers on shards differ from others."""
    few = {"updates": 20, "eval_every": 20, "save_every": 20}
    options = argparse.Namespace(**{**vars(options), **few})
    same = ["--optimizer", "adagrad", "--learning_rate", "0.1"]
    same += ["--switch_activation", "tanh"]
    alone = options.workdir / "one"
    one = worker_loss.command(0, (), alone, options)
    run([*one, *same, *corpora["files"]])
    for name, corpus in corpora.items():
        ports = timing.free_ports(2)
        folder = options.workdir / f"two-{name}"
        processes = [
            subprocess.Popen(
                [
                    *worker_loss.command(index, ports, folder, options),
                    *same,
                    *corpus,
                ],
                env=_ENV,
                stdout=subprocess.DEVNULL,
            )
            for index in range(2)
        ]
        if any([process.wait() for process in processes]):
            sys.exit("A worker has failed.")
    print("two workers on shards, largest difference of a weight")
    for text, other in (
        ("two workers on the files", options.workdir / "two-files"),
        ("one process on the files", alone),
    ):
        difference = largest_difference(folder, other)
        print(f"from {text}: {difference:.2g}", flush=True)


PARTS = {"speed": speed, "kills": kills, "workers": workers}


def main():
    parser = flags.make_parser(
        __doc__,
        ("pairs", 20_000, "pairs of the corpus"),
        ("rounds", 20, "rounds of the comparison of speed"),
        ("steps", 10, "updates of each side in a round"),
        ("kills", 10, "times that a run is killed"),
        ("updates", 300, "updates of each run"),
        ("eval_every", 100, "updates between dev scores"),
        ("save_every", 25, "updates between checkpoints"),
    )
    parser.add_argument("--workdir", required=True, type=pathlib.Path)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS)
    )
    options = parser.parse_args()
    corpora = prepare(options)
    for part in options.parts:
        PARTS[part](options, corpora)


if __name__ == "__main__":
    with tolerant_output():
        main()
