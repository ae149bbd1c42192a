"""Who imports whom: Keras only where every backend should do, and one way."""

import ast
from pathlib import Path

import pytest

import tfcopy

ROOT = Path(tfcopy.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Parts that run on every Keras backend, and the files that may know one.
ANY_BACKEND = ("tokens", "layers", "models", "losses", "metrics", "decoding")
BACKEND_FILES = {
    "layers/loop/tensorflow_loop.py": "tensorflow",
    "layers/loop/jax_loop.py": "jax",
    "layers/log_softmax/tensorflow_log_softmax.py": "tensorflow",
}
FRAMEWORKS = ("tensorflow", "tf_keras", "jax", "torch")

# Which parts each part may import, besides itself.
ALLOWED = {
    "tokens": (),
    "quiet": (),
    "layers": ("tokens",),
    "models": ("tokens", "layers"),
    "losses": ("tokens", "layers"),
    "metrics": ("tokens", "layers", "losses"),
    "decoding": ("tokens", "layers"),
    "data": ("tokens",),
    "training": ("tokens",),
    "evaluation": ("tokens",),
    "summary_evaluation": (),
    "squad_evaluation": (),
    "analysis": ("tokens",),
    "serving": ("tokens", "quiet", "layers", "decoding", "data"),
}


def part_of(path):
    """The part of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Dotted names of all that a file imports, wherever it does so."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "path", [p for p in FILES if part_of(p) in ANY_BACKEND], ids=name_of
)
def test_keras_is_the_only_framework(path):
    allowed = BACKEND_FILES.get(name_of(path))
    for name in imported(path):
        assert not name.startswith("keras.src"), name
        framework = name.split(".")[0]
        assert framework not in FRAMEWORKS or framework == allowed, name


def test_no_file_imports_keras_internals():
    for path in FILES:
        for name in imported(path):
            assert not name.startswith("keras.src"), f"{path}: {name}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if part_of(p) in ALLOWED], ids=name_of
)
def test_imports_go_one_way(path):
    part = part_of(path)
    for name in imported(path):
        package, *rest = name.split(".")
        if package == "tfcopy":
            other = rest[0] if rest else ""
            assert other in (part, *ALLOWED[part]), name


def test_nothing_imports_a_recipe():
    for path in FILES:
        if part_of(path) != "recipes":
            names = [n for n in imported(path) if "tfcopy.recipes" in n]
            assert not names, f"{path}: {names}"
