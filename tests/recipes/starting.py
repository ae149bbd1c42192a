"""Starting the whole command of a recipe, and reading what it left."""

import json

from tfcopy.recipes import flags


def start(recipe, settings, folder, *arguments):
    """The command; returns its exit status, that of a wrong flag as well.

    Args:
        recipe: Its module.
        settings: Flags of all starts, that make it small.
        folder: Gets `logs` and `served`.
        arguments: More flags.
    """
    folders = [f"--log_dir={folder}/logs", f"--savedmodel_dir={folder}/served"]
    try:
        return flags.main(
            recipe.Config,
            recipe.PRESETS,
            recipe.run,
            recipe.__doc__,
            [*settings, *folders, *arguments],
        )
    except SystemExit as error:
        return error.code


def results(folder):
    with open(folder / "logs" / "demo" / "results.json") as file:
        return json.load(file)


def figures(folder):
    """Those that do not depend on the time of day."""
    return {
        system: {k: v for k, v in scores.items() if "second" not in k}
        for system, scores in results(folder)["systems"].items()
    }
