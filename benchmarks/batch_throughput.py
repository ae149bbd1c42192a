"""Texts a second of `batch` and of `ask`, on the same texts.

    python -m benchmarks.batch_throughput savedmodels/europarl_ps --texts 100000
    python -m benchmarks.batch_throughput savedmodels/europarl_ps --kill 3

Each command runs in a process of its own, its start included. Of the texts, an
eighth of the words is in no vocabulary. `--kill N` also kills `batch` N times,
each time after some of its files are there, repeats it, and looks whether each
text has been answered once and whether no file was written twice.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import flags, serving_texts
from tfcopy.runtime.versions import find_version
from tfcopy.terminal import tolerant_output


def ask(model, path, output):
    """Seconds of `ask`."""
    start = time.monotonic()
    with open(path, "rb") as texts, open(output, "wb") as answers:
        command = [sys.executable, "-m", "tfcopy.serving.ask", model]
        subprocess.run(command, stdin=texts, stdout=answers, check=True)
    return time.monotonic() - start


def batch_command(model, path, output, beam_flags):
    command = [sys.executable, "-m", "tfcopy.serving.batch", model]
    return [*command, "--input", path, "--output", str(output), *beam_flags]


def answers_of(output):
    """The answers of all files, in order."""
    return b"".join(x.read_bytes() for x in sorted(output.glob("*-?????.txt")))


def times_of(output):
    return {x: x.stat().st_mtime_ns for x in output.glob("*-?????.txt")}


def kill_and_repeat(command, output, times):
    """Whether no file of answers was written twice."""
    is_once, there = True, {}
    for _ in range(times):
        process = subprocess.Popen(command, start_new_session=True)
        while process.poll() is None and len(times_of(output)) <= len(there):
            time.sleep(0.2)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = times_of(output)
        is_once &= all(now[x] == at for x, at in there.items())
        there = now
        print(f"killed with {len(there)} files of answers", flush=True)
    subprocess.run(command, check=True)
    now = times_of(output)
    return is_once and all(now[x] == at for x, at in there.items())


def main():
    arguments = sys.argv[1:]
    beam_flags = []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, beam_flags = arguments[:place], arguments[place:]
    parser = flags.make_parser(
        __doc__, ("texts", 100_000, "asked"), ("kill", 0, "times")
    )
    parser.add_argument("model", help="exported folder")
    options = parser.parse_args(arguments)
    model = find_version(options.model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts.txt")
        texts = serving_texts.sentences(model, options.texts)
        Path(path).write_bytes(b"".join(x + b"\n" for x in texts))
        asked = os.path.join(folder, "asked.txt")
        output = Path(folder, "batch")
        seconds = {"ask": ask(model, path, asked)}
        start = time.monotonic()
        subprocess.run(
            batch_command(model, path, output, beam_flags), check=True
        )
        seconds["batch"] = time.monotonic() - start
        expected = Path(asked).read_bytes().splitlines()
        found = answers_of(output).splitlines()
        same = sum(x == y for x, y in zip(found, expected))
        is_right = len(found) == len(expected) == options.texts
        if options.kill:
            output = Path(folder, "killed")
            output.mkdir()
            command = batch_command(model, path, output, beam_flags)
            is_once = kill_and_repeat(command, output, options.kill)
            is_once &= answers_of(output).splitlines() == found
            print("each text once" if is_once else "NOT each text once")
            is_right &= is_once
    rates = {name: options.texts / x for name, x in seconds.items()}
    for name, rate in rates.items():
        print(f"{name}: {seconds[name] / 60:.1f} minutes, {rate:.1f} texts/s")
    print(f"batch is {rates['batch'] / rates['ask']:.2f} times as fast as ask")
    print(f"{len(found):,} answers, {same:,} of them as ask's")
    return 0 if is_right else 1


if __name__ == "__main__":
    with tolerant_output():
        sys.exit(main())
