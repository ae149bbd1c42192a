"""Flags that take several values: `--train a.en a.fr`."""

import json
import typing


def as_lists(config_class, arguments) -> list[str]:
    """Arguments in which the values of a list are one, in brackets.

    `--train a.en a.fr` becomes `--train=["a.en", "a.fr"]`. What is in brackets
    already stays as it is.

    Args:
        config_class: Dataclass whose fields are the flags.
        arguments: List of texts.
    """
    kinds = typing.get_type_hints(config_class)
    lists = {f"--{name}" for name, kind in kinds.items() if _is_list(kind)}
    found, rest = [], list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag not in lists:
            found.append(flag + equals + value)
            continue
        values = [value] if equals else []
        while rest and not rest[0].startswith("--"):
            values.append(rest.pop(0))
        if len(values) == 1 and (values == ["null"] or values[0][:1] == "["):
            found.append(f"{flag}={values[0]}")
        else:
            found += [f"{flag}={json.dumps(values)}"] if values else [flag]
    return found


def _is_list(kind):
    """Whether a type is a list, or a list or nothing."""
    return list in map(typing.get_origin, (kind, *typing.get_args(kind)))
