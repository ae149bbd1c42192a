"""A tiny run of europarl_ps, in a process that can be attacked.

Not a benchmark itself: `attacks` uses it. TensorFlow and the recipe are
imported once, in a server that each process is forked from.
"""

import dataclasses
import functools
import json
import multiprocessing
import os
import re
import signal
import sys
import time
from pathlib import Path

import tensorflow as tf

from tfcopy import checked_files
from tfcopy.experiments import command_line
from tfcopy.training.checkpoints import Checkpoints

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["benchmarks.attacked_run", "tfcopy.figures", "tfcopy.recipes.europarl_ps"]
)
_FLAGS = """--units 8 --encoder_units 8 --embedding_dim 8 --updates 6
--eval_every 2 --batch_size 8 --max_target_length 6 --num_beams 2
--systems [pointer_softmax]""".split()
_NUM_PAIRS = 60
# What Python tells an audit hook before it changes or opens a file.
_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: Its exit status; that of a signal is negative, `None` is that
            of a process that hung.
        text: What it printed.
        seconds: How long it took.
        events: How many files it opened or changed.
    """

    status: int | None
    text: str
    seconds: float
    events: int

    @property
    def problem(self):
        """What a run may never do, in words, or `None`."""
        if self.status is None:
            return "hang"
        if self.status < 0 and self.status != -signal.SIGKILL:
            return f"ended by {signal.Signals(-self.status).name}"
        for sign in ("Traceback", "Exception ignored", "Fatal Python error"):
            if sign in self.text:
                return sign
        if (
            self.status > 0
            and len(re.findall("^Error: ", self.text, re.M)) != 1
        ):
            return "no line that says what is wrong"
        return None


class TinyRun:
    """The folders of a run.

    Args:
        folder: Gets `logs`, `served` and a log of what was printed.
        corpus: From `write_corpus`.
        logs, served: Other places for these two.
    """

    def __init__(self, folder, corpus, logs=None, served=None):
        self.folder = Path(folder)
        self.logs = Path(logs or self.folder / "logs")
        self.served = Path(served or self.folder / "served")
        self._corpus = corpus

    @property
    def run_folder(self):
        """The run's own folder."""
        return self.logs / "demo"

    @property
    def system(self):
        """The folder of the run's one system."""
        return self.run_folder / "pointer_softmax"

    def start(self, seconds=None, event=None, output=None, limit=120) -> Ended:
        """Runs the command to its end, or kills it.

        Args:
            seconds: When to kill it.
            event: At which use of a file it kills itself.
            output: A file that the output goes to instead of the log; `"closed
                pipe"` for a pipe that nobody reads.
            limit: Seconds after which it hangs.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "log.txt"
        log.write_text("")
        counter = _CONTEXT.RawValue("q", 0)
        arguments = [
            *_FLAGS,
            *("--train", self._corpus),
            f"--log_dir={self.logs}",
            f"--run={self.run_folder.name}",
            f"--savedmodel_dir={self.served}",
        ]
        process = _CONTEXT.Process(
            target=_run,
            args=(arguments, output or str(log), counter, event),
            daemon=True,
        )
        start = time.monotonic()
        process.start()
        process.join(limit if seconds is None else seconds)
        status = process.exitcode
        if process.is_alive():
            process.kill()
            process.join()
            status = None if seconds is None else process.exitcode
        return Ended(
            status=status,
            text=log.read_text(errors="replace"),
            seconds=time.monotonic() - start,
            events=counter.value,
        )

    def newest_update(self):
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

    def outcome(self):
        """What a finished run has come to, to be compared.

        Returns:
            Dict of figures, of best weights, and of the exported weights.
        """
        results = checked_files.read_json(self.run_folder / "results.json")
        best = checked_files.read_arrays(self._checkpoints().best_path)
        best.pop("info")
        version = self.served / os.path.basename(results["savedmodel"])
        return {
            "figures": _without_times(results["systems"]),
            "best weights": {k: x.tolist() for k, x in best.items()},
            "exported weights": _exported_weights(version),
        }

    def _checkpoints(self, report=print):
        return Checkpoints(self.system / "checkpoints", report=report)


def warm_up():
    """Starts the server, so that the first run takes as long as others."""
    process = _CONTEXT.Process(target=os.getpid)
    process.start()
    process.join()


def write_corpus(folder) -> str:
    """Writes a corpus of a few pairs; returns the value of `--train`."""
    paths = []
    for the, name in (("the", "a.en"), ("le", "a.fr")):
        lines = [f"{the} name{i} is {i % 7} ." for i in range(_NUM_PAIRS)]
        path = Path(folder) / name
        path.write_text("\n".join(lines) + "\n")
        paths.append(str(path))
    return f"[{', '.join(paths)}]"


def difference(found, expected):
    """What differs between two outcomes, in words, or `None`."""
    for name, value in expected.items():
        if json.dumps(found[name]) != json.dumps(value):
            return f"other {name}"
    return None


def _exported_weights(version):
    """The weights of a SavedModel, whose names and order are not fixed.

    The states of random generators, which are whole numbers, are not used.
    """
    reader = tf.train.load_checkpoint(str(version / "variables/variables"))
    tensors = [
        reader.get_tensor(name)
        for name, kind in reader.get_variable_to_dtype_map().items()
        if kind.is_floating
    ]
    return sorted(tensor.tobytes().hex() for tensor in tensors)


def _without_times(value):
    if not isinstance(value, dict):
        return value
    return {k: _without_times(v) for k, v in value.items() if "second" not in k}


def _run(arguments, output, counter, event):
    """The command, in its own process."""
    if output == "closed pipe":
        reader, descriptor = os.pipe()
        os.close(reader)
    else:
        descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)

    def audit(name, values):
        # Devices and libraries are no part of a run.
        if name in _EVENTS and str(values[0]).startswith("/"):
            if "/attacked/" in str(values[0]):
                counter.value += 1
                if counter.value == event:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    from tfcopy.recipes import europarl_ps
    from tfcopy.training import trainer

    trainer.Options = functools.partial(trainer.Options, progress_seconds=0)
    status = command_line.main(
        europarl_ps.Config,
        europarl_ps.PRESETS,
        europarl_ps.run,
        europarl_ps.__doc__,
        # A checkpoint after each update, or there would be one in all.
        [*arguments, "--save_every", "1"],
    )
    sys.exit(status)
