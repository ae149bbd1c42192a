"""Flags of benchmarks. Not a benchmark itself."""

import argparse


def make_parser(doc, *flags):
    """Makes a parser of flags that shows a module's docstring as it stands.

    Args:
        doc: The docstring.
        flags: `(name, default, help)` of each. The default tells what is read:
            a number, from 1 on if the default is a whole one above 0; one of
            the items of a tuple, of which the first is the default; several,
            like the items of a list; or text, if it is `None`, too. `False`
            makes a switch.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default, text in flags:
        reading = _reading_like(default)
        if reading.get("default") is not None:
            text += " (default: %(default)s)"
        parser.add_argument(f"--{name}", help=text, **reading)
    return parser


def parse(doc, *flags):
    """Reads the flags of this process, as `make_parser` takes them."""
    return make_parser(doc, *flags).parse_args()


def _reading_like(default):
    if default is False:
        return {"action": "store_true"}
    if isinstance(default, tuple):
        return {"choices": default, "default": default[0]}
    if isinstance(default, list):
        return {**_reading_like(default[0]), "nargs": "+", "default": default}
    if default is None:
        return {}
    is_count = isinstance(default, int) and default > 0
    return {"type": positive if is_count else type(default), "default": default}


def positive(text):
    """A number from 1 on, of a flag."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)
