"""Flags that take several values, or none: `--train a.en a.fr --fresh`."""

import json
import typing


def as_lists(config_class, arguments) -> list[str]:
    """Arguments in which each flag has one value.

    `--train a.en a.fr` becomes `--train=["a.en", "a.fr"]`, where what is in
    brackets already stays as it is, and a `--fresh` without a value, which is
    true or false, becomes `--fresh=true`.

    Args:
        config_class: Dataclass whose fields are the flags.
        arguments: List of texts.
    """
    kinds = typing.get_type_hints(config_class)
    lists = {f"--{name}" for name, kind in kinds.items() if _is_list(kind)}
    switches = {f"--{name}" for name, kind in kinds.items() if kind is bool}
    found, rest = [], list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag in switches and not equals and _is_flag(rest):
            equals, value = "=", "true"
        if flag not in lists:
            found.append(flag + equals + value)
            continue
        values = [value] if equals else []
        while not _is_flag(rest):
            values.append(rest.pop(0))
        if len(values) == 1 and (values == ["null"] or values[0][:1] == "["):
            found.append(f"{flag}={values[0]}")
        else:
            found += [f"{flag}={json.dumps(values)}"] if values else [flag]
    return found


def _is_flag(arguments):
    """Whether no value comes first."""
    return not arguments or arguments[0].startswith("--")


def _is_list(kind):
    """Whether a type is a list, or a list or nothing."""
    return list in map(typing.get_origin, (kind, *typing.get_args(kind)))
