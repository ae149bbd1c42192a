"""What the site makes of the repository's files: hooks of MkDocs.

The pages are read in the repository, too, where a link such as
`../tfcopy/losses.py` leads to the file. On the site it leads to the file in the
repository, if `repo_url` names one, and otherwise to a page with its text. A
link to what is no file is an error. A notebook becomes a page, with the outputs
that are stored in it.
"""

import json
import os
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

# `[text](target)`, whose target is neither an address nor an anchor.
_LINK = re.compile(r"(\[[^\]]*\])\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")
# Inline code, and its words with hyphens, such as `--batch_size`.
_CODE = re.compile(r"<code>[^<]*</code>")
_HYPHENATED = re.compile(r"(?<![^\s>])[\w.]*-[\w-]+")
# Sections of docstrings whose arguments mkdocstrings joins, and their names.
_SECTION = re.compile(
    '<details class="(?:call-arguments|class-attributes)".*?</details>',
    re.DOTALL,
)
_NAME = re.compile(r"(<p>|\n)(\w+): ")
_DASH = re.compile(r'(<li class="doc-section-item field-body">\s*)–')
_PICTURE = re.compile(r'<img [^>]*src="([^"]+\.png)"[^>]*>')
_LANGUAGES = {".py": "python", ".c": "c", ".yaml": "yaml", ".yml": "yaml"}
_NOTEBOOK = ".ipynb"


def on_files(files, config):
    """Adds the pages that the others link to."""
    for file in list(files):
        if file.src_uri.endswith(_NOTEBOOK):
            _add(files, config, _page_of(file.src_uri), _notebook(file))
    for file in files.documentation_pages():
        if config.repo_url or file.generated_by:
            continue
        for match in _LINK.finditer(file.content_string):
            path = _outside(match[2], file, config)
            if path is not None:
                _add(files, config, _source(path), _text(path, config))
    return files


def on_page_markdown(markdown, page, config, files):
    """Changes the links of a page."""
    here = os.path.dirname(page.file.src_uri)

    def changed(match):
        text, target, anchor = match[1], match[2], match[3] or ""
        path = _outside(target, page.file, config)
        if path is None:
            if target.endswith(_NOTEBOOK):
                target = _page_of(target)
            return f"{text}({target}{anchor})"
        if config.repo_url:
            return f"{text}({config.repo_url}/blob/main/{path}{anchor})"
        return f"{text}({os.path.relpath(_source(path), here)})"

    return markdown if page.file.generated_by else _LINK.sub(changed, markdown)


def on_page_content(html, page, config, files):
    """Changes the HTML of a page: lines of code and docstrings, pictures."""
    html = _CODE.sub(
        lambda x: _HYPHENATED.sub(r'<span class="whole">\g<0></span>', x[0]),
        html,
    )
    html = _SECTION.sub(
        lambda x: _NAME.sub(r"\1<br><code>\2</code>: ", x[0]), html
    ).replace("<p><br>", "<p>")
    html = _DASH.sub(r"\1", html)
    return _PICTURE.sub(r'<a href="\1">\g<0></a>', html)


def _outside(target, file, config):
    """The path, from the repository's root, of a file that is no page's."""
    folder = os.path.dirname(file.abs_src_path)
    path = os.path.normpath(os.path.join(folder, target))
    if path.startswith(os.path.abspath(config.docs_dir) + os.sep):
        return None
    if not os.path.isfile(path):
        raise PluginError(f"{file.src_uri}: there is no file {target}.")
    return os.path.relpath(path, os.path.dirname(config.config_file_path))


def _source(path):
    return f"source/{path}.md"


def _page_of(notebook):
    return notebook.removesuffix(_NOTEBOOK) + ".md"


def _add(files, config, uri, content):
    if files.get_file_from_path(uri) is None:
        page = File.generated(config, uri, content=content)
        if uri.startswith("source/"):
            page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)


def _text(path, config):
    """A page with the text of a file, which the site's search leaves out."""
    root = os.path.dirname(config.config_file_path)
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read().rstrip("\n")
    language = _LANGUAGES.get(os.path.splitext(path)[1], "text")
    head = f"---\ntitle: {path}\nsearch:\n  exclude: true\n---\n\n# `{path}`\n"
    return f"{head}\n{_block(language, text)}"


def _block(language, text):
    return f"``````{language}\n{text}\n``````\n"


def _notebook(file):
    with open(file.abs_src_path, encoding="utf-8") as opened:
        cells = json.load(opened)["cells"]
    name = os.path.basename(file.src_uri)
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        parts.append(_block("python", text) if is_code else f"{text}\n")
        parts += map(_output, cell.get("outputs", ()))
    parts.insert(1, f"As a notebook: [{name}]({name}).\n")
    return "\n".join(parts)


def _output(output):
    data = output.get("data", {})
    if "image/png" in data:
        image = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="" src="data:image/png;base64,{image}">\n'
    lines = output.get("text", data.get("text/plain", ()))
    return _block("text", "".join(lines).rstrip("\n"))
