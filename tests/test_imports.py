"""Imports go one way, and Keras alone serves code of every backend."""

import ast
import collections
import functools
import re
from pathlib import Path

import tfcopy

ROOT = Path(tfcopy.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Parts that run on every Keras backend, and the files that may know one.
ANY_BACKEND = ("tokens", "layers", "models", "losses", "decoding")
BACKEND_FILES = {
    "decoding/batch_loop.py": "tensorflow",
    "decoding/hypotheses.py": "tensorflow",
    "layers/tensorflow_loop.py": "tensorflow",
    "layers/loop.py": "jax",
    "layers/tensors.py": "tensorflow",
    "layers/tensorflow_log_softmax.py": "tensorflow",
}
FRAMEWORKS = ("tensorflow", "tf_keras", "jax", "torch")

# Which parts each part may import, besides itself.
ALLOWED = {
    "__init__": ("runtime", "serving"),
    "keras_internals": (),
    "tokens": (),
    "filesystem": (),
    "file_formats": ("filesystem",),
    "atomic_files": ("filesystem",),
    "checked_files": ("atomic_files", "filesystem", "file_formats"),
    "terminal": ("atomic_files",),
    "flags": ("terminal",),
    "worker": ("__main__", "recipes", "flags"),
    "layers": ("tokens", "keras_internals"),
    "models": ("tokens", "keras_internals", "layers", "decoding"),
    "losses": ("tokens", "layers"),
    "decoding": ("tokens", "layers"),
    "data": (
        *("tokens", "terminal", "flags", "atomic_files", "checked_files"),
        *("filesystem", "file_formats"),
    ),
    "figures": ("tokens",),
    "training": (
        *("tokens", "terminal", "atomic_files", "checked_files"),
        *("keras_internals", "filesystem", "file_formats"),
    ),
    "evaluation": ("tokens", "data"),
    # No TensorFlow unless an engine or a transport asks for it.
    "runtime": (
        *("tokens", "terminal", "flags", "atomic_files", "checked_files"),
        *("filesystem", "file_formats"),
    ),
    "serving": (
        "runtime",
        *("tokens", "terminal", "flags", "atomic_files", "checked_files"),
        *("keras_internals", "filesystem", "file_formats"),
        *("layers", "models", "decoding", "data", "training"),
        "evaluation",
    ),
}
# How models are proved: the library, which users import, does without.
LABORATORY = ("experiments", "recipes", "figures", "data/generated")
ALLOWED["experiments"] = tuple(ALLOWED)
ALLOWED["recipes"] = tuple(ALLOWED)
ALLOWED["__main__"] = (*ALLOWED, "__version__")


def part_of(path):
    """The part of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@functools.cache
def imported(path):
    """Dotted names of all that a file imports, wherever and however.

    A string that is a dotted name of tfcopy counts: it is there to be
    imported by `importlib`.
    """
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"tfcopy(\.\w+)+\.?", node.value):
                names.append(node.value.removesuffix("."))
    return names


def name_of(path):
    return str(path.relative_to(ROOT))


def test_keras_is_the_only_framework():
    for path in FILES:
        if part_of(path) not in ANY_BACKEND:
            continue
        allowed = BACKEND_FILES.get(name_of(path))
        for name in imported(path):
            framework = name.split(".")[0]
            is_allowed = framework not in FRAMEWORKS or framework == allowed
            assert is_allowed, f"{path}: {name}"


def test_one_file_imports_keras_internals():
    for path in FILES:
        if name_of(path) == "keras_internals.py":
            continue
        for name in imported(path):
            assert not name.startswith("keras.src"), f"{path}: {name}"


def test_imports_go_one_way():
    for path in FILES:
        part = part_of(path)
        for name in imported(path):
            package, *rest = name.split(".")
            if package == "tfcopy":
                other = rest[0] if rest else ""
                if other == "json":  # the name of an export's file
                    continue
                assert other in ((part, *ALLOWED[part])), f"{path}: {name}"


def test_the_library_imports_nothing_of_the_laboratory():
    commands = ("__main__.py", "worker.py")  # They start recipes by name.
    homes = tuple(f"tfcopy.{x.replace('/', '.')}" for x in LABORATORY)
    library = [
        path
        for path in FILES
        if not name_of(path).startswith((*LABORATORY, *commands))
    ]
    assert len(library) < len(FILES)
    for path in library:
        for name in imported(path):
            assert not name.startswith(homes), f"{path}: {name}"


def test_a_recipe_imports_no_other_recipe():
    for path in set(FILES) - {ROOT / "__main__.py", ROOT / "worker.py"}:
        for name in imported(path):
            assert not name.startswith("tfcopy.recipes"), f"{path}: {name}"


def test_module_names_are_used_once():
    names = collections.Counter(
        path.stem for path in FILES if path.stem != "__init__"
    )
    assert not [name for name, count in names.items() if count > 1]


def files_imported(path):
    """Files of the package that a file imports, even late."""
    for name in imported(path):
        if not name.startswith("tfcopy.") or name == "tfcopy.json":
            continue
        # `from module import x` may import a file `x`, or a name of a module.
        for parts in (name.split(".")[1:], name.split(".")[1:-1]):
            file = ROOT.joinpath(*parts)
            if parts and (found := file.with_suffix(".py")).is_file():
                yield found
                break
            if (package := file / "__init__.py").is_file():
                yield package
                break


def find_circle(graph):
    """The nodes of a circle in a graph, the first one again at the end."""
    finished, path = set(), []

    def visit(node):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in finished:
            return None
        path.append(node)
        circle = next(filter(None, map(visit, graph.get(node, ()))), None)
        finished.add(path.pop())
        return circle

    return next(filter(None, map(visit, graph)), None)


def test_no_files_import_each_other_in_a_circle():
    assert find_circle({1: [2], 2: [3, 4], 3: [], 4: [2]}) == [2, 4, 2]
    assert find_circle({1: [2, 3], 2: [3]}) is None
    starters = {ROOT / "__main__.py", ROOT / "worker.py"}
    graph = {x: {*files_imported(x)} - {x} for x in set(FILES) - starters}
    circle = find_circle(graph) or ()
    assert not circle, " -> ".join(map(name_of, circle))
