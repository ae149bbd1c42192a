"""A tiny run of europarl_ps, to be attacked.

Not a benchmark itself: `attacks` uses it.
"""

import functools
import os

from benchmarks.attacked_commands import Command, Job, weights, without_times
from tfcopy import checked_files
from tfcopy.experiments import command_line
from tfcopy.training.checkpoints import Checkpoints


def _recipe(arguments):
    from tfcopy.recipes import europarl_ps
    from tfcopy.training import trainer

    # A checkpoint after each update, or there would be one in all.
    trainer.Options = functools.partial(trainer.Options, progress_seconds=0)
    return command_line.main(
        europarl_ps.Config,
        europarl_ps.PRESETS,
        europarl_ps.run,
        europarl_ps.__doc__,
        arguments,
    )


RECIPE = Command(
    "europarl_ps",
    _recipe,
    "--units 8 --encoder_units 8 --embedding_dim 8 --updates 6 --save_every 1 "
    "--eval_every 2 --batch_size 8 --max_target_length 6 --num_beams 2 "
    "--systems [pointer_softmax] --train [{sources}/a.en,{sources}/a.fr] "
    "--log_dir={output}/logs --run demo --savedmodel_dir={output}/served",
    other="--seed 1",
)


class TinyRun(Job):
    """The recipe in an attack."""

    def __init__(self, *places):
        super().__init__(*places)
        self.logs = self.output / "logs"
        self.served = self.output / "served"
        self._newest = -1

    @property
    def run_folder(self):
        """The run's own folder."""
        return self.logs / "demo"

    @property
    def system(self):
        """The folder of the run's one system."""
        return self.run_folder / "pointer_softmax"

    def damage(self, *expected):
        """As of a `Job`, and whether a checkpoint is lost."""
        before, self._newest = self._newest, self._newest_update()
        if self._newest < before:
            return f"update {before} is lost"
        return self.foreign_damage()

    def _newest_update(self):
        """The update of the newest checkpoint; -1 if there is none.

        Raises:
            ValueError: If a file of the run is damaged.
        """
        # A killed writer leaves a hidden file, which no command reads.
        for path in [*self.run_folder.rglob("[!.]*.json")]:
            checked_files.read_json(path)
        reports = []
        checkpoints = self._checkpoints(reports.append)
        if os.path.exists(checkpoints.best_path):
            checked_files.read_arrays(checkpoints.best_path)
        loaded = checkpoints.load()
        if reports:
            raise ValueError(reports[0])
        return -1 if loaded is None else loaded[1]["state"]["update"]

    def outcomes(self):
        """Figures, best weights, exported weights, and what is left over."""
        results = checked_files.read_json(self.run_folder / "results.json")
        best = checked_files.read_arrays(self._checkpoints().best_path)
        best.pop("info")
        version = self.served / os.path.basename(results["savedmodel"])
        hidden = [path.name for path in self.own_files() if path.name[0] == "."]
        return [
            {
                "figures": without_times(results["systems"]),
                "best weights": {k: x.tolist() for k, x in best.items()},
                "exported weights": weights(version / "variables"),
                "hidden files": hidden,
            }
        ]

    def _checkpoints(self, report=print):
        return Checkpoints(self.system / "checkpoints", report=report)
