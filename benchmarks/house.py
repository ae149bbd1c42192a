"""How heavy the package is: its files, its lines, and what is only passed on.

    python -m benchmarks.house                     this checkout
    python -m benchmarks.house before/ after/      two of them, side by side

Lines of code hold a token that is neither a comment nor part of a docstring. A
parameter is only passed on if its function does nothing with it but make it an
argument of calls, under its own name or as it is. An importer is a module that
names another one in an import, wherever that stands.
"""

import argparse
import ast
import collections
import io
import pathlib
import re
import tokenize

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SMALL = 40  # lines of a file
_MANY = 6  # parameters of a function


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folders",
        nargs="*",
        default=["."],
        help="Checkouts of the project; this one by default.",
    )
    folders = parser.parse_args().folders
    columns = [measure(pathlib.Path(folder)) for folder in folders]
    print("| | " + " | ".join(folders) + " |")
    print("|---|" + "---:|" * len(folders))
    for name in columns[0]:
        values = [f"{x[name]:,}" for x in columns]
        print(f"| {name} | " + " | ".join(values) + " |")


def measure(root):
    """The package of a checkout in numbers, a dict by their names."""
    sources = {
        _module_of(path, root): path.read_text("utf-8")
        for path in sorted(root.glob("tfcopy/**/*.py"))
    }
    trees = {name: ast.parse(source) for name, source in sources.items()}
    lines = {name: len(x.splitlines()) for name, x in sources.items()}
    nodes = [x for tree in trees.values() for x in ast.walk(tree)]
    functions = [x for x in nodes if isinstance(x, _FUNCTIONS)]
    parameters = [x for f in functions for x in passing(f)]
    return {
        "files": len(sources),
        "lines of code": sum(len(code_lines(x)) for x in sources.values()),
        "lines of JavaScript": script_lines(root, "js"),
        "lines of C": script_lines(root, "[ch]"),
        "lines": sum(lines.values()),
        "parameters": len(parameters),
        "parameters only passed on": sum(parameters),
        "`x=config.x`": sum(_is_of_config(x) for x in nodes),
        "`self.x = x`": sum(_is_kept(x) for x in nodes),
        "`raise`": sum(isinstance(x, ast.Raise) for x in nodes),
        f"files under {_SMALL} lines": sum(x < _SMALL for x in lines.values()),
        "modules with one importer": sum(
            len(x) == 1 for x in importers(trees).values()
        ),
        "lines of the longest file": max(lines.values()),
        "lines of the longest function": max(
            x.end_lineno - x.lineno + 1 for x in functions
        ),
        f"functions with more than {_MANY} parameters": sum(
            len(passing(x)) > _MANY for x in functions
        ),
    }


def code_lines(source):
    """The numbers of the lines that hold code."""
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            first = node.body[0] if node.body else None
            is_text = isinstance(first, ast.Expr) and isinstance(
                getattr(first.value, "value", None), str
            )
            if is_text:
                documented.update(range(first.lineno, first.end_lineno + 1))
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found - documented


def script_lines(root, ending):
    """The number of lines of a language that are no comments and not blank."""
    code = [x.read_text("utf-8") for x in root.glob(f"tfcopy/**/*.{ending}")]
    lines = re.sub(r"(?s)/\*.*?\*/", "", "\n".join(code)).splitlines()
    return sum(x.strip()[:2] not in ("", "//") for x in lines)


def passing(function):
    """Of each parameter but `self`, whether it is only passed on."""
    arguments = function.args
    names = [
        x.arg
        for x in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
        )
        if x.arg not in ("self", "cls")
    ]
    uses, passed = collections.Counter(), collections.Counter()
    for node in [x for line in function.body for x in ast.walk(line)]:
        if isinstance(node, ast.Name):
            uses[node.id] += 1
        if isinstance(node, ast.Call):
            values = [*node.args, *(x.value for x in node.keywords)]
            passed.update(x.id for x in values if isinstance(x, ast.Name))
    return [0 < uses[x] == passed[x] for x in names]


def importers(trees):
    """The modules that import each module, a dict of sets."""
    found = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                named = [x.name for x in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{x.name}" for x in node.names]
                # A package is not imported for a module of it.
                named = [x for x in inner if x in trees]
                if len(named) < len(inner):
                    named.append(node.module)
            else:
                continue
            for module in named:
                if module in found:
                    found[module].add(name)
    return found


def _is_of_config(node):
    return (
        isinstance(node, ast.keyword)
        and isinstance(node.value, ast.Attribute)
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "config"
        and node.value.attr == node.arg
    )


def _is_kept(node):
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and any(
            isinstance(x, ast.Attribute)
            and isinstance(x.value, ast.Name)
            and x.value.id == "self"
            and x.attr == node.value.id
            for x in node.targets
        )
    )


def _module_of(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


if __name__ == "__main__":
    main()
