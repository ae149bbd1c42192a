"""Weblate's own code for LibreTranslate, asking `tfcopy serve`.

    tfcopy serve savedmodels
    python -m benchmarks.weblate_client http://127.0.0.1:5000 en fr

Fetches Weblate's wheel by pip, runs its modules `weblate.machinery.base`,
`weblate.machinery.libretranslate` and `weblate.utils.requests` as they are,
and puts stubs in the place of what they import of Django and of the rest of
Weblate: models of its database, forms, its cache. So languages are listed and
chosen, texts with placeholders are cleaned up, asked in a batch and put
together again, and errors are read, by Weblate's code. The exit status is 1 if
an answer lacks a placeholder.
"""

import importlib
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import zipfile

from benchmarks import flags

_STUBBED = {
    "django.core.cache": ["cache"],
    "django.core.exceptions": ["ValidationError"],
    "django.utils.functional": ["cached_property"],
    "django.utils.translation": ["gettext"],
    "weblate.checks.utils": ["highlight_string"],
    "weblate.lang.models": ["Language", "PluralMapper"],
    "weblate.logger": ["LOGGER"],
    "weblate.machinery.forms": [
        "BaseMachineryForm",
        "LibreTranslateMachineryForm",
    ],
    "weblate.machinery.types": ["SourceLanguageChoices"],
    "weblate.utils.errors": ["report_error"],
    "weblate.utils.hash": [
        "calculate_dict_hash",
        "calculate_hash",
        "hash_to_checksum",
    ],
    "weblate.utils.similarity": ["Comparer"],
    "weblate.utils.site": ["get_site_url"],
    "weblate.utils.version": ["USER_AGENT"],
}
# What Weblate takes for a placeholder of these texts.
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^<>]+>")
_TEXTS = [
    "The session is closed.",
    "The %s session is closed at %d o'clock.",
    "Mr {name} has the floor.",
    "<a href='x'>The session</a> of %(day)s is closed.",
    "The session is closed.\n\n12",
]


class _Cache(dict):
    def set(self, key, value, seconds=None):
        self[key] = value

    def delete_many(self, keys):
        for key in keys:
            self.pop(key, None)


class _Language:
    def __init__(self, code):
        self.code = code


def _highlights(text, unit, **_):
    return [(*x.span(), x[0]) for x in _PLACEHOLDER.finditer(text)]


def _stub(name):
    """A stand-in for a name of Django or Weblate."""
    known = {
        "cache": _Cache(),
        "cached_property": property,
        "gettext": str,
        "highlight_string": _highlights,
        "ValidationError": type("ValidationError", (Exception,), {}),
        "get_site_url": lambda: "http://weblate.example/",
        "report_error": lambda *_, **__: None,
        "calculate_dict_hash": lambda x: hash(str(x)),
        "calculate_hash": hash,
        "USER_AGENT": "Weblate",
    }
    return known.get(name, type(name, (), {}))


def machinery(wheel):
    """Weblate's class `LibreTranslateTranslation`.

    Args:
        wheel: Folder of what is in the wheel.
    """
    sys.path.insert(0, str(wheel))
    for name in ("weblate", "weblate.machinery", "weblate.utils"):
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [str(wheel.joinpath(*name.split(".")))]
    for name, attributes in _STUBBED.items():
        module = sys.modules[name] = types.ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, _stub(attribute))
    module = importlib.import_module("weblate.machinery.libretranslate")
    return module.LibreTranslateTranslation


def fetch(folder):
    """Fetches Weblate's wheel and unpacks it; its version."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q"]
    command += ["weblate", "-d", folder]
    if subprocess.run(command, capture_output=True).returncode:
        sys.exit("Weblate's wheel cannot be fetched by pip.")
    (wheel,) = pathlib.Path(folder).glob("weblate-*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return wheel.name.split("-")[1]


def main(arguments=None):
    parser = flags.make_parser(__doc__, ("key", "", "of the server's keys"))
    parser.add_argument("url", help="of the server")
    parser.add_argument("source", help="language code")
    parser.add_argument("target", help="language code")
    arguments = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        print(f"Weblate {fetch(folder)}")
        kind = machinery(pathlib.Path(folder))
    client = kind({"url": arguments.url, "key": arguments.key})
    print(f"languages: {', '.join(sorted(client.supported_languages))}")
    languages = _Language(arguments.source), _Language(arguments.target)
    pair = client.get_languages(*languages)
    answers = client._translate(*pair, [(text, None) for text in _TEXTS])
    lost = 0
    for text in _TEXTS:
        (answer,) = answers[text]
        missing = set(_PLACEHOLDER.findall(text)) - set(
            _PLACEHOLDER.findall(answer["text"])
        )
        lost += len(missing)
        print(f"{text!r} -> {answer['text']!r}" + " LOST" * bool(missing))
    print(f"{lost} placeholders lost")
    try:
        client.validate_settings()
        print("validate_settings: accepted")
    except Exception as error:
        print(f"validate_settings: {error}")
    for source, target in ((pair[0], "xx"), (pair[0], pair[1])):
        wrong = kind({"url": arguments.url, "key": "wrong"})
        try:
            wrong.download_multiple_translations(source, target, [("a", None)])
        except Exception as error:
            print(f"{source} to {target} with a wrong key: {error}")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
