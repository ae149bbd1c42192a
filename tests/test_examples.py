"""The examples in the docstrings of what users import run."""

import functools
import importlib
import inspect
import re

import pytest

EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The last three build and train whole models.
PARTS = ("layers", "losses", "data", "decoding", "models", "training")


def public(part):
    """The names that a part offers."""
    offered = vars(importlib.import_module(f"tfcopy.{part}"))
    own = (
        name
        for name, x in offered.items()
        if getattr(x, "__module__", "").startswith(f"tfcopy.{part}")
    )
    return offered.get("__all__") or [x for x in own if x[0] != "_"]


def example_of(documented):
    found = EXAMPLE.search(inspect.cleandoc(documented.__doc__ or ""))
    assert found, "no example"
    return found[1]


@functools.cache
def start_of(part):
    """The names of the example of a part, which all of its others continue."""
    names = {}
    exec(example_of(importlib.import_module(f"tfcopy.{part}")), names)
    return names


@pytest.mark.parametrize(
    ("part", "name"),
    [
        pytest.param(x, name, marks=[pytest.mark.long] * (i > 2))
        for i, x in enumerate(PARTS)
        for name in public(x)
    ],
)
def test_the_example_runs(part, name):
    documented = getattr(importlib.import_module(f"tfcopy.{part}"), name)
    exec(example_of(documented), dict(start_of(part)))


@pytest.mark.parametrize("part", PARTS)
def test_all_have_examples(part):
    module = importlib.import_module(f"tfcopy.{part}")
    for name in public(part):
        assert "```python\n" in getattr(module, name).__doc__, name
