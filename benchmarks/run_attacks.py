"""Attacks on a run of a recipe, which has stages, checkpoints and weights.

Not a benchmark itself: `attacks` uses it.
"""

import os
import re
import shutil

from benchmarks import bit_flips
from benchmarks.attacked_run import TinyRun
from benchmarks.command_attacks import CommandAttacks

STAGES = ("start", "vocabularies", "training", "trained", "export")


class RunAttacks(CommandAttacks):
    """The attacks on the recipe; those on any command are inherited."""

    job_class = TinyRun
    kills_of_a_job = 8

    # === Output ===

    def close_output(self, pool):
        """Runs whose output cannot be written."""
        for _ in pool.map(self._close_output, ("closed pipe", "/dev/full")):
            pass

    def _close_output(self, place):
        run = self.job(f"output-{place.rpartition('/')[2]}")
        run.set_up()
        ended = run.start(streams=(place, place))
        self.count(f"output: {place}", "done", run, ended)

    # === Full disks ===

    def fill_disks_in_stages(self, pool, stages, sizes):
        """Meets full disks of each size in each stage, then finds room.

        Args:
            pool: Of threads.
            stages: Some of `STAGES`.
            sizes: Kilobytes that are left.
        """
        cases = [(stage, size) for stage in stages for size in sizes]
        with self.bar(len(cases), "full disks") as bar:
            for _ in pool.map(lambda case: self._fill_in_stage(*case), cases):
                bar.update()

    def _fill_in_stage(self, stage, size):
        run = self.job(f"disk-{stage}-{size}")
        run.set_up()
        disk = run.served if stage == "export" else run.logs
        disk.mkdir()
        self.meet_full_disk(
            run, disk, 1000 * size, lambda: self._go_to(stage, run), stage
        )

    def _go_to(self, stage, run):
        """Copies what there is of a run when a stage begins."""
        if stage == "start":
            return
        system = run.system.name
        left_out = {
            "vocabularies": [system],
            "training": [f"{system}/checkpoints/checkpoint-000000006.npz"],
        }
        shutil.copytree(self.whole.run_folder, run.run_folder)
        os.remove(run.run_folder / "results.json")
        for path in left_out.get(stage, ()):
            path = run.run_folder / path
            shutil.rmtree(path) if path.is_dir() else os.remove(path)

    def refusal(self, ended, *reasons):
        """As of any command, and that its training does not go on."""
        if re.search("^update ", ended.text, re.M):
            if "update 6/" not in ended.text:
                return "ended training"
        return super().refusal(ended, *reasons)

    # === Changed bits ===

    def flip_and_load(self, count):
        """Loads files of a run, one bit of which has changed."""
        rng = self.rng(2)
        files = bit_flips.files_of(self.whole)
        with self.bar(count, "changed bits") as bar:
            for _ in range(count):
                file = files[rng.integers(len(files))]
                outcome, problem = file.flip(rng)
                name = self.named(f"changed bit: {file.kind}")
                self.tally.note(name, outcome, problem)
                bar.update()

    def flip_and_repeat(self, pool, count):
        """Repeats the command of a run, one bit of which has changed."""
        with self.bar(count, "changed bits, repeated commands") as bar:
            for _ in pool.map(self._flip_and_repeat, range(count)):
                bar.update()

    def _flip_and_repeat(self, number):
        rng = self.rng(3, number)
        run = self.job(f"flipped-{number}")
        run.set_up()
        shutil.copytree(self.whole.logs, run.logs)
        paths = [x for x in sorted(run.run_folder.rglob("*")) if x.is_file()]
        where = bit_flips.flip_one(paths[rng.integers(len(paths))], rng)
        ended = run.start()
        name = "changed bit: command repeated"
        if "starts anew from the checkpoint" in ended.text:
            # They are then the best from the newest checkpoint on.
            self.tally.note(
                self.named(name), "sought anew", ended.problem, ended, where
            )
        elif ended.status == 0:
            self.count(name, "done", run, ended, where)
        else:
            self.tally.note(
                self.named(name), "refused", ended.problem, ended, where
            )
        run.remove()
