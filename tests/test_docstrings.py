"""Names in backquotes in docstrings exist."""

import ast
import importlib
import re
from pathlib import Path

import tfcopy

ROOT = Path(tfcopy.__file__).parent
PATHS = sorted(ROOT.rglob("*.py"))
MODULES = {
    path.stem: ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in [*PATHS, *(x.parent for x in PATHS)]
}
# `a.b`, perhaps called; but for files and other libraries.
NAME = re.compile(r"`([a-z]\w*(?:\.\w+)+)(?:\([^`]*\))?`")
OTHERS = re.compile(
    r"(tf|keras|keras_hub|rapidfuzz|bytes)\.|.*"
    r"\.(py|json|png|tsv|txt|css|html|zip|po|en|exc|noun|perl|config)$"
)


def resolves(name):
    first, *others = name.split(".")
    found = importlib.import_module(MODULES[first])
    for other in others:
        try:
            found = importlib.import_module(f"{found.__name__}.{other}")
        except (ImportError, AttributeError):
            if not hasattr(found, other):
                return False
            found = getattr(found, other)
    return True


def test_dotted_names_resolve():
    gone = []
    for path in PATHS:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        own = {getattr(x, "id", getattr(x, "arg", None)) for x in nodes}
        own |= {getattr(x, "attr", getattr(x, "name", None)) for x in nodes}
        for node in nodes:
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                for name in NAME.findall(ast.get_docstring(node) or ""):
                    first = name.partition(".")[0]
                    if OTHERS.match(name) or first in own:
                        continue
                    if first not in MODULES or not resolves(name):
                        gone.append(f"{path}: {name}")
    assert not gone, "\n".join(gone)
