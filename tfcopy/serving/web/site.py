"""The page `index.html`, and the facts about models that it shows."""

import base64
import hashlib
import json
import pathlib
from collections.abc import Mapping, Sequence

from tfcopy.runtime.signatures import ModelError

PAGE = pathlib.Path(__file__).with_name("page")
_SCORES = {
    "bleu": "BLEU",
    "rouge1": "ROUGE-1",
    "exact_match": "exact match",
    "accuracy": "accuracy",
    "perplexity": "perplexity",
}
# Facts that the page reads as the export stores them.
_STORED = ("source_language", "target_language", "pieces", "labels")
# Maximum number of examples, and of characters of all texts of one.
_MOST_EXAMPLES, _LONGEST_EXAMPLE = 5, 300


def integrity(content: bytes, kind: str = "sha256") -> str:
    """Returns the hash of a file in the form that browsers and npm compare."""
    digest = hashlib.new(kind, content).digest()
    return f"{kind}-{base64.b64encode(digest).decode()}"


def name_folder(kind: str, files: Mapping[str, bytes]) -> str:
    """Returns a folder for files, named by a hash of their content.

    So no cache has other content under the same name.
    """
    content = sorted((x, integrity(files[x])) for x in files)
    digest = hashlib.sha256(repr(content).encode()).hexdigest()
    return f"{kind}-{digest[:16]}"


def service_worker(hashes: Mapping[str, str]) -> bytes:
    """Returns `service_worker.js` for files with the given hashes."""
    code = (PAGE / "service_worker.js").read_text(encoding="utf-8")
    return code.replace("FILES = {}", f"FILES = {_json(hashes)}").encode()


def page_files() -> dict[str, bytes]:
    """Returns the content of the page's code and style, by name."""
    return {
        path.name: path.read_bytes()
        for path in sorted(PAGE.iterdir())
        if path.name not in ("index.html", "service_worker.js")
    }


def index(
    models: Sequence[Mapping],
    files: Mapping[str, bytes],
    hashes: Mapping[str, str] | None = None,
    licences: str = "",
    folder: str = "",
) -> bytes:
    """Returns `index.html`.

    Args:
        models: Facts about each model.
        files: The page's files.
        hashes: Hashes of all files of a site without a server.
        licences: HTML about the licences of other software.
        folder: Folder of the page's files.
    """
    known = {f"{folder}/{x}".lstrip("/"): integrity(files[x]) for x in files}
    scripts = {
        f"./{name}": x for name, x in known.items() if name.endswith(".js")
    }
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    for old, new in (
        ('{"integrity": {}}', _json({"integrity": scripts})),
        ('{"models": []}', _json({"models": models, "files": hashes})),
        ('src="page.js"', _link("src", "page.js", known)),
        ('href="style.css"', _link("href", "style.css", known)),
        ("<!-- licences -->", licences),
    ):
        page = page.replace(old, new)
    return page.encode()


def _link(attribute, name, known):
    (path,) = (x for x in known if x.rpartition("/")[2] == name)
    return f'{attribute}="{path}" integrity="{known[path]}"'


def _json(content):
    """Returns JSON inside of an element `script`, which nothing ends."""
    return json.dumps(content).replace("<", "\\u003c")


def text_names(model) -> list[str]:
    """Returns the names of a model's texts, in its own order if known."""
    names = [*model.config.get("texts", ()), *model.inputs]
    return sorted(model.inputs, key=names.index)


def facts_of(model) -> dict:
    """Returns the facts about an `ExportedModel` that the page shows.

    Raises:
        ModelError: If it is not an export of tfcopy, or has a fact that is no
            JSON, such as NaN.
    """
    for name, value in model.config.items():
        try:
            # Scores are shown as texts.
            json.dumps(name in _SCORES or value, allow_nan=False)
        except ValueError:
            raise ModelError(
                f"{model.name}: `{name}` in tfcopy.json has NaN or an infinite "
                "number, which browsers refuse. Correct it, or export the "
                "model again."
            ) from None
    names = text_names(model)
    lines = None
    if "dictionary" in model.signatures["analyse"].inputs:
        lines = "dictionary"
    elif "with_glossary" in model.signatures:
        lines = "glossary"
    return {
        **{x: model.config[x] for x in _STORED if x in model.config},
        "texts": names,
        "translates": model.translates,
        "lines": lines,
        "examples": _examples(names, model.config),
        "summary": _summary(model.config),
    }


def _examples(names, config):
    """Returns distinct examples that are not too long."""
    examples = {}
    for example in config.get("examples", ()):
        texts = tuple(str(example.get(name, "")) for name in names)
        is_short = sum(map(len, texts)) <= _LONGEST_EXAMPLE
        if is_short and all(text.strip() for text in texts):
            examples[texts] = dict(zip(names, texts))
    return list(examples.values())[:_MOST_EXAMPLES]


def _summary(config):
    parts = [config.get("system")]
    parts += [
        f"{title} {config[name]:.1f}"
        for name, title in _SCORES.items()
        if isinstance(config.get(name), (int, float))
    ]
    for name in ("source_vocabulary_size", "text_vocabulary_size"):
        if name in config:
            parts.append(f"vocabulary of {config[name]:,} words")
    if "search" in config:
        parts.append(f"{config['search'].get('num_beams')} beams")
    if "num_headwords" in config:
        parts.append(f"{config['num_headwords']:,} defined words")
    if "created" in config:
        parts.append(f"exported {config['created'][:10]}")
    return " · ".join(filter(None, parts))
