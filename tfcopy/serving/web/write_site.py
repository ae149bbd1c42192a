"""Writes a page on which translators answer in the browser.

It is a folder of files that any web server serves; copied words are in colours.
Texts stay in the browser. EXPORT has programs of LiteRT: export it with
--set litert=int8.

LiteRT.js comes from npm, once; the page loads nothing but the folder's files,
and answers without a connection after the first answer.
"""

import contextlib
import dataclasses
import gzip
import html
import http.client
import io
import json
import os
import pathlib
import re
import shlex
import sys
import tarfile
import urllib.request

from tfcopy import atomic_files, checked_files, filesystem, terminal
from tfcopy.flags import Parser
from tfcopy.runtime import litert_engine, text_functions
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.web import site
from tfcopy.terminal import one_line

_EXAMPLES = """\
examples:
  %(prog)s savedmodels/europarl_ps --to site
  python -m http.server --directory site"""

# Constructs of RE2 that the page's regular expressions lack.
_TOKEN = re.compile(r"\\.|\(\?[A-Za-z-]*|\[:\^|.", re.DOTALL)
_LACKING = re.compile(r"\\C|\(\?[a-z-]*U.*|\[:\^")


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of the command.

    Attributes:
        exports: folders of exports
        to: folder to write, which must not exist
    """

    command, positional = "web", {"exports": "EXPORT"}

    exports: list[str]
    to: str


def main(arguments=None):
    """Runs the command, and returns its exit status."""
    options = Parser(Options, __doc__, _EXAMPLES).parse(arguments)
    return terminal.run("web", lambda: write_site(options.exports, options.to))


def write_site(exports, to) -> None:
    """Writes a folder for exports.

    Args:
        exports: Folders of exports.
        to: The new folder.

    Raises:
        ModelError: If an export cannot answer in the browser, after the site of
            the others was written, or LiteRT.js cannot be downloaded.
        OSError: If the folder exists or cannot be written.
    """
    if filesystem.exists(to):
        raise ModelError(f"{to} exists. Choose another --to, or remove it.")
    page = site.page_files()
    code, models = dict(page), []
    for name, content in litert_files().items():
        part = {f"litert/{name}": content}
        code |= _compress(part) if name.endswith(".wasm") else part
    size = sum(len(x) for name, x in code.items() if "_compat_" not in name)
    folder = site.name_folder("page", code)
    files = {f"{folder}/{name}": x for name, x in code.items()}
    left_out = []
    for path in exports:
        try:
            with LocalModel(path, engine="litert") as model:
                found = _compress(_model_files(model.name))
                facts = {
                    "name": _name(model.name, [x["name"] for x in models]),
                    "folder": site.name_folder("model", found),
                    "bytes": size + sum(map(len, found.values())),
                    **site.facts_of(model),
                }
        except ModelError as error:
            left_out.append(one_line(error))
            continue
        files |= {f"{facts['folder']}/{name}": found[name] for name in found}
        models.append(facts)
    if not models:
        raise ModelError(" ".join(left_out))
    hashes = {name: site.integrity(x) for name, x in files.items()}
    version = html.escape(_read_lock("@litertjs/core")["version"])
    about = f"With {_LINK} {version} (Apache License 2.0)."
    files["service_worker.js"] = site.service_worker(hashes)
    files["index.html"] = site.index(models, page, hashes, about, folder)
    _write(files, to)
    size = sum(map(len, files.values()))
    print(
        f"{to}: {len(files)} files, {size / 1e6:.1f} MB. See it: "
        f"python -m http.server --directory {shlex.quote(str(to))}"
    )
    if left_out:
        raise ModelError(f"left out of {to}: {' '.join(left_out)}")


def _compress(files):
    """Compresses files, which the page unpacks itself."""
    return {
        f"{name}.gzip": gzip.compress(x, mtime=0) for name, x in files.items()
    }


def _model_files(path):
    """Returns the files of an export that answer, checked."""
    extra = os.path.join(path, "assets.extra")
    texts = os.path.join(extra, text_functions.FILE_NAME)
    content = checked_files.read_json(texts)
    for name in ("source", "target", "entities"):
        _check_patterns(path, content.get(name))
    files = {
        text_functions.FILE_NAME: texts,
        litert_engine.FILE_NAME: os.path.join(extra, litert_engine.FILE_NAME),
    }
    for name in content["files"]:
        places = (os.path.join(x, name) for x in ("assets", "assets.extra"))
        places = (os.path.join(path, place) for place in places)
        files[name] = next(filter(filesystem.exists, places))
    return {name: filesystem.read_bytes(place) for name, place in files.items()}


def _check_patterns(path, content):
    """Refuses regular expressions that JavaScript lacks."""
    if isinstance(content, str):
        for token in _TOKEN.findall(content):
            if _LACKING.fullmatch(token):
                raise ModelError(
                    f"{path}: the regular expression {content!r} has {token}, "
                    "which the page does not know."
                )
    elif isinstance(content, (dict, list)):
        parts = content.values() if isinstance(content, dict) else content
        for part in parts:
            _check_patterns(path, part)


def _name(path, others):
    """Returns a name for an export: that of its folder of versions."""
    folder = filesystem.abspath(path)
    if os.path.basename(folder).isdecimal():
        folder = os.path.dirname(folder)
    name = os.path.basename(folder)
    return name if name not in others else f"{name} ({len(others) + 1})"


def _write(files, to):
    parent = os.path.dirname(filesystem.abspath(to))
    try:
        if not filesystem.is_url(to):
            atomic_files.make_folder(parent)
        with atomic_files.scratch_folder(parent, ".site-") as folder:
            made = os.path.join(folder, "site")
            for name, content in files.items():
                path = os.path.join(made, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(content)
            atomic_files.publish_folder(made, to, "index.html")
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"--to: cannot write {to} ({reason}).") from error


_LOCK = pathlib.Path(__file__).with_name("package-lock.json")
_LINK = '<a href="https://github.com/google-ai-edge/LiteRT">LiteRT.js</a>'
_REGISTRY = "https://registry.npmjs.org"
_VARIABLE = "NPM_CONFIG_REGISTRY"
_TIMEOUT = 60  # seconds
_UTILITIES = "@litertjs/wasm-utils"
# With relaxed SIMD, which is faster, and without; a browser loads one.
_PROGRAMS = "litert_wasm_internal", "litert_wasm_compat_internal"
_FILES = {
    "@litertjs/core": {
        "index.js": "dist/index.js",
        **{
            f"{name}.{kind}": f"wasm/{name}.{kind}"
            for name in _PROGRAMS
            for kind in ("js", "wasm")
        },
    },
    _UTILITIES: {"wasm_utils.js": "dist/index.js"},
}


def litert_files() -> dict[str, bytes]:
    """Returns the files of LiteRT.js that a site needs, by name.

    They come from the packages of npm that `package-lock.json` names. Its
    WebAssembly has 9 MB, which only such folders need: packages are downloaded
    when the first is written, and kept in the user's cache.

    Raises:
        ModelError: If a package can be neither read nor downloaded, or is not
            the one that the lock file names.
    """
    found = {}
    for package, names in _FILES.items():
        with tarfile.open(fileobj=io.BytesIO(_archive(package))) as archive:
            for name, path in names.items():
                found[name] = archive.extractfile(f"package/{path}").read()
    # Browsers know no packages, but files beside each other.
    found["index.js"] = found["index.js"].replace(
        f'"{_UTILITIES}"'.encode(), b'"./wasm_utils.js"'
    )
    return found


def _read_lock(package):
    content = json.loads(_LOCK.read_text(encoding="utf-8"))
    return content["packages"][f"node_modules/{package}"]


def _archive(package):
    facts = _read_lock(package)
    name = facts["resolved"].rpartition("/")[2]
    path = os.path.join(filesystem.cache(), name)
    with contextlib.suppress(OSError):
        content = pathlib.Path(path).read_bytes()
        if site.integrity(content, "sha512") == facts["integrity"]:
            return content
    # npm reads its environment variables in any case.
    given = [os.environ[x] for x in os.environ if x.upper() == _VARIABLE]
    registry = next(filter(None, given), _REGISTRY).rstrip("/")
    content = _download(facts["resolved"].replace(_REGISTRY, registry))
    if site.integrity(content, "sha512") != facts["integrity"]:
        raise ModelError(
            f"{package} from {registry} is not the package that "
            f"{_LOCK.name} names. Is {_VARIABLE} right?"
        )
    with contextlib.suppress(OSError):  # A cache may be read-only.
        os.makedirs(os.path.dirname(path), exist_ok=True)
        atomic_files.write_atomically(path, lambda file: file.write(content))
    return content


def _download(address):
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
            return answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ModelError(
            f"{address}: cannot be downloaded ({one_line(error)}). LiteRT.js "
            f"comes from npm; {_VARIABLE} names another registry."
        ) from None


if __name__ == "__main__":
    sys.exit(main())
