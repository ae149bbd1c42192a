"""The model card of an export, `README.md`: what it is, and where it is from.

Its parts are those that [Mitchell et al., 2019](https://arxiv.org/abs/1810.03993)
propose, as far as a run knows them.
"""

import json
import shlex
from collections.abc import Mapping

# Flags that tell what a model was trained on.
_CORPORA = ("train", "train_file", "catalogs", "tfds", "data", "data_dir")
_CORPORA += ("bin_dir",)
_TESTS = ("test", "test_file")
# Flags about where a run was, not what it did.
_PLACES = ("log_dir", "savedmodel_dir", "fresh", "devices", "run", "license")


def card(config: Mapping) -> str:
    """A model card, Markdown.

    Args:
        config: What `assets.extra/tfcopy.json` holds. Of an export that was
            made by a recipe, `flags` are those that its command changed,
            `scores` those of the test set, `parameters` a number.
    """
    recipe = config["recipe"]
    system = config.get("system")
    title = f"{recipe}: {system}" if system else recipe
    parts = [
        f"# {title}",
        _purpose(config),
        _use(config),
        _origin(config),
        _scores(config),
        _settings(config),
        _limits(config),
        f"## Licence\n\n{_licence(config)}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _purpose(config):
    languages = [config.get(f"{x}_language") for x in ("source", "target")]
    if all(languages):
        return f"Translates {languages[0]} to {languages[1]}, text to text."
    if "task" in config:
        texts = " and ".join(config.get("texts", ()))
        return f"Task: {config['task']}; reads {texts}."
    return "Reads a text, and writes one."


def _use(config):
    recipe = config["recipe"]
    return f"""## Use

    tfcopy ask savedmodels/{recipe}                # a line in, a line out
    tfcopy demo savedmodels/{recipe}               # a page in the browser

In Python:

    import tfcopy
    model = tfcopy.load("savedmodels/{recipe}")

TensorFlow Serving loads the folder above this one as a model. It was exported
by TensorFlow {config["tensorflow"]} and Keras {config["keras"]} on
{config["created"]}."""


def _origin(config):
    if "flags" not in config:
        return None
    flags = config["flags"]
    given = {name: flags[name] for name in _CORPORA if name in flags}
    corpus = "Texts that the recipe generates."
    if given:
        corpus = "; ".join(f"`--{k} {_value(x)}`" for k, x in given.items())
    command = " ".join(
        [
            f"python -m tfcopy.recipes.{config['recipe']}",
            *(
                f"--{name} {_value(value)}"
                for name, value in flags.items()
                if name not in _PLACES
            ),
        ]
    )
    lines = [f"Trained on: {corpus}"]
    if "parameters" in config:
        lines.append(f"Parameters: {config['parameters']:,}")
    if "ensemble" in config:
        lines.append(f"An ensemble of {len(config['ensemble'])} runs.")
    lines.append(f"The same is trained by:\n\n    {command}")
    return "## Where it is from\n\n" + "\n\n".join(lines)


def _scores(config):
    scores = {
        name: value
        for name, value in config.get("scores", {}).items()
        if isinstance(value, (int, float, str))
    }
    if not scores:
        return None
    intervals = config["scores"]
    rows = []
    for name, value in scores.items():
        low_high = intervals.get(f"{name}_interval")
        interval = f" ({low_high[0]:g} to {low_high[1]:g})" if low_high else ""
        rows.append(f"| {name} | {_cell(value)}{interval} |")
    flags = config.get("flags", {})
    tested = [flags[name] for name in _TESTS if name in flags]
    where = f" ({_value(tested[0])})" if tested else ""
    return (
        f"## Scores on the test set{where}\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + "\n\nIn brackets intervals of 95 %."
    )


def _settings(config):
    if "search" not in config:
        return None
    search = ", ".join(f"{k} {_cell(x)}" for k, x in config["search"].items())
    return (
        f"## Search\n\n{search}.\n\n`tfcopy export RUN --set NAME=VALUE` "
        "exports the same weights with other settings."
    )


def _limits(config):
    limits = []
    sizes = [config.get(f"{x}_vocabulary_size") for x in ("source", "target")]
    if all(sizes):
        limits.append(
            f"It reads {sizes[0]:,} different words and can write {sizes[1]:,};"
            " others it can only copy, if its head copies."
        )
    longest = config.get("max_source_length") or config.get("max_length")
    if longest:
        limits.append(f"Of a text it reads {longest} words.")
    limits.append(
        "It says what is likely after its training texts; nobody has checked "
        "that it is true, or fair to whom it is about. Scores hold for texts "
        "like those of the test set."
    )
    return "## Limits\n\n" + "\n".join(f"- {x}" for x in limits)


def _licence(config):
    stated = (config.get("flags") or {}).get("license")
    if stated:
        return stated
    return (
        "Not stated (`--license`). What it was trained on may restrict its use."
    )


def _value(value):
    if isinstance(value, list):
        return " ".join(map(_value, value))
    return shlex.quote(value) if isinstance(value, str) else _cell(value)


def _cell(value):
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
