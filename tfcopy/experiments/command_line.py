"""A recipe's command line, made from its `Config`, and the check of files."""

import contextlib
import dataclasses
import importlib
import signal
import sys

from tfcopy import atomic_files, filesystem, flags, terminal
from tfcopy.experiments.config import (
    PRETRAINED,
    TOPICS,
    find_given_corpora,
    has_backbone,
)


def main(config_class, run, arguments=None):
    """Parses the flags, runs the recipe, and turns errors into messages.

    Output that cannot be written, as to a closed pipe, is dropped. What needs
    TensorFlow is imported after the flags are parsed and their files found, and
    without the notes that libraries print as they start.

    Args:
        config_class: The recipe's config, each field of which is a flag. Its
            module's docstring becomes the first lines of `--help`.
        run: Function of the config. If it raises an exception with an
            `exit_code`, such as `TrainingInterrupted`, that is the exit status.
        arguments: The command line; by default the process's own.

    Returns:
        The process's exit status.
    """
    terminal.open_missing_streams()
    config = parse(config_class, arguments)

    def work():
        with terminal.quiet():
            check_named_files(config)
            importlib.import_module("tfcopy.experiments.run")
        run(config)

    with _terminable():
        return terminal.run(config.recipe, work, tolerant=True)


def parse(config_class, arguments=None):
    """Returns the config that a command line asks for.

    Flags win over `--config`, and both over the preset. The preset `demo` is
    for the generated corpus alone. A wrong flag ends the process with a message
    and the status 2. `--help` shows the flags that are declared as common,
    `--help_all` all.
    """
    given = sys.argv[1:] if arguments is None else arguments
    presets = {"demo": {}} | config_class.presets
    fields = dataclasses.fields(config_class)
    names = {field.name for field in fields}
    shown = {field.name for field in fields if field.metadata.get("common")}
    shown = names if "--help_all" in given else shown
    more = f"--help_all shows all {len(names)} flags."
    parser = flags.Parser(
        config_class,
        sys.modules[config_class.__module__].__doc__,
        more if shown < names else None,
        from_files=True,
        topics=TOPICS,
        shown=shown,
        choices={"preset": tuple(presets)},
    )
    parser.add_argument(
        "--help_all", action="help", help="Show all flags and exit."
    )
    config = parser.parse(given)
    preset = presets[config.preset]
    if preset and not (config.preset == "demo" and find_given_corpora(config)):
        # Its warm-up is for its own number of updates.
        is_short = preset.get("warmup") and config.updates < 200
        parser.set_defaults(**preset | ({"warmup": 0} if is_short else {}))
        config = parser.parse(given)
    if has_backbone(config):
        rise = {"warmup": config.updates // 10}
        own = {k: x for k, x in (PRETRAINED | rise).items() if k in names}
        parser.set_defaults(**own)
        config = parser.parse(given)
        for name in (x.name for x in fields if x.metadata.get("replaced")):
            if getattr(config, name) != parser.get_default(name):
                parser.error(
                    f"--{name} describes the recipe's own network, which "
                    "--backbone replaces; leave out one of them"
                )
    return config


def check_named_files(config):
    """Raises an OSError if a flag names a file that cannot be read.

    A flag that names the corpus may be a pattern, or a new folder if that is
    downloaded.
    """
    fields = dataclasses.fields(config)
    values = {x.name: getattr(config, x.name) for x in fields}
    kinds = ["file", "folder"] + ["place"] * (not values.get("download"))
    for field in fields:
        given = values[field.name]
        is_corpus = field.metadata.get("corpus") in kinds
        if given in (None, False) or not (
            is_corpus or field.metadata.get("is_file")
        ):
            continue
        for path in given if isinstance(given, list) else [given]:
            is_learned = (field.name, path) == ("shortlist", "dictionary")
            if not (is_learned or is_corpus and filesystem.glob(path)):
                atomic_files.check_readable(f"--{field.name}", path)


@contextlib.contextmanager
def _terminable():
    """Turns signals into exceptions whose `exit_code` is the exit status."""

    def terminate(number, frame):
        error = KeyboardInterrupt("Interrupted. Repeat the command to resume.")
        error.exit_code = 128 + number
        raise error

    previous = {}
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as by `nohup`
                previous[number] = signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
