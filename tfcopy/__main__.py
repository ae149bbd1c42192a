"""The command `tfcopy`, also `python -m tfcopy`: all commands under one name.

Each is a module that `python -m` runs, too. Nothing else is imported, so that
help and errors appear at once.
"""

import ast
import difflib
import pathlib
import runpy
import sys

from tfcopy import __version__, terminal

_RECIPES = pathlib.Path(__file__).with_name("recipes")
# Descriptions of the commands, by the package of their modules.
_PACKAGES = {
    "": {
        "recipe": "train, compare and export the systems of a paper",
        "recipes": "list the recipes",
    },
    "tfcopy": {"worker": "run a recipe as one of several machines"},
    "tfcopy.serving": {
        "export": "export another system of a run",
        "import": "export a published translator, such as OPUS-MT's",
        "ask": "ask an exported model, in a folder or on a server, "
        "line by line",
        "evaluate": "score answers against references, and compare systems",
        "score": "compute how likely given targets are",
        "batch": "answer files of texts, by Apache Beam",
        "serve": "translate for Weblate and others, by LibreTranslate's API",
        "demo": "show exported models in the browser",
        "web": "write a page that translates in the browser, without a server",
        "translate_po": "fill untranslated entries of gettext (.po) and XLIFF",
        "serving_files": "write the Compose file and settings of "
        "TensorFlow Serving",
    },
    "tfcopy.data": {
        "prepare": "prepare a corpus larger than memory, by Apache Beam",
        "build_vocabulary": "count words and write the most frequent",
        "train_sentencepiece": "train a model that cuts words into pieces",
        "build_dictionary": "learn word translations from parallel text",
        "build_definitions": "make a file of definitions from WordNet",
    },
}
_MODULES = {"import": "import_model", "web": "web.write_site"}
# Module and description, by the command's name, in the order of the help.
COMMANDS = {
    name: (package and f"{package}.{_MODULES.get(name, name)}", about)
    for package, commands in _PACKAGES.items()
    for name, about in commands.items()
}
_EXAMPLES = """\
examples:
  tfcopy recipe europarl_ps --help
  tfcopy recipe europarl_ps --train my.en my.fr
  tfcopy recipe pydocs_ps --catalogs locale --target_language es
  tfcopy translate_po savedmodels/pydocs_ps locale
  echo "Mr Łukasz has the floor." | tfcopy ask savedmodels/europarl_ps
  tfcopy demo savedmodels"""


def main(arguments=None):
    """Runs a command; its module ends the process with its exit status.

    Args:
        arguments: Name of the command, and its own arguments; by default those
            of the process.

    Returns:
        The exit status of commands that this module answers itself.
    """
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["-h"]
    if name in ("-h", "--help"):
        return _print(_help())
    if name == "--version":
        return _print(f"tfcopy {__version__}")
    if name == "recipes":
        return _print(_list_recipes())
    if name == "recipe":
        return _run_recipe(*(rest or ["--help"]))
    if name not in COMMANDS:
        return _unknown("command", name, COMMANDS)
    return _run(COMMANDS[name][0], rest)


def recipes() -> dict[str, str]:
    """Returns the names of all recipes, with a line about each."""
    found = {}
    for path in sorted(_RECIPES.glob("[a-z]*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        found[path.stem] = text.split("\n")[0].rstrip(".")
    return found


def _run_recipe(name, *arguments):
    if name in ("-h", "--help"):
        usage = "usage: tfcopy recipe NAME [flags]; NAME --help lists them."
        return _print(f"{usage}\n\n{_list_recipes()}")
    if name not in recipes():
        return _unknown("recipe", name, recipes())
    sys.path.append("")  # For a --head of the current folder, as `python -m`.
    return _run(f"tfcopy.recipes.{name}", arguments)


def _run(module, arguments):
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _print(text):
    return terminal.run("tfcopy", lambda: print(text))


def _list_recipes():
    return "\n".join(f"{x:20}{about}" for x, about in recipes().items())


def _unknown(kind, name, names):
    close = difflib.get_close_matches(name, names, 1)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    terminal.report(
        "tfcopy",
        f"there is no {kind} {name!r}.{guess} Available: {', '.join(names)}.",
    )
    return 2


def _help():
    return "\n".join(
        [
            "usage: tfcopy COMMAND [arguments]; see COMMAND --help.",
            "",
            "Sequence models that copy, point, plan and read definitions.",
            "",
            "commands:",
            *[f"  {name:21}{about}" for name, (_, about) in COMMANDS.items()],
            "",
            "  --version, --help",
            "",
            _EXAMPLES,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
