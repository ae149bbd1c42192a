"""LiteRT.js, from the packages of npm that `package-lock.json` names.

Its WebAssembly has 9 MB, which only sites without a server need: packages are
downloaded when the first is written, and kept in the user's cache.
"""

import http.client
import io
import json
import os
import pathlib
import tarfile
import urllib.request

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.runtime.signatures import AskError
from tfcopy.serving.web.site import integrity
from tfcopy.terminal import one_line

_LOCK = pathlib.Path(__file__).with_name("package-lock.json")
_REGISTRY = "https://registry.npmjs.org"
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


def version() -> str:
    """Returns the version of LiteRT.js."""
    return _locked("@litertjs/core")["version"]


def files() -> dict[str, bytes]:
    """Returns the files of LiteRT.js that a site needs, by name.

    Raises:
        AskError: If a package can be neither read nor downloaded, or is not the
            one that the lock file names.
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


def _locked(package):
    content = json.loads(_LOCK.read_text(encoding="utf-8"))
    return content["packages"][f"node_modules/{package}"]


def _archive(package):
    facts = _locked(package)
    name = facts["resolved"].rpartition("/")[2]
    path = os.path.join(filesystem.cache(), name)
    if os.path.exists(path):
        content = pathlib.Path(path).read_bytes()
        if integrity(content, "sha512") == facts["integrity"]:
            return content
    registry = os.environ.get("NPM_CONFIG_REGISTRY", _REGISTRY).rstrip("/")
    content = _downloaded(facts["resolved"].replace(_REGISTRY, registry))
    if integrity(content, "sha512") != facts["integrity"]:
        raise AskError(
            f"{package} from {registry} is not the package that "
            f"{_LOCK.name} names. Is NPM_CONFIG_REGISTRY right?"
        )
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_atomically(path, lambda file: file.write(content))
    return content


def _downloaded(address):
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
            return answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise AskError(
            f"{address}: cannot be downloaded ({one_line(error)}). LiteRT.js "
            "comes from npm; NPM_CONFIG_REGISTRY names another registry."
        ) from None
