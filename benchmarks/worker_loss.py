"""What a lost worker costs: two workers train, one is killed, both go on.

    python -m benchmarks.worker_loss --workdir DIR

Two processes on this machine train europarl_ps as `tfcopy worker` starts them;
whichever ends with an error is started again, as `restart: on-failure` does. As
soon as there is a checkpoint and some updates after it, one is killed with
SIGKILL. Told are the seconds until the other has ended, until both are started
again and the next update is made; which update that is; and whether the
exported weights are those of a run that nobody has disturbed. The first worker
is killed in one round, the second in another.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np

from benchmarks import flags, timing
from tfcopy.terminal import tolerant_output

_UPDATE = re.compile(r"^update ([\d,]+)/")


class Worker:
    """A worker that is started again whenever it fails.

    Args:
        command: Its command.
        env: Its environment variables.
        core: The core that it is bound to; any if `None`.
    """

    def __init__(self, command, env, core=None):
        self._command, self._env = command, env
        if core is not None:
            self._command = ["taskset", "--cpu-list", str(core), *command]
        self.updates = []  # (moment, update) of each line that tells one
        self.ends = []  # (moment, status)
        self.process = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self.ends or self.ends[-1][1] != 0:
            self.process = subprocess.Popen(
                self._command,
                env=self._env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for line in self.process.stdout:
                found = _UPDATE.match(line)
                if found:
                    update = int(found[1].replace(",", ""))
                    self.updates.append((time.monotonic(), update))
            status = self.process.wait()
            self.ends.append((time.monotonic(), status))

    def join(self):
        self._thread.join()


def command(index, ports, folder, options, **more):
    hosts = [f"localhost:{port}" for port in ports]
    flags = {
        "systems": "pointer_softmax",
        "updates": options.updates,
        "eval_every": options.eval_every,
        "save_every": options.save_every,
        "log_dir": folder / "logs",
        "savedmodel_dir": folder / "saved",
        "run": "run",
        "seed": 0,
        "dropout": 0.0,
        **more,
    }
    own = [sys.executable, "-m", "tfcopy.worker", "--hosts", *hosts]
    own += ["--index", str(index), "europarl_ps"]
    return own + [str(x) for key in flags for x in (f"--{key}", flags[key])]


def train_together(folder, options, number=2, cores=None, **flags):
    """Workers that train a run.

    Args:
        folder: Where the run and its export go.
        options: Flags of this command.
        number: How many there are.
        cores: What they are bound to in turn, one core each; none if `None`.
        flags: More flags of the recipe.
    """
    env = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    ports = timing.free_ports(number)
    return [
        Worker(
            command(i, ports, folder, options, **flags),
            env,
            cores and cores[i % len(cores)],
        )
        for i in range(number)
    ]


def measure(folder, lost, options):
    """A round in which one worker is killed; returns what is told."""
    workers = train_together(folder, options)
    checkpoints = folder / "logs" / "run" / "pointer_softmax" / "checkpoints"
    first = saved = before = 0
    # The first checkpoint, and some updates more.
    while not first or before <= first + 20:
        time.sleep(0.2)
        if workers[0].ends:
            sys.exit("The run ended too soon: more --updates.")
        names = [x.stem for x in checkpoints.glob("checkpoint-*.npz")]
        saved = max((int(x.rsplit("-", 1)[1]) for x in names), default=0)
        first = first or saved
        before = max((x[1] for x in workers[0].updates), default=0)
    os.kill(workers[lost].process.pid, signal.SIGKILL)
    start = time.monotonic()
    for worker in workers:
        worker.join()
    other = workers[1 - lost].ends[0]
    after = [x for x in workers[0].updates if x[0] > workers[0].ends[0][0]]
    return {
        "lost worker": lost,
        "last checkpoint": saved,
        "update when killed": before,
        "seconds until the other ended": round(other[0] - start, 1),
        "its exit status": other[1],
        "seconds until the next update": round(after[0][0] - start, 1),
        "next update": after[0][1],
    }


def weights(folder):
    path = folder / "logs/run/pointer_softmax/checkpoints/best.npz"
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def main():
    parser = flags.make_parser(
        __doc__,
        ("updates", 300, "updates of each run"),
        ("eval_every", 100, "updates between dev scores"),
        ("save_every", 50, "updates between checkpoints"),
    )
    parser.add_argument("--workdir", required=True, type=pathlib.Path)
    options = parser.parse_args()
    undisturbed = options.workdir / "undisturbed"
    for worker in train_together(undisturbed, options):
        worker.join()
    rounds = []
    for lost in (0, 1):
        folder = options.workdir / f"lost-{lost}"
        found = measure(folder, lost, options)
        expected, ended = weights(undisturbed), weights(folder)
        found["largest difference of a weight"] = max(
            float(np.abs(expected[name] - ended[name]).max())
            for name in expected
            if expected[name].dtype.kind == "f"
        )
        rounds.append(found)
        print(json.dumps(found), flush=True)
    print(json.dumps(rounds, indent=2))


if __name__ == "__main__":
    with tolerant_output():
        main()
