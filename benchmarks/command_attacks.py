"""Attacks on a command: kills, full disks, no permission, two at once.

Not a benchmark itself: `attacks` uses it.
"""

import concurrent.futures
import json
import subprocess
import time

import numpy as np
import tqdm

from benchmarks.attacked_commands import Job

_NUM_SIZES = 6
_PAGE = 4096
# What may have no permission to write, in words.
_FORBIDDEN = ("the folder around", "an empty folder", "a half-done folder")


class Tally:
    """How often an attack came to what, and what went wrong."""

    def __init__(self):
        self.num_problems = 0
        self._counts = {}  # (attack, outcome) to a number

    def note(self, attack, outcome, problem, ended=None, where=""):
        """Notes an attack; prints the problem, if there is one in words."""
        outcome = "WRONG" if problem else outcome
        key = (attack, outcome)
        self._counts[key] = self._counts.get(key, 0) + 1
        if problem:
            self.num_problems += 1
            text = ended.text[-2000:] if ended else ""
            where = f" ({where})" if where else ""
            tqdm.tqdm.write(f"\n{attack}: {problem}{where}\n{text}")

    def print(self):
        """Prints a table."""
        print(f"\n{'attack':54}{'outcome':16}{'times':>8}")
        for (attack, outcome), count in sorted(self._counts.items()):
            print(f"{attack:54}{outcome:16}{count:>8,}")


class CommandAttacks:
    """The attacks on a command, which first is left alone.

    Args:
        command: The command.
        folder: For all files.
        sources: The folder of what it reads.
        tally: Gets what came of the attacks.
        seed: Of all moments.
    """

    job_class = Job
    kills_of_a_job = 5

    def __init__(self, command, folder, sources, tally, seed):
        self.command = command
        self.tally = tally
        self._folder = folder
        self._sources = sources
        self._seed = seed
        self._before = snapshot(sources)
        self.whole, self.ended, self.expected = self._alone("alone")
        self._other = None
        if command.other:
            job, _, self._other = self._alone("other", other=True)
            job.remove()
            if difference(self._other, self.expected) is None:
                raise RuntimeError(
                    f"{command.name}: {command.other}: no change"
                )
        print(
            f"{command.name} takes {self.ended.seconds:.1f} s and uses files "
            f"{self.ended.events:,} times."
        )

    def _alone(self, name, **how):
        job = self.job(name)
        job.set_up()
        ended = job.start(**how)
        if ended.status != 0:
            raise RuntimeError(f"{self.command.name} fails alone: {ended.text}")
        return job, ended, job.outcomes()[0]

    def job(self, name):
        """A job with a folder of its own."""
        folder = self._folder / f"{self.command.name}-{name}"
        return self.job_class(self.command, folder, self._sources)

    def rng(self, *numbers):
        """A generator of random numbers of its own."""
        name = int.from_bytes(self.command.name.encode(), "big")
        return np.random.default_rng((self._seed, name, *numbers))

    # === Kills ===

    def kill(self, pool, count):
        """Kills jobs at random moments, each several times, then ends them."""
        size = self.kills_of_a_job
        sizes = [min(size, count - start) for start in range(0, count, size)]
        with self.bar(count, "kills") as bar:
            for _ in pool.map(
                lambda named: self._kill_job(*named, bar), enumerate(sizes)
            ):
                pass

    def _kill_job(self, number, kills, bar):
        rng = self.rng(0, number)
        job = self.job(f"killed-{number}")
        job.set_up()
        done = 0
        while done < kills:
            if done % 2:
                name = "kill at a moment"
                how = {"seconds": rng.random() * self.ended.seconds}
            else:
                name = "kill before the use of a file"
                how = {"event": int(rng.integers(1, self.ended.events + 1))}
            ended = job.start(**how)
            if ended.status == 0:  # It was through already.
                self.count(name, "too late", job, ended)
                job = self._anew(job)
                continue
            self.note(name, "killed", job, ended, where=f"{how}")
            done += 1
            bar.update()
        self.count("repeated after kills", "done", job, job.start())
        job.remove()

    def _anew(self, job):
        job.remove()
        job = type(job)(job.command, job.folder, job.sources)
        job.set_up()
        return job

    # === Full disks ===

    def fill_disks(self, pool):
        """Meets full disks of several sizes, then finds room."""
        used = size_of(self.whole.place)
        sizes = [used * k // _NUM_SIZES for k in range(_NUM_SIZES)]
        with self.bar(len(sizes), "full disks") as bar:
            for _ in pool.map(self._fill_disk, sizes):
                bar.update()

    def _fill_disk(self, size):
        job = self.job(f"disk-{size}")
        job.place.mkdir(parents=True)
        self.meet_full_disk(job, job.place, size, job.set_up)

    def meet_full_disk(self, job, disk, size, set_up, stage=""):
        """Runs a job on a disk with little room, then with more.

        Args:
            job: The job.
            disk: The folder where the disk is mounted.
            size: Bytes that are left when it is set up.
            set_up: Function without arguments that does so.
            stage: In words.
        """
        mount(disk, 64_000_000)
        try:
            set_up()
            mount(disk, size_of(disk) + size, "remount")
            self._run_on_disk(job, disk, f"full disk{stage and f': {stage}'}")
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)

    def _run_on_disk(self, job, disk, name):
        ended = job.start()
        if ended.status == 0:
            self.count(name, "done", job, ended)
        else:
            problem = self.refusal(ended, "No space left", "disk is full")
            self.note(name, "refused", job, ended, problem)
        mount(disk, 64_000_000, "remount")
        self.count("repeated with room", "done", job, job.start())

    # === No permission ===

    def forbid(self, pool):
        """Runs jobs that may not write where they would."""
        kinds = _FORBIDDEN[bool(self.command.given) :]
        with self.bar(len(kinds), "no permission") as bar:
            for _ in pool.map(self._forbid, kinds):
                bar.update()

    def _forbid(self, kind):
        job = self.job(f"forbidden-{_FORBIDDEN.index(kind)}")
        job.set_up(has_output=kind != _FORBIDDEN[0])
        if kind == "a half-done folder":
            job.start(event=self.ended.events * 2 // 3)
        place = job.output if job.output.exists() else job.place
        set_permissions(place, 0o555)
        ended = job.start(obeys=True)
        set_permissions(place, 0o755)
        name = f"no permission: {kind}"
        if ended.status == 0:
            self.count(name, "done", job, ended)
        else:
            problem = self.refusal(ended, "Permission denied")
            self.note(name, "refused", job, ended, problem)
        self.count("repeated with permission", "done", job, job.start())
        job.remove()

    # === Two at once ===

    def start_two(self, count):
        """Runs pairs of jobs at once, every other one with other flags."""
        with (
            concurrent.futures.ThreadPoolExecutor(2) as pool,
            self.bar(count, "pairs") as bar,
        ):
            for number in range(count):
                self._start_two(pool, number)
                bar.update()

    def _start_two(self, pool, number):
        is_other = self.command.other is not None and number % 2 == 1
        may_be = [self.expected, self._other] if is_other else [self.expected]
        name = f"two at once{', with other flags' if is_other else ''}"
        job = self.job(f"two-{number}")
        job.set_up()
        first = pool.submit(job.start)
        if number % 4 > 1:
            time.sleep(self.rng(1, number).random() * self.ended.seconds)
        second = pool.submit(job.start, other=is_other, number=1)
        both = first.result(), second.result()
        for ended in both:
            outcome = "refused" if ended.status else "done"
            self.note(name, outcome, job, ended, may_be=may_be)
        if all(ended.status for ended in both):
            self.tally.note(self.named(name), "", "both were refused")
        won = both[0].status == 0 or not is_other
        if is_other and both[1].status == 0:
            won = difference(job.outcomes()[0], self.expected) is None
        ended = job.start(other=not won)
        self.count("repeated after two", "done", job, ended, may_be=may_be)
        job.remove()

    # === What came of them ===

    def refusal(self, ended, *reasons):
        """What is wrong with a refusal for one of the reasons, or `None`."""
        if not any(reason in ended.text for reason in reasons):
            return f"does not say {' or '.join(map(repr, reasons))}"
        return None

    def count(self, attack, outcome, job, ended, where="", may_be=None):
        """Notes a job that ought to have ended as if it was left alone."""
        problem = ended.problem
        if problem is None and ended.status != 0:
            problem = f"status {ended.status}"
        may_be = may_be or [self.expected]
        if problem is None:
            try:
                for found in job.outcomes():
                    differences = [difference(found, x) for x in may_be]
                    if None not in differences:
                        problem = differences[0]
            except (OSError, ValueError, KeyError) as error:
                problem = f"{type(error).__name__}: {error}"
        self.note(attack, outcome, job, ended, problem, where, may_be)

    def note(
        self, attack, outcome, job, ended, problem=None, where="", may_be=None
    ):
        """Notes a job that may have been ended anywhere."""
        problem = ended.problem or problem
        if not problem:
            try:
                problem = job.damage(*(may_be or [self.expected]))
            except (OSError, ValueError) as error:
                problem = str(error)
        if snapshot(self._sources) != self._before:
            problem = problem or "what it reads has changed"
        self.tally.note(self.named(attack), outcome, problem, ended, where)

    def named(self, attack):
        return f"{self.command.name}: {attack}"

    def bar(self, total, title):
        """A progress bar."""
        title = f"{self.command.name}: {title}"
        return tqdm.tqdm(total=total, desc=title, disable=None)


def difference(found, expected):
    """What differs between two outcomes, in words, or `None`."""
    for name in expected.keys() | found.keys():
        if name not in found:
            return f"no {name}"
        if name not in expected:
            return f"{name} is left over"
        if json.dumps(found[name]) != json.dumps(expected[name]):
            return f"other {name}"
    return None


def snapshot(folder):
    """The bytes of all files in a folder, by their paths."""
    return {x: x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def size_of(folder):
    """Bytes that a folder takes in memory, in pages."""
    sizes = [x.stat().st_size for x in folder.rglob("*") if x.is_file()]
    return sum(-(-size // _PAGE) * _PAGE for size in sizes)


def mount(folder, size, *options):
    """Mounts a file system in memory, of so many bytes."""
    options = ",".join([*options, f"size={size}"])
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        check=True,
    )


def set_permissions(folder, mode):
    """Sets the permissions of a folder and of those in it."""
    for path in [folder, *(x for x in folder.rglob("*") if x.is_dir())]:
        path.chmod(mode)
