"""The demo on the start page of the site: a hook of MkDocs.

A small translator answers in the reader's browser. Its page and its model are
loaded when the reader asks for them.
"""

import os
import shutil

from mkdocs.exceptions import PluginError

from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.web.write_site import write_site

_MODEL = "demo", "europarl_ps"


def on_post_build(config):
    """Writes the page and its model into the site, as `demo/`."""
    folder = os.path.join(config.site_dir, "demo")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        write_site([os.path.join(config.docs_dir, *_MODEL)], folder)
    except ModelError as error:
        raise PluginError(f"The demo of the start page: {error}") from None
