"""A recipe's command line, made from its `Config`."""

import os
import sys

import jsonargparse


def main(config_class, presets, run, description):
    """Parses the flags, runs the recipe, and turns errors into messages.

    Args:
        config_class: The recipe's dataclass; each field becomes a flag, and
            its docstring the help.
        presets: Name to the fields that differ from the defaults; `demo` is
            the defaults themselves.
        run: Function of the config.
        description: First lines of `--help`.

    Returns:
        The process's exit status.
    """
    config = parse(config_class, presets, description, sys.argv[1:])
    from tfcopy.training import TrainingInterrupted

    try:
        run(config)
    except TrainingInterrupted as interruption:
        print(f"\n{interruption}", file=sys.stderr)
        return getattr(interruption, "exit_code", 130)
    except KeyboardInterrupt:
        print("\nInterrupted. Repeat the command to go on.", file=sys.stderr)
        return 130
    except (ValueError, OSError, ArithmeticError, RuntimeError) as error:
        if os.environ.get("TFCOPY_DEBUG"):
            raise
        message = str(error) or type(error).__name__
        print(f"\nError: {message}", file=sys.stderr)
        print("(TFCOPY_DEBUG=1 shows the traceback.)", file=sys.stderr)
        return 1
    return 0


def parse(config_class, presets, description, arguments):
    """The config that a command line asks for."""
    preset = _preset(arguments)
    parser = jsonargparse.ArgumentParser(
        prog=_program(),
        description=description,
        formatter_class=_HelpFormatter,
    )
    parser.add_argument(
        "--preset",
        choices=["demo", *presets],
        default="demo",
        help="sizes and corpus to start from; the other flags change it",
    )
    parser.add_argument(
        "--config",
        action=jsonargparse.ActionConfigFile,
        help="YAML file of flags; those on the command line win",
    )
    parser.add_class_arguments(config_class, None, skip={"preset"})
    if preset in presets:
        parser.set_defaults(presets[preset])
    namespace = parser.parse_args(arguments)
    values = {
        field: getattr(namespace, field)
        for field in config_class.__dataclass_fields__
        if field != "preset"
    }
    return config_class(preset=namespace.preset, **values)


class _HelpFormatter(jsonargparse.DefaultHelpFormatter):
    """Keeps the line breaks of the description."""

    def _fill_text(self, text, width, indent):
        lines = text.strip().splitlines()
        return "\n".join(indent + line for line in lines)


def _preset(arguments):
    for i, argument in enumerate(arguments):
        if argument.startswith("--preset="):
            return argument.split("=", 1)[1]
        if argument == "--preset" and i + 1 < len(arguments):
            return arguments[i + 1]
    return "demo"


def _program():
    main_module = sys.modules.get("__main__")
    spec = getattr(main_module, "__spec__", None)
    return f"python -m {spec.name}" if spec else None
