"""Whether commands survive kills, full disks, forbidden folders and each other.

    python -m benchmarks.attacks --kills 200 --flips 5000
    python -m benchmarks.attacks --attacked prepare batch --only pairs

Attacks a tiny run of europarl_ps and the commands `prepare`, `batch`,
`translate_po`, `export` and `evaluate`: each is killed (SIGKILL) at random
moments and before random uses of files; meets full disks of several sizes, the
recipe in each of its stages; may not write where it would; and runs twice at
once, also with other flags. Single bits of the run's files change. Afterwards
the command has to end with the output of one that was left alone, of a run its
figures, weights and export, or to say in one line what is wrong. No value may
be loaded that was not written, nothing may hang, no traceback and no signal end
it, no checkpoint may be lost, nothing half-written may have its final name at
any time or be left over in the end, and what others have written stays as it
is. Ends with status 1 if anything of that has happened.

Full disks are small file systems in memory, for which the command starts itself
again by `unshare`; without it there are none.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks import attacked_commands, attacked_process, timing
from benchmarks.attacked_run import RECIPE
from benchmarks.command_attacks import CommandAttacks, Tally
from benchmarks.run_attacks import STAGES, RunAttacks

ATTACKS = ("output", "kills", "disks", "permissions", "pairs", "bits")
COMMANDS = {x.name: x for x in (RECIPE, *attacked_commands.COMMANDS)}
# Kilobytes that are left on a disk.
SIZES = (40, 64, 80, 100, 200, 1000)
_ALONE = "TFCOPY_ATTACKS_ALONE"


def main(arguments=None):
    options = _parse(arguments)
    if _ALONE not in os.environ:
        _start_with_own_mounts()
    tally = Tally()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pool = concurrent.futures.ThreadPoolExecutor(options.processes)
        try:
            _attack(Path(folder) / "attacked", pool, tally, options)
        except KeyboardInterrupt:
            print("Interrupted; so far:")
        finally:
            pool.shutdown(cancel_futures=True)
    tally.print()
    print(f"\n{tally.num_problems:,} went wrong (seed {options.seed}).")
    return int(tally.num_problems > 0)


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    timing.add_numbers(
        parser,
        ("kills", 200, "kills of runs"),
        ("kills_of_commands", 20, "kills of each other command"),
        ("pairs", 4, "times that a command runs twice at once"),
        ("flips", 5000, "bits that change before a file is loaded"),
        ("commands", 40, "bits that change before the command is repeated"),
        ("processes", 2, "commands at the same time"),
    )
    parser.add_argument("--seed", type=int, default=0, help="of all moments")
    for flag, values, text in (
        ("only", ATTACKS, "attacks"),
        ("attacked", [*COMMANDS], "commands"),
        ("stages", STAGES, "of a run"),
    ):
        parser.add_argument(
            f"--{flag}", nargs="+", choices=values, default=values, help=text
        )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=timing.positive,
        default=SIZES,
        help="kilobytes left on full disks of a run (default: %(default)s)",
    )
    return parser.parse_args(arguments)


def _attack(folder, pool, tally, options):
    """Leaves the recipe alone, then attacks it and the commands."""
    texts, sources = folder / "texts", folder / "sources"
    attacked_commands.write_sources(texts)
    attacked_commands.write_sources(sources)
    attacked_process.warm_up()
    run = RunAttacks(RECIPE, folder, texts, tally, options.seed)
    shutil.copytree(run.whole.run_folder, sources / "run")
    shutil.copytree(run.whole.served, sources / "served")
    only = options.only
    for name in options.attacked:
        attacks, kills = run, options.kills
        if name != RECIPE.name:
            attacks = CommandAttacks(
                COMMANDS[name], folder, sources, tally, options.seed
            )
            kills = options.kills_of_commands
        if "kills" in only:
            attacks.kill(pool, kills)
        if "disks" in only and os.environ.get(_ALONE) == "yes":
            if attacks is run:
                run.fill_disks_in_stages(pool, options.stages, options.sizes)
            else:
                attacks.fill_disks(pool)
        if "permissions" in only:
            attacks.forbid(pool)
        if "pairs" in only:
            attacks.start_two(options.pairs)
    if RECIPE.name in options.attacked:
        if "output" in only:
            run.close_output(pool)
        if "bits" in only:
            run.flip_and_load(options.flips)
            run.flip_and_repeat(pool, options.commands)


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
