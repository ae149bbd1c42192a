"""Attacks commands: kills, full disks, two at once.

    python -m benchmarks.attacks --kills 20 --only prepare batch

Each command runs undisturbed first. Then it is killed (SIGKILL) at random
moments and before random uses of files, meets full disks, and runs twice at
once. Each time it must end with the undisturbed output or with one line that
says what is wrong; repeated, it must give that output. Files of others must
stay as they are, and no half-written file may have its final name. Ends with
status 1 if anything of that fails.

Full disks are file systems in memory: run it under `unshare --user
--map-root-user --mount`, or they are left out.
"""

import argparse
import collections
import dataclasses
import functools
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tfcopy import checked_files
from tfcopy.data import prepare
from tfcopy.experiments import command_line
from tfcopy.serving import batch, export, translate_po

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["benchmarks.attacks", "sacrebleu"])
_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
_ERROR = re.compile(r"^(Error|batch|export|prepare|translate_po): ", re.M)
# Moments and durations, and checksums of what holds them.
_TIME = re.compile(
    rb"\d{4}-\d\d-\d\dT[\d:]+Z"
    rb'|"[^"]*(?:second|sha256|created)[^"]*": *[^,}\n]*'
)
_FOREIGN = ("notes.txt", ".writing-notes.txt", "folder/notes.txt")
# Event logs, and what TensorFlow writes differently each time.
_UNSTABLE = re.compile(r"(^|/)(\.|events\.|variables\.)|\.pb$")


def _recipe(arguments):
    from tfcopy.recipes import europarl_ps as recipe
    from tfcopy.training import trainer

    # A checkpoint after each update, or there would be one in all.
    trainer.Options = functools.partial(trainer.Options, progress_seconds=0)
    return command_line.main(recipe.Config, recipe.run, arguments)


# Functions of arguments that return a status, and the arguments, in which
# {s} is the folder of what they read and {o} that of what they write.
COMMANDS = {
    "europarl_ps": (
        _recipe,
        "--units 8 --encoder_units 8 --embedding_dim 8 --updates 6 --run demo "
        "--save_every 1 --eval_every 2 --batch_size 8 --max_target_length 6 "
        "--num_beams 2 --systems [pointer_softmax] --log_dir={o}/logs "
        "--train [{s}/a.en,{s}/a.fr] --savedmodel_dir={o}/served",
    ),
    "prepare": (
        prepare.main,
        "--train {s}/a.en {s}/a.fr --output {o} --pairs_per_shard 20",
    ),
    "batch": (
        batch.main,
        "{s}/served --input {s}/a.en --output {o} --shard_size 16",
    ),
    "translate_po": (
        translate_po.main,
        "{s}/served {s}/a.po --output {o}/a.po --language fr --batch_size 4",
    ),
    "export": (export.main, "{s}/run --to {o} --version 1"),
}
# These write files that they change later.
_IN_STEPS = ("europarl_ps", "translate_po")


@dataclasses.dataclass
class Ended:
    """The status of a process (`None` if it hung), and what it printed."""

    status: int | None
    text: str
    seconds: float
    events: int

    @property
    def problem(self):
        """What no command may ever do, in words, or `None`."""
        if self.status is None:
            return "hangs"
        if self.status < 0 and self.status != -signal.SIGKILL:
            return f"ended by {signal.Signals(-self.status).name}"
        if "Traceback" in self.text or "Exception ignored" in self.text:
            return "traceback"
        if self.status > 0 and len(_ERROR.findall(self.text)) != 1:
            return "no line that says what is wrong"
        return None


class Job:
    """A command with a folder of its own, among files of others."""

    def __init__(self, name, folder, sources):
        self.main, self.arguments = COMMANDS[name]
        self.name, self.sources, self.folder = name, sources, Path(folder)
        self.output = self.folder / "place" / "out"

    def set_up(self):
        for name in _FOREIGN:
            path = self.output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("of somebody else")
        return self

    def begin(self, number=0, event=None):
        """Starts the command; returns its process, log and count of events."""
        log, events = self.folder / f"log-{number}", _CONTEXT.RawValue("q", 0)
        log.write_text("")
        arguments = self.arguments.format(s=self.sources, o=self.output)
        given = self.main, arguments.split(), str(log), events, event
        process = _CONTEXT.Process(target=_run, args=given, daemon=True)
        process.start()
        return process, log, events

    def start(self, seconds=None, **how):
        """Runs the command to its end, or kills it after so many seconds."""
        begin = time.monotonic()
        return _end(*self.begin(**how), begin, seconds)

    def outcome(self):
        """The files that it has written, without times, by their names."""
        found = {}
        for path in sorted(self.output.rglob("*")):
            name = str(path.relative_to(self.output))
            is_own = path.is_file() and name not in _FOREIGN
            if is_own and not _UNSTABLE.search(name):
                found[name] = self._value(path)
        return found

    def _value(self, path):
        if path.suffix == ".npz":
            arrays = checked_files.read_arrays(path)
            return {k: x.tobytes() for k, x in arrays.items() if k != "info"}
        data = path.read_bytes().replace(os.fsencode(self.folder), b"")
        return _TIME.sub(b"", data)

    def damage(self, expected):
        """What is wrong with the files that are there, or `None`."""
        for name in _FOREIGN:
            path = self.output / name
            if not path.exists() or path.read_text() != "of somebody else":
                return f"{name} of others has changed"
        try:
            found = self.outcome()
        except (OSError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        if self.name not in _IN_STEPS:
            for name in found.keys() & expected.keys():
                if found[name] != expected[name]:
                    return f"a half-written or wrong {name}"
        return None


def _run(main, arguments, log, counter, event):
    """Runs a command in its own process."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)

    def audit(name, values):
        if name in _EVENTS and "/attacked/" in str(values[0]):
            counter.value += 1
            if counter.value == event:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    sys.exit(main(arguments))


def _end(process, log, events, begin, seconds=None):
    process.join(300 if seconds is None else seconds)
    status = process.exitcode
    if process.is_alive():
        process.kill()
        process.join()
        status = None if seconds is None else process.exitcode
    took, text = time.monotonic() - begin, log.read_text(errors="replace")
    return Ended(status, text, took, events.value)


class Attacks:
    """The attacks on one command, and how often each came to what."""

    def __init__(self, name, folder, sources, seed):
        self.name, self.folder, self.sources = name, folder, sources
        self.rng = np.random.default_rng([seed, *name.encode()])
        self.counts, self.number = collections.Counter(), 0
        self.whole, other = self.job(), self.job()
        self.ended = self.whole.start()
        assert self.ended.status == other.start().status == 0, self.ended.text
        found = self.whole.outcome(), other.outcome()
        # What differs between two undisturbed runs tells nothing.
        self.expected = {k: x for k, x in found[0].items() if x == found[1][k]}

    def job(self):
        self.number += 1
        folder = self.folder / f"{self.name}-{self.number}"
        return Job(self.name, folder, self.sources).set_up()

    def note(self, attack, job, ended, must_end=False):
        """Counts what came of an attack; prints what is wrong."""
        problem = ended.problem or job.damage(self.expected)
        # `export` refuses a version that a repeated command has completed.
        if not problem and (ended.status == 0 or must_end):
            found = job.outcome()
            wrong = [k for k, x in self.expected.items() if found.get(k) != x]
            problem = f"other {', '.join(wrong)}" if wrong else None
        outcome = {0: "done", -signal.SIGKILL: "killed"}.get(ended.status)
        self.counts[attack, "WRONG" if problem else outcome or "refused"] += 1
        if problem:
            print(f"\n{self.name}, {attack}: {problem}\n{ended.text[-2000:]}")

    def kill(self, count):
        for number in range(count):
            if number % 5 == 0:
                job = self.job()
            how = {"seconds": self.rng.random() * self.ended.seconds}
            if number % 2:
                how = {"event": int(self.rng.integers(1, self.ended.events))}
            self.note("kill", job, job.start(**how))
            if number % 5 == 4 or number == count - 1:
                self.note("repeated after kills", job, job.start(), True)

    def fill_disks(self, count):
        files = [x for x in self.whole.output.rglob("*") if x.is_file()]
        used = sum(-(-x.stat().st_size // 4096) * 4096 for x in files)
        for number in range(count):
            job = self.job()
            _mount(job.output, f"size={65_536 + used * number // count}")
            try:
                job.set_up()
                self.note("full disk", job, job.start())
                _mount(job.output, "remount,size=64m")
                self.note("repeated with room", job, job.start(), True)
            finally:
                subprocess.run(["umount", "--lazy", job.output], check=True)

    def start_two(self, count):
        for _ in range(count):
            job, begin = self.job(), time.monotonic()
            first = job.begin()
            time.sleep(self.rng.random() * self.ended.seconds)
            second = job.begin(number=1)
            for started in (first, second):
                self.note("two at once", job, _end(*started, begin))
            self.note("repeated after two", job, job.start(), True)


def _mount(folder, options):
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    subprocess.run(command, check=True)


def _write_sources(folder):
    folder.mkdir(parents=True)
    for name, the in (("a.en", "the"), ("a.fr", "le")):
        lines = [f"{the} name{i} is {i % 7} .\n" for i in range(60)]
        (folder / name).write_text("".join(lines))
    header = 'msgid ""\nmsgstr "Language: fr\\nContent-Type: text/plain; '
    entries = [f'msgid "the name{i}"\nmsgstr ""\n' for i in range(12)]
    (folder / "a.po").write_text(
        "\n".join([header + 'charset=UTF-8\\n"\n', *entries])
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("kills", 20), ("disks", 6), ("pairs", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=COMMANDS)
    options = parser.parse_args()
    places = [os.readlink(f"/proc/{x}/ns/mnt") for x in ("self", os.getppid())]
    can_mount = places[0] != places[1]  # Nobody else sees the disks.
    num_wrong = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder) / "attacked"
        sources = folder / "sources"
        _write_sources(sources)
        run = Job("europarl_ps", folder / "run", sources).set_up()
        assert run.start().status == 0
        shutil.copytree(run.output / "logs" / "demo", sources / "run")
        shutil.copytree(run.output / "served", sources / "served")
        for name in options.only or COMMANDS:
            attacks = Attacks(name, folder, sources, options.seed)
            attacks.kill(options.kills)
            attacks.fill_disks(options.disks if can_mount else 0)
            attacks.start_two(options.pairs)
            for (attack, outcome), count in sorted(attacks.counts.items()):
                print(f"{name:14}{attack:28}{outcome:10}{count:>6,}")
                num_wrong += count * (outcome == "WRONG")
    print(f"\n{num_wrong:,} went wrong (seed {options.seed}).")
    return int(num_wrong > 0)


if __name__ == "__main__":
    from benchmarks import attacks

    # Processes find it by that name; they need not run this file once more.
    __spec__ = None
    del __file__
    sys.exit(attacks.main())
