"""What the site makes of links to files that are not pages of it.

The pages are read in the repository, too, where a link such as
`../tfcopy/losses.py` leads to the file. On the site it leads to the file in the
repository, if `repo_url` names one, and otherwise stays text. A link to a file
that does not exist is an error.
"""

import os
import re

from mkdocs.exceptions import PluginError

# `[text](target)`, whose target is neither an address nor an anchor.
_LINK = re.compile(r"(\[[^\]]*\])\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown, page, config, files):
    """Changes the links of a page, a hook of MkDocs."""
    folder = os.path.dirname(page.file.abs_src_path)
    docs = os.path.abspath(config.docs_dir)
    root = os.path.dirname(config.config_file_path)

    def changed(match):
        text, target, anchor = match[1], match[2], match[3] or ""
        path = os.path.normpath(os.path.join(folder, target))
        if path.startswith(docs + os.sep):
            return match[0]
        if not os.path.exists(path):
            raise PluginError(f"{page.file.src_path}: there is no {target}.")
        if not config.repo_url:
            return text[1:-1]
        place = os.path.relpath(path, root)
        return f"{text}({config.repo_url}/blob/main/{place}{anchor})"

    return _LINK.sub(changed, markdown)
