"""The model card of an export, `README.md`: task, use, origin, scores, limits.

It has the parts that [Mitchell et al., 2019](https://arxiv.org/abs/1810.03993)
propose, as far as a run knows them.
"""

import json
import re
import shlex
from collections.abc import Mapping

from tfcopy.evaluation.calibration import quality
from tfcopy.terminal import encodable, printable

# What Markdown would take for markup: anywhere, and as the first of a line.
_MARKUP = re.compile(r"[\\`*\[\]<>|&~$]|(?<!\w)_|_(?!\w)")
_FIRST = re.compile(r"^(\d*)([-#+=.)])")


def card(config: Mapping, name: str | None = None) -> str:
    """Returns a model card in Markdown; values that users typed are escaped.

    Args:
        config: Content of `assets.extra/tfcopy.json`. Exports of recipes have
            the `flags` of the command, the `origin` of the data among them,
            the `scores` of the test set, and the number of `parameters`.
        name: Name of the model's folder; by default the recipe's name.
    """
    recipe = config["recipe"]
    system = config.get("system")
    title = f"{recipe}: {system}" if system else recipe
    parts = [
        f"# {_text(title)}",
        _purpose(config),
        _use(config, name or recipe),
        _origin(config),
        _scores(config),
        _settings(config),
        _limits(config),
        f"## Licence\n\n{_licence(config)}",
    ]
    return encodable("\n\n".join(filter(None, parts)) + "\n")


def _purpose(config):
    languages = [config.get(f"{x}_language") for x in ("source", "target")]
    if all(languages):
        languages = list(map(_text, languages))
        return f"Translates text from {languages[0]} to {languages[1]}."
    if "task" in config:
        texts = " and ".join(map(_text, config.get("texts", ())))
        return f"Task: {_text(config['task'])}; reads {texts}."
    return "Generates text from text."


def _use(config, name):
    folder = f"savedmodels/{name}"
    return f"""## Use

    tfcopy ask {_quote(folder)}                # a line in, a line out
    tfcopy demo {_quote(folder)}               # a page in the browser

In Python:

    import tfcopy
    model = tfcopy.load({json.dumps(folder, ensure_ascii=False)})

TensorFlow Serving loads the parent of this folder as a model. It was exported
by TensorFlow {config["tensorflow"]} and Keras {config["keras"]} on
{config["created"]}.

Engines: {_text(config.get("engines", "TensorFlow."))}"""


def _origin(config):
    if "imported" in config:
        facts = (f"{k} {_code(x)}" for k, x in config["imported"].items())
        count = f"\n\nParameters: {config['parameters']:,}"
        return f"## Origin\n\nImported from: {', '.join(facts)}{count}"
    if "flags" not in config:
        return None
    origin = config.get("origin", {})
    corpus, read = (
        "; ".join(map(_code, _format_flags(origin.get(role, {}))))
        for role in ("corpus", "input")
    )
    lines = []
    if origin:
        own = origin["of_preset"] or "Texts that the recipe generates."
        lines.append(f"Trained on: {corpus or _text(own)}")
    if read:
        lines.append(f"Made with: {read}")
    aside = origin.get("aside", ())
    flags = {k: x for k, x in config["flags"].items() if k not in aside}
    recipe = f"python -m tfcopy.recipes.{config['recipe']}"
    command = " ".join([recipe, *_format_flags(flags)])
    if "parameters" in config:
        lines.append(f"Parameters: {config['parameters']:,}")
    if "ensemble" in config:
        lines.append(f"An ensemble of {len(config['ensemble'])} runs.")
    lines.append(f"The command that trains it again:\n\n    {command}")
    return "## Origin\n\n" + "\n\n".join(lines)


def _scores(config):
    scores = {
        name: value
        for name, value in config.get("scores", {}).items()
        if isinstance(value, (int, float, str))
    }
    if not scores:
        return None
    intervals = {
        name.removesuffix("_interval"): " to ".join(map(_cell, x))
        for name, x in config["scores"].items()
        if name.endswith("interval") and isinstance(x, (list, tuple)) and x
    }
    rows, note = [], ""
    for name, value in scores.items():
        value = _cell(value)
        if name in intervals:
            value += f" ({intervals[name]})"
            note = "\n\nConfidence intervals of 95 % in brackets."
        rows.append(f"| {_text(name)} | {_text(value)} |")
    if "interval" in intervals:
        rows.append(f"| interval of 95 % | {intervals['interval']} |")
    tested = config.get("origin", {}).get("test", {})
    where = _text(f" ({_value([*tested.values()])})") if tested else ""
    sentence = quality(config)
    return (
        f"## Scores on the test set {where}".rstrip()
        + (f"\n\n{_text(sentence)}" if sentence else "")
        + "\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + note
    )


def _settings(config):
    if "search" not in config:
        return None
    search = ", ".join(f"{k} {_cell(x)}" for k, x in config["search"].items())
    return (
        f"## Search\n\n{_text(search)}.\n\n`tfcopy export RUN --set "
        "NAME=VALUE` exports the same weights with other settings."
    )


def _limits(config):
    limits = []
    sizes = [config.get(f"{x}_vocabulary_size") for x in ("source", "target")]
    pieces = config.get("pieces") or {}
    unit = "subwords" if pieces.get("source") else "words"
    if all(sizes):
        limits.append(
            f"It knows {sizes[0]:,} {unit} of sources and generates "
            f"{sizes[1]:,}; it can only copy others, if its head copies."
        )
    longest = config.get("max_source_length") or config.get("max_length")
    if longest:
        limits.append(f"Texts are truncated to {longest} {unit}.")
    limits.append(
        "Its answers are likely by its training texts; nobody has checked that "
        "they are true, or fair to the people in them. The scores hold for "
        "texts similar to the test set."
    )
    return "## Limits\n\n" + "\n".join(f"- {x}" for x in limits)


def _licence(config):
    stated = (config.get("flags") or {}).get("license")
    if stated:
        return _FIRST.sub(r"\1\\\2", _text(stated))
    return "Not stated (`--license`). The training data may restrict its use."


def _format_flags(flags):
    """Returns flags as on a command line."""
    return [f"--{name} {_value(value)}" for name, value in flags.items()]


def _value(value):
    """Returns the value of a flag, quoted for a shell."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(_value, value)) or "'[]'"
    return _quote(value) if isinstance(value, str) else _cell(value)


def _cell(value):
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return " ".join(map(_cell, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _quote(text):
    """Quotes a text for a shell, in one line."""
    if text.isprintable():
        return shlex.quote(text)
    text = text.replace("\\", r"\\").replace("'", r"\'")
    letters = (x if x.isprintable() else f"\\U{ord(x):08x}" for x in text)
    return f"$'{''.join(letters)}'"


def _text(text):
    """Returns a text in one line, with Markdown's markup escaped."""
    text = " ".join(printable(text).split())
    return _MARKUP.sub(r"\\\g<0>", text)


def _code(text):
    """Formats a text as inline code."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " if len(fence) > 1 else ""
    return f"{fence}{blank}{text}{blank}{fence}"
