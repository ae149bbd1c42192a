"""What TensorBoard shows of a whole run: pictures, and which system is best.

The scores of a system on the test set stand beside its curves. What belongs to
several systems has its own folder, `all_systems`.
"""

import math
import os

from tfcopy import filesystem
from tfcopy.serving.run_folder import is_run
from tfcopy.training.tensorboard import EventLog, log_table

# The folder of what belongs to several systems.
ALL_SYSTEMS = "all_systems"
# Not the outcome of a test, but of training or of scoring the dev set.
_OTHERS = ("parameters", "updates", "best_update", "sequences", "pairs")


def open_log(folder, name):
    """The `EventLog` of a whole run's picture or table, without older ones.

    Args:
        folder: The run's folder.
        name: The name of the picture or table.
    """
    return EventLog(os.path.join(folder, ALL_SYSTEMS), fresh=True, name=name)


def log_scores(folder, systems, of_dev):
    """Writes scores as scalars `test/...` of each system, and as a table.

    Args:
        folder: The run's folder.
        systems: System to its results, as in results.json. The results of a
            part, `{part: results}`, belong to the run in
            `<folder>/<part>/<system>` if there is one.
        of_dev: Names of figures that are scores of the dev set.
    """
    tags = {}
    for system, results in systems.items():
        parts = {k: v for k, v in results.items() if isinstance(v, dict)}
        for part, scores in {"": results, **parts}.items():
            run = os.path.join(folder, part, system)
            # A run within this one may have the name of a part.
            is_other = part and is_run(os.path.join(folder, part))
            if is_other or not filesystem.isdir(run):
                continue
            scores = _scores(scores, of_dev)
            log = EventLog(run, fresh=True, name="test")
            log.scalars(results.get("updates", 0), scores, prefix="test/")
            log.close()
            tags |= dict.fromkeys(f"test/{name}" for name in scores)
    log = open_log(folder, "results")
    with log.tolerating():
        log_table(
            log.writer, 0, ("", *systems), _rows(systems.values()), "results"
        )
    log.layout(0, tags)
    log.close()


def _scores(results, of_dev):
    """Finite numbers that a test gave."""
    return {
        name: value
        for name, value in results.items()
        if _is_number(value)
        and name not in (*_OTHERS, *of_dev)
        and not name.startswith("dev_")
        and "second" not in name
    }


def _rows(results):
    """A row for each figure, a column for each system."""
    flat = [dict(_flat(one)) for one in results]
    names = dict.fromkeys(name for one in flat for name in one)
    for name in names:
        values = [one.get(name) for one in flat]
        yield (name, *("" if x is None else _figure(x) for x in values))


def _flat(results, prefix=""):
    for name, value in results.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}/")
        elif _is_number(value):
            yield prefix + name, value


def _is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def _figure(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
