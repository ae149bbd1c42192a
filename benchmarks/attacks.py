"""Whether a run survives kills, full disks and changed bits.

    python -m benchmarks.attacks --kills 200 --flips 5000

Attacks a tiny run of europarl_ps: it is killed (SIGKILL) at random moments and
before random uses of files; it meets full disks of several sizes in each of its
stages; and single bits of its files change. Afterwards it has to end with the
figures, weights and export of a run that was left alone, or to say in one line
what is wrong. No value may be loaded that was not written, nothing may hang, no
traceback and no signal end it, and no checkpoint may be lost. Ends with status
1 if anything of that has happened.

Full disks are small file systems in memory, for which the command starts itself
again by `unshare`; without it there are none.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tqdm

from benchmarks import attacked_run, bit_flips, timing
from benchmarks.attacked_run import TinyRun, difference

ATTACKS = ("output", "kills", "disks", "bits")
# Kilobytes that are left on a disk.
SIZES = (40, 64, 80, 100, 200, 1000)
STAGES = ("start", "vocabularies", "training", "trained", "export")
_KILLS_OF_A_RUN = 8
_ALONE = "TFCOPY_ATTACKS_ALONE"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    timing.add_numbers(
        parser,
        ("kills", 200, "kills of runs"),
        ("flips", 5000, "bits that change before a file is loaded"),
        ("commands", 40, "bits that change before the command is repeated"),
        ("processes", 2, "runs at the same time"),
    )
    parser.add_argument("--seed", type=int, default=0, help="of all moments")
    parser.add_argument(
        "--only", nargs="+", choices=ATTACKS, default=ATTACKS, help="attacks"
    )
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=STAGES, help="of a run"
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=timing.positive,
        default=SIZES,
        help="kilobytes left on full disks (default: %(default)s)",
    )
    arguments = parser.parse_args(arguments)
    if _ALONE not in os.environ:
        _start_with_own_mounts()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        attacks = Attacks(Path(folder) / "attacked", arguments.seed)
        pool = concurrent.futures.ThreadPoolExecutor(arguments.processes)
        try:
            if "output" in arguments.only:
                attacks.close_output(pool)
            if "kills" in arguments.only:
                attacks.kill(pool, arguments.kills)
            if "disks" in arguments.only and os.environ.get(_ALONE) == "yes":
                attacks.fill_disks(pool, arguments.stages, arguments.sizes)
            if "bits" in arguments.only:
                attacks.flip_and_load(arguments.flips)
                attacks.flip_and_repeat(pool, arguments.commands)
        except KeyboardInterrupt:
            print("Interrupted; so far:")
        finally:
            pool.shutdown(cancel_futures=True)
        return attacks.report()


class Attacks:
    """The attacks, and what came of them.

    Args:
        folder: For all files.
        seed: The seed of all moments, files and bits.
    """

    def __init__(self, folder, seed):
        folder.mkdir()
        self.folder = folder
        self._seed = seed
        self._corpus = attacked_run.write_corpus(folder)
        self._counts = {}  # (attack, outcome) to a number
        self._problems = []
        self.whole = TinyRun(folder / "whole", self._corpus)
        attacked_run.warm_up()
        self._ended = self.whole.start()
        if self._ended.status != 0:
            raise RuntimeError(f"The run fails alone: {self._ended.text}")
        self._expected = self.whole.outcome()
        print(
            f"A run takes {self._ended.seconds:.1f} s and uses files "
            f"{self._ended.events:,} times."
        )

    # === Kills ===

    def kill(self, pool, count):
        """Kills runs at random moments, each several times, then ends it."""
        sizes = [_KILLS_OF_A_RUN] * (count // _KILLS_OF_A_RUN)
        if count % _KILLS_OF_A_RUN:
            sizes.append(count % _KILLS_OF_A_RUN)
        with _bar(count, "Kills") as bar:
            for _ in pool.map(
                lambda named: self._kill_run(*named, bar), enumerate(sizes)
            ):
                pass

    def _kill_run(self, number, kills, bar):
        rng = np.random.default_rng((self._seed, 0, number))
        run = TinyRun(self.folder / f"killed-{number}", self._corpus)
        newest, done = -1, 0
        while done < kills:
            moment = {"seconds": rng.random() * self._ended.seconds}
            name = "kill at a moment"
            if rng.random() < 0.5:
                moment = {"event": int(rng.integers(1, self._ended.events))}
                name = "kill before the use of a file"
            ended = run.start(**moment)
            if ended.status == 0:  # It was through already.
                self._count(name, "too late", run, ended)
                shutil.rmtree(run.folder)
                newest = -1
                continue
            before, problem = newest, ended.problem
            try:
                newest = run.newest_update()
            except ValueError as error:
                problem = problem or str(error)
            if newest < before:
                problem = problem or f"update {before} is lost"
            self._note(name, "killed", problem, ended)
            done += 1
            bar.update()
        self._count("run after kills", "done", run, run.start())
        shutil.rmtree(run.folder)

    # === Output ===

    def close_output(self, pool):
        """Runs whose output cannot be written."""
        places = ("closed pipe", "/dev/full")
        for _ in pool.map(self._close_output, places):
            pass

    def _close_output(self, place):
        name = place.rpartition("/")[2]
        run = TinyRun(self.folder / f"output-{name}", self._corpus)
        ended = run.start(output=place)
        self._count(f"output: {place}", "done", run, ended)

    # === Full disks ===

    def fill_disks(self, pool, stages, sizes):
        """Meets full disks of each size in each stage, then finds room."""
        cases = [(stage, size) for stage in stages for size in sizes]
        with _bar(len(cases), "Full disks") as bar:
            for _ in pool.map(lambda case: self._fill_disk(*case), cases):
                bar.update()

    def _fill_disk(self, stage, size):
        disk = self.folder / f"disk-{stage}-{size}"
        disk.mkdir()
        on_disk = "served" if stage == "export" else "logs"
        run = TinyRun(
            disk.with_name(f"{disk.name}-run"),
            self._corpus,
            **{on_disk: disk / on_disk},
        )
        copy = self._at_stage(stage)
        used = 0 if stage == "export" else _size(copy)
        _mount(disk, used + 1000 * size)
        try:
            self._run_on_disk(run, disk, copy, stage)
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)

    def _run_on_disk(self, run, disk, copy, stage):
        if copy.exists():
            shutil.copytree(copy, run.run_folder)
        ended = run.start()
        name = f"full disk: {stage}"
        if ended.status == 0:
            self._count(name, "done", run, ended)
        else:
            problem = ended.problem
            text = ended.text
            if "No space left" not in text and "disk is full" not in text:
                problem = problem or "does not say that the disk is full"
            if re.search("^update ", text, re.M) and "update 6/" not in text:
                problem = problem or "ended training"
            self._note(name, "refused", problem, ended)
        _mount(disk, 64_000_000, "remount")
        self._count("run after a full disk", "done", run, run.start())

    def _at_stage(self, stage):
        """A copy of the run's folder, as it is when a stage begins."""
        copy = self.folder / f"stage-{stage}"
        if stage == "start" or copy.exists():
            return copy
        new = copy.with_name(f"{copy.name}-{os.getpid()}-{id(object())}")
        shutil.copytree(self.whole.run_folder, new)
        os.remove(new / "results.json")
        system = new / self.whole.system.name
        if stage == "vocabularies":
            shutil.rmtree(system)
        if stage == "training":
            checkpoints = sorted((system / "checkpoints").glob("checkpoint-*"))
            os.remove(checkpoints[-1])
        try:
            os.rename(new, copy)
        except OSError:  # Another thread was faster.
            shutil.rmtree(new)
        return copy

    # === Changed bits ===

    def flip_and_load(self, count):
        """Loads files of a run, one bit of which has changed."""
        rng = np.random.default_rng((self._seed, 1))
        files = bit_flips.files_of(self.whole)
        for _ in _bar(range(count), "Changed bits"):
            file = files[rng.integers(len(files))]
            outcome, problem = file.flip(rng)
            self._note(f"changed bit: {file.kind}", outcome, problem)

    def flip_and_repeat(self, pool, count):
        """Repeats the command of a run, one bit of which has changed."""
        with _bar(count, "Changed bits, repeated commands") as bar:
            for _ in pool.map(self._flip_and_repeat, range(count)):
                bar.update()

    def _flip_and_repeat(self, number):
        rng = np.random.default_rng((self._seed, 2, number))
        run = TinyRun(self.folder / f"flipped-{number}", self._corpus)
        shutil.copytree(self.whole.logs, run.logs)
        paths = [x for x in sorted(run.run_folder.rglob("*")) if x.is_file()]
        where = bit_flips.flip_one(paths[rng.integers(len(paths))], rng)
        ended = run.start()
        name = "changed bit: command repeated"
        if "starts anew from the checkpoint" in ended.text:
            # They are then the best from the newest checkpoint on.
            self._note(name, "sought anew", ended.problem, ended, where)
        elif ended.status == 0:
            self._count(name, "done", run, ended, where)
        else:
            self._note(name, "refused", ended.problem, ended, where)
        shutil.rmtree(run.folder)

    # === What came of them ===

    def _count(self, attack, outcome, run, ended, where=""):
        """Notes a run that ought to have ended as if it was left alone."""
        problem = ended.problem
        if problem is None and ended.status != 0:
            problem = f"status {ended.status}"
        if problem is None:
            try:
                problem = difference(run.outcome(), self._expected)
            except (OSError, ValueError, KeyError) as error:
                problem = f"{type(error).__name__}: {error}"
        self._note(attack, outcome, problem, ended, where)

    def _note(self, attack, outcome, problem, ended=None, where=""):
        outcome = "WRONG" if problem else outcome
        key = (attack, outcome)
        self._counts[key] = self._counts.get(key, 0) + 1
        if problem:
            text = ended.text[-2000:] if ended else ""
            self._problems.append(
                f"{attack}: {problem}{where and f' ({where})'}\n{text}"
            )

    def report(self):
        """Prints the table; returns the exit status."""
        for problem in self._problems:
            print(f"\n{problem}")
        print(f"\n{'attack':44}{'outcome':16}{'times':>8}")
        for (attack, outcome), count in sorted(self._counts.items()):
            print(f"{attack:44}{outcome:16}{count:>8,}")
        print(f"\n{len(self._problems):,} went wrong (seed {self._seed}).")
        return int(bool(self._problems))


def _bar(values, title):
    """A progress bar over values, or over a number of them."""
    if isinstance(values, int):
        return tqdm.tqdm(total=values, desc=title, disable=None)
    return tqdm.tqdm(values, title, disable=None)


def _size(folder):
    """Bytes that a folder takes in memory, in pages of 4 KiB."""
    files = [x for x in folder.rglob("*") if x.is_file()]
    return sum(-(-x.stat().st_size // 4096) * 4096 for x in files)


def _mount(folder, size, *options):
    options = ",".join([*options, f"size={size}"])
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        check=True,
    )


def _start_with_own_mounts():
    """Starts the command again, in a process that may mount."""
    command = [sys.executable, "-m", "benchmarks.attacks", *sys.argv[1:]]
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    can = shutil.which("unshare") and not subprocess.call(
        [*alone, "true"], stderr=subprocess.DEVNULL
    )
    if not can:
        print("No `unshare`, therefore no full disks.", file=sys.stderr)
    os.environ[_ALONE] = "yes" if can else "no"
    # Killed processes leave the semaphores of their progress bars.
    os.environ["PYTHONWARNINGS"] = (
        "ignore::UserWarning:multiprocessing.resource_tracker"
    )
    command = [*alone, *command] if can else command
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
