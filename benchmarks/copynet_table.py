"""Exact match on the rules, over several seeds, beside the paper's Table 1.

    python -m benchmarks.copynet_table tensorboard_logs/copy_rules_copynet/seed*

Takes folders of runs of copy_rules_copynet, or their results.json. They may
differ in their seed and in the systems that they trained, and in nothing else
that a result depends on. A type of rule on which CopyNet's mean is below the
paper's is marked with `<`.
"""

import json
import pathlib
import statistics
import sys

from benchmarks import flags
from tfcopy.recipes.copy_rules_copynet import PAPER, TYPES

RECIPE = "copy_rules_copynet"
# Flags that runs of one table may have in different ways.
FREE = ("seed", "systems", "preset", "run", "log_dir", "savedmodel_dir")
FREE += ("fresh",)


def main():
    parser = flags.make_parser(__doc__)
    parser.add_argument(
        "runs", nargs="+", help="folders of runs, or their results.json"
    )
    try:
        runs = read_runs(parser.parse_args().runs)
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    for line in table(runs):
        print(line)
    return 0


def read_runs(names):
    """Dict from the path of each results.json to what it holds.

    Raises:
        ValueError: A file cannot be read, is no result of the recipe, or does
            not belong beside the others.
    """
    runs = {}
    for name in names:
        path = pathlib.Path(name)
        path = path / "results.json" if path.is_dir() else path
        runs[str(path)] = read(path)
    (first, expected), *others = runs.items()
    for path, found in others:
        for flag, value in expected["config"].items():
            other = found["config"].get(flag)
            if flag not in FREE and other != value:
                raise ValueError(
                    f"{path}: --{flag} is {other} there and {value} in "
                    f"{first}. Runs of one table may differ in --seed and "
                    "--systems."
                )
    taken = {}
    for path, found in runs.items():
        for system in found["systems"]:
            other = taken.setdefault((system, found["seed"]), path)
            if other != path:
                raise ValueError(
                    f"{path}: {system} has --seed {found['seed']}, as in "
                    f"{other}. Each seed counts once."
                )
    return runs


def read(path):
    """What a results.json of the recipe holds; a ValueError names the file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read ({error.strerror or error})."
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON ({error}).") from error
    recipe = found.get("recipe") if isinstance(found, dict) else None
    if recipe != RECIPE:
        raise ValueError(
            f"{path}: expected the results.json of {RECIPE}. Received that "
            f"of {recipe or 'no recipe'}."
        )
    try:
        for scores in found["systems"].values():
            for kind in TYPES:
                score = scores["types"][kind]
                score["exact_match"] + score["pairs"]
        found["seed"], found["config"].items()
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: expected `seed`, `config` and, of each system, "
            f"exact_match and pairs in `types`. Received a file without: "
            f"{error}."
        ) from error
    return found


def table(runs):
    """Lines of the table: for each system, a row for each type of rule."""
    for system in PAPER:
        of_seed = {
            found["seed"]: found["systems"][system]["types"]
            for found in runs.values()
            if system in found["systems"]
        }
        if not of_seed:
            continue
        seeds = sorted(of_seed)
        yield ""
        titles = ["mean", "lowest", "highest", *map("seed {}".format, seeds)]
        yield f"{system:12}" + "".join(f"{t:>10}" for t in ["paper", *titles])
        for kind, paper in zip(TYPES, PAPER[system]):
            values = [of_seed[seed][kind]["exact_match"] for seed in seeds]
            mean = statistics.fmean(values)
            cells = [paper, mean, min(values), max(values), *values]
            below = system == "copynet" and round(mean, 2) < paper
            yield (
                f"{kind:12}"
                + "".join(f"{cell:>10.2f}" for cell in cells)
                + ("  <" if below else "")
            )
        counts = {x[kind]["pairs"] for x in of_seed.values() for kind in TYPES}
        counts = " or ".join(f"{count:,}" for count in sorted(counts))
        noun = "seed" if len(seeds) == 1 else "seeds"
        yield f"{len(seeds)} {noun}, {counts} test pairs of each type"


if __name__ == "__main__":
    sys.exit(main())
